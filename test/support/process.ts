import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { client, settle } from "./app.ts";
import { isAsGround, keepLibrary, layGround } from "./ground.ts";
import { MAIN, PROGRAM } from "./program.ts";

const MONITOR = join(import.meta.dir, "loop-monitor.ts");
const CLOCK_AHEAD = join(import.meta.dir, "clock-ahead.ts");

interface ServeOptions {
  env?: Record<string, string>;
  dataFolder?: string;
  under?: string;
  isMonitored?: boolean;
  /** How far its wall clock is ahead of the machine's, in milliseconds. */
  aheadMs?: number;
}

/** A data directory with an owner, for servers in separate processes. `await using` stops them and deletes it. */
export async function startInstallation(env: Record<string, string> = {}) {
  const dataFolder = mkdtempSync(join(tmpdir(), "weir-process-"));
  const children = new Set<Bun.Subprocess>();
  const settings = {
    ...process.env,
    WEIR_EGRESS_ALLOW: "127.0.0.0/8",
    WEIR_API_RATE: "off",
    WEIR_LOG: "info",
    ...env,
  };
  const { token, organizationId } = isAsGround(dataFolder, env)
    ? await layGround(dataFolder, settle)
    : await init(dataFolder, settings);

  return {
    organizationId,
    dataFolder,
    /** The owner's access token. */
    token,
    /**
     * Starts `weir serve` on the folder, or on another of the same installation; `under` is what a shell sets first,
     * such as `ulimit -n 300`. Resolves once it listens.
     * With `isMonitored`, it reports how long its main thread was blocked.
     */
    async serve(more: ServeOptions = {}) {
      const folder = more.dataFolder ?? dataFolder;
      const preloaded = more.isMonitored ? MONITOR : more.aheadMs === undefined ? null : CLOCK_AHEAD;
      const program = preloaded === null ? PROGRAM : [process.execPath, "--preload", preloaded, MAIN];
      const command = [...program, "serve", "--data", folder, "--port", "0"];
      let heard = Promise.withResolvers<number>();
      const limited = ["sh", "-c", `${more.under} && exec "$@"`, "sh", ...command];
      const child = Bun.spawn(more.under ? limited : command, {
        env: { ...settings, ...more.env, TEST_CLOCK_AHEAD_MS: String(more.aheadMs ?? 0) },
        stdin: "ignore",
        stdout: "ignore",
        stderr: "pipe",
        ...(more.isMonitored ? { ipc: (milliseconds: number) => heard.resolve(milliseconds) } : {}),
      });
      children.add(child);
      const log: string[] = [];
      const origin = await addressIn(child.stderr, log);
      return {
        origin,
        /** Its log so far, in pieces. */
        log,
        pid: child.pid,
        owner: client(origin, { authorization: `Bearer ${token}` }),
        /** The exit code, once it has ended. */
        exited: child.exited,
        /**
         * Milliseconds:
         * how long the main thread was blocked at most since the last call, or the duration of the yardstick.
         */
        measure(what: "longest" | "yardstick"): Promise<number> {
          heard = Promise.withResolvers();
          child.send(what);
          return heard.promise;
        },
        signal: (signal: "SIGTERM" | "SIGINT" | "SIGSTOP" | "SIGCONT") => child.kill(signal),
        async end(signal: "SIGKILL" | "SIGTERM") {
          child.kill(signal);
          children.delete(child);
          return child.exited;
        },
      };
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) {
        child.kill("SIGKILL");
        await child.exited;
      }
      keepLibrary(dataFolder);
      rmSync(dataFolder, { recursive: true, force: true });
    },
  };
}

/** Creates the owner with `weir init`. */
async function init(
  dataFolder: string,
  settings: Record<string, string | undefined>,
): Promise<{ token: string; organizationId: string }> {
  const words = [
    "init",
    "--email",
    "ada@example.com",
    "--password-stdin",
    "--org",
    "Acme",
    "--data",
    dataFolder,
    "--json",
  ];
  const init = Bun.spawn([...PROGRAM, ...words], {
    env: settings,
    stdin: Buffer.from("correct horse battery staple\n"),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [text, said] = await Promise.all([
    new Response(init.stdout).text(),
    new Response(init.stderr).text(),
  ]);
  if ((await init.exited) !== 0) throw new Error(`init failed: ${said}`);
  return JSON.parse(text);
}

/** The address in the log; all of the log goes into `kept`. */
async function addressIn(log: ReadableStream<Uint8Array>, kept: string[]): Promise<string> {
  const found = Promise.withResolvers<string>();
  const reading = (async () => {
    for await (const chunk of log) {
      kept.push(Buffer.from(chunk).toString("utf8"));
      const [, address] = /listening on (https?:[^\s"]+)/.exec(kept.join("")) ?? [];
      if (address) found.resolve(address);
    }
    found.reject(new Error(`The server ended before it listened: ${kept.join("")}`));
  })();
  reading.catch((error: unknown) => found.reject(error));
  return found.promise;
}
