import { AppError } from "./errors.ts";
import type { Json } from "./json.ts";
import { lowerPriority, lowerWhenLong, PRIORITIES, processorMs } from "./priority.ts";
import { residentBytes } from "./resident.ts";
import { envFor, type ReachablePaths } from "./walls.ts";

const WATCH_MS = 50;
/** A process that waits for the CPU on a busy machine gets this many times its limit before it is killed. */
const WAIT_FACTOR = 4;
/** The output is held in memory, and blocks other work while it is parsed. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

const NONE: ReachablePaths = { read: [], write: [] };

/** A task that runs in a child process, so that its input can't harm anything else. */
export interface Chore {
  /** Hidden subcommand of this program, which reads from standard input and writes to standard output. */
  word: string;
  /** Not counting the time that the process waits for the CPU, if the system reports it. */
  timeoutMs: number;
  maxResidentBytes: number;
  /** Returns the error for an input that takes too much time or memory. Its message ends with `why`. */
  tooMuch: (why: "too long" | "too much memory") => AppError;
}

/**
 * Runs a chore with JSON as input and output. `self` is the command that starts this program.
 * The child can reach only the files in `paths`. Throws the signal's reason, `tooMuch`, and `internal`.
 */
export async function doChore(
  self: readonly string[],
  chore: Chore,
  input: unknown,
  signal: AbortSignal,
  paths: ReachablePaths = NONE,
): Promise<Json> {
  const answer = await doChoreOnBytes(self, chore, [Buffer.from(JSON.stringify(input))], signal, paths);
  return JSON.parse(answer.toString());
}

/** Bytes in memory, or in a file. */
export type Piece = Uint8Array | Blob;

/** Runs a chore on bytes, read one piece at a time. Throws like `doChore`. */
export async function doChoreOnBytes(
  self: readonly string[],
  chore: Chore,
  pieces: readonly Piece[],
  signal: AbortSignal,
  paths: ReachablePaths = NONE,
): Promise<Buffer> {
  signal.throwIfAborted();
  const spawned = Bun.spawn([...self, chore.word], {
    // Nothing from this process: no keys, no tokens, no proxies.
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", TZ: "UTC", ...envFor(paths) },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
    signal,
    killSignal: "SIGKILL",
    timeout: chore.timeoutMs * WAIT_FACTOR,
  });
  lowerPriority(spawned.pid, PRIORITIES.chore);
  let isTooLarge = false;
  const lower = lowerWhenLong(spawned.pid);
  const startedMs = performance.now();
  const isWaiting = () => process.platform === "linux" && processorMs(spawned.pid) < chore.timeoutMs;
  const watch = setInterval(() => {
    lower();
    isTooLarge ||= residentBytes(spawned.pid) > chore.maxResidentBytes;
    const isLate = performance.now() - startedMs > chore.timeoutMs;
    if (isTooLarge || (isLate && !isWaiting())) spawned.kill("SIGKILL");
  }, WATCH_MS);
  try {
    // A child that fails early closes its input. The failure is reported below.
    const giving = give(spawned.stdin, pieces).catch(() => undefined);
    const answer = await readAll(spawned.stdout);
    if (answer === null) {
      spawned.kill("SIGKILL");
      throw chore.tooMuch("too much memory");
    }
    await giving;
    const code = await spawned.exited;
    signal.throwIfAborted();
    if (code === 0) return answer;
    if (isTooLarge) throw chore.tooMuch("too much memory");
    if (spawned.signalCode === "SIGKILL") throw chore.tooMuch("too long");
    const cause = `exit code ${code}, signal ${spawned.signalCode}`;
    throw new AppError("internal", `${chore.word} ended unexpectedly.`, { cause });
  } finally {
    clearInterval(watch);
  }
}

/** One piece at a time, so that no second copy is in memory. */
async function give(stdin: Bun.FileSink, pieces: readonly Piece[]): Promise<void> {
  for (const piece of pieces) {
    for await (const bytes of piece instanceof Blob ? piece.stream() : [piece]) {
      stdin.write(bytes);
      await stdin.flush();
    }
  }
  await stdin.end();
}

/** Null if it exceeds the maximum size. */
async function readAll(stream: ReadableStream<Uint8Array>): Promise<Buffer | null> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of stream) {
    size += piece.length;
    if (size > MAX_ANSWER_BYTES) return null;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
