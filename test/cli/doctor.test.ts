import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { doctor } from "../../src/cli/doctor.ts";
import { contextFor, write } from "../../src/context.ts";
import { record } from "../../src/resources/events/service.ts";
import { startApp } from "../support/app.ts";
import { loadTable } from "../support/lake.ts";
import { s3Keys, startS3 } from "../support/s3.ts";
import { deepTest } from "../support/scale.ts";
import { folder, shell } from "../support/shell.ts";
import { startSqld } from "../support/sqld.ts";
import { created, makeAction } from "../support/work.ts";

const weir = shell();
const HOUR_MS = 3_600_000;

interface Finding {
  check: string;
  ok: boolean;
  message: string;
  remedy: string | null;
}

/** Returns what is wrong, by check. */
const faults = (json: { findings: Finding[] }) =>
  Object.fromEntries(json.findings.filter(({ ok }) => !ok).map((finding) => [finding.check, finding]));

const examine = async (dataFolder: string, env: Record<string, string> = {}) => {
  const { code, json, err } = await shell(env)(doctor, "--data", dataFolder, "--json");
  const { message } = faults(json).settings ?? {};
  expect(err).toBe(message === undefined ? "" : `weir: ${message}`);
  expect(code).toBe(json.ok ? 0 : 1);
  return { code, json, wrong: faults(json) };
};

/** Creates an installation with one of everything, without a server. */
async function installed(path: string, turnMs = 0): Promise<{ file: string }> {
  await using app = await startApp({ dataFolder: path, engine: false });
  if (turnMs !== 0) app.clock.turn(turnMs);
  created(
    await app.owner("POST", "/api/v1/connections", {
      name: "Warehouse",
      provider: "postgres",
      config: { host: "127.0.0.1", port: 1, database: "shop" },
      credentials: { user: "ada", password: "password-of-ada" },
    }),
  );
  const ctx = contextFor(app.app, {
    organizationId: app.ids.organizationId,
    role: "owner",
    actor: { type: "system", id: "test" },
    correlationId: "test-doctor",
  });
  const select = "SELECT i AS id FROM range(10) t(i)";
  return { file: await loadTable(ctx, { layer: "raw", dataset: "shop", table: "orders", select }) };
}

const CHECKS = [
  "clock",
  "egress",
  "children",
  "permissions",
  "disk",
  "wal",
  "server",
  "integrity",
  "schema",
  "key",
  "audit",
  "triggers",
  "events",
  "queue",
  "lake",
];

