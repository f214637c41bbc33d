import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { sqliteTable, text } from "drizzle-orm/sqlite-core";
import { isStoreAway } from "../../src/store/faults.ts";
import { migrations } from "../../src/store/migrations.ts";
import { openRemoteStore, type RemoteStoreOptions, type Store, type WriteDb } from "../../src/store/store.ts";
import { startHranaRelay } from "../support/hrana-relay.ts";
import { deepTest } from "../support/scale.ts";
import { startSqld } from "../support/sqld.ts";
import { localPlace, MIGRATIONS, notes, stillClock, thrownBy } from "./harness.ts";

/** A libSQL server that requires a token, and a relay in front that records the client's requests. */
async function heardPlace() {
  const server = await startSqld({ isGuarded: true });
  const relay = startHranaRelay(server);
  return {
    server,
    relay,
    open: (migrations = MIGRATIONS, more: Partial<RemoteStoreOptions> = {}) =>
      openRemoteStore({ url: relay.url, token: server.token, migrations, ...more }),
    async [Symbol.asyncDispose]() {
      await relay[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

const put = (store: Store, id: string) =>
  store.write(async (db) => {
    await db.insert(notes).values({ id });
  });

test("concurrent writes share one transaction, and one with a single statement takes two requests", async () => {
  await using place = await heardPlace();
  const store = await place.open(MIGRATIONS, { clock: stillClock });
  place.relay.log.length = 0;
  await Promise.all(Array.from({ length: 20 }, (_, n) => put(store, `n${n}`)));
  expect(place.relay.log.filter((text) => text === "BEGIN IMMEDIATE")).toHaveLength(1);
  expect(place.relay.log.filter((text) => text === "COMMIT")).toHaveLength(1);

  const before = place.relay.requests;
  await put(store, "alone");
  expect(place.relay.requests - before).toBe(2);
  await store.close();
});

test("whole numbers are sent as integers, which the client by itself would send as floats", async () => {
  await using place = await heardPlace();
  const store = await place.open();
  place.relay.values.length = 0;
  await store.write(async (db) => {
    await db.insert(notes).values({ id: "a", count: 5, ratio: 1.5 });
  });

  expect(place.relay.values).toContainEqual({ type: "integer", value: "5" });
  expect(place.relay.values).toContainEqual({ type: "float", value: 1.5 });
  await store.close();
});

test("a write waits for the writer of another process", async () => {
  await using place = await heardPlace();
  const store = await place.open();
  const other = place.server.client();
  const theirs = await other.transaction("write");
  await theirs.execute("INSERT INTO notes (id) VALUES ('theirs')");
  place.relay.log.length = 0;
  const ours = store.write(async (db) => {
    await db.insert(notes).values({ id: "ours" });
    return db.$count(notes);
  });
  while (!place.relay.log.includes("BEGIN IMMEDIATE")) await Bun.sleep(5);
  await theirs.commit();

  expect(await ours).toBe(2);
  other.close();
  await store.close();
});

test("two processes that start at once migrate a database once", async () => {
  await using place = await heardPlace();
  const stores = await Promise.all([place.open(), place.open(), place.open()]);
  const [store] = stores;

  expect(await store?.db.all<object>(sql`SELECT name FROM migrations ORDER BY name`)).toEqual([
    { name: "0001_notes" },
    { name: "0002_trail" },
  ]);
  for (const one of stores) await one.close();
});

test("a write waits while another program has the server's file locked", async () => {
  await using place = await heardPlace();
  const store = await place.open();
  using other = new Database(place.server.file);
  other.run("BEGIN IMMEDIATE");
  place.relay.log.length = 0;
  const ours = put(store, "ours");
  while (place.relay.log.filter((text) => text === "BEGIN IMMEDIATE").length < 3) await Bun.sleep(5);
  other.run("ROLLBACK");
  await ours;

  expect(await store.db.$count(notes)).toBe(1);
  await store.close();
});

test("transactions that a crashing server loses are repeated, and saved once", async () => {
  await using place = await heardPlace();
  const store = await place.open();
  let times = 0;
  await Promise.all([
    put(store, "first"),
    store.write(async (db) => {
      await db.insert(notes).values({ id: `second, time ${++times}` });
      if (times > 1) return;
      await place.server.kill();
      await place.server.start();
      for (const id of ["third", "outside of any transaction"])
        expect(await thrownBy(async () => db.insert(notes).values({ id }))).toMatchObject({
          code: "unavailable",
          retryable: true,
        });
    }),
    put(store, "fourth"),
  ]);

  const rows = await store.db.select({ id: notes.id }).from(notes).orderBy(notes.id);
  expect(rows.map(({ id }) => id)).toEqual(["first", "fourth", "second, time 2"]);
  await store.close();
});

deepTest("a transaction that the server interrupted for another is repeated, and saved once", async () => {
  await using place = await heardPlace();
  const store = await place.open();
  const other = place.server.client();
  let times = 0;
  await store.write(async (db) => {
    await db.insert(notes).values({ id: `ours, time ${++times}` });
    if (times === 1) await other.batch(["INSERT INTO notes (id) VALUES ('theirs')"], "write"); // After 5 s.
  });

  const rows = await store.db.select({ id: notes.id }).from(notes).orderBy(notes.id);
  expect(rows.map(({ id }) => id)).toEqual(["ours, time 2", "theirs"]);
  other.close();
  await store.close();
});

test("transactions next to one that reads a number too large are saved once, and only that one is rejected", async () => {
  await using place = await heardPlace();
  const store = await place.open();
  const insert = (db: WriteDb, id: string) => db.statement("INSERT INTO notes (id) VALUES (?)")([id]);
  const settled = await Promise.allSettled([
    store.write(async (db) => insert(db, "first")),
    store.write(async (db) => {
      await insert(db, "rejected");
      await db.all(sql`SELECT 9007199254740993`);
    }),
    store.write(async (db) => insert(db, "second")),
  ]);

  expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  const rows = await store.db.select({ id: notes.id }).from(notes).orderBy(notes.id);
  expect(rows.map(({ id }) => id)).toEqual(["first", "second"]);
  await store.close();
});

deepTest("an unanswered commit rejects its transactions, and the next write succeeds", async () => {
  await using place = await heardPlace();
  const store = await place.open();
  const thrown = await thrownBy(() =>
    store.write(async (db) => {
      await db.insert(notes).values({ id: "a" });
      place.relay.failNext(1);
    }),
  );
  expect(thrown).toMatchObject({ code: "unavailable", retryable: true });
  await put(store, "b");

  expect(await store.db.select({ id: notes.id }).from(notes)).toEqual([{ id: "b" }]);
  await store.close();
});

test("a transaction that only reads or does nothing leaves no stream open on the server", async () => {
  await using place = await heardPlace();
  const store = await place.open();
  await store.write(async () => "nothing");
  await store.write(async (db) => db.$count(notes));
  await thrownBy(() => store.write(async () => Promise.reject(new Error("no"))));
  await put(store, "a");
  await store.close();

  expect(place.relay.streams).toBe(0);
});

test("a server that is unreachable, rejects the token or isn't one is reported in one sentence without the token", async () => {
  const place = await heardPlace();
  const { url } = place.relay;
  const wrong = await thrownBy(() => openRemoteStore({ url, token: "sk-canary", migrations: MIGRATIONS }));
  const store = await place.open();
  await place[Symbol.asyncDispose]();
  const read = await thrownBy(async () => store.db.$count(notes));
  const write = await thrownBy(() => put(store, "a"));
  const none = await thrownBy(() =>
    openRemoteStore({ url: "ftp://example.com", token: "sk-canary", migrations: [] }),
  );

  for (const error of [read, write]) expect(isStoreAway(error)).toBe(true);
  for (const error of [wrong, read, write, none]) {
    expect(error).toMatchObject({ name: "AppError", code: "unavailable" });
    expect(Bun.inspect(error, { depth: 8 })).not.toContain("sk-canary");
  }
  await store.close();
});

test("its client loads no native module", async () => {
  const child = Bun.spawn(
    [
      process.execPath,
      "-e",
      `await import("../../src/store/remote.ts"); console.log(require("node:fs").readFileSync("/proc/self/maps", "utf8"))`,
    ],
    { cwd: import.meta.dir, stdout: "pipe" },
  );
  const maps = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  expect(maps).toContain("libc");
  expect(maps).not.toContain("libsql");
});

test("a libSQL server gets the schema of a local file", async () => {
  const master = sqliteTable("sqlite_master", { name: text(), sql: text() });
  await using local = localPlace();
  await using remote = await heardPlace();
  const [here, there] = await Promise.all([local.open(migrations), remote.open(migrations)]);
  const schemaOf = ({ db }: Store) => db.select().from(master).orderBy(master.name);
  expect(await schemaOf(there)).toEqual(await schemaOf(here));
  await Promise.all([here.close(), there.close()]);
});
