import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openApp } from "../../src/app.ts";
import { systemIds } from "../../src/base/ids.ts";
import { openLog } from "../../src/base/log.ts";
import { readConfig } from "../../src/config.ts";
import { contextFor } from "../../src/context.ts";
import { keyIdOf, openSecretBox } from "../../src/crypto/secretbox.ts";
import { beginChange } from "../../src/engine/keys.ts";
import { rekey } from "../../src/engine/rekeyer.ts";
import { SEALED } from "../../src/engine/sealed.ts";
import { askForNextKey } from "../../src/folder.ts";
import { readInstallation } from "../../src/installation.ts";
import { credentialsLabel, openCredentials } from "../../src/resources/connections/credentials.ts";
import { connections } from "../../src/resources/connections/table.ts";
import { startApp, turnableClock } from "../support/app.ts";
import { makeHook, send } from "../support/hook.ts";
import { startInstallation } from "../support/process.ts";
import { PROGRAM } from "../support/program.ts";
import { refusalOf } from "../support/refusal.ts";
import { deepTest, scaled } from "../support/scale.ts";
import { branch, created, until } from "../support/work.ts";

const BRANCH = { kind: "conditional_branch", definition: branch() };

/** Two rounds through every column, and some more steps. */
const LAST_STEP = 2 * SEALED.length + 7;

