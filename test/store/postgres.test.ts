import { expect, test } from "bun:test";
import { eq, sql } from "drizzle-orm";
import postgres from "postgres";
import { migrations } from "../../src/store/migrations.ts";
import { glimpsePostgres } from "../../src/store/postgres.ts";
import { insertInto } from "../../src/store/prepared.ts";
import { openRemoteStore } from "../../src/store/store.ts";
import { testCertificate } from "../support/certificate.ts";
import { startPostgres } from "../support/postgres.ts";
import { makeDatabase, sharedPostgres, stopPostgresAfterAll } from "../support/postgres-store.ts";
import { startRelay } from "../support/relay.ts";
import { MIGRATIONS, notes, openAt, thrownBy, trail } from "./harness.ts";
import { postgresPlace } from "./places.ts";

stopPostgresAfterAll();

const insertNote = insertInto(notes);
const note = (id: string) => ({ id, someTitle: null, count: null, ratio: null, body: null });

/** Closes Weir's connections that are in a transaction or hold the writer's lock. */
async function cutWriter(database: string): Promise<void> {
  const { sql: owner } = await sharedPostgres();
  await owner`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = ${database} and state like 'idle in transaction%'`;
}

test("a transaction whose connection is lost is repeated, and its change is saved once", async () => {
  await using place = postgresPlace();
  const store = await place.open();
  const { name } = await place.made;
  let times = 0;
  await store.write(async (db) => {
    times++;
    await db.insert(trail).values({ seq: times, what: "before" });
    if (times === 1) await cutWriter(name);
    await insertNote(db, note("a"));
    await db.select().from(notes).where(eq(notes.id, "a"));
  });

  expect(times).toBe(2);
  expect(await store.db.select().from(trail)).toEqual([{ seq: 2, what: "before" }]);
  expect(await store.db.$count(notes)).toBe(1);
  await store.close();
});

test("transactions of a group whose connection is lost between them are all saved once", async () => {
  await using place = postgresPlace();
  const store = await place.open();
  const { name } = await place.made;
  let isCut = false;
  await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      store.write(async (db) => {
        await insertNote(db, note(`n${n}`));
        await db.select().from(notes).limit(1);
        if (n === 10 && !isCut) {
          isCut = true;
          await cutWriter(name);
        }
      }),
    ),
  );

  expect(await store.db.$count(notes)).toBe(20);
  await store.close();
});

test("a commit whose response is lost is checked, and not repeated", async () => {
  const { url } = await makeDatabase();
  const server = await sharedPostgres();
  const relay = await startRelay(server.port);
  const through = url.replace(`:${server.port}/`, `:${relay.port}/`);
  const store = await openRemoteStore({ url: `${through}?sslmode=disable`, migrations: MIGRATIONS });
  await store.write(async (db) => insertNote(db, note("first")));
  let times = 0;
  await store.write(async (db) => {
    times++;
    await insertNote(db, note(`try ${times}`));
    await db.select().from(notes).limit(1);
    if (times === 1) void relay.at("COMMIT", "cut after");
  });

  expect(times).toBe(1);
  expect((await store.db.select().from(notes)).map(({ id }) => id).sort()).toEqual(["first", "try 1"]);
  await store.close();
  await relay[Symbol.asyncDispose]();
});

test("a commit that a crash of the server lost is made again, though another transaction took its number", async () => {
  await using server = await startPostgres({ flags: ["-c", "wal_writer_delay=10000"] });
  await using relay = await startRelay(server.port);
  const url = `postgres://postgres:${encodeURIComponent(server.password)}@127.0.0.1:${relay.port}/postgres?sslmode=disable`;
  const store = await openRemoteStore({ url, migrations: MIGRATIONS });
  await store.write(async (db) => insertNote(db, note("first")));
  const held = relay.at("COMMIT", "hold");
  const written = store.write(async (db) => {
    await insertNote(db, note("second"));
    await db.select().from(notes).limit(1);
  });
  await held;
  await server.crash();
  for (let n = 0; n < 3; n++)
    await server.sql.unsafe("INSERT INTO notes (id) VALUES (gen_random_uuid()::text)");

  await written;
  expect(await store.db.$count(notes, eq(notes.id, "second"))).toBe(1);
  await store.close();
});

test("a commit waits for the disk, whatever the server's default, and for standbys if that says so", async () => {
  const { url, name } = await makeDatabase();
  const { sql: owner } = await sharedPostgres();
  for (const [given, used] of [
    ["off", "on"],
    ["remote_apply", "remote_apply"],
  ]) {
    await owner.unsafe(`ALTER DATABASE ${name} SET synchronous_commit = ${given}`);
    const store = await openRemoteStore({ url: `${url}?sslmode=disable`, migrations: MIGRATIONS });
    const waits = sql`select current_setting('synchronous_commit') as "waits"`;
    expect(await store.write((db) => db.all(waits))).toEqual([{ waits: used }]);
    await store.close();
  }
});

