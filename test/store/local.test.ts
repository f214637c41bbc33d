import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asc, sql } from "drizzle-orm";
import { systemClock } from "../../src/base/clock.ts";
import { AppError } from "../../src/base/errors.ts";
import type { Migration, Store } from "../../src/store/store.ts";
import { deepTest } from "../support/scale.ts";
import { localPlace, MIGRATIONS, notes, openAt, stillClock, thrownBy, trail } from "./harness.ts";

const step = (n: number): Migration => ({
  name: `${String(n).padStart(4, "0")}_step`,
  sql: `CREATE TABLE step${n} (id TEXT) STRICT`,
});

const fill = (store: Store, id: string, bytes: number) =>
  store.write(async (db) => {
    await db.insert(notes).values({ id, someTitle: `${id}${"x".repeat(bytes)}` });
  });

/**
 * Counts frames in the WAL that end a transaction: bytes 4 to 8 of a frame's header aren't zero.
 * Those with salts other than the file's are from before it was restarted.
 */
function commitsIn(wal: string): number {
  const bytes = readFileSync(wal);
  const pageSize = bytes.readUInt32BE(8);
  const salts = bytes.subarray(16, 24);
  let commits = 0;
  for (let at = 32; at + 24 <= bytes.length; at += 24 + pageSize)
    if (bytes.readUInt32BE(at + 4) !== 0 && bytes.subarray(at + 8, at + 16).equals(salts)) commits++;
  return commits;
}

