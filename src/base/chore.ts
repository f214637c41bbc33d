import { AppError } from "./errors.ts";
import type { Json } from "./json.ts";
import { residentBytes } from "./resident.ts";

const WATCH_MS = 100;

/** One thing that is done in a process of its own, so that what it is given can hurt nothing else. */
export interface Chore {
  /** The hidden subcommand of this program: it reads JSON from standard input and writes JSON to standard output. */
  word: string;
  timeoutMs: number;
  maxResidentBytes: number;
  /** What is said of an input that takes too long or too much memory; ends where `why` goes on. */
  tooMuch: (why: "too long" | "too much memory") => AppError;
}

/** Does a chore by `self`, the command that starts this program. Throws the signal's reason, `tooMuch`, and `internal`. */
export async function doChore(
  self: readonly string[],
  chore: Chore,
  input: unknown,
  signal: AbortSignal,
): Promise<Json> {
  signal.throwIfAborted();
  const spawned = Bun.spawn([...self, chore.word], {
    // Nothing of ours: no keys, no tokens, no proxies.
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", TZ: "UTC" },
    stdin: new Blob([JSON.stringify(input)]),
    stdout: "pipe",
    stderr: "ignore",
    signal,
    killSignal: "SIGKILL",
    timeout: chore.timeoutMs,
  });
  let isTooLarge = false;
  const watch = setInterval(() => {
    if (residentBytes(spawned.pid) <= chore.maxResidentBytes) return;
    isTooLarge = true;
    spawned.kill("SIGKILL");
  }, WATCH_MS);
  try {
    const text = await new Response(spawned.stdout).text();
    const code = await spawned.exited;
    signal.throwIfAborted();
    if (code === 0) return JSON.parse(text);
    if (isTooLarge) throw chore.tooMuch("too much memory");
    if (spawned.signalCode === "SIGKILL") throw chore.tooMuch("too long");
    const cause = `exit code ${code}, signal ${spawned.signalCode}`;
    throw new AppError("internal", `${chore.word} ended by itself.`, { cause });
  } finally {
    clearInterval(watch);
  }
}
