import { describe, expect, test } from "bun:test";
import { deflateRawSync } from "node:zlib";
import { avroByHand, sized, zigzag } from "../support/avro.ts";
import { readTables } from "../support/sheets.ts";

const longs = (...values: number[]) => Buffer.concat(values.map(zigzag));
const block = { rows: 3, body: longs(1, 2, 3) };
const whole = avroByHand("long", [block, block]);
const bytesOfBlock = zigzag(3).length + sized(block.body).length + 16;
const isNotWhole = "The file isn't whole: it ends within a block. Try to export it again.";
const withCodec = (codec: string, body: Uint8Array) =>
  avroByHand("long", [{ rows: 3, body }], { "avro.codec": codec });
const columnOf = (type: unknown, body: Uint8Array) =>
  avroByHand({ type: "record", name: "r", fields: [{ name: "c", type }] }, [{ rows: 1, body }]);

const read = async (bytes: Uint8Array, size?: number) =>
  (await readTables(bytes, { format: "avro", size })).map(({ values }) => values.flat());
const refusal = async (bytes: Uint8Array, size?: number) => {
  const error = await read(bytes, size).catch((error: unknown) => error);
  expect(error).toMatchObject({ code: "upstream" });
  return (error as Error).message;
};

describe("a truncated file fails", () => {
  test.each([1, 3, 10, 17, 20, bytesOfBlock - 1, bytesOfBlock + 1, bytesOfBlock * 2 - 1])(
    "%i bytes before its end",
    async (less) => {
      expect(await refusal(whole.subarray(0, whole.length - less))).toBe(isNotWhole);
    },
  );

  test("within its head, and without any bytes", async () => {
    expect(await refusal(whole.subarray(0, 30))).toBe(isNotWhole);
    expect(await refusal(whole.subarray(0, 3))).toBe("The file isn't an Avro container file (.avro).");
    expect(await refusal(Buffer.alloc(0))).toBe("The file is empty: it has 0 bytes.");
  });

  test("between two blocks if the source reports its length", async () => {
    const cut = whole.subarray(0, whole.length - bytesOfBlock);
    expect(await read(whole, whole.length)).toEqual([["1", "2", "3", "1", "2", "3"]]);
    expect(await refusal(cut, whole.length)).toBe(
      `The file isn't whole: ${cut.length} of ${whole.length} bytes arrived. Try again.`,
    );
  });
});

test.each<[string, Uint8Array, string]>([
  ["is another one", Buffer.from("PAR1 and more"), "The file isn't an Avro container file (.avro)."],
  [
    "has a codec that Weir doesn't have",
    withCodec("bzip2", block.body),
    "The file is compressed with bzip2, which Weir can't read. Write it with null, deflate, zstandard, snappy.",
  ],
  [
    "has blocks that don't end where they should",
    Buffer.concat([whole.subarray(0, -1), Buffer.from("x")]),
    "The file is damaged: a block doesn't end where it should.",
  ],
  [
    "has fewer bytes than rows",
    avroByHand("long", [{ rows: 4, body: block.body }]),
    "The file is damaged: a value continues past the end of its block.",
  ],
  [
    "has more bytes than rows",
    avroByHand("long", [{ rows: 2, body: block.body }]),
    "The file is damaged: a block has more bytes than its rows.",
  ],
  [
    "tells of more rows than there can be",
    avroByHand("null", [{ rows: 2_000_000_000, body: Buffer.alloc(0) }]),
    "The file is damaged: it announces more values than it has bytes for.",
  ],
  [
    "has compressed blocks that can't be unpacked",
    withCodec("deflate", deflateRawSync(block.body).subarray(0, -1)),
    "The file is damaged: a block can't be decompressed.",
  ],
  [
    "has a block that unpacks to too much",
    withCodec("deflate", deflateRawSync(Buffer.alloc(130 * 1024 * 1024))),
    "A block of the file is larger than 128 MiB. Write the file with smaller blocks.",
  ],
  [
    "has bytes under snappy that changed",
    withCodec("snappy", Buffer.concat([Buffer.from([3, 8]), block.body, Buffer.alloc(4)])),
    "The file is damaged: a block isn't what it was.",
  ],
  [
    "refers under snappy to what isn't there",
    withCodec("snappy", Buffer.concat([Buffer.from([3, 1, 9]), Buffer.alloc(4)])),
    "The file is damaged: a block refers to what is before it.",
  ],
  [
    "has a schema with a type that nobody knows",
    avroByHand(["null", "money"], []),
    "The file is damaged: its schema uses an unknown type money.",
  ],
  [
    "has a schema with a type that is called as what JavaScript has",
    avroByHand("constructor", []),
    "The file is damaged: its schema uses an unknown type constructor.",
  ],
  [
    "has a number of more than 64 bits",
    avroByHand("long", [{ rows: 1, body: Buffer.alloc(11, 0xff) }]),
    "The file is damaged: a number has more than 64 bits.",
  ],
  [
    "has a value for which its union has no type",
    columnOf(["null", "long"], zigzag(2)),
    "The file is damaged: a union has a value that its schema doesn't have.",
  ],
  [
    "nests values without end",
    avroByHand({ type: "record", name: "r", fields: [{ name: "next", type: ["null", "r"] }] }, [
      { rows: 1, body: Buffer.alloc(1_000_000, 2) },
    ]),
    "The file can't be read: its values are nested too deeply.",
  ],
  [
    "takes more memory than there is for it",
    columnOf(
      { type: "array", items: "int" },
      Buffer.concat([zigzag(100_000_000), Buffer.alloc(100_000_001)]),
    ),
    "Couldn't read the file: it takes too much memory. Split it into smaller files.",
  ],
])("a file that %s is rejected with a sentence", async (_, bytes, message) => {
  expect(await refusal(bytes)).toBe(message);
});