describe("a local file", () => {
  test("is only readable by its owner, and so are its companions and copies", async () => {
    await using place = localPlace();
    writeFileSync(place.path, "", { mode: 0o644 });
    const store = await place.open();
    await fill(store, "a", 10);
    await store.backup(join(place.folder, "copy.db"));

    for (const name of ["weir.db", "weir.db-wal", "weir.db-shm", "copy.db"]) {
      expect([name, statSync(join(place.folder, name)).mode & 0o777]).toEqual([name, 0o600]);
    }
    await store.close();
  });

  test("syncs each commit, checks foreign keys, and can return free pages", async () => {
    await using store = await openAt(localPlace);
    const set = await store.write(async (db) =>
      Promise.all(
        [
          "synchronous",
          "foreign_keys",
          "recursive_triggers",
          "journal_mode",
          "auto_vacuum",
          "wal_autocheckpoint",
        ].map(async (name) => Object.values((await db.get<object>(sql.raw(`PRAGMA ${name}`))) ?? {})[0]),
      ),
    );
    expect(set).toEqual([2, 1, 1, "wal", 2, 0]);
  });

  test("fires the delete triggers of rows that INSERT OR REPLACE replaces", async () => {
    await using store = await openAt(localPlace);
    await store.write(async (db) => {
      await db.run(sql`DROP TRIGGER trail_no_replace`);
      await db.insert(trail).values({ seq: 1, what: "true" });
    });
    const thrown = await thrownBy(() =>
      store.write(async (db) => db.run(sql`INSERT OR REPLACE INTO trail VALUES (1, 'false')`)),
    );

    expect((thrown as Error).message).toBe("the trail is append-only");
  });

  test("commits once for the writes in one turn, and once each if that is switched off", async () => {
    await using place = localPlace();
    const commitsOf20 = async (groupCommit: boolean) => {
      const store = await place.open(MIGRATIONS, { groupCommit, clock: stillClock });
      using reader = new Database(place.path, { readonly: true });
      reader.run("BEGIN");
      reader.query("SELECT count(*) FROM notes").get(); // What is written from here on stays in the WAL.
      await fill(store, `${groupCommit}`, 10);
      const before = commitsIn(`${place.path}-wal`);
      await Promise.all(Array.from({ length: 20 }, (_, n) => fill(store, `${groupCommit}${n}`, 10)));
      const commits = commitsIn(`${place.path}-wal`) - before;
      await store.close();
      return commits;
    };

    expect(await commitsOf20(true)).toBe(1);
    expect(await commitsOf20(false)).toBe(20);
  });

  test("gives up a transaction that hangs, and continues with the others", async () => {
    await using place = localPlace();
    let nowMs = 0;
    const store = await place.open(MIGRATIONS, { clock: { ...stillClock, monotonic: () => nowMs } });
    const never = Promise.withResolvers<void>();
    const hung = store.write(async (db) => {
      await db.insert(notes).values({ id: "hung" });
      nowMs = 20_000;
      await never.promise;
    });
    const next = fill(store, "next", 1);

    expect(await thrownBy(() => hung)).toMatchObject({ code: "internal" });
    await next;
    expect(await store.db.select({ id: notes.id }).from(notes)).toEqual([{ id: "next" }]);
    await store.close();
  });

  test("loses only work in progress when it is full, says so, and continues when there is room", async () => {
    await using store = await openAt(localPlace);
    await fill(store, "before", 10);
    const limit = (pages: number) =>
      store.write(async (db) => void (await db.get(sql.raw(`PRAGMA max_page_count = ${pages}`))));
    await limit(20);
    const full = await Promise.allSettled([
      fill(store, "big", 200_000),
      store.write(async (db) => {
        await thrownBy(async () =>
          db.insert(notes).values({ id: "swallowed", someTitle: "y".repeat(200_000) }),
        );
        await db.insert(notes).values({ id: "after a swallowed fault" });
      }),
    ]);
    await limit(100_000);
    await fill(store, "after", 10);

    for (const one of full) {
      expect(one.status).toBe("rejected");
      const { reason } = one as PromiseRejectedResult;
      expect(reason).toBeInstanceOf(AppError);
      expect(reason).toMatchObject({ code: "disk_full", retryable: true });
    }
    expect(await store.db.select({ id: notes.id }).from(notes).orderBy(asc(notes.id))).toEqual([
      { id: "after" },
      { id: "before" },
    ]);
  });

  test("rejects the whole group if its commit fails, and the next group commits", async () => {
    await using store = await openAt(localPlace);
    await store.write(async (db) => {
      await db.run(
        sql`CREATE TABLE child (note TEXT REFERENCES notes (id) DEFERRABLE INITIALLY DEFERRED) STRICT`,
      );
    });
    // On a busy machine, the first of the two may have its own group, whose commit succeeds.
    const alone: { id: string }[] = [];
    for (let tries = 0; ; tries++) {
      const id = `innocent-${tries}`;
      const [innocent, guilty] = await Promise.allSettled([
        store.write(async (db) => void (await db.insert(notes).values({ id, someTitle: id }))),
        store.write(async (db) => db.run(sql`INSERT INTO child VALUES ('nobody')`)),
      ]);
      expect(guilty?.status).toBe("rejected");
      if (innocent?.status === "rejected") break;
      alone.push({ id });
      expect(tries).toBeLessThan(100);
    }
    await store.write(async (db) => void (await db.insert(notes).values({ id: "next", someTitle: "x" })));
    expect(await store.db.select({ id: notes.id }).from(notes).orderBy(notes.id)).toEqual([
      ...alone.sort((x, y) => (x.id < y.id ? -1 : 1)),
      { id: "next" },
    ]);
  });

  deepTest("keeps its WAL short under constant load, and loses nothing of it", async () => {
    await using place = localPlace();
    // On a slow disk too, the writers wait until the WAL has been checkpointed.
    const sleep = (_: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve()));
    const store = await place.open(MIGRATIONS, { clock: { ...systemClock, sleep } });
    const text = "x".repeat(60_000);
    let written = 0;
    let walBytes = 0;
    const writer = async () => {
      while (written < 1_600) {
        const id = `n${written++}`;
        await store.write(async (db) => {
          await db.insert(notes).values({ id, someTitle: `${id}${text}` });
        });
        if (written % 100 === 0) walBytes = Math.max(walBytes, (await store.stats()).walBytes);
      }
    };
    await Promise.all(Array.from({ length: 8 }, writer));

    expect(await store.db.$count(notes)).toBe(written);
    expect((await store.stats()).databaseBytes).toBeGreaterThan(40_000_000);
    expect(walBytes).toBeLessThan(85_000_000); // 100 MB were written.
    await store.close();
    expect(existsSync(`${place.path}-wal`)).toBe(false);
    const file = new Database(place.path);
    expect(file.query("PRAGMA integrity_check").values()).toEqual([["ok"]]);
    file.close();
  });

  test("returns the space of deleted rows to the disk, gradually, when it is idle", async () => {
    await using store = await openAt(localPlace);
    for (let n = 0; n < 3; n++) await fill(store, `n${n}`, 2_500_000);
    await store.write(async (db) => void (await db.delete(notes)));
    const size = async () => (await store.stats()).databaseBytes;
    while ((await size()) < 14_000_000) await Bun.sleep(10); // Until the WAL has been checkpointed.
    while ((await size()) > 12_000_000) await Bun.sleep(10);

    await fill(store, "after", 10);
    expect(await store.db.$count(notes)).toBe(1);
  });

  test("that isn't a database is rejected in one sentence", async () => {
    await using place = localPlace();
    writeFileSync(place.path, "This is a letter, not a database.".repeat(99));
    const thrown = await thrownBy(() => place.open());

    expect(thrown).toMatchObject({
      code: "unavailable",
      message: "Couldn't open the database file: file is not a database.",
    });
  });
});

