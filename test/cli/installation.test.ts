import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { backup } from "../../src/cli/backup.ts";
import { config } from "../../src/cli/config.ts";
import { doctor } from "../../src/cli/doctor.ts";
import { events } from "../../src/cli/events.ts";
import { init } from "../../src/cli/init.ts";
import { keys } from "../../src/cli/keys.ts";
import { resetPassword } from "../../src/cli/reset-password.ts";
import { restore } from "../../src/cli/restore.ts";
import { contextFor } from "../../src/context.ts";
import { keyIdOf } from "../../src/crypto/secretbox.ts";
import { startApp } from "../support/app.ts";
import { loadTable } from "../support/lake.ts";
import { eventually } from "../support/outbound.ts";
import { refusalOf } from "../support/refusal.ts";
import { s3Keys, startS3, type TestS3 } from "../support/s3.ts";
import { deepTest } from "../support/scale.ts";
import { folder, shell } from "../support/shell.ts";
import { startSqld } from "../support/sqld.ts";

setDefaultTimeout(120_000);

type Env = Record<string, string>;

let bucket: TestS3;
beforeAll(async () => {
  bucket = await startS3();
  for (const name of ["lake", "moved"]) bucket.createBucket(name);
});
afterAll(() => bucket[Symbol.asyncDispose]());

let made = 0;
const inBucket = (url = `s3://lake/weir-${++made}`): Env => ({
  WEIR_LAKE_URL: url,
  WEIR_LAKE_ENDPOINT: bucket.endpointUrl,
  WEIR_LAKE_ACCESS_KEY_ID: s3Keys.accessKeyId,
  WEIR_LAKE_SECRET_ACCESS_KEY: s3Keys.secretAccessKey,
});

const key = (fill: number) => Buffer.alloc(32, fill).toString("base64");

/** Runs a server with these settings on the data directory, loads two tables, and stops it. Returns their files. */
async function serveOnce(dataFolder: string, env: Env = {}): Promise<string[]> {
  await using app = await startApp({ dataFolder, env, engine: false });
  const ctx = contextFor(app.app, {
    organizationId: app.ids.organizationId,
    role: "owner",
    actor: { type: "system", id: "test" },
    correlationId: "test-installation",
  });
  const select = "SELECT i AS id FROM range(10) t(i)";
  const load = (table: string) => loadTable(ctx, { layer: "raw", dataset: "shop", table, select });
  return [await load("orders"), await load("customers")];
}

const startWith = (dataFolder: string, env: Env) =>
  startApp({ dataFolder, env, engine: false, owner: false }).then(async (app) => {
    await app[Symbol.asyncDispose]();
  });

/** Every command that opens a data directory itself, with arguments for this one. */
const commandsOn = (path: string) => {
  const data = ["--data", path];
  const owner = ["--email", "eve@example.com", "--password-stdin", "--org", "Eve"];
  return [
    ["doctor", doctor, data],
    ["backup", backup, [join(path, "..", "refused.weir"), ...data]],
    ["restore", restore, [join(path, "..", "good.weir"), ...data]],
    ["keys rotate", keys, ["rotate", ...data]],
    ["init", init, [...owner, ...data]],
    ["reset-password", resetPassword, ["ada@example.com", ...data]],
    ["events verify", events, ["verify", ...data]],
    ["config", config, data],
  ] as const;
};

const PASSWORD = "correct horse battery staple\n";

/** Everything in a folder, by name and content, except locks and what SQLite stores next to the database. */
const contentOf = (path: string) =>
  Object.fromEntries(
    readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/^lock|-shm$|-wal$/.test(entry.name))
      .map(({ parentPath, name }) => [join(parentPath, name), readFileSync(join(parentPath, name), "base64")])
      .sort(),
  );

/** Checks that each command and a start fail with the sentence, and that nothing changes. */
async function refuseAll(path: string, env: Env, sentence: string) {
  const before = contentOf(path);
  for (const [name, command, args] of commandsOn(path)) {
    const { code, out, err } = await shell(env, PASSWORD)(command, ...args);
    expect([name, code, err]).toEqual([name, 1, `weir: ${sentence}`]);
    if (name !== "config") expect([name, out]).toEqual([name, ""]);
  }
  expect(await refusalOf(startWith(path, env))).toContain(sentence);
  expect(contentOf(path)).toEqual(before);
  expect(existsSync(join(path, "..", "refused.weir"))).toBe(false);
}