test("a transaction begins while the previous commit is unanswered, and both are saved once if that is lost", async () => {
  const { url, name } = await makeDatabase();
  const server = await sharedPostgres();
  const relay = await startRelay(server.port);
  const through = url.replace(`:${server.port}/`, `:${relay.port}/`);
  const store = await openRemoteStore({ url: `${through}?sslmode=disable`, migrations: MIGRATIONS });
  const held = relay.at("COMMIT", "hold");
  const first = store.write(async (db) => insertNote(db, note("first")));
  await held;
  const begun = Promise.withResolvers<void>();
  const second = store.write(async (db) => {
    begun.resolve();
    await insertNote(db, note("second"));
    return (await db.select().from(notes)).map(({ id }) => id).sort();
  });
  await begun.promise;
  await cutWriter(name);

  await first;
  expect(await second).toEqual(["first", "second"]);
  expect((await store.db.select().from(notes)).map(({ id }) => id).sort()).toEqual(["first", "second"]);
  await store.close();
  await relay[Symbol.asyncDispose]();
});

test("a start whose connection is lost tries again, and migrates once", async () => {
  const { url } = await makeDatabase();
  const server = await sharedPostgres();
  const relay = await startRelay(server.port);
  const through = `${url.replace(`:${server.port}/`, `:${relay.port}/`)}?sslmode=disable`;
  const isCut = relay.at("COMMIT", "cut");
  const store = await openRemoteStore({ url: through, migrations: MIGRATIONS });
  await isCut;
  await store.write(async (db) => insertNote(db, note("first")));

  const { rows } = await store.db.get<{ rows: number }>(sql`select count(*) as "rows" from migrations`);
  expect(rows).toBe(MIGRATIONS.length);
  await store.close();
  await relay[Symbol.asyncDispose]();
});

test("a connection sends no query that nobody waits for, since its loss would end the process", async () => {
  const { url } = await makeDatabase();
  const server = await sharedPostgres();
  const relay = await startRelay(server.port);
  const through = `${url.replace(`:${server.port}/`, `:${relay.port}/`)}?sslmode=disable`;
  let isCut = false;
  void relay.at("pg_type", "cut").then(() => {
    isCut = true;
  });
  const store = await openRemoteStore({ url: through, migrations: MIGRATIONS });
  await store.write(async (db) => insertNote(db, note("first")));
  expect(isCut).toBe(false);
  await store.close();
  await relay[Symbol.asyncDispose]();
});

test("a process that is paused within a statement loses the lock to others, and writes later", async () => {
  const { url } = await makeDatabase();
  const server = await sharedPostgres();
  const relay = await startRelay(server.port);
  const through = url.replace(`:${server.port}/`, `:${relay.port}/`);
  const still = await openRemoteStore({ url: `${through}?sslmode=disable`, migrations: MIGRATIONS });
  const other = await openRemoteStore({ url: `${url}?sslmode=disable`, migrations: MIGRATIONS });
  const held = relay.at("a value that is on its way", "hold"); // The server knows the statement's text by then.
  const write = still.write((db) => db.insert(notes).values(note("a value that is on its way")));
  await held;
  await other.write(async (db) => insertNote(db, note("other")));
  await write;

  expect(await other.db.$count(notes)).toBe(2);
  await Promise.all([still.close(), other.close()]);
  await relay[Symbol.asyncDispose]();
});

test("keeps no memory of what it has answered", async () => {
  await using store = await openAt(postgresPlace);
  const ask = async () => {
    for (let n = 0; n < 100; n++) await store.db.all(sql`select repeat('x', 100000) as x, ${n} as n`);
    Bun.gc(true);
    return process.memoryUsage().heapUsed;
  };
  const before = await ask();
  await ask();
  expect(((await ask()) - before) / 1e6).toBeLessThan(5); // 20 MB were requested.
});

test("what must not be deleted can't be truncated, and a trigger without its counterpart counts as missing", async () => {
  await using store = await openAt(postgresPlace);
  await store.write(async (db) => db.insert(trail).values({ seq: 1, what: "kept" }));
  const truncate = () => store.write((db) => db.run(sql`truncate trail`));
  expect(await thrownBy(truncate)).toMatchObject({ message: "the trail is append-only" });
  const triggers = async () =>
    (await store.db.all<{ name: string }>(sql`select name from sqlite_master where type = 'trigger'`)).map(
      ({ name }) => name,
    );
  expect(await triggers()).toContain("trail_no_delete");
  await store.write((db) => db.run(sql`alter table trail disable trigger trail_no_delete_at_once`));
  expect(await triggers()).not.toContain("trail_no_delete");
});

