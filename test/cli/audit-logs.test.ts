import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { backup } from "../../src/cli/backup.ts";
import { events } from "../../src/cli/events.ts";
import { keys } from "../../src/cli/keys.ts";
import { move } from "../../src/cli/move.ts";
import { restore } from "../../src/cli/restore.ts";
import { contextFor } from "../../src/context.ts";
import { openSealer } from "../../src/engine/sealer.ts";
import { sweeper } from "../../src/engine/sweeper.ts";
import { openCredentials } from "../../src/resources/connections/credentials.ts";
import { connections } from "../../src/resources/connections/table.ts";
import { client, startApp } from "../support/app.ts";
import { makeDatabase, stopPostgresAfterAll } from "../support/postgres-store.ts";
import { folder, shell } from "../support/shell.ts";
import { makeAction } from "../support/work.ts";

stopPostgresAfterAll();

const weir = shell();

/** A data directory with an audit log. Returns the IDs of its organization. */
async function fill(dataFolder: string) {
  await using app = await startApp({ dataFolder, engine: false });
  for (let n = 0; n < 3; n++) await makeAction(app.owner, { name: `Action ${n}` });
  return app.ids;
}

/** Deletes the latest event, as someone with access to the file could. */
function cut(dataFolder: string, more: (file: Database) => void = () => undefined) {
  using file = new Database(join(dataFolder, "weir.db"));
  const triggers = file
    .query("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'events'")
    .all() as { name: string; sql: string }[];
  for (const { name } of triggers) file.run(`DROP TRIGGER ${name}`);
  file.run("DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)");
  for (const { sql } of triggers) file.run(sql);
  more(file);
}

/** Makes head and seals match the events that are left. */
function forgeHead(file: Database) {
  file.run("DELETE FROM trail_seals");
  file.run(`UPDATE trail_heads SET count = (SELECT count(*) FROM events),
    hash = (SELECT hash FROM events ORDER BY seq DESC LIMIT 1)`);
}

const missing = { slug: "acme", reason: "truncated", firstBadId: null };

