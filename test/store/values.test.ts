import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import fc from "fast-check";
import { InvalidInput } from "../../src/base/errors.ts";
import { stopPostgresAfterAll } from "../support/postgres-store.ts";
import { scaled } from "../support/scale.ts";
import { notes, openAt, thrownBy } from "./harness.ts";
import { PLACES, postgresPlace } from "./places.ts";

stopPostgresAfterAll();

const PIECES = [
  "\0",
  "\u0001",
  "\u0002",
  "\u0003",
  "a",
  "u0000",
  "u0001",
  "\\",
  '"',
  "é",
  "😀",
  "␀",
  "\uffff",
];
const text = fc.array(fc.constantFrom(...PIECES), { maxLength: 6 }).map((pieces) => pieces.join(""));
const inBytes = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));

test.each(PLACES)("any text is kept exactly on %s, in a column and in JSON", async (_, make) => {
  await using store = await openAt(make);
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(text, { minLength: 1, maxLength: 8 }), async (texts) => {
      const rows = texts.map((id, count) => ({ id, count, body: { v: id, list: [{ v: id }] } }));
      await store.write(async (db) => {
        await db.delete(notes);
        for (const row of rows) await db.insert(notes).values(row);
        await db.run(sql`update notes set body = json_set(json_insert(body, '$.more', id), '$.n', 'b')`);
      });
      const found = await store.db.select().from(notes).orderBy(notes.id);
      expect(found.map(({ id }) => id)).toEqual([...texts].sort(inBytes));
      for (const { id, count, body } of found) {
        expect(id).toBe(texts[count ?? -1] as string);
        expect(body).toEqual({ v: id, list: [{ v: id }], more: id, n: "b" });
      }
      for (const id of texts) {
        const inside = await store.db.get<{ v: string; one: string; item: string; both: string }>(sql`
          select body ->> 'v' as v, json_extract(body, '$.list[0].v') as one,
            (select value from json_each(body, '$.list')) as item, json_array(id, body ->> 'v') as both
          from notes where id = ${id} and body ->> '$.v' = ${id}`);
        expect([inside.v, inside.one]).toEqual([id, id]);
        expect(JSON.parse(inside.item)).toEqual({ v: id });
        expect(JSON.parse(inside.both)).toEqual([id, id]);
      }
    }),
    { numRuns: scaled(15, 500) },
  );
});

test.each(PLACES)("half a surrogate pair becomes U+FFFD on %s, and JSON keeps it", async (_, make) => {
  await using store = await openAt(make);
  await store.write(async (db) => db.insert(notes).values({ id: "x\ud800", body: "\udc00y" }));
  expect(await store.db.select({ id: notes.id, body: notes.body }).from(notes)).toEqual([
    { id: "x\ufffd", body: "\udc00y" },
  ]);
});

test("a text that is too long for its index on PostgreSQL is rejected with a sentence, and the transaction can continue", async () => {
  await using store = await openAt(postgresPlace);
  const long = Array.from({ length: 4_000 }, (_, n) => String.fromCodePoint(0x4e00 + ((n * 7919) % 20_000)));
  await store.write(async (db) => {
    const put = db
      .insert(notes)
      .values({ id: "long", someTitle: long.join("") })
      .returning();
    expect(await thrownBy(async () => await put)).toBeInstanceOf(InvalidInput);
    await db.insert(notes).values({ id: "short" });
  });
  expect(await store.db.select({ id: notes.id }).from(notes)).toEqual([{ id: "short" }]);
  const thrown = await thrownBy(() =>
    store.write(async (db) => db.insert(notes).values({ id: "long", someTitle: long.join("") })),
  );
  expect((thrown as InvalidInput).faults).toEqual([
    {
      loc: ["body"],
      msg: "A text is too long: the database can index at most 2,700 bytes of it",
      type: "string_too_long",
    },
  ]);
});
