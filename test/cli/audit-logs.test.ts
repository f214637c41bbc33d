import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { backup } from "../../src/cli/backup.ts";
import { move } from "../../src/cli/move.ts";
import { restore } from "../../src/cli/restore.ts";
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
