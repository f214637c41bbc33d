import avro from "avsc";

/** Longs as bigint: as numbers, avsc rejects those beyond 2^53. */
const longs = avro.types.LongType.__with({
  fromBuffer: (bytes: Buffer) => bytes.readBigInt64LE(),
  toBuffer: (value: bigint) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(value);
    return bytes;
  },
  fromJSON: BigInt,
  toJSON: String,
  isValid: (value: unknown) => typeof value === "bigint",
  compare: (one: bigint, other: bigint) => (one < other ? -1 : one > other ? 1 : 0),
});

const isLong = (schema: unknown) =>
  schema === "long" ||
  (typeof schema === "object" && schema !== null && "type" in schema && schema.type === "long");

/** A container file as avsc writes it; longs are bigints. */
export async function avroOf(
  schema: object | string,
  rows: readonly unknown[],
  codec: "null" | "deflate" = "null",
): Promise<Buffer> {
  const type = avro.Type.forSchema(schema as avro.Schema, {
    wrapUnions: false,
    typeHook: (attributes) => (isLong(attributes) ? longs : undefined),
  });
  const encoder = new avro.streams.BlockEncoder(type, { codec, blockSize: 1000, writeHeader: true });
  const pieces: Buffer[] = [];
  encoder.on("data", (piece: Buffer) => pieces.push(piece));
  const ended = new Promise((resolve, reject) => encoder.on("end", resolve).on("error", reject));
  for (const row of rows) encoder.write(row);
  encoder.end();
  await ended;
  return Buffer.concat(pieces);
}

/** A length or an int, as Avro writes it. */
export function zigzag(value: number | bigint): Buffer {
  const long = BigInt(value);
  let rest = BigInt.asUintN(64, (long << 1n) ^ (long >> 63n));
  const bytes: number[] = [];
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Buffer.from([...bytes, Number(rest)]);
}

export const sized = (bytes: Uint8Array | string) =>
  Buffer.concat([zigzag(Buffer.byteLength(bytes)), Buffer.from(bytes as Uint8Array)]);

const SYNC = Buffer.from("0123456789abcdef");

/** A container file, written by hand from given blocks. */
export function avroByHand(
  schema: unknown,
  blocks: readonly { rows: number; body: Uint8Array }[],
  metadata: Readonly<Record<string, string>> = {},
): Buffer {
  const entries = Object.entries({ "avro.schema": JSON.stringify(schema), ...metadata });
  return Buffer.concat([
    Buffer.from("Obj\x01", "latin1"),
    ...(entries.length === 0 ? [] : [zigzag(entries.length)]),
    ...entries.flatMap(([key, value]) => [sized(key), sized(value)]),
    zigzag(0),
    SYNC,
    ...blocks.flatMap(({ rows, body }) => [zigzag(rows), sized(body), SYNC]),
  ]);
}

/** An integer as in decimals: this many bytes, most significant first. */
export const twosComplement = (value: bigint, bytes: number) =>
  Buffer.from(
    BigInt.asUintN(bytes * 8, value)
      .toString(16)
      .padStart(bytes * 2, "0"),
    "hex",
  );
