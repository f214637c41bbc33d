import { AppError } from "../base/errors.ts";
import { compileForStart } from "../base/jit.ts";
import { FolderLocked } from "../folder.ts";
import { addressIn } from "./address.ts";
import { openBrowser } from "./browser.ts";
import { openClient } from "./client.ts";
import { dataFolderHere } from "./data-folders.ts";
import { overview } from "./help.ts";
import { carryOut, type Host, readArgs, UsageError } from "./host.ts";

/** `weir` without a command: runs a server on the local data directory, and opens it in the browser. */
export function start(args: readonly string[], host: Host): Promise<number> {
  if (host.ask === null) {
    host.out(overview());
    return Promise.resolve(2);
  }
  return carryOut(host, "weir [--data DIR] [--host HOST] [--port PORT] [--no-open]", async () => {
    const { values: flags } = readArgs({
      args: [...args],
      options: {
        data: { type: "string" },
        host: { type: "string" },
        port: { type: "string" },
        "no-open": { type: "boolean" },
      },
    });
    const isOpened = !flags["no-open"];
    const parts = await host.parts({ ...flags, data: flags.data ?? dataFolderHere(host.env) });
    compileForStart();
    const { serveUntilStopped } = await import("./serve.ts");
    try {
      await serveUntilStopped(host, parts, isOpened);
    } catch (error) {
      if (!(error instanceof FolderLocked)) throw error;
      const { dataFolder } = parts.config;
      const url = await runningAt(dataFolder);
      if (url === null) throw error;
      if (flags.port !== undefined || flags.host !== undefined)
        throw new UsageError(`A server is already running on ${dataFolder}, at ${url}.`);
      host.out(`Weir is already running at ${url} (data directory: ${dataFolder}).`);
      if (isOpened) openBrowser(host.env, url);
    }
  });
}

/** URL of the server that has the data directory. Null if none responds, for example if a command has it. */
async function runningAt(dataFolder: string): Promise<string | null> {
  const url = addressIn(dataFolder);
  if (url === null) return null;
  try {
    const { status } = await openClient(url).reply("GET", "/health");
    return status === 200 ? url : null;
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}