describe("weir doctor", () => {
  test("finds nothing wrong with a good installation, with and without a running server", async () => {
    using here = folder();
    const dataFolder = join(here.path, "data");
    {
      await using _ = await startApp({ dataFolder, engine: false });
      const { json } = await examine(dataFolder);
      expect(json.findings.map(({ check, ok, remedy }: Finding) => [check, ok, remedy])).toEqual(
        CHECKS.map((check) => [check, true, null]),
      );
      expect(json.findings[6].message).toBe("A server is using the data directory.");
    }
    const { json } = await examine(dataFolder);
    expect(json.findings[6].message).toBe("No server is using the data directory.");
    const { code, out } = await weir(doctor, "--data", dataFolder);
    expect(code).toBe(0);
    expect(out.split("\n").every((line) => line.startsWith("ok "))).toBe(true);
    expect((await weir(doctor, "extra")).code).toBe(2);
  });

  test.skipIf(process.platform !== "linux")(
    "reports the sandbox around processes that work for tenants, once each",
    async () => {
      using here = folder();
      const dataFolder = join(here.path, "data");
      await using _ = await startApp({ dataFolder, engine: false });
      const { json } = await examine(dataFolder);
      const { message } = json.findings.find(({ check }: Finding) => check === "children");
      const [standing = ""] = message.split("Not in effect: ");
      const walls = [
        "no new privileges",
        "resource limits",
        "no network",
        "only their own files (Landlock)",
        "few system calls (seccomp)",
        "no capabilities",
        "no other programs",
      ];
      expect(walls.map((wall) => message.split(wall).length - 1)).toEqual(walls.map(() => 1));
      for (const wall of ["no new privileges", "few system calls (seccomp)"])
        expect(standing).toContain(wall);
    },
  );

  test("reports a missing folder, and one without a database", async () => {
    using here = folder();
    const absent = await examine(join(here.path, "nowhere"));
    expect(absent.wrong.data?.message).toStartWith("Data directory ");
    const empty = await examine(here.path);
    expect(empty.wrong.database?.remedy).toContain("weir serve");
    const remote = await examine(here.path, { WEIR_DATABASE_URL: "http://127.0.0.1:1" });
    expect(remote.wrong.database?.message).toContain("is unreachable");
    expect(remote.wrong.database?.remedy).toContain("WEIR_DATABASE_URL");
  });

  test("reports a key and folders that others can read, and what to type", async () => {
    using here = folder();
    chmodSync(here.path, 0o700);
    await installed(here.path);
    chmodSync(join(here.path, "secret.key"), 0o640);
    chmodSync(join(here.path, "lake"), 0o755);
    const { wrong } = await examine(here.path);
    expect(Object.keys(wrong)).toEqual(["permissions"]);
    expect(wrong.permissions?.remedy).toBe(
      `chmod go= ${join(here.path, "secret.key")} ${join(here.path, "lake")}`,
    );
  });

  test("reports a key that is missing, different, or doesn't open what was modified", async () => {
    using here = folder();
    await installed(here.path);
    const file = join(here.path, "secret.key");
    const key = readFileSync(file, "utf8");
    rmSync(file);
    const env = { WEIR_SECRET_KEY: Buffer.alloc(32, 3).toString("base64") };
    const missing = await examine(here.path);
    expect(missing.wrong.settings?.message).toContain("neither WEIR_SECRET_KEY nor secret.key exists");
    expect(missing.json.findings).toHaveLength(1); // Nothing else is checked.
    expect((await examine(here.path, env)).wrong.settings?.message).toContain("WEIR_SECRET_KEY is the key");
    const facts = join(here.path, "installation.json");
    const known = readFileSync(facts);
    rmSync(facts); // As before the first start of this version.
    expect((await examine(here.path)).wrong.key?.message).toContain("The master key is missing");
    expect((await examine(here.path, env)).wrong.key?.message).toContain("secrets are encrypted with");
    writeFileSync(facts, known, { mode: 0o600 });
    expect((await examine(here.path, { WEIR_SECRET_KEY: key.trim() })).wrong).toEqual({});
    writeFileSync(file, key, { mode: 0o600 });
    const db = new Database(join(here.path, "weir.db"));
    db.run("UPDATE connections SET sealed_credentials = substr(sealed_credentials, 1, 40) || 'AAAA'");
    db.close();
    const { wrong } = await examine(here.path);
    expect(Object.keys(wrong)).toEqual(["key"]);
    expect(wrong.key?.message).toContain("1 in connections.sealed_credentials");
  });

  test("reports a damaged database, and one of a newer version", async () => {
    using here = folder();
    await installed(here.path);
    const db = new Database(join(here.path, "weir.db"));
    db.run("INSERT INTO migrations (name, hash, applied_at) VALUES ('9999_future', '', '')");
    db.close();
    expect((await examine(here.path)).wrong.schema?.message).toContain("9999_future");
    const file = join(here.path, "weir.db");
    const bytes = readFileSync(file);
    bytes.fill(0x5a, 8192, 40_960);
    writeFileSync(file, bytes);
    const { wrong } = await examine(here.path);
    expect(wrong.integrity?.remedy).toContain("weir restore");
    writeFileSync(file, "no database");
    const { code, wrong: worse } = await examine(here.path);
    expect([code, Object.keys(worse).length]).toEqual([1, 1]);
  });

  test("reports a write-ahead log that keeps growing", async () => {
    using here = folder();
    await installed(here.path);
    writeFileSync(join(here.path, "weir.db-wal"), "", { mode: 0o600 });
    truncateSync(join(here.path, "weir.db-wal"), 200 * 1024 * 1024);
    const { wrong } = await examine(here.path);
    expect(Object.keys(wrong)).toEqual(["wal"]);
    expect(wrong.wal?.message).toContain("200 MiB");
  });

  test("reports a modified audit log", async () => {
    using here = folder();
    await installed(here.path);
    const db = new Database(join(here.path, "weir.db"));
    const triggers = db
      .query("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'events'")
      .all() as { name: string }[];
    for (const { name } of triggers) db.run(`DROP TRIGGER ${name}`);
    db.run("UPDATE events SET actor_id = 'somebody' WHERE seq = 1");
    db.close();
    const { wrong } = await examine(here.path);
    expect(Object.keys(wrong)).toEqual(["audit", "triggers"]);
    expect(wrong.audit?.message).toContain("The audit log of acme is not valid");
  });

  test("reports a clock that was set back", async () => {
    using here = folder();
    await installed(here.path, 2 * HOUR_MS);
    const { wrong } = await examine(here.path);
    expect(Object.keys(wrong)).toEqual(["events"]);
    expect(wrong.events?.remedy).toContain("NTP");
  });

  test("reports settings that let calls access a cloud's credentials", async () => {
    using here = folder();
    await installed(here.path);
    for (const allow of [
      "0.0.0.0/0",
      "::/0",
      "169.254.0.0/16",
      "169.254.169.254:80",
      "10.0.0.0/8,169.254.169.254",
    ])
      expect([allow, Object.keys((await examine(here.path, { WEIR_EGRESS_ALLOW: allow })).wrong)]).toEqual([
        allow,
        ["egress"],
      ]);
    const allow = "10.0.0.0/8,127.0.0.1:9000,db.internal,db.internal:5432,::1/128";
    expect((await examine(here.path, { WEIR_EGRESS_ALLOW: allow })).wrong).toEqual({});
  });

  test("reports work that waits although a server is running", async () => {
    using here = folder();
    await using app = await startApp({ dataFolder: join(here.path, "data"), engine: false });
    const action = await makeAction(app.owner, { kind: "approval_gate", definition: { title: "Ship it?" } });
    const run = created(await app.owner("POST", `/api/v1/actions/${action.id}/run`));
    const db = new Database(join(app.dataFolder, "weir.db"));
    db.run("PRAGMA busy_timeout = 60000");
    db.run("UPDATE action_runs SET due_at = '2026-01-01T00:00:00.000Z' WHERE id = ?", [run.id]);
    const { wrong } = await examine(app.dataFolder);
    expect(Object.keys(wrong)).toEqual(["queue"]);
    expect(wrong.queue?.message).toBe("1 runs have been due since 2026-01-01T00:00:00.000Z.");
    db.run("UPDATE action_runs SET due_at = '2099-01-01T00:00:00.000Z' WHERE id = ?", [run.id]);
    const hook = created(
      await app.owner("POST", "/api/v1/webhooks", { url: "https://a.example", events: ["*"] }),
    );
    created(await app.owner("POST", `/api/v1/webhooks/${hook.id}/test`));
    db.run("UPDATE outbound_deliveries SET due_at = '2026-01-01T00:00:00.000Z', taken_by = NULL");
    const late = "1 deliveries have been due since 2026-01-01T00:00:00.000Z.";
    expect((await examine(app.dataFolder)).wrong.queue?.message).toBe(late);
    await app.owner("PATCH", `/api/v1/webhooks/${hook.id}`, { status: "disabled" }); // which holds its deliveries
    expect((await examine(app.dataFolder)).wrong).toEqual({});
    await app.owner("DELETE", `/api/v1/webhooks/${hook.id}`);
    expect((await examine(app.dataFolder)).wrong).toEqual({});
    db.close();
  });

  test("reports scheduled backups that are missing, or fail", async () => {
    using here = folder();
    await using app = await startApp({ dataFolder: join(here.path, "data"), engine: false });
    const env = { WEIR_BACKUP_EVERY: "2" };
    const found = async () => {
      const { json } = await examine(app.dataFolder, env);
      return json.findings.find(({ check }: Finding) => check === "backups") as Finding;
    };
    expect(await found()).toMatchObject({ ok: true, remedy: null }); // The first one isn't due yet.
    const backup = (hoursAgo: number) => {
      const at = new Date(Date.now() - hoursAgo * HOUR_MS).toISOString();
      writeFileSync(join(app.dataFolder, "backups", `weir-${at.replaceAll(/[:.]/g, "-")}.tar.zst`), "");
      return at;
    };
    const at = backup(4);
    backup(-240); // From a clock that was ahead.
    expect(await found()).toEqual({
      check: "backups",
      ok: false,
      message: `The latest scheduled backup in ${join(app.dataFolder, "backups")} was made at ${at}. One is due every 2 hours (WEIR_BACKUP_EVERY).`,
      remedy: expect.stringContaining("weir backup FILE"),
    });
    backup(1);
    expect((await found()).ok).toBe(true);
    const ctx = contextFor(app.app, {
      organizationId: app.ids.organizationId,
      role: "owner",
      actor: { type: "system", id: "backups" },
      correlationId: "test-doctor",
    });
    await write(ctx, (tx) =>
      record(tx, "backup.failed", { type: "organization", id: app.ids.organizationId }, {}),
    );
    expect((await found()).message).toContain("A backup failed at ");
    backup(0);
    expect((await found()).ok).toBe(true);
    rmSync(join(app.dataFolder, "backups"), { recursive: true });
    expect((await found()).remedy).toBe("Check that backups/ in the data directory exists and is readable.");
  });

  test("reports files that are missing from the lake", async () => {
    using here = folder();
    const { file } = await installed(here.path);
    rmSync(join(here.path, "lake", file));
    const { wrong } = await examine(here.path);
    expect(Object.keys(wrong)).toEqual(["lake"]);
    const lake = join(here.path, "lake");
    expect(wrong.lake?.message).toBe(
      `1 of 1 lake files are missing from ${lake} or have a different size: ${file}.`,
    );
    expect(wrong.lake?.remedy).not.toContain("delete");
    mkdirSync(join(here.path, "lake", file, ".."), { recursive: true });
    writeFileSync(join(here.path, "lake", file), "short");
    expect(Object.keys((await examine(here.path)).wrong)).toEqual(["lake"]);
  });
});

