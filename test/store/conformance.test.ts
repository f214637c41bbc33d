import { describe, expect, test } from "bun:test";
import { asc, eq, sql } from "drizzle-orm";
import fc from "fast-check";
import { AppError } from "../../src/base/errors.ts";
import { changing, insertInto, prepared } from "../../src/store/prepared.ts";
import { isUniqueViolation, type ReadDb, StoreError, type WriteDb } from "../../src/store/store.ts";
import { stopPostgresAfterAll } from "../support/postgres-store.ts";
import { scaled } from "../support/scale.ts";
import { MIGRATIONS, notes, openAt, thrownBy, trail } from "./harness.ts";
import { PLACES } from "./places.ts";

stopPostgresAfterAll();

const byId = prepared((db: ReadDb) =>
  db
    .select()
    .from(notes)
    .where(eq(notes.id, sql.placeholder("id")))
    .prepare(),
);
const put = prepared((db: WriteDb) =>
  db
    .insert(notes)
    .values({ id: sql.placeholder("id"), someTitle: sql.placeholder("title") })
    .returning()
    .prepare(),
);

const insertNote = insertInto(notes);

const appendWord = changing(notes, (update) =>
  update
    .set({
      body: sql`json_insert(coalesce(${notes.body}, '[]'), '$[#]', cast(${sql.placeholder("word")} as text))`,
      count: sql`coalesce(${notes.count}, 0) + ${sql.placeholder("more")}`,
    })
    .where(eq(notes.id, sql.placeholder("id"))),
);
const setRatio = changing(notes, (update) =>
  update.set({ ratio: sql`${sql.placeholder("ratio")}` }).where(eq(notes.id, sql.placeholder("id"))),
);

/** A change whose result isn't awaited. */
const CHANGE = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant("insert" as const), id: fc.nat(7) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("append" as const),
      id: fc.nat(7),
      word: fc.option(fc.constantFrom("a ? b", "it's", "\u0001\u0000")),
      more: fc.nat(3),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("rate" as const),
      id: fc.nat(7),
      ratio: fc.option(fc.constantFrom(1, 0.5)),
    }),
  },
);
type Change = typeof CHANGE extends fc.Arbitrary<infer T> ? T : never;

/** The state after the changes, one after the other. */
function leftBy(changes: readonly Change[]) {
  const rows = new Map<
    string,
    { words: (string | null)[] | null; count: number | null; ratio: number | null }
  >();
  for (const change of changes) {
    const id = `n${change.id}`;
    const row = rows.get(id);
    if (change.do === "insert" && row === undefined) rows.set(id, { words: null, count: null, ratio: null });
    if (row === undefined) continue;
    if (change.do === "append") {
      row.words = [...(row.words ?? []), change.word];
      row.count = (row.count ?? 0) + change.more;
    }
    if (change.do === "rate") row.ratio = change.ratio;
  }
  return Object.fromEntries(rows);
}

