import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { backup } from "../../src/cli/backup.ts";
import { restore } from "../../src/cli/restore.ts";
import { contextFor } from "../../src/context.ts";
import { type ArchiveWriter, readArchive, writeArchive } from "../../src/engine/backup/archive.ts";
import { openCredentials } from "../../src/resources/connections/credentials.ts";
import { connections } from "../../src/resources/connections/table.ts";
import { events } from "../../src/resources/events/table.ts";
import { publishTable } from "../../src/resources/iceberg/publish.ts";
import { organizations } from "../../src/resources/organizations/table.ts";
import { client, startApp } from "../support/app.ts";
import { ask, DECISIONS } from "../support/decisions.ts";
import { checkTable } from "../support/iceberg.ts";
import { loadTable } from "../support/lake.ts";
import { deepTest } from "../support/scale.ts";
import { folder, shell } from "../support/shell.ts";
import { created, makeAction, runEnd, runToEnd } from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const weir = shell();

const contextOf = ({ app, ids }: Started) =>
  contextFor(app, {
    organizationId: ids.organizationId,
    role: "owner",
    actor: { type: "system", id: "test" },
    correlationId: "test-backup",
  });

const orders = (from: number) => ({
  layer: "raw",
  dataset: "shop",
  table: "orders",
  select: `SELECT ${from} + i AS id FROM range(10) t(i)`,
});

const WAREHOUSE = {
  name: "Warehouse",
  provider: "postgres",
  config: { host: "127.0.0.1", port: 1, database: "shop" },
  credentials: { user: "ada", password: "password-of-ada" },
};

const countOrders = async (call: Started["owner"]) =>
  (await call("POST", "/api/v1/query", { sql: "SELECT count(*) AS n FROM raw.shop__orders" })).body.rows[0].n;

/** Reads the table as other engines do. */
async function ordersElsewhere({ app }: Started) {
  const [organization] = await app.store.db.select().from(organizations);
  const here = { organizationId: organization?.id ?? "", layer: "raw", dataset: "shop", tableName: "orders" };
  return checkTable((await publishTable(app, here)).metadata);
}

/** An installation with some of everything that a backup contains. */
async function fill(app: Started) {
  created(await app.owner("POST", "/api/v1/connections", WAREHOUSE));
  const local = { name: "Files", provider: "local_files", config: {}, credentials: {} };
  const files = created(await app.owner("POST", "/api/v1/connections", local));
  const path = `/api/v1/connections/${files.id}/files?path=/2026/orders.csv`;
  const upload = await app.owner("PUT", path, "id\n1\n", { "content-type": "application/octet-stream" });
  expect(upload.status).toBe(201);
  await loadTable(contextOf(app), orders(0));
  return { files, ...(await ask(app)) };
}

/** Unpacks an archive and packs it again, after `change` has seen each file. */
async function rewrite(
  from: string,
  to: string,
  change: (name: string, bytes: Uint8Array) => Uint8Array | null,
  more: Record<string, string> = {},
) {
  const writer: ArchiveWriter = await writeArchive(to);
  const add = (name: string, bytes: Uint8Array) =>
    writer.add(
      { name, bytes: bytes.length },
      (async function* () {
        yield bytes;
      })(),
    );
  await readArchive(from, async ({ name }, chunks) => {
    const pieces: Uint8Array[] = [];
    for await (const chunk of chunks) pieces.push(chunk);
    const bytes = change(name, Buffer.concat(pieces));
    if (bytes !== null) await add(name, bytes);
    if (name === "weir.db")
      for (const [other, text] of Object.entries(more)) await add(other, Buffer.from(text));
  });
  await writer.finish();
}

const edited = (bytes: Uint8Array, edit: (value: Record<string, unknown>) => void) => {
  const value = JSON.parse(Buffer.from(bytes).toString());
  edit(value);
  return Buffer.from(JSON.stringify(value));
};

