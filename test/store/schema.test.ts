import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { missingTriggers, restoreTriggers } from "../../src/resources/events/guard.ts";
import { migrations } from "../../src/store/migrations.ts";
import { openRemoteStore, type Store } from "../../src/store/store.ts";
import { makeDatabase, stopPostgresAfterAll } from "../support/postgres-store.ts";
import { localPlace, thrownBy } from "./harness.ts";

stopPostgresAfterAll();

interface Column {
  place: string;
  kind: string;
  isRequired: number;
  key: number;
}

const KINDS: Readonly<Record<string, string>> = { INTEGER: "bigint", REAL: "double precision", TEXT: "text" };

const columnsOf = async (store: Store) =>
  (
    await store.db.all<Column>(
      sql`select m.name || '.' || c.name as "place", c.type as "kind", c."notnull" as "isRequired", c.pk as "key"
        from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table' and m.name <> 'migrations'`,
    )
  )
    .map(({ kind, isRequired, key, ...column }) => ({
      ...column,
      kind: KINDS[kind] ?? kind,
      // SQLite allows null in a primary key of an ordinary table, which nothing relies on.
      isRequired: Boolean(isRequired || key),
      key,
    }))
    .sort((a, b) => (a.place < b.place ? -1 : 1));

/** Columns, conditions and uniqueness of each index, without differences in notation. */
const plain = (text: string) =>
  text
    .replaceAll(/ USING btree|public\.|::text|::bigint|\bASC\b|["'()\s]|IF NOT EXISTS/gi, "")
    .replaceAll(/=ANYARRAY\[([^\]]*)\]/gi, "IN$1")
    .replaceAll("!=", "<>")
    .toLowerCase();

test("PostgreSQL has the tables, columns, keys, uniqueness and indexes of the local file", async () => {
  await using place = localPlace();
  const file = await place.open(migrations);
  const { url } = await makeDatabase();
  const store = await openRemoteStore({ url, migrations });
  expect(await columnsOf(store)).toEqual(await columnsOf(file));

  const local = await file.db.all<{ name: string; sql: string }>(
    sql`select name, sql from sqlite_master where type = 'index' and sql is not null order by name`,
  );
  const there = await store.db.all<{ name: string; text: string }>(
    sql`select indexname as name, indexdef as text from pg_indexes where schemaname = 'public'`,
  );
  const texts = new Map(there.map((index) => [index.name, plain(index.text)]));
  expect(local.map((index) => [index.name, texts.get(index.name)])).toEqual(
    local.map((index) => [index.name, plain(index.sql)]),
  );
  const unique = await file.db.all<{ key: string }>(
    sql`select m.name || '(' || (select group_concat(name, ',') from pragma_index_info(i.name)) || ')' as key
      from sqlite_master m, pragma_index_list(m.name) i where m.type = 'table' and i.origin = 'u'`,
  );
  expect(unique.length).toBeGreaterThan(5);
  expect(
    (
      await store.db.all<{ key: string }>(
        sql`select conrelid::regclass || '(' || (
          select string_agg(a.attname, ',' order by k.n) from unnest(conkey) with ordinality k(c, n)
          join pg_attribute a on a.attrelid = conrelid and a.attnum = k.c) || ')' as key
        from pg_constraint where contype = 'u' and connamespace = 'public'::regnamespace`,
      )
    )
      .map(({ key }) => key)
      .sort(),
  ).toEqual(unique.map(({ key }) => key).sort());
  await file.close();
  await store.close();
});

test("the audit log is append-only on PostgreSQL, and removed triggers are created again", async () => {
  const { url } = await makeDatabase();
  const store = await openRemoteStore({ url, migrations });
  expect(await missingTriggers(store.db)).toEqual([]);
  const change = () => store.write(async (db) => db.run(sql`delete from events`));
  await store.write(async (db) =>
    db.run(sql`insert into events (id, organization_id, type, timestamp, entity_type, entity_id, actor_type, actor_id,
      actor, data, correlation_id, hash) values ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', '{}', '{}', 'i', 'j')`),
  );
  expect(await thrownBy(change)).toMatchObject({ message: "events are append-only" });

  await store.write(async (db) => {
    await db.run(sql`drop trigger events_no_delete`);
    await db.run(sql`drop trigger events_no_update`);
  });
  expect(await restoreTriggers(store)).toEqual(["events_no_update", "events_no_delete"]);
  expect(await thrownBy(change)).toMatchObject({ message: "events are append-only" });
  await store.close();
});
