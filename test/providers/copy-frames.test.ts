import { expect, test } from "bun:test";
import fc from "fast-check";
import { copyDataJoiner } from "../../src/providers/postgres/copy-frames.ts";

const COPY_DATA = "d";
const frame = (type: string, payload: Uint8Array): Buffer => {
  const head = Buffer.from(`${type}0000`);
  head.writeUInt32BE(4 + payload.length, 1);
  return Buffer.concat([head, payload]);
};

/** What the messages say: each one, save that COPY messages in a row are one text. */
function told(bytes: Buffer): string[] {
  const found: string[] = [];
  let before = "";
  for (let at = 0; at < bytes.length; ) {
    const [type, size] = [bytes.toString("latin1", at, at + 1), bytes.readUInt32BE(at + 1)];
    expect(at + 1 + size).toBeLessThanOrEqual(bytes.length);
    const payload = bytes.toString("latin1", at + 5, at + 1 + size);
    if (type === COPY_DATA && before === COPY_DATA) found.push(`${found.pop()}${payload}`);
    else found.push(`${type}${payload}`);
    before = type;
    at += 1 + size;
  }
  return found;
}

const payload = fc.oneof(
  fc.uint8Array({ maxLength: 12 }),
  fc.integer({ min: 0, max: 150_000 }).map((length) => new Uint8Array(length).fill(length)),
);
const message = fc.tuple(fc.constantFrom("d", "d", "d", "d", "c", "N", "D"), payload);

test("joined COPY messages have the same content as the server's, wherever the network splits them", () => {
  fc.assert(
    fc.property(
      fc.array(message, { maxLength: 12 }),
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 20_000, max: 90_000 }),
      (messages, few, many) => {
        const sent = Buffer.concat(messages.map(([type, bytes]) => frame(type, bytes)));
        for (const steps of [[many, few], sent.length < 2_000 ? [few] : [many]]) {
          const join = copyDataJoiner();
          const got: Buffer[] = [];
          for (let at = 0, n = 0; at < sent.length; n++) {
            const end = at + (steps[n % steps.length] as number);
            got.push(join(Buffer.from(sent.subarray(at, end))));
            at = end;
          }
          expect(told(Buffer.concat(got))).toEqual(told(sent));
        }
      },
    ),
    { numRuns: 100, seed: 20_26 },
  );
});

test("rows that arrive together become one COPY message", () => {
  const rows = ["1,a\n", "2,b\n", "3,c\n"].map((row) => frame(COPY_DATA, Buffer.from(row)));
  const end = frame("c", new Uint8Array());
  const joined = copyDataJoiner()(Buffer.concat([...rows, end]));
  expect(joined).toEqual(Buffer.concat([frame(COPY_DATA, Buffer.from("1,a\n2,b\n3,c\n")), end]));
});