/** JSON as its value: whitespace may differ. */
const plain = (value: unknown) =>
  typeof value === "string" && /^[[{]/.test(value) ? { keys: Bun.inspect(JSON.parse(value)) } : value;

/** Functions in queries that could differ between stores. */
const ALIKE: [expression: string, value: unknown][] = [
  [`json_extract('{"a":{"b c":[1,{"d":"e"}]}}', '$.a."b c"[1].d')`, "e"],
  [`cast('[1,"2"]' ->> 1 as bigint) + 1`, 3],
  [`'{"a":null}' ->> 'a'`, null],
  [`json_array_length('[1,[2,3]]')`, 2],
  [`json_array_length('{"a":[1,2,3]}', '$.a')`, 3],
  [`json_insert('[1]', '$[#]', json_array('a', null, 2))`, '[1,["a",null,2]]'],
  [`json_insert('{"a":["b"]}', '$.a[#]', 'c')`, '{"a":["b","c"]}'],
  [`json_set('{"b":1,"a":2}', '$.b', '3')`, '{"b":"3","a":2}'],
  [`json_set('{"b":1}', '$.c', null)`, '{"b":1,"c":null}'],
  [`json_remove('{"b":1,"a":{"c":2,"d":3}}', '$.b', '$.a.c', '$.x')`, '{"a":{"d":3}}'],
  [
    `(select json_group_array(json(value)) from json_each('{"l":[{"e":1},{"e":2}]}', '$.l'))`,
    '[{"e":1},{"e":2}]',
  ],
  [`(select group_concat(value, '-') from (select value from json_each('["a","b"]')) t)`, "a-b"],
  [`(select group_concat(key, '') from json_each('["a","b"]'))`, "01"],
  [`instr('abcabc', 'ca')`, 3],
  ["max(3, 2)", 3],
  ["max(3, cast(null as bigint))", null],
  [`octet_length('é')`, 2],
  [`glob('*[aA][bB]*', 'xaBy')`, 1],
  [`glob('*a.c*', 'xabcy')`, 0],
  [`glob('*[*]?[[]', 'a*b[')`, 1],
  [
    `strftime('%Y-%m-%dT%H:%M:%fZ', unixepoch('2026-01-02T03:04:05.678Z', 'subsec') + 1.5, 'unixepoch')`,
    "2026-01-02T03:04:07.178Z",
  ],
  [`strftime('%Y-%m-%dT%H:%M:%fZ', '2026-01-02T03:04:05.678Z', '-20 seconds')`, "2026-01-02T03:03:45.678Z"],
  ["7 / 2", 3],
  [`'a' is not distinct from 'a'`, 1],
  [`lower('AÉ')`, "aÉ"],
];
const note = (id: string, someTitle: string) => ({ id, someTitle, count: null, ratio: null, body: null });

describe.each(PLACES)("a store on %s", (name, make) => {
  test("keeps what a transaction wrote, and returns its result", async () => {
    await using store = await openAt(make);
    const given = await store.write(async (db) => {
      await db.insert(notes).values({ id: "a", someTitle: "first" });
      return (await db.select().from(notes)).length;
    });

    expect(given).toBe(1);
    expect(await store.db.select().from(notes)).toEqual([
      { id: "a", someTitle: "first", count: null, ratio: null, body: null },
    ]);
  });

  test("undoes all of a transaction that throws, and rejects with what it threw", async () => {
    await using store = await openAt(make);
    const reason = new AppError("conflict", "Not today.");
    const thrown = await thrownBy(() =>
      store.write(async (db) => {
        await db.insert(notes).values({ id: "a" });
        await db.insert(notes).values({ id: "b" });
        throw reason;
      }),
    );

    expect(thrown).toBe(reason);
    expect(await store.db.$count(notes)).toBe(0);
  });

  test("undoes one transaction of a group and keeps the others", async () => {
    await using store = await openAt(make);
    const settled = await Promise.allSettled(
      Array.from({ length: 9 }, (_, n) =>
        store.write(async (db) => {
          await db.insert(notes).values({ id: `n${n}` });
          if (n % 3 === 1) throw new Error("no");
          await db.insert(trail).values({ seq: n + 1, what: "kept" });
        }),
      ),
    );

    expect(settled.map(({ status }) => status === "fulfilled")).toEqual(
      [0, 1, 2, 3, 4, 5, 6, 7, 8].map((n) => n % 3 !== 1),
    );
    const kept = await store.db.select({ id: notes.id }).from(notes).orderBy(asc(notes.id));
    expect(kept.map(({ id }) => id)).toEqual(["n0", "n2", "n3", "n5", "n6", "n8"]);
    expect(await store.db.$count(trail)).toBe(6);
  });

  test("keeps the first and the last transaction if only they succeed, and handles a group in which none does", async () => {
    await using store = await openAt(make);
    const fail = (id: string) =>
      store
        .write(async (db) => {
          await db.insert(notes).values({ id });
          throw new Error("no");
        })
        .catch(() => "undone");
    await Promise.all([put1(store, "a"), fail("b"), fail("c"), put1(store, "d")]);
    await Promise.all([fail("e"), fail("f")]);

    const kept = await store.db.select({ id: notes.id }).from(notes).orderBy(asc(notes.id));
    expect(kept.map(({ id }) => id)).toEqual(["a", "d"]);
  });

  test("undoes only the transaction whose insert is rejected, even if nobody awaited the insert", async () => {
    await using store = await openAt(make);
    const runs: number[] = [];
    const settled = await Promise.allSettled(
      Array.from({ length: 40 }, (_, n) =>
        store.write(async (db) => {
          runs[n] = (runs[n] ?? 0) + 1;
          await insertNote(db, note(`n${n}`, n % 7 === 3 ? "taken" : `title ${n}`));
          return n;
        }),
      ),
    );

    const kept = settled.flatMap((one, n) => (one.status === "fulfilled" && one.value === n ? [n] : []));
    expect(kept).toEqual(Array.from({ length: 40 }, (_, n) => n).filter((n) => n % 7 !== 3 || n === 3));
    for (const one of settled)
      if (one.status === "rejected") expect(isUniqueViolation(one.reason, "notes.some_title")).toBe(true);
    const rows = await store.db.select({ id: notes.id }).from(notes);
    expect(rows.map(({ id }) => id).sort()).toEqual(kept.map((n) => `n${n}`).sort());
    expect(Math.max(...runs)).toBeLessThanOrEqual(2);
  });

  test("lets the others share their transactions again if one fails after a change", async () => {
    await using store = await openAt(make);
    const groups = new Set<object>();
    const runs: number[] = [];
    const settled = await Promise.allSettled(
      Array.from({ length: 40 }, (_, n) =>
        store.write(async (db, group) => {
          groups.add(group);
          runs[n] = (runs[n] ?? 0) + 1;
          await insertNote(db, note(`n${n}`, `title ${n}`));
          if (n === 30) throw new Error("no");
          return n;
        }),
      ),
    );

    expect(settled.flatMap(({ status }, n) => (status === "rejected" ? [n] : []))).toEqual([30]);
    expect(await store.db.$count(notes)).toBe(39);
    expect(Math.max(...runs)).toBeLessThanOrEqual(2);
    expect(groups.size).toBeLessThanOrEqual(5);
  });

  test("keeps the order of unawaited changes, within and across transactions", async () => {
    await using store = await openAt(make);
    const row = (n: number) => ({ id: `n${n}`, someTitle: null, count: 0, ratio: null, body: null });
    await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        store.write(async (db) => {
          await insertNote(db, row(2 * n), row(2 * n + 1));
          if (n % 10 === 9) await db.statement("update notes set count = count + 1")([]);
        }),
      ),
    );
    const rows = await store.db.select().from(notes);
    expect(rows.length).toBe(100);
    const number = ({ id }: { id: string }) => Number(id.slice(1));
    for (const one of rows) expect(one.count).toBe(5 - Math.floor(number(one) / 20));
  });

  test("leaves what each change would leave by itself, if many unawaited changes change rows", async () => {
    await using store = await openAt(make);
    const property = fc.asyncProperty(
      fc.array(fc.array(CHANGE, { maxLength: 6 }), { minLength: 5, maxLength: 40 }),
      async (works) => {
        await store.write(async (db) => void (await db.delete(notes)));
        const known = new Set<number>();
        await Promise.all(
          works.map((work) =>
            store.write(async (db) => {
              for (const change of work) {
                const id = `n${change.id}`;
                if (change.do === "append")
                  await appendWord(db, { id, word: change.word, more: change.more });
                else if (change.do === "rate") await setRatio(db, { id, ratio: change.ratio });
                else if (!known.has(change.id)) {
                  known.add(change.id);
                  await insertNote(db, { id, someTitle: null, count: null, ratio: null, body: null });
                }
              }
            }),
          ),
        );
        const rows = await store.db.select().from(notes);
        const found = rows.map(({ id, body, count, ratio }) => [id, { words: body, count, ratio }]);
        expect(Object.fromEntries(found)).toEqual(leftBy(works.flat()));
      },
    );
    await fc.assert(property, { numRuns: scaled(6, 200) });
  });

  test("continues after a rejected insert with transactions that arrived while it was being saved", async () => {
    await using store = await openAt(make);
    await store.write(async (db) => insertNote(db, note("first", "taken")));
    const late: Promise<unknown>[] = [];
    const write = (id: string, title: string) =>
      store.write(async (db) => {
        await db.select().from(notes).where(eq(notes.id, "first"));
        await insertNote(db, note(id, title));
      });
    const refused = store.write(async (db) => {
      if (late.length === 0) late.push(write("second", "two"), write("third", "three"));
      await insertNote(db, note("copy", "taken"));
    });

    expect(isUniqueViolation(await thrownBy(() => refused))).toBe(true);
    await Promise.all(late);
    expect((await store.db.select().from(notes)).map(({ id }) => id).sort()).toEqual([
      "first",
      "second",
      "third",
    ]);
  });

  test("saves the changes of transactions whose neighbor sends an invalid value", async () => {
    await using store = await openAt(make);
    const ask = (db: ReadDb, ratio: number) => db.select().from(notes).where(eq(notes.ratio, ratio));
    const settled = await Promise.allSettled([
      store.write(async (db) => insertNote(db, note("first", "one"))),
      store.write(async (db) => ask(db, Number.POSITIVE_INFINITY)),
      store.write(async (db) => insertNote(db, note("second", "two"))),
      store.write(async (db) => {
        await insertNote(db, note("third", "three"));
        await thrownBy(async () => ask(db, Number.NaN));
      }),
      store.write(async (db) => insertNote(db, note("fourth", "four"))),
    ]);

    expect(settled.map(({ status }) => status === "fulfilled")).toEqual([true, false, true, true, true]);
    expect((await store.db.select().from(notes)).map(({ id }) => id).sort()).toEqual([
      "first",
      "fourth",
      "second",
      "third",
    ]);
  });

  test("numbers the rows of transactions in order, however many each adds", async () => {
    await using store = await openAt(make);
    const add = insertInto(trail, ["seq"]);
    const wanted: string[] = [];
    await Promise.all(
      Array.from({ length: 30 }, (_, n) => {
        const rows = Array.from({ length: 1 + (n % 3) }, (_, at) => ({ what: `${n}.${at}` }));
        wanted.push(...rows.map(({ what }) => what));
        return store.write(async (db) => add(db, ...rows));
      }),
    );
    const rows = await store.db.select().from(trail).orderBy(asc(trail.seq));
    expect(rows.map(({ what }) => what)).toEqual(wanted);
  });

  test("doesn't show a write to readers before it is committed", async () => {
    await using store = await openAt(make);
    const seen = await store.write(async (db) => {
      await db.insert(notes).values({ id: "a" });
      return { inside: await db.$count(notes), outside: await store.db.$count(notes) };
    });

    expect(seen).toEqual({ inside: 1, outside: 0 });
    expect(await store.db.$count(notes)).toBe(1);
  });

  test("shows a transaction what queued ones before it did, in the order of their calls", async () => {
    await using store = await openAt(make);
    const counts = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        store.write(async (db) => {
          const before = await db.$count(notes);
          await new Promise((resolve) => setTimeout(resolve, 20 - n > 15 ? 2 : 0));
          await db.insert(notes).values({ id: `n${n}`, count: before });
          return before;
        }),
      ),
    );

    expect(counts).toEqual(Array.from({ length: 20 }, (_, n) => n));
  });

  test("loses none of 200 concurrent writes that wait inside", async () => {
    await using store = await openAt(make);
    await store.write(async (db) => db.insert(notes).values({ id: "sum", count: 0 }));
    await Promise.all(
      Array.from({ length: 200 }, (_, n) =>
        store.write(async (db) => {
          const [row] = await db.select().from(notes).where(eq(notes.id, "sum"));
          await null;
          await db
            .update(notes)
            .set({ count: (row?.count ?? 0) + 1 })
            .where(eq(notes.id, "sum"));
          await db.insert(notes).values({ id: `n${n}` });
        }),
      ),
    );

    expect(await store.db.select({ count: notes.count }).from(notes).where(eq(notes.id, "sum"))).toEqual([
      { count: 200 },
    ]);
    expect(await store.db.$count(notes)).toBe(201);
  });

  test("reports a unique violation by its index, and lets the transaction continue after it", async () => {
    await using store = await openAt(make);
    await store.write(async (db) => db.insert(notes).values({ id: "a", someTitle: "taken" }));
    const found = await store.write(async (db) => {
      const sameTitle = await thrownBy(async () => db.insert(notes).values({ id: "b", someTitle: "taken" }));
      const sameId = await thrownBy(async () => db.insert(notes).values({ id: "a", someTitle: "free" }));
      await db.insert(notes).values({ id: "c", someTitle: "free" });
      return { sameTitle, sameId };
    });

    expect(isUniqueViolation(found.sameTitle)).toBe(true);
    expect(isUniqueViolation(found.sameTitle, "notes.some_title")).toBe(true);
    expect(isUniqueViolation(found.sameTitle, "notes.id")).toBe(false);
    expect(isUniqueViolation(found.sameId, "notes.id")).toBe(true);
    expect(isUniqueViolation(new Error("UNIQUE constraint failed: notes.id"))).toBe(false);
    expect(await store.db.$count(notes)).toBe(2);
  });

  test("never reveals the values of a rejected statement", async () => {
    await using store = await openAt(make);
    const refuse = async () => {
      await store.write(async (db) => {
        await db.insert(notes).values({ id: "a", someTitle: "sk-canary" });
        await db.insert(notes).values({ id: "b", someTitle: "sk-canary" });
      });
    };
    const write = await thrownBy(refuse);
    const read = await thrownBy(async () => store.db.all(sql`SELECT ${"sk-canary"} FROM nowhere`));

    for (const error of [write, read]) {
      expect(error).toBeInstanceOf(StoreError);
      expect(Bun.inspect(error, { depth: 8 })).not.toContain("sk-canary");
    }
    const code = name === "a libSQL server" ? "SQLITE_CONSTRAINT" : "SQLITE_CONSTRAINT_UNIQUE";
    expect((write as StoreError).code).toBe(code);
    expect((write as StoreError).message).toBe("UNIQUE constraint failed: notes.some_title");
  });

  test("runs a prepared statement on the reading and the writing handle, repeatedly", async () => {
    await using store = await openAt(make);
    for (const id of ["a", "b"]) {
      const inside = await store.write(async (db) => {
        const [made] = await put(db).execute({ id, title: `title of ${id}` });
        return [made?.someTitle, (await byId(db).get({ id }))?.someTitle];
      });
      expect(inside).toEqual([`title of ${id}`, `title of ${id}`]);
    }
    expect((await byId(store.db).execute({ id: "b" })).map((row) => row.someTitle)).toEqual(["title of b"]);
    expect(await byId(store.db).get({ id: "nobody" })).toBeUndefined();
    expect(byId(store.db)).toBe(byId(store.db));
  });

  test("returns raw rows as objects, nothing if there is none, and the number of changed rows", async () => {
    await using store = await openAt(make);
    const changed = await store.write(async (db) => {
      await db.insert(notes).values([{ id: "a" }, { id: "b" }]);
      return [
        (await db.update(notes).set({ count: 1 })).changes,
        (await db.run(sql`UPDATE notes SET count = ${2} WHERE id = 'a'`)).changes,
        (await db.delete(notes).where(eq(notes.id, "none"))).changes,
      ];
    });

    expect(changed).toEqual([2, 1, 0]);
    expect(await store.db.all<object>(sql`SELECT id, count FROM notes ORDER BY id`)).toEqual([
      { id: "a", count: 2 },
      { id: "b", count: 1 },
    ]);
    expect(await store.db.get<object>(sql`SELECT count AS n FROM notes WHERE id = 'b'`)).toEqual({ n: 1 });
    expect(
      await store.db.get<object | undefined>(sql`SELECT 1 FROM notes WHERE id = 'none'`),
    ).toBeUndefined();
  });

  test("doesn't count rows that a trigger changed", async () => {
    const telling = {
      name: "0003_telling",
      sql: `CREATE TRIGGER notes_told AFTER INSERT ON notes
        BEGIN INSERT INTO trail (what) VALUES (NEW.id); INSERT INTO trail (what) VALUES ('again'); END`,
    };
    await using store = await openAt(make, [...MIGRATIONS, telling]);
    const changed = await store.write(async (db) => (await db.insert(notes).values({ id: "a" })).changes);

    expect(changed).toBe(1);
    expect(await store.db.$count(trail)).toBe(2);
  });

  test("keeps JSON, texts with every kind of character, nulls and large values unchanged", async () => {
    await using store = await openAt(make);
    const body = { list: [1, 2.5, null, true], 'key with "quotes"': { deep: "é😀\u2028" } };
    const big = "x".repeat(3_000_000);
    await store.write(async (db) => {
      await db.insert(notes).values([
        { id: "json", body },
        { id: "text", someTitle: "it's; -- 'quoted' \\ 😀 \n end" },
        { id: "big", body: big },
        { id: "empty", someTitle: "", body: [] },
      ]);
    });
    const row = async (id: string) => byId(store.db).get({ id });

    expect((await row("json"))?.body).toEqual(body);
    expect((await row("text"))?.someTitle).toBe("it's; -- 'quoted' \\ 😀 \n end");
    expect((await row("big"))?.body === big).toBe(true);
    expect(await row("empty")).toEqual({ id: "empty", someTitle: "", count: null, ratio: null, body: [] });
    expect((await row("text"))?.body).toBeNull();
  });

  test("keeps integers exact up to 2^53 - 1, and distinguishes both kinds of numbers", async () => {
    await using store = await openAt(make);
    const counts = [0, -1, 2 ** 31, -(2 ** 31) - 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
    await store.write(async (db) => {
      for (const [n, count] of counts.entries())
        await db.insert(notes).values({ id: `n${n}`, count, ratio: count / 3 });
    });
    const rows = await store.db.select().from(notes).orderBy(asc(notes.id));

    expect(rows.map(({ count }) => count)).toEqual(counts);
    expect(rows.map(({ ratio }) => ratio)).toEqual(counts.map((count) => count / 3));
    expect(await store.db.get<object>(sql`SELECT ${5} / 2 AS whole, ${2.5} / 2 AS broken`)).toEqual({
      whole: 2,
      broken: 1.25,
    });
  });

  test("sorts texts by their bytes and nulls first, whatever the database's locale", async () => {
    await using store = await openAt(make);
    const titles = ["b", "B", "a", "é", "_", "1", "10", "2", null];
    await store.write(async (db) => {
      for (const [n, someTitle] of titles.entries())
        await db.insert(notes).values({ id: `n${n}`, someTitle });
    });
    const ordered = await store.db
      .select({ title: notes.someTitle })
      .from(notes)
      .orderBy(sql`${notes.someTitle} asc nulls first`);

    expect(ordered.map(({ title }) => title)).toEqual([null, "1", "10", "2", "B", "_", "a", "b", "é"]);
    const [ends] = await store.db
      .select({ first: sql<string>`min(${notes.someTitle})`, last: sql<string>`max(${notes.someTitle})` })
      .from(notes);
    expect(ends).toEqual({ first: "1", last: "é" });
  });

  test.each(ALIKE)("computes %s as every store does", async (expression, expected) => {
    await using store = await openAt(make);
    const row = await store.db.get<{ x: unknown }>(sql.raw(`select ${expression} as x`));
    expect(plain(row.x)).toEqual(plain(expected) as never);
  });

  test("finds rows in and outside a list of IDs, with unusual texts and with an empty list", async () => {
    await using store = await openAt(make);
    const ids = ["a", "b\u0000c", "7"];
    await store.write((db) => db.insert(notes).values(ids.map((id) => ({ id }))));
    const among = async (list: unknown, not = sql``) => {
      const of = sql`${notes.id} ${not} in (select value from json_each(${JSON.stringify(list)}))`;
      return (await store.db.select().from(notes).where(of).orderBy(notes.id)).map(({ id }) => id);
    };
    expect(await among(["a", "x", "b\u0000c"])).toEqual(["a", "b\u0000c"]);
    expect(await among(["a"], sql`not`)).toEqual(["7", "b\u0000c"]);
    expect(await among([])).toEqual([]);
    expect(await among([], sql`not`)).toEqual(["7", "a", "b\u0000c"]);
    expect(await among([null], sql`not`)).toEqual([]);
    expect(await among({ one: "a", two: "b" })).toEqual(["a"]);
  });

  test("reads JSON that contains what PostgreSQL can't store in text, and the rest of it unchanged", async () => {
    await using store = await openAt(make);
    const body = {
      odd: "a\u0000b",
      lone: "\ud83d!",
      low: "!\ude00",
      pair: "😀",
      kept: "\\u0000",
      plain: "x",
    };
    await store.write(async (db) => db.insert(notes).values({ id: "a", body }));
    const at = (key: string) => sql<string>`${notes.body} ->> ${sql.raw(`'$.${key}'`)}`;
    const [row] = await store.db
      .select({ body: notes.body, pair: at("pair"), kept: at("kept"), plain: at("plain"), odd: at("odd") })
      .from(notes);

    expect(row).toMatchObject({ body, pair: "😀", kept: "\\u0000", plain: "x" });
    expect(row?.odd).toStartWith("a");
    const [{ n } = { n: 0 }] = await store.db.all<{ n: number }>(
      sql`select count(*) as n from notes, json_each(notes.body) each where each.value is not null`,
    );
    expect(n).toBe(6);
  });

  test("keeps an append-only table append-only, even with INSERT OR REPLACE", async () => {
    await using store = await openAt(make);
    await store.write(async (db) => db.insert(trail).values({ seq: 1, what: "true" }));
    const forgeries = [
      sql`UPDATE trail SET what = 'false'`,
      sql`DELETE FROM trail`,
      ...(name === "PostgreSQL" ? [] : [sql`INSERT OR REPLACE INTO trail (seq, what) VALUES (1, 'false')`]),
      sql`INSERT INTO trail (seq, what) VALUES (1, 'false') ON CONFLICT (seq) DO UPDATE SET what = 'false'`,
    ];
    for (const forgery of forgeries) {
      const thrown = await thrownBy(() => store.write(async (db) => db.run(forgery)));
      expect((thrown as Error).message).toBe("the trail is append-only");
    }

    expect(await store.db.select().from(trail)).toEqual([{ seq: 1, what: "true" }]);
  });

  test("rejects a statement of a finished transaction, and doesn't let it into another's", async () => {
    await using store = await openAt(make);
    let late: Promise<unknown> = Promise.resolve();
    let kept: WriteDb | undefined;
    await store.write(async (db) => {
      kept = db;
      late = thrownBy(async () => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        await db.insert(notes).values({ id: "late" });
      });
    });
    await store.write(async () => late);
    const outside = await thrownBy(async () => kept?.insert(notes).values({ id: "outside" }));

    expect(await late).toMatchObject({ code: "internal" });
    expect(outside).toMatchObject({ code: "internal" });
    expect(await store.db.$count(notes)).toBe(0);
  });

  test("does not let the reading handle write", async () => {
    await using store = await openAt(make);
    const thrown = await thrownBy(async () => store.db.all(sql`INSERT INTO notes (id) VALUES ('a')`));

    expect(thrown).toMatchObject({ code: "SQLITE_READONLY" });
    expect(await store.db.$count(notes)).toBe(0);
  });

  test("finishes queued writes before it closes, and accepts none after", async () => {
    const place = make();
    const store = await place.open();
    const writes = Array.from({ length: 5 }, (_, n) => put1(store, `n${n}`));
    await store.close();
    await Promise.all(writes);
    const after = await thrownBy(() => put1(store, "late"));

    const again = await place.open();
    expect(after).toMatchObject({ code: "unavailable", retryable: true });
    expect(await again.db.$count(notes)).toBe(5);
    await again.close();
    await place[Symbol.asyncDispose]();
  });

  describe("migrations", () => {
    test("are applied once, in order, and recorded", async () => {
      await using place = make();
      await (await place.open(MIGRATIONS.slice(0, 1))).close();
      await (await place.open()).close();
      const store = await place.open();

      const rows = await store.db.all<{ name: string; hash: string; applied_at: string }>(
        sql`SELECT * FROM migrations ORDER BY name`,
      );
      expect(rows.map(({ name }) => name)).toEqual(["0001_notes", "0002_trail"]);
      expect(rows[0]?.hash).toMatch(/^[0-9a-f]{64}$/);
      expect(rows[0]?.applied_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      await store.close();
    });

    test("refuse a database that a newer version created", async () => {
      await using place = make();
      await (await place.open()).close();
      const thrown = await thrownBy(() => place.open(MIGRATIONS.slice(0, 1)));

      expect(thrown).toMatchObject({
        code: "unavailable",
        message:
          "This database was created by a newer version of Weir (migrations: 0002_trail). Use that version, or restore a backup.",
      });
    });

    test("refuse a database created with another text of one of them", async () => {
      await using place = make();
      await (await place.open()).close();
      const edited = MIGRATIONS.map((one, n) => (n === 0 ? { ...one, sql: `${one.sql}\n-- edited` } : one));
      const thrown = await thrownBy(() => place.open(edited));

      expect(thrown).toMatchObject({ code: "unavailable" });
      expect((thrown as Error).message).toContain("0001_notes");
    });

    test("that fail leave nothing behind, and keep the previous ones", async () => {
      await using place = make();
      const broken = {
        name: "0003_broken",
        sql: "CREATE TABLE half (id TEXT) STRICT;\n--> statement-breakpoint\nCREATE TABLE notes (id TEXT) STRICT;",
      };
      const thrown = await thrownBy(() => place.open([...MIGRATIONS, broken]));
      const store = await place.open();
      const half = await thrownBy(async () => store.db.all(sql`SELECT * FROM half`));

      expect(thrown).toMatchObject({ code: "unavailable" });
      expect((thrown as Error).message).toContain("0003_broken");
      expect((thrown as Error).message).toContain("already exists");
      expect(half).toBeInstanceOf(StoreError);
      expect(await store.db.$count(trail)).toBe(0);
      await store.close();
    });
  });
});

const put1 = (store: { write<T>(work: (db: WriteDb) => Promise<T>): Promise<T> }, id: string) =>
  store.write(async (db) => {
    await db.insert(notes).values({ id });
  });
