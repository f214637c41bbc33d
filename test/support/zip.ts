import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";

export interface ZipPart {
  name: string;
  data: string | Uint8Array;
  isStored?: boolean;
  /** Values in the directory that differ from the truth. */
  lies?: Partial<Record<"flags" | "method" | "crc" | "compressedBytes" | "bytes", number>>;
}

/** A zip file, written by hand. */
export function zipOf(parts: readonly ZipPart[]): Buffer {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const { name, data, isStored = false, lies = {} } of parts) {
    const plain = Buffer.from(data as Uint8Array);
    const body = isStored ? plain : deflateRawSync(plain);
    const facts = {
      flags: 0,
      method: isStored ? 0 : 8,
      crc: crc32(plain),
      compressedBytes: body.length,
      bytes: plain.length,
      ...lies,
    };
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(facts.flags, 2);
    common.writeUInt16LE(facts.method, 4);
    common.writeUInt32LE(facts.crc, 10);
    common.writeUInt32LE(facts.compressedBytes, 14);
    common.writeUInt32LE(facts.bytes, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(at, 10);
    directory.push(Buffer.from("PK\x01\x02\x14\x00", "latin1"), common, place, Buffer.from(name));
    const whole = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), common, Buffer.from(name), body]);
    bodies.push(whole);
    at += whole.length;
  }
  const entries = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(parts.length, 8);
  end.writeUInt16LE(parts.length, 10);
  end.writeUInt32LE(entries.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...bodies, entries, end]);
}

/** The text of a deflated part, by the headers in front of the parts. */
export function partOf(bytes: Uint8Array, name: string): string {
  const zip = Buffer.from(bytes);
  for (let at = 0; zip.readUInt32LE(at) === 0x04034b50; ) {
    const from = at + 30 + zip.readUInt16LE(at + 26) + zip.readUInt16LE(at + 28);
    const to = from + zip.readUInt32LE(at + 18);
    if (zip.toString("utf8", at + 30, at + 30 + zip.readUInt16LE(at + 26)) === name)
      return inflateRawSync(zip.subarray(from, to)).toString();
    at = to;
  }
  throw new Error(`There is no part ${name}.`);
}
