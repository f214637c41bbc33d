import type { Socket } from "node:net";

/** The type of a message with a piece of a COPY: `d`. */
const COPY_DATA = 0x64;
/** A message's type and length. */
const HEAD_BYTES = 5;

/**
 * Makes `socket` emit what the server sends of a COPY in a few large messages. The server puts each row into one of its
 * own, and the library takes longer to handle a message than the server to write it. Other messages stay as they are.
 */
export function joinCopyData(socket: Socket): Socket {
  const join = copyDataJoiner();
  const emit = socket.emit.bind(socket) as (event: string | symbol, ...values: unknown[]) => boolean;
  socket.emit = (event: string | symbol, ...values: unknown[]) => {
    if (event !== "data") return emit(event, ...values);
    const bytes = join(values[0] as Buffer);
    return bytes.length > 0 && emit(event, bytes);
  };
  return socket;
}

/** A message that is incomplete waits for its end, if this is more than what there is of it. */
const HELD_BYTES = 65_536;

/** Returns a function that joins adjacent COPY messages in the chunks it is given. It may overwrite them. */
export function copyDataJoiner(): (chunk: Buffer) => Buffer {
  /** Bytes that are still to come of a long message whose beginning was returned. */
  let missing = 0;
  /** The beginning of a message. */
  let rest: Buffer | null = null;
  return (chunk) => {
    const bytes = rest === null ? chunk : Buffer.concat([rest, chunk]);
    rest = null;
    const { length } = bytes;
    let at = Math.min(missing, length);
    missing -= at;
    let end = at; // of what is returned
    let joined = -1; // where the COPY message begins that the next one can join
    while (at < length) {
      const left = length - at;
      const size = left < HEAD_BYTES ? HEAD_BYTES : 1 + bytes.readUInt32BE(at + 1);
      if (size > left && left < HELD_BYTES) {
        rest = bytes.subarray(at);
        break;
      }
      const isCopy = bytes[at] === COPY_DATA && size <= left;
      const next = Math.min(at + size, length);
      if (isCopy && joined >= 0) at += HEAD_BYTES;
      else {
        closeMessage(bytes, joined, end);
        joined = isCopy ? end : -1;
        missing = at + size - next;
      }
      if (at > end) bytes.copyWithin(end, at, next);
      end += next - at;
      at = next;
    }
    closeMessage(bytes, joined, end);
    return bytes.subarray(0, end);
  };
}

/** Writes the length of the COPY message that begins at `from`, if there is one. */
function closeMessage(bytes: Buffer, from: number, end: number): void {
  if (from >= 0) bytes.writeUInt32BE(end - from - 1, from + 1);
}