const moved = (what: string) => `If you ${what} on purpose, run "weir config accept".`;

describe("a data directory whose lake is in a bucket", () => {
  deepTest("is opened by no command without the right bucket or store", async () => {
    using here = folder();
    const path = join(here.path, "data");
    const env = inBucket();
    await serveOnce(path, env);
    expect((await shell(env)(backup, join(here.path, "good.weir"), "--data", path)).code).toBe(0);
    const url = env.WEIR_LAKE_URL;
    await refuseAll(
      path,
      {},
      `This data directory's lake is at ${url}, but WEIR_LAKE_URL isn't set. Set WEIR_LAKE_URL to ${url}. ${moved("moved it")}`,
    );
    const other = inBucket("s3://moved/weir");
    await refuseAll(
      path,
      other,
      `This data directory's lake is at ${url}, but WEIR_LAKE_URL is s3://moved/weir. Set WEIR_LAKE_URL to ${url}. ${moved("moved it")}`,
    );
    const { WEIR_LAKE_ENDPOINT: endpoint, ...amazon } = env;
    await refuseAll(
      path,
      amazon,
      `This data directory's lake is at ${endpoint}, but WEIR_LAKE_ENDPOINT isn't set. Set WEIR_LAKE_ENDPOINT to ${endpoint}. ${moved("moved it")}`,
    );
    expect(await bucket.all("moved")).toEqual({}); // It isn't even marked.
    expect((await shell(env)(doctor, "--data", path)).code).toBe(0);
  });

  test("says so even while a server runs on it", async () => {
    using here = folder();
    const path = join(here.path, "data");
    const env = inBucket();
    await using _ = await startApp({ dataFolder: path, env, engine: false });
    const { code, err } = await shell()(doctor, "--data", path);
    expect([code, err]).toEqual([1, expect.stringContaining("Set WEIR_LAKE_URL to s3://lake/weir")]);
  });
});

deepTest("a data directory with its own lake isn't opened by a command with a bucket", async () => {
  using here = folder();
  const path = join(here.path, "data");
  await serveOnce(path);
  expect((await shell()(backup, join(here.path, "good.weir"), "--data", path)).code).toBe(0);
  await refuseAll(
    path,
    inBucket("s3://moved/weir"),
    `This data directory's lake is in its folder lake, but WEIR_LAKE_URL is s3://moved/weir. Remove WEIR_LAKE_URL. ${moved("moved it")}`,
  );
  expect(await bucket.all("moved")).toEqual({});
});

describe("a database on a server", () => {
  deepTest("is the only one that its data directory opens with, and no other is created", async () => {
    await using database = await startSqld();
    using here = folder();
    const path = join(here.path, "data");
    const url = new URL(database.url);
    url.username = "weir";
    url.password = "a-secret-of-mine";
    const env = { WEIR_DATABASE_URL: url.href, WEIR_SECRET_KEY: key(7), WEIR_DATABASE_TOKEN: "a-token" };
    await serveOnce(path, { ...env, WEIR_DATABASE_URL: database.url });
    const at = database.url.replace(/\/$/, "");
    await refuseAll(
      path,
      { WEIR_SECRET_KEY: key(7) },
      `This data directory's database is at ${at}, but WEIR_DATABASE_URL isn't set. Set WEIR_DATABASE_URL to ${at}. ${moved("moved it")}`,
    );
    expect(existsSync(join(path, "weir.db"))).toBe(false);
    await refuseAll(
      path,
      { ...env, WEIR_DATABASE_URL: "http://eve:her-secret@127.0.0.1:1" },
      `This data directory's database is at ${at}, but WEIR_DATABASE_URL is http://127.0.0.1:1. Set WEIR_DATABASE_URL to ${at}. ${moved("moved it")}`,
    );
  });

  deepTest("is rejected if the data directory has its own", async () => {
    await using database = await startSqld();
    using here = folder();
    const path = join(here.path, "data");
    await serveOnce(path);
    const env = { WEIR_DATABASE_URL: database.url };
    const at = database.url.replace(/\/$/, "");
    await refuseAll(
      path,
      env,
      `This data directory's database is in its file weir.db, but WEIR_DATABASE_URL is ${at}. Remove WEIR_DATABASE_URL. ${moved("moved it")}`,
    );
  });
});

