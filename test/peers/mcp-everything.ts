import { join } from "node:path";
import { freePort } from "../support/postgres.ts";

const ENTRY = join(
  import.meta.dir,
  "../../node_modules/@modelcontextprotocol/server-everything/dist/index.js",
);

/** The reference server of the Model Context Protocol, over streamable HTTP or HTTP+SSE. */
export async function startEverything(transport: "streamableHttp" | "sse") {
  const port = await freePort();
  const child = Bun.spawn([process.execPath, ENTRY, transport], {
    env: { PATH: process.env.PATH ?? "", PORT: String(port) },
    stdout: "ignore",
    stderr: "ignore",
  });
  const url = `http://127.0.0.1:${port}/${transport === "sse" ? "sse" : "mcp"}`;
  for (let tries = 0; ; tries++) {
    try {
      await (await fetch(`http://127.0.0.1:${port}/none`)).text();
      break;
    } catch (error) {
      if (tries > 1_000 || child.exitCode !== null) throw error;
      await Bun.sleep(50);
    }
  }
  return {
    url,
    async stop() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}
