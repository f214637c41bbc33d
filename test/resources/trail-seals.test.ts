import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { canonicalJson } from "../../src/base/json.ts";
import { client } from "../support/app.ts";
import { startInstallation } from "../support/process.ts";
import { PROGRAM } from "../support/program.ts";
import { deepTest } from "../support/scale.ts";
import { until } from "../support/work.ts";

type Installation = Awaited<ReturnType<typeof startInstallation>>;
type Server = Awaited<ReturnType<Installation["serve"]>>;

/** Changes the database file by SQL, while no server is running. */
function change(dataFolder: string, work: (file: Database) => void): void {
  const file = new Database(join(dataFolder, "weir.db"));
  try {
    work(file);
  } finally {
    file.close();
  }
}

async function weir(dataFolder: string, ...words: string[]) {
  const child = Bun.spawn([...PROGRAM, ...words, "--data", dataFolder], {
    env: { ...process.env, WEIR_LOG: "warn" },
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

const verify = async (dataFolder: string, ...words: string[]) => {
  const { code, out, err } = await weir(dataFolder, "events", "verify", "--json", ...words);
  return { code, err, ...(out === "" ? {} : JSON.parse(out)) };
};

const makeConnection = (server: Server, name: string) =>
  server.owner("POST", "/api/v1/connections", {
    name,
    provider: "local_files",
    config: { root: name },
    credentials: {},
  });

/** A server that has created `names`, was verified, and ended. */
async function filled(
  weirs: Installation,
  names: readonly string[],
  signal: "SIGTERM" | "SIGKILL" = "SIGTERM",
) {
  const server = await weirs.serve();
  for (const name of names) expect((await makeConnection(server, name)).status).toBe(201);
  const seals = (await server.owner("GET", "/api/v1/events/seals")).body;
  const { body } = await server.owner("GET", "/api/v1/events/verify");
  expect(body).toMatchObject({ valid: true, firstBadId: null });
  await server.end(signal);
  return { seals, checked: body.checked as number };
}

const unguarded = (file: Database) => {
  for (const name of ["update", "delete", "replace"]) file.run(`DROP TRIGGER events_no_${name}`);
};

/** Changes an event and recomputes every following hash, as anyone without the key could. */
function rewrite(file: Database): void {
  unguarded(file);
  type Row = Record<string, string> & { seq: number };
  let previous = "0".repeat(64);
  for (const row of file.query("SELECT * FROM events ORDER BY seq").all() as Row[]) {
    const data = row.type === "connection.created" ? '{"name":"forged"}' : (row.data ?? "");
    const event = canonicalJson({
      id: row.id ?? "",
      type: row.type ?? "",
      timestamp: row.timestamp ?? "",
      entity: { type: row.entity_type ?? "", id: row.entity_id ?? "" },
      actor: { ...JSON.parse(row.actor ?? "{}"), type: row.actor_type, id: row.actor_id },
      data: JSON.parse(data),
      metadata: { correlationId: row.correlation_id ?? "", organizationId: row.organization_id ?? "" },
    });
    const hash = new Bun.CryptoHasher("sha256").update(previous + event).digest("hex");
    file.run("UPDATE events SET data = ?, hash = ? WHERE seq = ?", [data, hash, row.seq]);
    previous = hash;
  }
  file.run("UPDATE trail_heads SET hash = ?", [previous]);
}

const cutOff = (file: Database) => {
  unguarded(file);
  file.run("DELETE FROM events WHERE seq > (SELECT max(seq) - 2 FROM events)");
};

describe("an audit log that was changed in the file", () => {
  test("is truncated if its newest events are missing, even after the server continued", async () => {
    await using weirs = await startInstallation();
    await filled(weirs, ["a", "b"], "SIGKILL");
    change(weirs.dataFolder, cutOff);
    expect(await verify(weirs.dataFolder)).toMatchObject({ code: 1, valid: false, reason: "truncated" });

    const server = await weirs.serve();
    await makeConnection(server, "c");
    const { body } = await server.owner("GET", "/api/v1/events/verify");
    expect(body).toMatchObject({ valid: false, reason: "truncated" });
  }, 120_000);

  test("is rewritten if every hash was recomputed without the key, even after the server continued", async () => {
    await using weirs = await startInstallation();
    await filled(weirs, ["a", "b"]);
    change(weirs.dataFolder, rewrite);
    const found = await verify(weirs.dataFolder);
    expect(found).toMatchObject({
      code: 1,
      valid: false,
      reason: "rewritten",
      firstBadId: expect.any(String),
    });

    const server = await weirs.serve();
    await makeConnection(server, "c");
    const { body } = await server.owner("GET", "/api/v1/events/verify");
    expect(body).toMatchObject({ valid: false, reason: "rewritten" });
  }, 120_000);

  test("is detected if heads and seals were removed with the events", async () => {
    await using weirs = await startInstallation();
    await filled(weirs, ["a", "b"]);
    change(weirs.dataFolder, (file) => {
      cutOff(file);
      for (const table of ["trail_heads", "trail_seals"]) file.run(`DELETE FROM ${table}`);
      file.run("DELETE FROM settings WHERE key = 'trail_heads'");
    });
    expect(await verify(weirs.dataFolder)).toMatchObject({ code: 1, valid: false });
  }, 120_000);

  test("is rewritten if an event was removed from the middle", async () => {
    await using weirs = await startInstallation();
    await filled(weirs, ["a", "b"]);
    change(weirs.dataFolder, (file) => {
      unguarded(file);
      file.run("DELETE FROM events WHERE seq = (SELECT max(seq) - 1 FROM events)");
    });
    expect(await verify(weirs.dataFolder)).toMatchObject({ code: 1, valid: false, reason: "rewritten" });
  }, 120_000);
});

describe("an older copy that was restored", () => {
  deepTest(
    "is detected by the seals next to the database, and by those stored elsewhere",
    async () => {
      await using weirs = await startInstallation();
      const { dataFolder } = weirs;
      await filled(weirs, ["a"]);
      copyFileSync(join(dataFolder, "weir.db"), join(dataFolder, "older.db"));
      await filled(weirs, ["b"]);
      const server = await weirs.serve();
      await until(server.owner, "/api/v1/events/seals", (found) => found.items.length > 1);
      const { text, body } = await server.owner("GET", "/api/v1/events/seals");
      await server.end("SIGTERM");
      const [page, lines] = [join(dataFolder, "seals.json"), join(dataFolder, "seals.jsonl")];
      writeFileSync(page, text);
      writeFileSync(lines, body.items.map((seal: unknown) => `${JSON.stringify(seal)}\n`).join(""));
      expect(await verify(dataFolder, "--against", page)).toMatchObject({ code: 0, valid: true });
      expect(await verify(dataFolder, "--against", lines)).toMatchObject({ code: 0, valid: true });

      copyFileSync(join(dataFolder, "older.db"), join(dataFolder, "weir.db"));
      for (const name of ["weir.db-wal", "weir.db-shm"]) rmSync(join(dataFolder, name), { force: true });
      expect(await verify(dataFolder)).toMatchObject({ code: 1, valid: false, reason: "rolled_back" });

      rmSync(join(dataFolder, "trail.json"));
      expect(await verify(dataFolder)).toMatchObject({ code: 0, valid: true });
      for (const file of [page, lines])
        expect(await verify(dataFolder, "--against", file)).toMatchObject({ code: 1, reason: "rolled_back" });
      const other = await weirs.serve();
      await makeConnection(other, "c");
      const there = await weir(dataFolder, "events", "verify", "--against", page);
      expect(there.err).toContain("an older copy was restored");
    },
    120_000,
  );

  test.each(["", "{}", "[1]", '{"seq": 1}'])(
    "a file without seals is rejected: %p",
    async (text) => {
      await using weirs = await startInstallation();
      const file = join(weirs.dataFolder, "seals.json");
      writeFileSync(file, text);
      const { code, err } = await verify(weirs.dataFolder, "--against", file);
      expect(code).toBe(1);
      expect(err).toContain("contains no seals");
    },
    120_000,
  );
});

test("an audit log from before there were heads gets them at the first start", async () => {
  await using weirs = await startInstallation();
  const { checked } = await filled(weirs, ["a"]);
  change(weirs.dataFolder, (file) => {
    for (const table of ["trail_heads", "trail_seals"]) file.run(`DELETE FROM ${table}`);
    file.run("DELETE FROM settings WHERE key = 'trail_heads'");
  });
  rmSync(join(weirs.dataFolder, "trail.json"));
  const server = await weirs.serve();
  await until(server.owner, "/api/v1/events/seals", (found) => found.items.length > 0);
  const { body } = await server.owner("GET", "/api/v1/events/verify");
  expect(body).toEqual({ valid: true, checked, firstBadId: null });
}, 120_000);

test("an audit log stays valid after a master key rotation, and after kill -9", async () => {
  await using weirs = await startInstallation();
  const { dataFolder } = weirs;
  await filled(weirs, ["a"]);
  const before = readFileSync(join(dataFolder, "secret.key"), "utf8");
  expect((await weir(dataFolder, "keys", "rotate")).code).toBe(0);
  expect(readFileSync(join(dataFolder, "secret.key"), "utf8")).not.toBe(before);
  expect(await verify(dataFolder)).toMatchObject({ code: 0, valid: true });
  await filled(weirs, ["b"], "SIGKILL");
  expect(existsSync(join(dataFolder, "trail.json"))).toBe(true);
  expect(await verify(dataFolder)).toMatchObject({ code: 0, valid: true });
}, 120_000);

deepTest(
  "an audit log stays valid after a user was erased: against earlier seals, in a backup, and after a key rotation",
  async () => {
    await using weirs = await startInstallation();
    const { dataFolder } = weirs;
    let server = await weirs.serve();
    const invitation = { email: "grace@example.org", roleSlug: "member" };
    const { inviteUrl } = (await server.owner("POST", "/api/v1/organizations/invitations", invitation)).body;
    const token = new URL(inviteUrl).searchParams.get("token");
    const password = "correct horse battery staple";
    const { body: grace } = await client(server.origin)("POST", "/api/v1/auth/invitations/accept", {
      token,
      password,
    });
    await server.end("SIGTERM");
    server = await weirs.serve();
    const seals = join(dataFolder, "seals.json");
    writeFileSync(seals, (await server.owner("GET", "/api/v1/events/seals")).text);
    const path = `/api/v1/installation/users/${grace.id}`;
    expect((await server.owner("DELETE", path, { confirm: "grace@example.org" })).status).toBe(204);
    await server.end("SIGTERM");

    const found = await verify(dataFolder, "--against", seals);
    expect(found).toMatchObject({ code: 0, valid: true });
    expect(found.redacted).toBeGreaterThan(2);
    expect((await weir(dataFolder, "events", "verify")).out).toContain(
      `valid, ${found.checked} events verified, ${found.redacted} of them redacted`,
    );
    const backup = join(dataFolder, "copy.weir");
    expect((await weir(dataFolder, "backup", backup)).code).toBe(0);
    expect(await weir(dataFolder, "backup", "verify", backup)).toMatchObject({ code: 0, err: "" });
    expect((await weir(dataFolder, "keys", "rotate")).code).toBe(0);
    expect(await verify(dataFolder, "--against", seals)).toMatchObject({ code: 0, redacted: found.redacted });
    change(dataFolder, (file) => {
      unguarded(file);
      file.run("UPDATE events SET data = '{\"forged\":1}' WHERE redacted_at IS NOT NULL");
    });
    expect(await verify(dataFolder)).toMatchObject({ code: 1, valid: false, reason: "rewritten" });
  },
  120_000,
);

test("dropped triggers are created again at the start, and doctor reports them before", async () => {
  await using weirs = await startInstallation();
  await filled(weirs, ["a"]);
  change(weirs.dataFolder, (file) => unguarded(file));
  const told = await weir(weirs.dataFolder, "doctor");
  expect(told.out).toMatch(/WRONG triggers .*events_no_update/);

  const started = await weir(weirs.dataFolder, "events", "verify");
  expect(started.err).toContain("events_no_delete");
  change(weirs.dataFolder, (file) => {
    expect(() => file.run("DELETE FROM events")).toThrow("append-only");
    expect(() => file.run("UPDATE events SET data = '{}'")).toThrow("append-only");
  });
  expect((await weir(weirs.dataFolder, "doctor")).out).toMatch(/ok +triggers/);
}, 120_000);