describe("the master key", () => {
  test("that encrypts the secrets is required by its ID", async () => {
    using here = folder();
    const path = join(here.path, "data");
    await serveOnce(path, { WEIR_SECRET_KEY: key(1) });
    const backedUp = await shell({ WEIR_SECRET_KEY: key(1) })(
      backup,
      join(here.path, "good.weir"),
      "--data",
      path,
    );
    expect(backedUp.code).toBe(0);
    const [one, two] = [1, 2].map((fill) => keyIdOf(new Uint8Array(32).fill(fill)));
    const begin = `This data directory's secrets are encrypted with the key ${one}, but`;
    const end = `Set WEIR_SECRET_KEY to that key, or restore its secret.key. ${moved("changed it")}`;
    const withoutRestore = async (env: Env, sentence: string) => {
      for (const [name, command, args] of commandsOn(path)) {
        if (name === "restore") continue; // It reports itself which key the backup needs.
        const { code, err } = await shell(env, PASSWORD)(command, ...args);
        expect([name, code, err]).toEqual([name, 1, `weir: ${sentence}`]);
      }
      expect(await refusalOf(startWith(path, env))).toContain(sentence);
    };
    await withoutRestore({}, `${begin} neither WEIR_SECRET_KEY nor secret.key exists. ${end}`);
    await withoutRestore({ WEIR_SECRET_KEY: key(2) }, `${begin} WEIR_SECRET_KEY is the key ${two}. ${end}`);
    expect(existsSync(join(path, "secret.key"))).toBe(false);
    writeFileSync(join(path, "secret.key"), `${key(2)}\n`, { mode: 0o600 });
    await withoutRestore({}, `${begin} secret.key contains the key ${two}. ${end}`);
    expect((await shell({ WEIR_SECRET_KEY: key(1) })(doctor, "--data", path)).code).toBe(0);
  });
});

deepTest("what a data directory depends on is only readable by its owner, without a secret", async () => {
  using here = folder();
  const path = join(here.path, "data");
  const env: Env = { ...inBucket(), WEIR_SECRET_KEY: key(3) };
  await serveOnce(path, env);
  const file = join(path, "installation.json");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const text = readFileSync(file, "utf8");
  expect(JSON.parse(text)).toEqual({
    database: null,
    lake: env.WEIR_LAKE_URL,
    lakeEndpoint: bucket.endpointUrl,
    keyId: keyIdOf(new Uint8Array(32).fill(3)),
  });
  for (const secret of [key(3), s3Keys.secretAccessKey, s3Keys.accessKeyId])
    expect(text).not.toContain(secret);
  expect(readdirSync(path).filter((name) => name.includes(".new"))).toEqual([]);
  const broken = '{"lake": 3}';
  writeFileSync(file, broken);
  const { code, err } = await shell(env)(doctor, "--data", path);
  expect([code, err]).toEqual([1, expect.stringContaining(`Couldn't read ${file}`)]);
  rmSync(file);
  await startWith(path, env);
  expect(readFileSync(file, "utf8")).toBe(text);
});