describe("weir doctor with a database on a libSQL server and a lake in a bucket", () => {
  deepTest(
    "reports how they are accessed, which processes are running, what is shared, and what is wrong with it",
    async () => {
      await using database = await startSqld();
      await using bucket = await startS3();
      bucket.createBucket("lake");
      const env = {
        WEIR_DATABASE_URL: database.url,
        WEIR_SECRET_KEY: Buffer.alloc(32, 7).toString("base64"),
        WEIR_LAKE_URL: "s3://lake/weir",
        WEIR_LAKE_ENDPOINT: bucket.endpointUrl,
        WEIR_LAKE_ACCESS_KEY_ID: s3Keys.accessKeyId,
        WEIR_LAKE_SECRET_ACCESS_KEY: s3Keys.secretAccessKey,
      };
      using here = folder();
      await using one = await startApp({ env, engine: false, dataFolder: here.path });
      const ctx = contextFor(one.app, {
        organizationId: one.ids.organizationId,
        role: "owner",
        actor: { type: "system", id: "test" },
        correlationId: "test-doctor",
      });
      const select = "SELECT i AS id FROM range(10) t(i)";
      const file = await loadTable(ctx, { layer: "raw", dataset: "shop", table: "orders", select });

      const { json, wrong } = await examine(here.path, env);
      expect(wrong).toEqual({});
      const told = new Map<string, string>(
        json.findings.map(({ check, message }: Finding) => [check, message]),
      );
      expect(told.get("database")).toMatch(/^The libSQL server responds in \d+ ms\.$/);
      expect(told.get("time")).toContain("agrees with this machine's");
      expect(told.get("server")).toContain(`process ${process.pid}`);
      expect(told.get("shared")).toContain("s3://lake/weir");
      expect(told.get("bucket")).toContain("belongs to this installation");
      expect(told.get("lake")).toStartWith("All 1 lake files are in s3://lake/weir");
      expect(Object.keys(await bucket.all("lake")).some((key) => key.includes("doctor"))).toBe(false);

      await bucket.remove("lake", `weir/${file}`);
      expect((await examine(here.path, env)).wrong.lake?.message).toContain(file);
      bucket.interfere(({ method }) => (method === "PUT" ? { status: 403, code: "AccessDenied" } : null));
      expect(Object.keys((await examine(here.path, env)).wrong)).toEqual(["bucket"]);
      const other = { ...env, WEIR_SECRET_KEY: Buffer.alloc(32, 8).toString("base64") };
      expect((await examine(here.path, other)).wrong.settings?.message).toContain(
        "WEIR_SECRET_KEY is the key",
      );
    },
  );

  deepTest("reports processes that share nothing but the database", async () => {
    await using database = await startSqld();
    const env = {
      WEIR_DATABASE_URL: database.url,
      WEIR_SECRET_KEY: Buffer.alloc(32, 7).toString("base64"),
    };
    using here = folder();
    await using _one = await startApp({ env, engine: false, dataFolder: here.path });
    expect((await examine(here.path, env)).wrong).toEqual({});
    await using _two = await startApp({ env, engine: false, owner: false });
    expect((await examine(here.path, env)).wrong.shared?.remedy).toContain("WEIR_LAKE_URL");
  });
});