test("the size of the database is reported, even by a connection that was just cut", async () => {
  await using place = postgresPlace();
  const store = await place.open();
  const { name } = await place.made;
  const { sql: owner } = await sharedPostgres();
  for (let round = 0; round < 5; round++) {
    await owner`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`;
    expect((await store.stats()).databaseBytes).toBeGreaterThan(1_000_000);
  }
  await store.close();
});

test("a process's signals reach the others, even after their connections were cut, and not itself", async () => {
  const { url, name } = await makeDatabase();
  const server = await sharedPostgres();
  const stores = await Promise.all([1, 2].map(() => openRemoteStore({ url, migrations: MIGRATIONS })));
  const heard: string[][] = [[], []];
  for (const [n, { channel }] of stores.entries()) channel?.hear((topic) => heard[n]?.push(topic));
  const isHeard = async (topic: string) => {
    while (!heard[1]?.includes(topic)) {
      stores[0]?.channel?.tell(topic);
      await Bun.sleep(20);
    }
  };
  await isHeard("one");
  await server.sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`;
  await isHeard("two");
  const many = Array.from({ length: 250 }, (_, n) => `run:${n}`);
  for (const topic of many) stores[0]?.channel?.tell(topic);
  while (!heard[1]?.includes("run:249")) await Bun.sleep(5);
  expect(heard[1]?.filter((topic) => topic.startsWith("run:"))).toEqual(many);
  expect(heard[0]).toEqual([]);
  await Promise.all(stores.map((store) => store.close()));
});

test("a wrong password and an unreachable server are reported without the password", async () => {
  const { url } = await makeDatabase();
  const wrong = await thrownBy(() =>
    openRemoteStore({ url: url.replace("correct%20horse", "sk-canary"), migrations: MIGRATIONS }),
  );
  const absent = await thrownBy(() =>
    openRemoteStore({ url: "postgres://weir:sk-canary@127.0.0.1:1/weir", migrations: MIGRATIONS }),
  );
  const token = await openRemoteStore({
    url: url.replace(":correct%20horse", ""),
    token: "correct horse",
    migrations: MIGRATIONS,
  });

  expect(wrong).toMatchObject({
    code: "unavailable",
    message: "The PostgreSQL server refused the user or the password.",
  });
  expect(absent).toMatchObject({ code: "unavailable", retryable: true });
  for (const error of [wrong, absent]) expect(Bun.inspect(error, { depth: 8 })).not.toContain("sk-canary");
  await token.close();
});

test("defaults of the database for transactions and values change nothing", async () => {
  await using place = postgresPlace();
  const { name } = await place.made;
  const { sql: owner } = await sharedPostgres();
  for (const [setting, value] of [
    ["default_transaction_isolation", "serializable"],
    ["extra_float_digits", "0"],
    ["standard_conforming_strings", "off"],
    ["timezone", "Asia/Kathmandu"],
    ["datestyle", "German"],
  ])
    await owner.unsafe(`ALTER DATABASE ${name} SET ${setting} = '${value}'`);
  const [one, other] = [await place.open(), await place.open()];
  const add = (store: typeof one) =>
    store.write(async (db) => {
      const rows = await db.select().from(trail);
      await db.insert(trail).values({ seq: rows.length + 1, what: String.raw`a\b'c` });
    });
  await Promise.all(Array.from({ length: 40 }, (_, n) => add(n % 2 ? one : other)));
  expect(await one.db.select().from(trail).orderBy(trail.seq)).toEqual(
    Array.from({ length: 40 }, (_, n) => ({ seq: n + 1, what: String.raw`a\b'c` })),
  );
  await one.write((db) => insertNote(db, { ...note("a"), ratio: 0.1 + 0.2 }));
  expect(await one.db.select({ ratio: notes.ratio }).from(notes)).toEqual([{ ratio: 0.1 + 0.2 }]);
  const row = await one.db.get<{ now: string }>(sql`select strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as now`);
  expect(Math.abs(Date.parse(row?.now ?? "") - Date.now())).toBeLessThan(60_000);
  await Promise.all([one.close(), other.close()]);
});