describe("the restore drill", () => {
  test("a backup under load, restored elsewhere with its key, continues with everything", async () => {
    using here = folder();
    const dataFolder = join(here.path, "first");
    const file = join(here.path, "weir.tar.zst");
    const key = join(here.path, "kept.key");
    let before: { total: number; decision: string; run: string; token: string; files: string };
    {
      await using app = await startApp({ dataFolder });
      const { decision, run, files } = await fill(app);
      const action = await makeAction(app.owner);
      let isOver = false;
      let loaded = 0;
      const load = (async () => {
        for (let n = 0; !isOver; n++) {
          created(await app.owner("POST", "/api/v1/connections", { ...WAREHOUSE, name: `Load ${n}` }));
          await app.owner("POST", `/api/v1/actions/${action.id}/run`);
          await loadTable(contextOf(app), orders(10 + n * 10));
          loaded++;
        }
      })();
      const made = await weir(backup, file, "--data", dataFolder, "--json");
      isOver = true;
      await load;
      expect(loaded).toBeGreaterThan(0);
      expect([made.code, made.err]).toEqual([0, ""]);
      const [organization] = made.json.organizations;
      expect(made.json).toMatchObject({ path: file, hasKey: false, lakeUrl: null, leftOut: [] });
      expect(made.json.bytes).toBe(statSync(file).size);
      expect(made.json.schemaVersion).toMatch(/^\d{4}_/);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(readdirSync(join(dataFolder, "backups"))).toEqual([]);
      const trail = await app.app.store.db.select().from(events);
      expect(trail.map(({ hash }) => hash)).toContain(organization.head);
      expect(organization.slug).toBe("acme");
      before = {
        total: organization.events,
        decision: decision.id,
        token: app.token,
        files: files.id,
        run: run.id,
      };
      writeFileSync(key, readFileSync(join(dataFolder, "secret.key")));
    }
    rmSync(dataFolder, { recursive: true });

    const elsewhere = join(here.path, "second");
    const bare = await weir(restore, file, "--data", elsewhere);
    expect([bare.code, bare.out]).toEqual([1, ""]);
    expect(bare.err).toContain("which isn't included. Set --key-file");
    const wrong = await weir(
      restore,
      file,
      "--data",
      elsewhere,
      "--key-file",
      writeKey(here.path, "wrong.key"),
    );
    expect(wrong.code).toBe(1);
    expect(wrong.err).toContain("but another key was provided");
    expect(readdirSync(here.path).sort()).toEqual(["kept.key", "weir.tar.zst", "wrong.key"]);

    const done = await weir(restore, file, "--data", elsewhere, "--key-file", key, "--json");
    expect([done.code, done.err]).toEqual([0, ""]);
    expect(done.json).toMatchObject({ dataFolder: elsewhere, previousFolder: null, path: file });
    expect(statSync(join(elsewhere, "secret.key")).mode & 0o777).toBe(0o600);
    expect(statSync(elsewhere).mode & 0o777).toBe(0o700);

    const again = await weir(restore, file, "--data", elsewhere, "--json"); // With the key of what it replaces.
    expect([again.code, again.err]).toEqual([0, ""]);
    rmSync(again.json.previousFolder, { recursive: true });

    await using app = await startApp({ dataFolder: elsewhere, owner: false });
    const owner = client(app.origin, { authorization: `Bearer ${before.token}` });
    const verified = await owner("GET", "/api/v1/events/verify");
    expect(verified.body.valid).toBe(true);
    expect(verified.body.checked).toBeGreaterThanOrEqual(before.total);
    const rows = await app.app.store.db.select().from(connections);
    const warehouse = rows.find(({ name }) => name === "Warehouse");
    expect(openCredentials(contextOf(app), warehouse!).password).toBe("password-of-ada");
    const listed = await owner("GET", `/api/v1/connections/${before.files}/files?path=/2026`);
    expect(listed.body.items.map(({ name }: { name: string }) => name)).toEqual(["orders.csv"]);
    expect(Number(await countOrders(owner)) % 10).toBe(0);
    expect(Number(await countOrders(owner))).toBeGreaterThanOrEqual(10);

    const pending = (await owner("GET", `${DECISIONS}/pending`)).body.decisions;
    expect(pending.map(({ id }: { id: string }) => id)).toEqual([before.decision]);
    const decided = await owner("POST", `${DECISIONS}/${before.decision}/decide`, {
      decisionValue: "approved",
    });
    expect(decided.status).toBe(200);
    expect((await runEnd(owner, before.run)).status).toBe("completed");
    const action = await makeAction(owner, { name: "After" });
    expect((await runToEnd(owner, action.id)).status).toBe("completed");
  }, 120_000);

  test("keeps what was there and the settings in use, and is rejected while a server runs on it", async () => {
    using here = folder();
    const dataFolder = join(here.path, "data");
    const file = join(here.path, "weir.tar.zst");
    {
      await using app = await startApp({ dataFolder, engine: false });
      created(await app.owner("POST", "/api/v1/connections", WAREHOUSE));
      await loadTable(contextOf(app), orders(0));
      await ordersElsewhere(app);
      const made = await weir(backup, file, "--data", dataFolder, "--include-key", "--json");
      expect(made.json).toMatchObject({ hasKey: true, files: 3 });
      for (const label of ["Backing up", "Verifying"])
        expect(made.told).toContainEqual(
          expect.stringMatching(new RegExp(`^${label} \\[.+\\] 0%  0 bytes of `)),
        );
      created(await app.owner("POST", "/api/v1/connections", { ...WAREHOUSE, name: "Later" }));
      const refused = await weir(restore, file, "--data", dataFolder);
      expect([refused.code, refused.out]).toEqual([1, ""]);
      expect(refused.err).toContain("Another Weir server is already using");
      expect((await app.owner("GET", "/api/v1/connections")).body.total).toBe(2);
    }
    writeFileSync(join(dataFolder, "weir.toml"), "concurrency = 3\n");
    const { code, json, told } = await weir(restore, file, "--data", dataFolder, "--json");
    expect(code).toBe(0);
    expect(told).toContainEqual(expect.stringMatching(/^Restoring \[.+\] 0% {2}0 bytes of /));
    expect(json.previousFolder).toMatch(/\/data\.before-\d{4}-\d\d-\d\dT[\d-]+Z$/);
    expect(readdirSync(here.path).sort()).toEqual(
      ["data", json.previousFolder.split("/").at(-1), "weir.tar.zst"].sort(),
    );
    expect(readFileSync(join(dataFolder, "weir.toml"), "utf8")).toBe("concurrency = 3\n");
    const names = async (path: string) => {
      await using app = await startApp({ dataFolder: path, engine: false, owner: false });
      const rows = await app.app.store.db.select().from(connections);
      return rows.map((row) => [row.name, openCredentials(contextOf(app), row).password]);
    };
    expect(await names(dataFolder)).toEqual([["Warehouse", "password-of-ada"]]);
    expect((await names(json.previousFolder)).length).toBe(2);
    // The backup doesn't contain the files that only other engines read: they are written again.
    await using app = await startApp({ dataFolder, engine: false, owner: false });
    expect(await ordersElsewhere(app)).toEqual({ files: 1 });
  });

  test.skipIf(process.getuid?.() !== 0)("by root belongs to the folder's previous owner", async () => {
    using here = folder();
    const dataFolder = join(here.path, "data");
    const file = join(here.path, "weir.tar.zst");
    {
      await using app = await startApp({ dataFolder, engine: false });
      created(await app.owner("POST", "/api/v1/connections", WAREHOUSE));
      await loadTable(contextOf(app), orders(0));
      expect((await weir(backup, file, "--data", dataFolder, "--include-key")).code).toBe(0);
    }
    chownSync(dataFolder, 65_534, 65_533);
    expect((await weir(restore, file, "--data", dataFolder)).code).toBe(0);
    const names = ["", ...readdirSync(dataFolder, { recursive: true, encoding: "utf8" })];
    expect(names.length).toBeGreaterThan(8);
    for (const name of names) {
      const { uid, gid } = statSync(join(dataFolder, name));
      expect({ name, uid, gid }).toEqual({ name, uid: 65_534, gid: 65_533 });
    }
  });

  test("takes the key from the environment, and then writes no key file", async () => {
    using here = folder();
    const dataFolder = join(here.path, "data");
    const file = join(here.path, "weir.tar.zst");
    const env = { WEIR_SECRET_KEY: Buffer.alloc(32, 7).toString("base64") };
    {
      await using app = await startApp({ dataFolder, engine: false, env });
      created(await app.owner("POST", "/api/v1/connections", WAREHOUSE));
      expect((await shell(env)(backup, file, "--data", dataFolder, "--include-key")).code).toBe(0);
    }
    const elsewhere = join(here.path, "elsewhere");
    expect((await shell(env)(restore, file, "--data", elsewhere)).code).toBe(0);
    expect(existsSync(join(elsewhere, "secret.key"))).toBe(false);
    const withKey = join(here.path, "with-key");
    expect((await weir(restore, file, "--data", withKey)).code).toBe(0);
    expect(readFileSync(join(withKey, "secret.key"), "utf8").trim()).toBe(env.WEIR_SECRET_KEY);
  });
});