describe("a backup", () => {
  test("contains the last committed state, even during a write", async () => {
    await using place = localPlace();
    const store = await place.open();
    await fill(store, "committed", 10);
    const copy = join(place.folder, "copy.db");
    await store.write(async (db) => {
      await db.insert(notes).values({ id: "open" });
      await store.backup(copy);
    });

    const file = new Database(copy, { readonly: true });
    expect(file.query("SELECT id FROM notes").values()).toEqual([["committed"]]);
    expect(file.query("SELECT name FROM migrations").values()).toHaveLength(2);
    file.close();
    await store.close();
  });

  test("doesn't overwrite a file, and leaves no part of a failed one", async () => {
    await using place = localPlace();
    const store = await place.open();
    const taken = join(place.folder, "taken.db");
    writeFileSync(taken, "mine");

    expect(await thrownBy(() => store.backup(taken))).toMatchObject({ code: "conflict" });
    expect(readFileSync(taken, "utf8")).toBe("mine");
    await thrownBy(() => store.backup(join(place.folder, "no", "such", "folder.db")));
    expect(readdirSync(place.folder).filter((name) => name.includes("part"))).toEqual([]);
    await store.close();
  });

  test("is created before a database is migrated, and the last five are kept", async () => {
    await using place = localPlace();
    mkdirSync(place.backups);
    writeFileSync(join(place.backups, "mine.db"), "not made here");
    for (let known = 1; known <= 8; known++) {
      const store = await place.open([
        ...MIGRATIONS,
        ...Array.from({ length: known }, (_, n) => step(n + 3)),
      ]);
      if (known === 7) await fill(store, "a", 10);
      await store.close();
    }
    const names = readdirSync(place.backups).sort();

    expect(names.map((name) => name.replace(/-\d{4}-\d\d-\d\dT.*Z/, "-AT"))).toEqual([
      "before-0006_step-AT.db",
      "before-0007_step-AT.db",
      "before-0008_step-AT.db",
      "before-0009_step-AT.db",
      "before-0010_step-AT.db",
      "mine.db",
    ]);
    const file = new Database(join(place.backups, names[4] ?? ""), { readonly: true });
    expect(file.query("SELECT id FROM notes").values()).toEqual([["a"]]);
    expect(file.query("SELECT max(name) FROM migrations").values()).toEqual([["0009_step"]]);
    file.close();
  });

  test("isn't created of a new database", async () => {
    await using place = localPlace();
    await (await place.open()).close();
    await (await place.open()).close();
    expect(existsSync(place.backups)).toBe(false);
  });
});