/** Runs `weir keys …` to its end. */
async function weirKeys(dataFolder: string, words: readonly string[] = ["rotate", "--json"], env = {}) {
  const child = Bun.spawn([...PROGRAM, "keys", ...words, "--data", dataFolder], {
    env: { ...process.env, WEIR_LOG: "warn", ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, out, err };
}

const keyIn = (dataFolder: string, name = "secret.key") =>
  new Uint8Array(Buffer.from(readFileSync(join(dataFolder, name), "utf8").trim(), "base64"));
const random = () => Buffer.from(systemIds.bytes(32)).toString("base64");

/** Counts encrypted texts anywhere in the store, by the ID of their key. */
function sealedIn(dataFolder: string): Record<string, number> {
  const file = new Database(join(dataFolder, "weir.db"), { readonly: true });
  const found: Record<string, number> = {};
  try {
    for (const { name } of file.query("SELECT name FROM pragma_table_list WHERE schema = 'main'").all() as {
      name: string;
    }[]) {
      for (const row of file.query(`SELECT * FROM "${name}"`).all() as Record<string, unknown>[]) {
        for (const value of Object.values(row)) {
          const [, id] = /^v1\.([0-9a-f]{16})\./.exec(String(value)) ?? [];
          if (id) found[id] = (found[id] ?? 0) + 1;
        }
      }
    }
  } finally {
    file.close();
  }
  return found;
}

const password = (n: number) => `password-of-${n}`;

const postgres = (n: number) => ({
  name: `Warehouse ${n}`,
  provider: "postgres",
  config: { host: "127.0.0.1", port: 1, database: "shop" },
  credentials: { user: "ada", password: password(n) },
});

/**
 * Fills an installation with one secret of each kind, and `count` connections.
 * Idempotency stores a response with a token.
 */
async function fill(app: Awaited<ReturnType<typeof startApp>>, count: number) {
  for (let n = 0; n < count; n++) created(await app.owner("POST", "/api/v1/connections", postgres(n)));
  await makeHook(app, { action: BRANCH });
  const kept = await app.owner(
    "POST",
    "/api/v1/access-tokens",
    { name: "kept" },
    { "idempotency-key": "kept" },
  );
  return created(kept).token as string;
}

/** Opens the folder like a process at its start, without a server and loops. */
async function openAgain(dataFolder: string, env: Record<string, string> = {}) {
  const { config, secrets } = readConfig({ data: dataFolder }, env, {});
  const clock = turnableClock();
  const log = openLog({ level: "error", pretty: false, clock, sink: () => undefined });
  return openApp({ config, secrets, clock, log, self: [] });
}

async function passwordsIn({ app }: Awaited<ReturnType<typeof openAgain>>): Promise<string[]> {
  const ctx = contextFor(app, {
    organizationId: "",
    role: "owner",
    actor: { type: "system", id: "test" },
    correlationId: "test-keys",
  });
  const rows = await app.store.db.select().from(connections).orderBy(connections.id);
  return rows.map((row) => openCredentials(ctx, row).password ?? "");
}

test("every encrypted column is part of a key rotation", async () => {
  await using app = await startApp({ engine: false });
  const file = new Database(join(app.dataFolder, "weir.db"), { readonly: true });
  const columns = file
    .query(
      "SELECT t.name || '.' || c.name AS name FROM pragma_table_list t, pragma_table_info(t.name) c WHERE c.name LIKE '%sealed%'",
    )
    .all() as { name: string }[];
  file.close();
  expect(columns.length).toBeGreaterThan(1);
  const known = SEALED.map(({ name }) => name);
  for (const { name } of columns) expect(known).toContain(name);
});

describe("rotating the master key", () => {
  test("without a running server keeps all secrets readable, and the old key opens none", async () => {
    const dataFolder = mkdtempSync(join(tmpdir(), "weir-keys-"));
    try {
      let token = "";
      {
        await using app = await startApp({ dataFolder, engine: false });
        token = await fill(app, 3);
      }
      const old = keyIn(dataFolder);
      expect(sealedIn(dataFolder)).toEqual({ [keyIdOf(old)]: 5 });

      const { code, out, err } = await weirKeys(dataFolder);
      expect([code, err]).toEqual([0, ""]);
      const next = keyIn(dataFolder);
      expect(JSON.parse(out)).toEqual({ keyId: keyIdOf(next) });
      expect(keyIdOf(next)).not.toBe(keyIdOf(old));
      expect(sealedIn(dataFolder)).toEqual({ [keyIdOf(next)]: 5 });
      expect(readInstallation(dataFolder).keyId).toBe(keyIdOf(next));
      expect(statSync(join(dataFolder, "secret.key")).mode & 0o777).toBe(0o600);
      expect(readdirSync(dataFolder).filter((name) => name.startsWith("secret.key."))).toEqual([]);
      for (const name of ["weir.db", "weir.db-wal"]) {
        const path = join(dataFolder, name);
        if (existsSync(path)) expect(readFileSync(path, "latin1")).not.toContain(`v1.${keyIdOf(old)}`);
      }

      await using app = await startApp({ dataFolder, owner: false });
      const opened = { app: app.app } as Awaited<ReturnType<typeof openAgain>>;
      expect(await passwordsIn(opened)).toEqual([0, 1, 2].map(password));
      const [row] = await app.app.store.db.select().from(connections);
      if (!row) throw new Error("There is no connection.");
      const box = openSecretBox(old, systemIds);
      expect(() => box.open(row.sealedCredentials, credentialsLabel(row))).toThrow("a different key");
      expect((await send(app, "{}")).status).toBe(200);
      expect(token).toStartWith("svc_pat_");
    } finally {
      rmSync(dataFolder, { recursive: true, force: true });
    }
  }, 120_000);

  deepTest(
    "continues with requests to a running server, and a stored response with a token is returned again",
    async () => {
      await using app = await startApp();
      const token = await fill(app, 230);
      const old = app.app.secrets.keyId;
      const { body: page } = await app.owner("GET", "/api/v1/connections?limit=5&cursor=");

      const change = weirKeys(app.dataFolder, ["rotate"]);
      let isOver = false;
      const statuses: number[] = [];
      const traffic = (async () => {
        for (let n = 1_000; !isOver; n++) {
          const { status, body } = await app.owner("POST", "/api/v1/connections", postgres(n));
          statuses.push(status);
          if (n % 8 === 0 && n < 1_064) statuses.push((await send(app, "{}")).status); // The plan allows a burst of 10.
          const changed = { credentials: { password: `${password(n)}-2` } };
          statuses.push((await app.owner("PATCH", `/api/v1/connections/${body.id}`, changed)).status);
          await Bun.sleep(5);
        }
      })();
      const { code, out, err } = await change;
      isOver = true;
      await traffic;
      expect([code, err]).toEqual([0, ""]);
      const next = keyIdOf(keyIn(app.dataFolder));
      expect(out).toStartWith(`Master key rotated (${next})`);
      expect(statuses.filter((status) => status >= 300)).toEqual([]);
      await until(app.owner, "/api/v1/meta", () => app.app.secrets.formerKeyIds.length === 0);
      expect(app.app.secrets.keyId).toBe(next);
      expect(Object.keys(sealedIn(app.dataFolder))).toEqual([next]);
      expect(app.app.secrets.isRetired(old)).toBe(true);

      const again = await app.owner(
        "POST",
        "/api/v1/access-tokens",
        { name: "kept" },
        { "idempotency-key": "kept" },
      );
      expect([again.body.token, again.headers.get("idempotency-replayed")]).toEqual([token, "true"]);

      // An earlier cursor is expired, as after 24 hours; a modified one is invalid.
      const path = (cursor: string) => `/api/v1/connections?limit=5&cursor=${encodeURIComponent(cursor)}`;
      const late = await app.owner("GET", path(page.nextCursor));
      expect([late.status, late.body.code]).toEqual([410, "cursor_expired"]);
      const { body: fresh } = await app.owner("GET", "/api/v1/connections?limit=5&cursor=");
      expect((await app.owner("GET", path(fresh.nextCursor))).status).toBe(200);
      expect((await app.owner("GET", path(`x${fresh.nextCursor}`))).status).toBe(422);
    },
    120_000,
  );

  test("that is interrupted after any step is finished by the next start", async () => {
    const dataFolder = mkdtempSync(join(tmpdir(), "weir-keys-"));
    try {
      {
        await using app = await startApp({ dataFolder, engine: false });
        await fill(app, 6);
      }
      const expected = Array.from({ length: 6 }, (_, n) => password(n));
      for (let steps = 0; steps < LAST_STEP; steps += scaled(3, 1)) {
        const next = keyIdOf(askForNextKey(dataFolder, systemIds));
        const first = await openAgain(dataFolder);
        await beginChange(first.app);
        const work = rekey(first.app);
        let ended = false;
        for (let step = 0; step < steps && !ended; step++) ended = (await work.next()).done === true;
        expect(await passwordsIn(first)).toEqual(expected);
        const { keyId } = readInstallation(dataFolder);
        expect([keyIdOf(keyIn(dataFolder)), next]).toContain(keyId ?? "");
        await first.close(); // Nothing of the change is done after this point, as after a kill.

        const { code, out } = await weirKeys(dataFolder);
        expect(code).toBe(0);
        const now = keyIdOf(keyIn(dataFolder));
        expect(JSON.parse(out)).toEqual({ keyId: now });
        if (!ended) expect(now).toBe(next);
        expect(Object.keys(sealedIn(dataFolder))).toEqual([now]);
        expect(readInstallation(dataFolder).keyId).toBe(now);
        const second = await openAgain(dataFolder);
        expect(await passwordsIn(second)).toEqual(expected);
        await second.close();
        if (ended) break;
        expect(steps).toBeLessThan(LAST_STEP - scaled(3, 1));
      }
    } finally {
      rmSync(dataFolder, { recursive: true, force: true });
    }
  }, 120_000);

  deepTest(
    "survives kill -9 of the server at any time",
    async () => {
      await using installation = await startInstallation();
      const { dataFolder } = installation;
      let server = await installation.serve();
      const count = 40;
      for (let n = 0; n < count; n++) created(await server.owner("POST", "/api/v1/connections", postgres(n)));
      const old = keyIdOf(keyIn(dataFolder));
      askForNextKey(dataFolder, systemIds);
      for (const waitMs of [0, 300, 900, 1_010]) {
        await Bun.sleep(waitMs);
        await server.end("SIGKILL");
        const again = await openAgain(dataFolder); // As it was left: everything can be decrypted.
        expect(await passwordsIn(again)).toEqual(Array.from({ length: count }, (_, n) => password(n)));
        await again.close();
        server = await installation.serve();
      }
      await until(server.owner, "/api/v1/meta", () => !existsSync(join(dataFolder, "secret.key.next")));
      const next = keyIdOf(keyIn(dataFolder));
      expect(next).not.toBe(old);
      expect(Object.keys(sealedIn(dataFolder))).toEqual([next]);
      expect((await server.owner("POST", "/api/v1/connections", postgres(count))).status).toBe(201);
    },
    120_000,
  );
});

describe("with the key in the environment", () => {
  deepTest(
    "the previous one opens what it encrypted until everything uses the new one",
    async () => {
      const dataFolder = mkdtempSync(join(tmpdir(), "weir-keys-"));
      const [one, two] = [random(), random()];
      try {
        {
          await using app = await startApp({ dataFolder, engine: false, env: { WEIR_SECRET_KEY: one } });
          await fill(app, 3);
        }
        expect(await refusalOf(openAgain(dataFolder, { WEIR_SECRET_KEY: two }))).toContain(
          "WEIR_SECRET_KEY is the key",
        );
        const both = { WEIR_SECRET_KEY: two, WEIR_SECRET_KEY_PREVIOUS: one };
        {
          await using app = await startApp({ dataFolder, owner: false, env: both });
          expect((await send(app, "{}")).status).toBe(200);
          for (let n = 0; app.app.secrets.formerKeyIds.length > 0 && n < 500; n++) await Bun.sleep(20);
          expect(app.logged.join()).toContain("master key rotated");
        }
        expect(Object.keys(sealedIn(dataFolder))).toEqual([keyIdOf(Buffer.from(two, "base64"))]);
        expect(await refusalOf(openAgain(dataFolder, { WEIR_SECRET_KEY: one }))).toContain(
          "WEIR_SECRET_KEY is the key",
        );
        const again = await openAgain(dataFolder, { WEIR_SECRET_KEY: two });
        expect(await passwordsIn(again)).toEqual([0, 1, 2].map(password));
        await again.close();
      } finally {
        rmSync(dataFolder, { recursive: true, force: true });
      }
    },
    120_000,
  );

  test("a new key that is already in use can't be removed again", async () => {
    const dataFolder = mkdtempSync(join(tmpdir(), "weir-keys-"));
    const [one, two] = [random(), random()];
    try {
      await (await openAgain(dataFolder, { WEIR_SECRET_KEY: one })).close();
      const both = { WEIR_SECRET_KEY: two, WEIR_SECRET_KEY_PREVIOUS: one };
      await (await openAgain(dataFolder, both)).close();
      expect(await refusalOf(openAgain(dataFolder, { WEIR_SECRET_KEY: one }))).toContain(
        "WEIR_SECRET_KEY is the key",
      );
      expect(await refusalOf(openAgain(dataFolder, { WEIR_SECRET_KEY: two }))).toContain(
        "The master key isn't the one",
      );
    } finally {
      rmSync(dataFolder, { recursive: true, force: true });
    }
  });

  test.each([
    [{ WEIR_SECRET_KEY: random() }, "WEIR_SECRET_KEY_PREVIOUS"],
    [{}, "No secret.key in"],
    [{ WEIR_SECRET_KEY_PREVIOUS: random() }, "without WEIR_SECRET_KEY"],
  ])("weir keys rotate is rejected with a sentence (%#)", async (env, words) => {
    const dataFolder = mkdtempSync(join(tmpdir(), "weir-keys-"));
    try {
      const { code, err } = await weirKeys(dataFolder, ["rotate"], env);
      expect([code, err.split("\n").length]).toEqual([1, 2]);
      expect(err).toContain(words);
    } finally {
      rmSync(dataFolder, { recursive: true, force: true });
    }
  });

  deepTest(
    "a server whose key isn't the file's doesn't use the new one",
    async () => {
      await using app = await startApp({ env: { WEIR_SECRET_KEY: random() } });
      writeFileSync(join(app.dataFolder, "secret.key"), `${random()}\n`, { mode: 0o600 });
      const { code, err } = await weirKeys(app.dataFolder);
      expect(code).toBe(1);
      expect(err).toContain("secret.key contains the key");
      askForNextKey(app.dataFolder, systemIds); // As an older version does.
      await until(app.owner, "/api/v1/meta", () => !existsSync(join(app.dataFolder, "secret.key.next")));
      expect(app.logged.join()).toContain("isn't from secret.key");
    },
    120_000,
  );
});

test.skipIf(process.getuid?.() !== 0)("a key requested by root can be read by the folder's owner", () => {
  const dataFolder = mkdtempSync(join(tmpdir(), "weir-keys-"));
  chownSync(dataFolder, 65_534, 65_533);
  askForNextKey(dataFolder, systemIds);
  const { uid, gid, mode } = statSync(join(dataFolder, "secret.key.next"));
  rmSync(dataFolder, { recursive: true });
  expect([uid, gid, mode & 0o777]).toEqual([65_534, 65_533, 0o600]);
});

test("weir keys accepts only rotate", async () => {
  for (const words of [[], ["turn"], ["rotate", "twice"], ["rotate", "--hard"]]) {
    const { code, err } = await weirKeys(tmpdir(), words);
    expect([code, err.includes("Usage: weir keys rotate")]).toEqual([2, true]);
  }
});
