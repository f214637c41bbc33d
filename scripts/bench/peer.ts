import { join } from "node:path";
import { atEnd } from "./ending.ts";

/** Starts a script in this folder, which prints one line of JSON with its `origin` once it listens. */
export async function startPeer(script: string, ...args: string[]) {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, script), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  atEnd(() => child.kill("SIGKILL"));
  const { value } = await child.stdout.getReader().read();
  const { origin } = JSON.parse(new TextDecoder().decode(value)) as { origin: string };
  return {
    origin,
    pid: child.pid,
    async stop() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}