test("while a removed organization's audit log is being erased, a backup is valid, and its restored copy finishes the erasure", async () => {
  using here = folder();
  const dataFolder = join(here.path, "data");
  const archive = join(here.path, "backup");
  const seen = (sql: string) => {
    using file = new Database(join(dataFolder, "weir.db"));
    return file.query(sql).values().flat();
  };
  let id: string;
  {
    await using app = await startApp({ dataFolder, engine: false });
    ({ id } = (await app.owner("POST", "/api/v1/organizations", { name: "Second", slug: "second" })).body);
    const inside = client(app.origin, { authorization: `Bearer ${app.token}`, "x-organization-id": id });
    await inside("DELETE", "/api/v1/organizations/current", { confirm: "Second" });
    using file = new Database(join(dataFolder, "weir.db"));
    const columns = seen(
      "SELECT name FROM pragma_table_info('events') WHERE name NOT IN ('seq', 'id')",
    ).join();
    file.run(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
      INSERT INTO events (id, ${columns}) SELECT 'more-' || i, ${columns} FROM n, events
      WHERE seq = (SELECT max(seq) FROM events WHERE organization_id = '${id}')`);
    app.clock.turn(8 * 24 * 60 * 60 * 1000);
    const loop = sweeper(app.app);
    const left = `SELECT count(*) FROM events WHERE organization_id = '${id}'`;
    while (Number(seen(left)[0]) > 5_000) await loop.tick(new AbortController().signal);
    expect(Number(seen(left)[0])).toBeGreaterThan(0);
  }
  expect((await weir(backup, archive, "--data", dataFolder, "--include-key")).code).toBe(0);
  expect((await weir(backup, "verify", archive)).out).toContain("All audit logs are valid.");
  const restored = join(here.path, "restored");
  expect((await weir(restore, archive, "--data", restored)).code).toBe(0);

  await using app = await startApp({ dataFolder: restored, engine: false, owner: false });
  app.clock.turn(8 * 24 * 60 * 60 * 1000);
  const loop = sweeper(app.app);
  while ((await loop.tick(new AbortController().signal)) === "more");
  using file = new Database(join(restored, "weir.db"));
  for (const table of ["events", "trail_heads", "trail_erasures"])
    expect(file.query(`SELECT 1 FROM ${table} WHERE organization_id = '${id}'`).values()).toEqual([]);
});

test("stored seals of an erased organization are accounted for, and those of one that never was there aren't", async () => {
  using here = folder();
  const dataFolder = join(here.path, "data");
  const seals = join(here.path, "seals.json");
  const verify = () => weir(events, "verify", "--data", dataFolder, "--against", seals);
  let id: string;
  {
    await using app = await startApp({ dataFolder, engine: false });
    ({ id } = (await app.owner("POST", "/api/v1/organizations", { name: "Second", slug: "second" })).body);
    const inside = client(app.origin, { authorization: `Bearer ${app.token}`, "x-organization-id": id });
    await openSealer(app.app).finish();
    writeFileSync(seals, JSON.stringify((await inside("GET", "/api/v1/events/seals")).body));
    await inside("DELETE", "/api/v1/organizations/current", { confirm: "Second" });
    app.clock.turn(8 * 24 * 60 * 60 * 1000);
    const loop = sweeper(app.app);
    while ((await loop.tick(new AbortController().signal)) === "more");
  }
  const erased = await verify();
  expect([erased.code, erased.err]).toEqual([0, ""]);
  expect(erased.out).toContain(`Organization ${id} was erased on 20`);
  {
    await using app = await startApp({ dataFolder, engine: false, owner: false });
    await openSealer(app.app).finish();
    expect(app.logged.join("\n")).not.toContain("older copy");
  }
  expect(JSON.parse(readFileSync(join(dataFolder, "trail.json"), "utf8")).seals).not.toHaveProperty(id);
  expect((await weir(keys, "rotate", "--data", dataFolder)).code).toBe(0);
  expect((await verify()).out).toBe(erased.out);
  writeFileSync(seals, JSON.stringify([{ organizationId: "never-here", seq: 1, count: 1, hash: "0" }]));
  const unknown = await verify();
  expect(unknown.code).toBe(1);
  expect(unknown.out).toContain("Organization never-here has seals in the file, but isn't in the database");
});

test("a backup whose audit log lacks its latest event is invalid with or without the master key, and restored only if asked for", async () => {
  using here = folder();
  const at = (name: string) => join(here.path, name);
  const { organizationId } = await fill(at("data"));
  cut(at("data"));
  expect((await weir(backup, at("with-key"), "--data", at("data"), "--include-key")).code).toBe(0);
  expect((await weir(backup, at("without"), "--data", at("data"))).code).toBe(0);
  const sentence = "Audit log verification failed for acme (the latest events are missing).";
  for (const name of ["with-key", "without"]) {
    const checked = await weir(backup, "verify", at(name), "--json");
    expect([checked.code, checked.out]).toEqual([1, ""]);
    expect(checked.err).toContain(
      `${sentence} Use another backup. To restore this one anyway, set --allow-invalid-logs.`,
    );
  }
  const words = [at("with-key"), "--data", at("restored")] as const;
  const refused = await weir(restore, ...words);
  expect([refused.code, refused.out]).toEqual([1, ""]);
  expect(refused.err).toContain(
    `${sentence} Nothing was restored. Use another backup, or set --allow-invalid-logs to restore this one anyway.`,
  );
  expect(existsSync(at("restored"))).toBe(false);

  const restored = await weir(restore, ...words, "--allow-invalid-logs");
  expect([restored.code, restored.err]).toEqual([0, ""]);
  expect(restored.out).toContain("Invalid audit logs: acme (the latest events are missing).");
  const again = await weir(restore, ...words, "--allow-invalid-logs", "--json");
  expect(again.json).toMatchObject({
    auditLogHeads: "authentic",
    invalidAuditLogs: [{ ...missing, id: organizationId }],
  });
  await using app = await startApp({ dataFolder: at("restored"), owner: false, engine: false });
  expect((await app.app.store.db.all("SELECT 1 FROM events")).length).toBeGreaterThan(0);
}, 60_000);

test("a head that was changed to match is found with the master key, and otherwise its signature is reported as unverified", async () => {
  using here = folder();
  const at = (name: string) => join(here.path, name);
  await fill(at("data"));
  cut(at("data"), forgeHead);
  expect((await weir(backup, at("b"), "--data", at("data"))).code).toBe(0);
  const keyless = await weir(backup, "verify", at("b"), "--data", at("nowhere"));
  expect([keyless.code, keyless.err]).toEqual([0, ""]);
  expect(keyless.out).toContain("Their signatures weren't verified, since the master key isn't available.");
  const key = readFileSync(join(at("data"), "secret.key"), "utf8").trim();
  for (const checked of [
    await weir(backup, "verify", at("b"), "--data", at("data")),
    await shell({ WEIR_SECRET_KEY: key })(backup, "verify", at("b")),
    await weir(restore, at("b"), "--data", at("c"), "--key-file", join(at("data"), "secret.key")),
  ]) {
    expect([checked.code, checked.out]).toEqual([1, ""]);
    expect(checked.err).toContain("Audit log verification failed for acme (events were changed or removed");
  }
  expect(existsSync(at("c"))).toBe(false);
}, 60_000);

test("a backup whose audit logs match is valid, with what its heads were compared with", async () => {
  using here = folder();
  const at = (name: string) => join(here.path, name);
  await fill(at("data"));
  expect((await weir(backup, at("b"), "--data", at("data"), "--include-key")).code).toBe(0);
  expect((await weir(backup, "verify", at("b"))).out).toContain("All audit logs are valid.");
  const { json } = await weir(backup, "verify", at("b"), "--json");
  expect(json).toMatchObject({ valid: true, auditLogHeads: "authentic", invalidAuditLogs: [] });
  const restored = await weir(restore, at("b"), "--data", at("c"));
  expect([restored.code, restored.err]).toEqual([0, ""]);
  expect(restored.out).toContain("All audit logs are valid.");
}, 60_000);

test("a database whose audit log lacks its latest event is moved only if asked for", async () => {
  using here = folder();
  const at = (name: string) => join(here.path, name);
  const { organizationId } = await fill(at("data"));
  cut(at("data"));
  const { url } = await makeDatabase();
  const words = ["--from", at("data"), "--to", url] as const;
  const refused = await weir(move, ...words);
  expect([refused.code, refused.out]).toEqual([1, ""]);
  expect(refused.err).toContain(
    "Audit log verification failed for acme (the latest events are missing). Nothing was moved. Move a restored backup instead, or set --allow-invalid-logs to move this database anyway.",
  );
  const moved = await weir(move, ...words, "--allow-invalid-logs", "--json");
  expect([moved.code, moved.err]).toEqual([0, ""]);
  expect(moved.json).toMatchObject({
    auditLogHeads: "authentic",
    invalidAuditLogs: [{ ...missing, id: organizationId }],
  });
  const back = await shell({ WEIR_DATA: at("data") })(
    move,
    ...["--from", url, "--to", at("copy"), "--allow-invalid-logs"],
  );
  expect([back.code, back.err]).toEqual([0, ""]);
  expect(back.out).toContain("Invalid audit logs: acme (the latest events are missing).");
}, 120_000);

test("a database that was replaced by an older copy is moved only if asked for", async () => {
  using here = folder();
  const data = join(here.path, "data");
  const file = join(data, "weir.db");
  let token: string;
  {
    await using app = await startApp({ dataFolder: data });
    token = app.token;
  }
  const older = readFileSync(file);
  {
    await using app = await startApp({ dataFolder: data, owner: false });
    await makeAction(client(app.origin, { authorization: `Bearer ${token}` }));
  }
  for (const name of ["weir.db-wal", "weir.db-shm"]) rmSync(join(data, name), { force: true });
  writeFileSync(file, older);
  const { url } = await makeDatabase();
  const refused = await weir(move, "--from", data, "--to", url);
  expect([refused.code, refused.out]).toEqual([1, ""]);
  expect(refused.err).toContain("Audit log verification failed for acme (an older copy was restored).");
  const moved = await weir(move, "--from", data, "--to", url, "--allow-invalid-logs", "--json");
  expect([moved.code, moved.err]).toEqual([0, ""]);
  expect(moved.json.invalidAuditLogs).toMatchObject([{ slug: "acme", reason: "rolled_back" }]);
}, 120_000);

/** Made by servers of older versions: they have an organization, and the first one a table, a file and credentials. */
const oldBackup = (name: string) => join(import.meta.dir, "old-backups", `${name}.tar.zst`);
const TOKEN = "svc_pat_wl4tZNp58iPDt2mmuBqkExAp3gDP0TQydosHyJrn6v82wtHD9";
const NOT_RECORDED =
  "The hash chains of all audit logs are intact. Heads and seals, which reveal missing latest events, were not recorded by the version that made this backup.";

test("a backup made by a version without heads is verified by its chains, and restored with everything in it", async () => {
  using here = folder();
  const dataFolder = join(here.path, "data");
  const file = oldBackup("0022_trusted_tools");
  const checked = await weir(backup, "verify", file);
  expect([checked.code, checked.err]).toEqual([0, ""]);
  expect(checked.out).toContain(NOT_RECORDED);
  expect((await weir(backup, "verify", file, "--json")).json).toMatchObject({
    valid: true,
    schemaVersion: "0022_trusted_tools",
    auditLogHeads: "not_recorded",
    invalidAuditLogs: [],
  });
  const restored = await weir(restore, file, "--data", dataFolder);
  expect([restored.code, restored.err]).toEqual([0, ""]);
  expect(restored.out).toContain(NOT_RECORDED);

  // A database that no server has migrated yet can be backed up too.
  const again = join(here.path, "again");
  const made = await weir(backup, again, "--data", dataFolder, "--json");
  expect([made.code, made.json.schemaVersion]).toEqual([0, "0022_trusted_tools"]);
  expect((await weir(backup, "verify", again)).out).toContain(NOT_RECORDED);

  await using app = await startApp({ dataFolder, owner: false, engine: false });
  const owner = client(app.origin, { authorization: `Bearer ${TOKEN}` });
  expect((await owner("GET", "/api/v1/events/verify")).body).toMatchObject({ valid: true, checked: 10 });
  const counted = await owner("POST", "/api/v1/query", { sql: "SELECT count(*) AS n FROM raw.orders" });
  expect(counted.body.rows).toEqual([{ n: 10 }]);
  const rows = await app.app.store.db.select().from(connections);
  const warehouse = rows.find(({ name }) => name === "Warehouse");
  const ctx = contextFor(app.app, {
    organizationId: warehouse?.organizationId ?? "",
    role: "owner",
    actor: { type: "system", id: "test" },
    correlationId: "test-old-backup",
  });
  expect(openCredentials(ctx, warehouse!).password).toBe("password-of-ada");
  const files = rows.find(({ name }) => name === "Files");
  const listed = await owner("GET", `/api/v1/connections/${files?.id}/files?path=/2026`);
  expect(listed.body.items.map(({ name }: { name: string }) => name)).toEqual(["orders.csv"]);
}, 60_000);

test("a backup made by a version with heads is compared with them, and found to lack its latest event", async () => {
  using here = folder();
  const dataFolder = join(here.path, "data");
  const file = oldBackup("0037_webhook_senders");
  expect((await weir(backup, "verify", file)).out).toContain("All audit logs are valid.");
  expect((await weir(restore, file, "--data", dataFolder)).out).toContain("All audit logs are valid.");
  cut(dataFolder);
  const shortened = join(here.path, "shortened");
  expect((await weir(backup, shortened, "--data", dataFolder)).code).toBe(0);
  const checked = await weir(backup, "verify", shortened);
  expect([checked.code, checked.out]).toEqual([1, ""]);
  expect(checked.err).toContain("Audit log verification failed for acme (the latest events are missing).");
}, 60_000);

test("a backup made by a version without heads is invalid if an event was changed", async () => {
  using here = folder();
  const dataFolder = join(here.path, "data");
  expect((await weir(restore, oldBackup("0022_trusted_tools"), "--data", dataFolder)).code).toBe(0);
  cut(dataFolder, (file) => {
    file.run("DROP TRIGGER events_no_update");
    file.run("UPDATE events SET data = '{}' WHERE seq = 2");
  });
  const changed = join(here.path, "changed");
  expect((await weir(backup, changed, "--data", dataFolder)).code).toBe(0);
  const checked = await weir(backup, "verify", changed);
  expect([checked.code, checked.out]).toEqual([1, ""]);
  expect(checked.err).toContain("Audit log verification failed for acme (events were changed or removed");
}, 60_000);
