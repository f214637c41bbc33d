import { readSync, writeSync } from "node:fs";
import type { JsonObject } from "../base/json.ts";
import { readFrame, writeFrame } from "../compute/frame.ts";

const HEAD_BYTES = 4;
/** Maximum size of a frame; longer output is sent in parts. */
const MAX_FRAME_BYTES = 8 * 1024 * 1024;

export interface Frame {
  head: JsonObject;
  bytes: Buffer;
}

const NO_BYTES = Buffer.alloc(0);

/** The start of a frame: the length of the rest, and a JSON head; `size` bytes follow. */
export function frameHead(head: object, size: number): Buffer {
  const line = writeFrame(head);
  const length = Buffer.alloc(HEAD_BYTES);
  length.writeUInt32LE(line.length + size);
  return Buffer.concat([length, line]);
}

/** The frames of a stream, in order. Throws for a frame that is too long. */
export async function* framesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Frame> {
  let parts: Buffer[] = [];
  let size = 0;
  const joined = () => {
    if (parts.length > 1) parts = [Buffer.concat(parts)];
    return parts[0] ?? NO_BYTES;
  };
  for await (const bytes of stream) {
    parts.push(Buffer.from(bytes));
    size += bytes.length;
    while (size >= HEAD_BYTES) {
      if ((parts[0]?.length ?? 0) < HEAD_BYTES) joined();
      const length = parts[0]?.readUInt32LE() ?? 0;
      if (length > MAX_FRAME_BYTES) throw new Error(`A frame of ${length} bytes.`);
      const end = HEAD_BYTES + length;
      if (size < end) break;
      const all = joined();
      yield readFrame(all.subarray(HEAD_BYTES, end));
      parts = [all.subarray(end)];
      size -= end;
    }
  }
}

/** Synchronous frames over standard input and output, for a process that has nothing else to do. */
export const pipe = {
  /** Null once the parent has closed its end. */
  receive(): Frame | null {
    const head = read(HEAD_BYTES);
    const body = head && read(head.readUInt32LE());
    return body && readFrame(body);
  },
  send(head: object, bytes: Uint8Array = NO_BYTES): void {
    const frame = Buffer.concat([frameHead(head, bytes.length), bytes]);
    for (let at = 0; at < frame.length; ) at += whenReady(() => writeSync(1, frame, at));
  },
};

function read(length: number): Buffer | null {
  const buffer = Buffer.allocUnsafe(length);
  for (let at = 0; at < length; ) {
    const count = whenReady(() => readSync(0, buffer, at, length - at, null));
    if (count === 0) return null;
    at += count;
  }
  return buffer;
}

const nobody = new Int32Array(new SharedArrayBuffer(4));

function whenReady(act: () => number): number {
  for (;;) {
    try {
      return act();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Atomics.wait(nobody, 0, 0, 1);
    }
  }
}