function writeKey(path: string, name: string): string {
  writeFileSync(join(path, name), `${Buffer.alloc(32, 1).toString("base64")}\n`);
  return join(path, name);
}

describe("weir backup", () => {
  test("never overwrites a file, and never leaves an invalid one", async () => {
    using here = folder();
    const dataFolder = join(here.path, "data");
    const file = join(here.path, "out", "weir.tar.zst");
    await using app = await startApp({ dataFolder, engine: false });
    const path = await loadTable(contextOf(app), orders(0));
    mkdirSync(join(here.path, "out"));
    writeFileSync(file, "mine");
    const refused = await weir(backup, file, "--data", dataFolder);
    expect([refused.code, refused.out]).toEqual([1, ""]);
    expect(refused.err).toContain("already exists");
    expect(readFileSync(file, "utf8")).toBe("mine");

    rmSync(file);
    rmSync(join(dataFolder, "lake", path));
    const lost = await weir(backup, file, "--data", dataFolder);
    expect([lost.code, lost.out]).toEqual([1, ""]);
    expect(lost.err).toContain(`The lake file ${path} is missing from ${join(dataFolder, "lake")}.`);
    expect(readdirSync(join(here.path, "out"))).toEqual([]);
    expect(readdirSync(join(dataFolder, "backups"))).toEqual([]);
  });

  test("leaves out links and partial files, and reports links", async () => {
    using here = folder();
    const dataFolder = join(here.path, "data");
    await using app = await startApp({ dataFolder, engine: false });
    const files = join(dataFolder, "files", app.ids.organizationId);
    mkdirSync(join(files, ".weir-parts"), { recursive: true });
    writeFileSync(join(files, ".weir-parts", "half"), "half");
    writeFileSync(join(files, "whole.txt"), "whole");
    writeFileSync(join(files, "empty.txt"), "");
    symlinkSync("/etc/hostname", join(files, "link"));
    const { code, json } = await weir(backup, join(here.path, "b"), "--data", dataFolder, "--json");
    expect([code, json.files]).toEqual([0, 3]);
    expect(json.leftOut).toEqual([`files/${app.ids.organizationId}/link`]);
    const target = join(here.path, "again");
    const key = join(dataFolder, "secret.key");
    expect((await weir(restore, join(here.path, "b"), "--data", target, "--key-file", key)).code).toBe(0);
    const back = join(target, "files", app.ids.organizationId);
    expect(readdirSync(back).sort()).toEqual(["empty.txt", "whole.txt"]);
    expect(readFileSync(join(back, "whole.txt"), "utf8")).toBe("whole");
  });

  test("leaves out files and folders whose names aren't valid UTF-8, and reports them", async () => {
    using here = folder();
    const dataFolder = join(here.path, "data");
    await using app = await startApp({ dataFolder, engine: false });
    const at = `files/${app.ids.organizationId}`;
    mkdirSync(join(dataFolder, at), { recursive: true });
    const named = (name: string) => Buffer.from(join(dataFolder, at, name), "latin1");
    writeFileSync(named("M\xfcller.csv"), "latin1");
    mkdirSync(named("D\xfcsseldorf"));
    writeFileSync(named("D\xfcsseldorf/a.csv"), "a");
    writeFileSync(join(dataFolder, at, "Müller.csv"), "utf-8");
    writeFileSync(join(dataFolder, at, "M\uFFFDller.csv"), "a similar name");
    const { code, json } = await weir(backup, join(here.path, "b"), "--data", dataFolder, "--json");
    expect(code).toBe(0);
    expect(json.leftOut).toEqual([`${at}/D\uFFFDsseldorf`, `${at}/M\uFFFDller.csv`]);
    const told = await weir(backup, join(here.path, "c"), "--data", dataFolder);
    expect(told.err).toContain(`Left out: ${at}/D\uFFFDsseldorf\nLeft out: ${at}/M\uFFFDller.csv`);
    const checked = await weir(backup, "verify", join(here.path, "c"), "--data", dataFolder);
    expect([checked.code, checked.err]).toEqual([0, told.err]);

    const target = join(here.path, "again");
    const key = join(dataFolder, "secret.key");
    expect((await weir(restore, join(here.path, "b"), "--data", target, "--key-file", key)).code).toBe(0);
    expect(readdirSync(join(target, at)).sort()).toEqual(["Müller.csv", "M\uFFFDller.csv"]);
    expect(readFileSync(join(target, at, "M\uFFFDller.csv"), "utf8")).toBe("a similar name");
  });

  test("includes files and folders with any valid name, such as one with a backslash", async () => {
    using here = folder();
    const dataFolder = join(here.path, "data");
    await using app = await startApp({ dataFolder, engine: false });
    const at = join("files", app.ids.organizationId);
    const names = [
      "a\\b.csv",
      "..\\..\\up.csv",
      "C:\\c.csv",
      "d\\e/f.csv",
      "line\nbreak.csv",
      " .csv",
      "ü\\.csv",
    ];
    for (const name of names) {
      mkdirSync(dirname(join(dataFolder, at, name)), { recursive: true });
      writeFileSync(join(dataFolder, at, name), name);
    }
    const { code, json } = await weir(backup, join(here.path, "b"), "--data", dataFolder, "--json");
    expect([code, json?.leftOut]).toEqual([0, []]);
    const target = join(here.path, "again");
    const key = join(dataFolder, "secret.key");
    expect((await weir(restore, join(here.path, "b"), "--data", target, "--key-file", key)).code).toBe(0);
    const back = readdirSync(join(target, at), { recursive: true, encoding: "utf8" });
    expect(back.sort()).toEqual([...names, "d\\e"].sort());
    for (const name of names) expect(readFileSync(join(target, at, name), "utf8")).toBe(name);
    expect(readdirSync(here.path).sort()).toEqual(["again", "b", "data"]);
  });

  test("reports a missing database, and one on a libSQL server", async () => {
    using here = folder();
    const none = await weir(backup, join(here.path, "b"), "--data", join(here.path, "nothing"));
    expect([none.code, none.out]).toEqual([1, ""]);
    expect(none.err).toContain("No database in");
    expect(readdirSync(here.path)).toEqual([]);
    const remote = shell({ WEIR_DATABASE_URL: "libsql://db.example.com" });
    for (const command of [backup, restore]) {
      const { code, err } = await remote(command, join(here.path, "b"), "--data", here.path);
      expect(code).toBe(1);
      expect(err).toContain("libSQL server (WEIR_DATABASE_URL)");
    }
  });

  test("reports a usage error without a file, with two, and with unknown arguments", async () => {
    for (const words of [[], ["a", "b"], ["--fast", "a"], ["verify", "a", "--include-key"]])
      expect((await weir(backup, ...words)).code).toBe(2);
    for (const words of [[], ["a", "b"], ["--force", "a"]])
      expect((await weir(restore, ...words)).code).toBe(2);
  });
});