test("a new database whose encoding isn't UTF8 is rejected, while one in use still opens", async () => {
  const { sql: owner } = await sharedPostgres();
  const { name, url } = await makeDatabase();
  await owner.unsafe(`DROP DATABASE ${name}`);
  await owner.unsafe(`CREATE DATABASE ${name} ENCODING 'LATIN1' TEMPLATE template0`);
  expect(await thrownBy(() => openRemoteStore({ url, migrations: MIGRATIONS }))).toMatchObject({
    code: "unavailable",
    message: "The database's encoding is LATIN1. Create it with ENCODING 'UTF8'.",
  });
  const earlier = await makeDatabase();
  await (await openRemoteStore({ url: earlier.url, migrations: MIGRATIONS })).close();
  await owner.unsafe(
    "UPDATE pg_database SET encoding = pg_char_to_encoding('SQL_ASCII') WHERE datname = $1",
    [earlier.name],
  );
  await (await openRemoteStore({ url: earlier.url, migrations: MIGRATIONS })).close();
});

test("the error of a user that can't create tables names the missing privilege", async () => {
  const { url, name } = await makeDatabase();
  await (await openRemoteStore({ url, migrations: MIGRATIONS })).close();
  const owner = postgres(url, { max: 1 });
  const run = (text: string) => owner.unsafe(text).simple();
  const user = `visitor_of_${name}`;
  await run(`CREATE ROLE ${user} LOGIN PASSWORD 'x'; GRANT ALL ON ALL TABLES IN SCHEMA public TO ${user}`);
  const visitor = url.replace(/\/\/[^@]*@/, `//${user}:x@`);
  const sentence = (what: string) => ({
    code: "unavailable",
    message: `The PostgreSQL user has too few privileges: ${what}. Make it the owner of the database and of Weir's tables.`,
  });
  const open = () => thrownBy(() => openRemoteStore({ url: visitor, migrations: MIGRATIONS }));
  const check = async () => {
    const glimpse = glimpsePostgres({ url: visitor });
    return await thrownBy(() => glimpse.tryWrite()).finally(() => glimpse.close());
  };

  expect(await open()).toMatchObject(sentence("permission denied for schema public"));
  expect(await check()).toMatchObject(sentence("it can't create tables in schema public"));
  await run(`GRANT CREATE ON SCHEMA public TO ${user}`);
  expect(await check()).toMatchObject(sentence("it doesn't own table last_commits"));
  await owner.end();
});

test("a table that isn't Weir's may have another owner", async () => {
  const { url, name } = await makeDatabase();
  const user = `owner_of_${name}`;
  const admin = postgres(url, { max: 1 });
  await admin
    .unsafe(`CREATE ROLE ${user} LOGIN PASSWORD 'x'; ALTER DATABASE ${name} OWNER TO ${user};
      CREATE TABLE a_table_of_an_extension (id int)`)
    .simple();
  const own = url.replace(/\/\/[^@]*@/, `//${user}:x@`);
  await (await openRemoteStore({ url: own, migrations })).close();
  const glimpse = glimpsePostgres({ url: own });
  await glimpse.tryWrite().finally(() => glimpse.close());
  await admin.unsafe("ALTER TABLE users OWNER TO CURRENT_USER").simple();
  const again = glimpsePostgres({ url: own });
  expect(await thrownBy(() => again.tryWrite()).finally(() => again.close())).toMatchObject({
    message: expect.stringContaining("it doesn't own table users"),
  });
  await admin.end();
});

test("parameters that the server would use as its settings are rejected by name", async () => {
  for (const parameter of ["channel_binding=require", "default_transaction_read_only=off"]) {
    const url = `postgres://weir:sk-canary@127.0.0.1:1/weir?sslmode=require&${parameter}`;
    expect(await thrownBy(() => openRemoteStore({ url, migrations: [] }))).toMatchObject({
      code: "unavailable",
      message: `WEIR_DATABASE_URL has the parameter ${parameter.split("=")[0]}. Weir knows sslmode alone; remove the others.`,
    });
  }
});

test("TLS follows sslmode: verify-full trusts only the given certificates", async () => {
  await using server = await startPostgres({ tls: true });
  const open = async (mode: string, ca?: string) => {
    const store = await openRemoteStore({
      url: `postgres://postgres:correct%20horse@localhost:${server.port}/postgres?sslmode=${mode}`,
      ca,
      migrations: [],
    });
    const row = await store.db.get<{ ssl: number }>(
      sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`,
    );
    await store.close();
    return row.ssl;
  };

  expect(await open("disable")).toBe(0);
  expect(await open("prefer")).toBe(1);
  expect(await open("require")).toBe(1);
  expect(await open("verify-full", testCertificate.authority)).toBe(1);
  expect(await thrownBy(() => open("verify-full"))).toMatchObject({ code: "unavailable" });
  expect(await thrownBy(() => open("sometimes"))).toMatchObject({ code: "unavailable" });
});