describe("a data directory of a version that stored no such record", () => {
  const forget = (path: string) => rmSync(join(path, "installation.json"));

  deepTest("accepts the first matching settings: a lake without any of the files is rejected", async () => {
    using here = folder();
    const path = join(here.path, "data");
    const env = inBucket();
    await serveOnce(path, env);
    forget(path);
    const sentence = `None of the lake's files are in ${join(path, "lake")}. Set WEIR_LAKE_URL to the bucket that has them. If they are lost, run "weir config accept".`;
    expect(await refusalOf(startWith(path, {}))).toContain(sentence);
    const other = `None of the lake's files are in s3://moved/weir. Set WEIR_LAKE_URL to the bucket that has them. If they are lost, run "weir config accept".`;
    expect(await refusalOf(startWith(path, inBucket("s3://moved/weir")))).toContain(other);
    expect(await bucket.all("moved")).toEqual({});
    expect(existsSync(join(path, "installation.json"))).toBe(false);

    const { code, out } = await shell()(doctor, "--data", path);
    expect(code).toBe(1);
    expect(out).toContain(`2 of 2 lake files are missing from ${join(path, "lake")}`);
    expect(out).toContain("If the lake is in a bucket, set WEIR_LAKE_URL.");
    expect(out).not.toMatch(/delete|lost/i);
    const refused = await shell()(backup, join(here.path, "x.weir"), "--data", path);
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("set WEIR_LAKE_URL")]);
    expect(refused.err).not.toMatch(/delete|lost/i);

    await startWith(path, env);
    expect(JSON.parse(readFileSync(join(path, "installation.json"), "utf8")).lake).toBe(env.WEIR_LAKE_URL);
  });

  deepTest("gets no new database if its own is on a server, nor a server's if it has its own", async () => {
    await using database = await startSqld();
    using here = folder();
    const [remote, local] = [join(here.path, "remote"), join(here.path, "local")];
    await serveOnce(remote, { WEIR_DATABASE_URL: database.url, WEIR_SECRET_KEY: key(7) });
    await serveOnce(local);
    forget(remote);
    forget(local);
    expect(await refusalOf(startWith(remote, { WEIR_SECRET_KEY: key(7) }))).toContain(
      "WEIR_DATABASE_URL isn't set",
    );
    expect(existsSync(join(remote, "weir.db"))).toBe(false);
    const env = { WEIR_DATABASE_URL: database.url };
    expect(await refusalOf(startWith(local, env))).toContain("Remove WEIR_DATABASE_URL");
    expect(existsSync(join(local, "installation.json"))).toBe(false);
  });

  test("starts if some of the files are missing, and if all are only when that is accepted", async () => {
    using here = folder();
    const [orders = "", customers = ""] = await serveOnce(here.path);
    forget(here.path);
    rmSync(join(here.path, "lake", orders));
    await startWith(here.path, {});
    forget(here.path);
    rmSync(join(here.path, "lake", customers));
    expect(await refusalOf(startWith(here.path, {}))).toContain("None of the lake's files");
    expect((await shell()(config, "accept", "--data", here.path)).code).toBe(0);
    await startWith(here.path, {});
  });
});

describe("weir config accept", () => {
  test("accepts the settings of a moved lake, and prints what it accepted", async () => {
    using here = folder();
    const path = join(here.path, "data");
    await serveOnce(path);
    const env = inBucket();
    const refused = await shell(env)(doctor, "--data", path);
    expect(refused.err).toEndWith('run "weir config accept".');
    {
      await using _ = await startApp({ dataFolder: path, engine: false, owner: false });
      const taken = await shell(env)(config, "accept", "--data", path);
      expect([taken.code, taken.err]).toEqual([
        1,
        expect.stringContaining("Another Weir server is already using"),
      ]);
    }
    const { code, json } = await shell(env)(config, "accept", "--data", path, "--json");
    expect(code).toBe(0);
    expect(json).toEqual(JSON.parse(readFileSync(join(path, "installation.json"), "utf8")));
    expect(json).toMatchObject({ database: null, lake: env.WEIR_LAKE_URL, lakeEndpoint: bucket.endpointUrl });
    await startWith(path, env);
    expect(await refusalOf(startWith(path, {}))).toContain("Set WEIR_LAKE_URL");
    const back = await shell()(config, "accept", "--data", path);
    expect([back.code, back.err]).toEqual([0, ""]);
    expect(back.out).toContain("lake");
    await startWith(path, {});
  });

  test("accepts no key that doesn't open the secrets, and creates no database", async () => {
    using here = folder();
    const path = join(here.path, "data");
    await serveOnce(path);
    const before = readFileSync(join(path, "installation.json"), "utf8");
    const { code, err } = await shell({ WEIR_SECRET_KEY: key(9) })(config, "accept", "--data", path);
    expect([code, err]).toEqual([1, expect.stringContaining("The master key isn't the one")]);
    expect(readFileSync(join(path, "installation.json"), "utf8")).toBe(before);
    const empty = join(here.path, "empty");
    expect((await shell()(config, "accept", "--data", empty)).err).toContain("No database in");
    expect(existsSync(empty)).toBe(false);
  });
});