describe("an invalid file", () => {
  deepTest("is rejected by verify and restore, and nothing changes", async () => {
    using here = folder();
    const dataFolder = join(here.path, "data");
    const at = (name: string) => join(here.path, name);
    {
      await using app = await startApp({ dataFolder, engine: false });
      await loadTable(contextOf(app), orders(0));
      expect((await weir(backup, at("good"), "--data", dataFolder, "--include-key")).code).toBe(0);
    }
    const good = readFileSync(at("good"));
    const flipped = Buffer.from(good);
    const middle = Math.floor(good.length / 2);
    flipped[middle] = (flipped[middle] ?? 0) ^ 0x40;
    writeFileSync(at("flipped"), flipped);
    writeFileSync(at("cut"), good.subarray(0, good.length - 20));
    writeFileSync(at("text"), "Dear diary,");
    writeFileSync(at("empty"), "");
    writeFileSync(at("squeezed"), Bun.zstdCompressSync(Buffer.from("no tar at all")));
    const keep = (_: string, bytes: Uint8Array) => bytes;
    await rewrite(at("good"), at("swapped"), (name, bytes) =>
      name.endsWith(".parquet") ? Buffer.concat([bytes, Buffer.from("x")]) : bytes,
    );
    await rewrite(at("good"), at("fewer"), (name, bytes) => (name.endsWith(".parquet") ? null : bytes));
    await rewrite(at("good"), at("more"), keep, { "files/extra": "extra" });
    await rewrite(at("good"), at("outside"), keep, { "files/../../outside": "outside" });
    await rewrite(at("good"), at("unlisted"), (name, bytes) => (name === "manifest.json" ? null : bytes));
    await rewrite(at("good"), at("headless"), (name, bytes) => (name === "weir-backup.json" ? null : bytes));
    await rewrite(at("good"), at("newer"), (name, bytes) =>
      name === "weir-backup.json"
        ? edited(bytes, (head) => (head.migrations as string[]).push("9999_future"))
        : bytes,
    );
    await rewrite(at("good"), at("format"), (name, bytes) =>
      name === "weir-backup.json"
        ? edited(bytes, (head) => Object.assign(head, { formatVersion: 2, more: true }))
        : bytes,
    );
    await rewrite(at("good"), at("head"), (name, bytes) =>
      name === "manifest.json"
        ? edited(bytes, (manifest) => {
            const [first] = manifest.organizations as { head: string }[];
            if (first) first.head = "0".repeat(64);
          })
        : bytes,
    );
    const expected: Record<string, string> = {
      flipped: "is damaged or incomplete",
      cut: "is damaged or incomplete",
      text: "is not a Weir backup",
      empty: "is not a Weir backup",
      squeezed: "is damaged or incomplete",
      swapped: "is damaged or incomplete",
      fewer: "is damaged or incomplete",
      more: "is damaged or incomplete",
      outside: "is damaged or incomplete",
      unlisted: "is damaged or incomplete",
      headless: "is not a Weir backup",
      newer: "created by a newer version of Weir (migrations: 9999_future)",
      format: "created by a newer version of Weir",
      head: "is damaged or incomplete",
      absent: "Couldn't read the ",
    };
    for (const [name, sentence] of Object.entries(expected)) {
      const checked = await weir(backup, "verify", at(name));
      expect([name, checked.code, checked.out, checked.err]).toEqual([
        name,
        1,
        "",
        expect.stringContaining(sentence),
      ]);
      const refused = await weir(restore, at(name), "--data", at("data"));
      expect([name, refused.code, refused.out, refused.err]).toEqual([
        name,
        1,
        "",
        expect.stringContaining(sentence),
      ]);
    }
    expect(readdirSync(here.path).filter((name) => name.startsWith("data"))).toEqual(["data"]);
    const verified = await weir(backup, "verify", at("good"), "--json");
    expect([verified.code, verified.json.valid, verified.json.hasKey]).toEqual([0, true, true]);
    expect((await weir(backup, "verify", at("good"))).out).toContain("All audit logs are valid.");
    await using app = await startApp({ dataFolder, owner: false, engine: false });
    expect((await app.app.store.db.select().from(events)).length).toBeGreaterThan(0);
  });

  test("with a modified audit log is reported by organization", async () => {
    using here = folder();
    const dataFolder = join(here.path, "data");
    {
      await using app = await startApp({ dataFolder, engine: false });
      for (let n = 0; n < 3; n++) await makeAction(app.owner, { name: `Action ${n}` });
    }
    const file = new Database(join(dataFolder, "weir.db"));
    for (const { name } of file
      .query("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'events'")
      .all() as { name: string }[])
      file.run(`DROP TRIGGER ${name}`);
    file.run("UPDATE events SET data = '{}' WHERE seq = (SELECT max(seq) - 1 FROM events)");
    file.close();
    expect((await weir(backup, join(here.path, "b"), "--data", dataFolder, "--include-key")).code).toBe(0);
    for (const [command, ...words] of [
      [backup, "verify", join(here.path, "b")],
      [restore, join(here.path, "b"), "--data", join(here.path, "c")],
    ] as const) {
      const { code, err } = await weir(command, ...words);
      expect(code).toBe(1);
      expect(err).toContain("Audit log verification failed for acme");
    }
    expect(existsSync(join(here.path, "c"))).toBe(false);
  });

  test("a folder that isn't Weir's is never moved aside", async () => {
    using here = folder();
    const dataFolder = join(here.path, "data");
    {
      await using app = await startApp({ dataFolder, engine: false });
      expect((await weir(backup, join(here.path, "b"), "--data", dataFolder, "--include-key")).code).toBe(0);
      expect(app.token).not.toBe("");
    }
    const mine = join(here.path, "mine");
    mkdirSync(mine);
    writeFileSync(join(mine, "thesis.txt"), "all of it");
    const { code, err } = await weir(restore, join(here.path, "b"), "--data", mine);
    expect(code).toBe(1);
    expect(err).toContain("contains files that don't belong to Weir");
    expect(readdirSync(mine)).toEqual(["thesis.txt"]);
  });
});
