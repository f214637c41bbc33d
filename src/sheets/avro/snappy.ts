import { damaged } from "../fault.ts";

/** Decompresses a raw snappy block (format_description.txt of google/snappy). Throws `FileFault`, `RangeError`. */
export function unsnap(bytes: Buffer, limit: number): Buffer {
  let at = 0;
  const next = (count: number): number => {
    if (at + count > bytes.length) throw damaged("a block ends early");
    at += count;
    return count === 0 ? 0 : bytes.readUIntLE(at - count, count);
  };
  let length = 0;
  for (let scale = 1, byte = 0x80; byte >= 0x80; scale *= 128) {
    byte = next(1);
    length += (byte & 0x7f) * scale;
    if (length > limit) throw new RangeError("The block is too large.");
  }
  const plain = Buffer.allocUnsafeSlow(length);
  let filled = 0;
  const room = (count: number) => {
    if (filled + count > length) throw damaged("a block is longer than it tells");
  };
  while (at < bytes.length) {
    const tag = next(1);
    const high = tag >> 2;
    if ((tag & 3) === 0) {
      const count = (high < 60 ? high : next(high - 59)) + 1;
      room(count);
      if (at + count > bytes.length) throw damaged("a block ends early");
      bytes.copy(plain, filled, at, at + count);
      at += count;
      filled += count;
      continue;
    }
    const isNear = (tag & 3) === 1;
    const count = isNear ? (high & 7) + 4 : high + 1;
    const back = isNear ? ((tag >> 5) << 8) + next(1) : next((tag & 3) === 2 ? 2 : 4);
    if (back === 0 || back > filled) throw damaged("a block refers to what is before it");
    room(count);
    // A copy may overlap its own output: then it repeats.
    for (let end = filled + count; filled < end; filled++) plain[filled] = plain[filled - back] ?? 0;
  }
  if (filled !== length) throw damaged("a block is shorter than it tells");
  return plain;
}
