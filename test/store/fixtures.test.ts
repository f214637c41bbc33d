import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { zstdDecompressSync } from "node:zlib";
import { verifyChain } from "../../src/resources/events/verify.ts";
import { organizations } from "../../src/resources/organizations/table.ts";
import { migrations } from "../../src/store/migrations.ts";
import { openStore, type Store } from "../../src/store/store.ts";
import { refusalOf } from "../support/refusal.ts";
import { scaled } from "../support/scale.ts";
import { localPlace } from "./harness.ts";

const FOLDER = join(import.meta.dir, "fixtures");
const kept = readdirSync(FOLDER)
  .map((name) => name.replace(".db.zst", ""))
  .sort();

/** A stored database, unpacked and migrated to the newest version. */
async function upgraded(name: string) {
  const place = localPlace();
  writeFileSync(place.path, zstdDecompressSync(readFileSync(join(FOLDER, `${name}.db.zst`))));
  const before = contentsOf(place.path);
  const store = await place.open(migrations);
  return {
    place,
    store,
    before,
    async [Symbol.asyncDispose]() {
      await store.close();
      await place[Symbol.asyncDispose]();
    },
  };
}

type Row = Record<string, unknown>;

/** Every row of every table, by table, and the text of the whole schema. */
function contentsOf(path: string) {
  using db = new Database(path, { readonly: true });
  const schema = db
    .query("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
    .all() as {
    type: string;
    name: string;
    sql: string;
  }[];
  const tables = schema.filter(({ type, name }) => type === "table" && !name.startsWith("sqlite_"));
  const rows = tables.map(({ name }): [string, Row[]] => [
    name,
    db.query(`SELECT * FROM "${name}"`).all() as Row[],
  ]);
  return { schema, rows: new Map(rows) };
}

/** Reduces `rows` to the columns of `like`. */
const narrowed = (rows: readonly Row[], like: Row) =>
  rows.map((row) => Object.fromEntries(Object.keys(like).map((column) => [column, row[column]])));

/** The notices that were alerts, in their earlier form. */
const alertsIn = (notices: readonly Row[], like: Row) =>
  narrowed(
    notices.map((row) => ({ ...row, type: row.kind, notify_url: row.target, body: row.facts })),
    like,
  );

const sorted = (rows: readonly Row[]) => rows.map((row) => JSON.stringify(row)).sort();

async function chains(store: Store): Promise<object[]> {
  const all = await store.db.select({ id: organizations.id }).from(organizations).orderBy(organizations.slug);
  return Promise.all(all.map(({ id }) => verifyChain(store.db, id)));
}

test("there is a stored database for each released version of the schema", () => {
  const last = migrations.findIndex(({ name }) => name === "0022_trusted_tools");
  expect(kept.sort()).toEqual(expect.arrayContaining(migrations.slice(0, last + 1).map(({ name }) => name)));
});

test.each(kept.filter((_, at) => at % scaled(4, 1) === 0))(
  "a database of the version %s has all of its rows after the upgrade",
  async (name) => {
    await using fresh = localPlace();
    await (await fresh.open(migrations)).close();
    await using after = await upgraded(name);
    const { place, store, before } = after;
    const now = contentsOf(place.path);

    expect(before.rows.get("organizations")).not.toEqual([]);
    for (const [table, rows] of before.rows) {
      if (table === "migrations") continue;
      const [like] = rows;
      expect(like).toBeDefined();
      if (table === "webhook_alerts")
        expect(sorted(alertsIn(now.rows.get("notices") ?? [], like ?? {}))).toEqual(sorted(rows));
      else if (table === "counts")
        expect(now.rows.get(table)).toEqual(expect.arrayContaining(rows)); // Additional rows are counted.
      else expect(sorted(narrowed(now.rows.get(table) ?? [], like ?? {}))).toEqual(sorted(rows));
    }
    expect(now.schema).toEqual(contentsOf(fresh.path).schema);
    using db = new Database(place.path, { readonly: true });
    expect(db.query("PRAGMA integrity_check").values()).toEqual([["ok"]]);
    expect(db.query("PRAGMA foreign_key_check").values()).toEqual([]);
    expect(await chains(store)).toEqual([
      { valid: true, checked: 6, firstBadId: null },
      { valid: true, checked: 3, firstBadId: null },
      { valid: true, checked: 0, firstBadId: null },
    ]);

    if (name === migrations.at(-1)?.name) return;
    const [copy = "", ...more] = readdirSync(place.backups);
    expect(more).toEqual([]);
    expect(contentsOf(join(place.backups, copy))).toEqual(before);
  },
);

test("running runs begin the statuses of their stream with what they had reached in the older version", async () => {
  await using after = await upgraded("0022_trusted_tools");
  using db = new Database(after.place.path, { readonly: true });
  const rows = db.query("SELECT status, created_at, statuses FROM action_runs ORDER BY status").all() as {
    status: string;
    created_at: string;
    statuses: string;
  }[];
  expect(rows.map(({ status, statuses }) => [status, JSON.parse(statuses)])).toEqual([
    ["completed", []],
    ["failed", []],
    ["pending", [["pending", null, rows[2]?.created_at, 0]]],
  ]);
});

test("an older program refuses what a newer one has upgraded", async () => {
  await using after = await upgraded("0012_runs_by_status");
  const { path, backups } = after.place;
  await after.store.close();
  const at = migrations.findIndex(({ name }) => name === "0012_runs_by_status");
  const older = openStore({ path, backupsFolder: backups, migrations: migrations.slice(0, at + 1) });
  expect(await refusalOf(older)).toContain("This database was created by a newer version of Weir");
});
