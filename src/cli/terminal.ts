import { writeSync } from "node:fs";
import { AppError } from "../base/errors.ts";

const WAIT_MS = 2;

/**
 * Standard output of this process. Writes are complete when a call returns, so that the process can end.
 * When the reader is gone (`weir runs list | head -1`), the rest is dropped. Throws `disk_full`.
 */
export function openOutput() {
  let hasReader = true;
  const encoder = new TextEncoder();

  function write(bytes: Uint8Array): void {
    for (let at = 0; hasReader && at < bytes.length; ) {
      try {
        at += writeSync(1, bytes, at);
      } catch (cause) {
        const code = cause instanceof Error && "code" in cause ? cause.code : null;
        if (code === "EPIPE") hasReader = false;
        // A non-blocking pipe is full: gives its reader time.
        else if (code === "EAGAIN") Bun.sleepSync(WAIT_MS);
        else throw new AppError("disk_full", `Couldn't write the output (${code}).`, { cause });
      }
    }
  }

  return {
    write,
    out: (line: string) => write(encoder.encode(`${line}\n`)),
    isRead: () => hasReader,
  };
}

/** Reads a line from the terminal, without echo if `isHidden`. */
export async function askPerson(question: string, isHidden: boolean): Promise<string> {
  const { createInterface } = await import("node:readline");
  const { Writable } = await import("node:stream");
  const silence = new Writable({ write: (_chunk, _encoding, done) => done() });
  process.stderr.write(question);
  const lines = createInterface({
    input: process.stdin,
    output: isHidden ? silence : process.stderr,
    terminal: true,
  });
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once("line", resolve);
      const stop = () => reject(new AppError("cancelled", "Cancelled. Nothing was changed."));
      lines.once("SIGINT", stop);
      lines.once("close", stop);
    });
  } finally {
    lines.close();
    if (isHidden) process.stderr.write("\n");
  }
}
