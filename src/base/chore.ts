import { AppError } from "./errors.ts";
import type { Json } from "./json.ts";
import { residentBytes } from "./resident.ts";

const WATCH_MS = 100;
/** What a child says is held and parsed here, where nothing else goes on meanwhile. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

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
    const text = await textOf(spawned.stdout);
    if (text === null) {
      spawned.kill("SIGKILL");
      throw chore.tooMuch("too much memory");
    }
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

/** Null for what is longer than an answer may be. */
async function textOf(stream: ReadableStream<Uint8Array>): Promise<string | null> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of stream) {
    size += piece.length;
    if (size > MAX_ANSWER_BYTES) return null;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}