describe("weir restore", () => {
  deepTest("leaves a data directory with the backup's dependencies", async () => {
    using here = folder();
    const [first, second] = [join(here.path, "first"), join(here.path, "second")];
    const env: Env = { ...inBucket(), WEIR_SECRET_KEY: key(4) };
    await serveOnce(first, env);
    const file = join(here.path, "backup.weir");
    expect((await shell(env)(backup, file, "--data", first)).code).toBe(0);
    const restored = await shell({ WEIR_SECRET_KEY: key(4) })(restore, file, "--data", second);
    expect(restored.code).toBe(0);
    expect(restored.err).toContain(`Set WEIR_LAKE_URL to ${env.WEIR_LAKE_URL}`);
    expect(await refusalOf(startWith(second, { WEIR_SECRET_KEY: key(4) }))).toContain("Set WEIR_LAKE_URL");
    const { WEIR_SECRET_KEY: _, ...keyless } = env;
    expect(await refusalOf(startWith(second, keyless))).toContain("Set WEIR_SECRET_KEY to that key");
    await startWith(second, env);
    const kept = (path: string) => JSON.parse(readFileSync(join(path, "installation.json"), "utf8"));
    expect(kept(second)).toEqual(kept(first));

    // Over another data directory, whose dependencies are replaced.
    const third = join(here.path, "third");
    await serveOnce(third);
    const over = await shell({ WEIR_SECRET_KEY: key(4) })(restore, file, "--data", third, "--json");
    expect(kept(over.json.previousFolder)).toMatchObject({ lake: null });
    expect(kept(third)).toMatchObject({ lake: env.WEIR_LAKE_URL, keyId: kept(first).keyId });
  });

  test("of a lake in the data directory no longer requires a bucket", async () => {
    using here = folder();
    const [first, second] = [join(here.path, "first"), join(here.path, "second")];
    await serveOnce(first);
    const file = join(here.path, "backup.weir");
    expect((await shell()(backup, file, "--data", first, "--include-key")).code).toBe(0);
    const env = inBucket();
    const restored = await shell(env)(restore, file, "--data", second);
    expect([restored.code, restored.err]).toEqual([0, expect.stringContaining("Remove WEIR_LAKE_URL")]);
    expect(await refusalOf(startWith(second, env))).toContain("Remove WEIR_LAKE_URL");
    await startWith(second, {});
  });
});

describe("a restore that is killed", () => {
  const main = join(import.meta.dir, "../../src/main.ts");

  deepTest(
    "leaves the previous data directory with its dependencies, or the restored one with its own",
    async () => {
      using here = folder();
      const [first, second] = [join(here.path, "first"), join(here.path, "second")];
      const env = inBucket();
      await serveOnce(first, env);
      const file = join(here.path, "backup.weir");
      expect((await shell(env)(backup, file, "--data", first, "--include-key")).code).toBe(0);
      await serveOnce(second);
      const child = Bun.spawn([process.execPath, main, "restore", file, "--data", second], {
        stdout: "ignore",
        stderr: "ignore",
      });
      await eventually(
        () => child.exitCode !== null || readdirSync(here.path).some((name) => /restoring/.test(name)),
      );
      child.kill("SIGKILL");
      await child.exited;
      if (!existsSync(second))
        expect(await refusalOf(startWith(second, {}))).toContain('Run "weir restore" again');
      else {
        const { lake } = JSON.parse(readFileSync(join(second, "installation.json"), "utf8"));
        await startWith(second, lake === null ? {} : env);
      }
      expect((await shell()(restore, file, "--data", second)).code).toBe(0);
      await startWith(second, env);
    },
  );

  deepTest("between its last two steps never makes a start begin with nothing", async () => {
    using here = folder();
    const path = join(here.path, "data");
    await serveOnce(path);
    const file = join(here.path, "backup.weir");
    expect((await shell()(backup, file, "--data", path, "--include-key")).code).toBe(0);
    renameSync(path, `${path}.before-2026-01-01`);
    cpSync(`${path}.before-2026-01-01`, `${path}.restoring-1`, { recursive: true });
    expect(await refusalOf(startWith(path, {}))).toContain(
      `A restore of ${path} was interrupted. Run "weir restore" again, or rename ${path}.before-2026-01-01 to ${path}.`,
    );
    expect(existsSync(path)).toBe(false);
    expect((await shell()(restore, file, "--data", path)).code).toBe(0);
    await startWith(path, {});
  });
});

deepTest("a copy of a data directory opens where the first one did", async () => {
  using here = folder();
  const [first, second] = [join(here.path, "first"), join(here.path, "second")];
  await serveOnce(first);
  cpSync(first, second, { recursive: true });
  expect((await shell()(doctor, "--data", second)).code).toBe(0);
  await startWith(second, {});
});
