/**
 * A child that has been compromised:
 * inside the sandbox of every child, it tries what its arguments say, and prints the results as JSON.
 */

import { dlopen } from "bun:ffi";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { standBehindWalls } from "../../src/base/walls.ts";

const command = [process.execPath, Bun.main, ...process.argv.slice(2)];
const walls = standBehindWalls(
  command,
  ["src", "test", "package.json"].map((name) => join(import.meta.dir, "../..", name)),
  process.env,
);

const tries: Record<string, (what: string) => unknown> = {
  read: (path) => readFileSync(path, "utf8"),
  list: (path) => readdirSync(path),
  write: (path) => writeFileSync(path, "written"),
  connect: (port) =>
    new Promise((resolve, reject) => {
      const socket = connect(Number(port), "127.0.0.1", () => resolve("connected"));
      socket.on("error", reject);
    }),
  fetch: (port) => fetch(`http://127.0.0.1:${port}/`).then((reply) => reply.status),
  run: (program) => Bun.spawnSync([program]).exitCode,
  exec: (program) => process.execve?.(program, [program], {}),
  fork: () => {
    const { fork } = dlopen("libc.so.6", { fork: { args: [], returns: "i32" } }).symbols;
    const id = fork();
    if (id < 0) throw new Error("refused");
    if (id === 0) process.exit(0);
    return id;
  },
  kill: (pid) => process.kill(Number(pid), "SIGTERM"),
};

const outcomes: unknown[] = [];
for (const [word = "", what = ""] of JSON.parse(process.argv[2] ?? "[]") as string[][]) {
  try {
    outcomes.push({ ok: (await tries[word]?.(what)) ?? null });
  } catch (error) {
    outcomes.push({ failed: String((error as { code?: unknown }).code ?? error) });
  }
}
process.stdout.write(JSON.stringify({ walls, outcomes }));
process.exit(0);
