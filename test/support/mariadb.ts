import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./postgres.ts";

/** Whether this machine has a MariaDB to start. */
export const hasMariadb = Bun.which("mariadbd") !== null && Bun.which("mariadb-install-db") !== null;

/** A real MariaDB in a temporary folder. `await using` stops it and deletes the folder. */
export async function startMariadb() {
  const folder = mkdtempSync(join(tmpdir(), "weir-mariadb-"));
  const port = await freePort();
  // The server does not run as root unless it is told to.
  const user = process.getuid?.() === 0 ? ["--user=root"] : [];
  const socket = join(folder, "socket");
  const options = ["--no-defaults", ...user, `--datadir=${join(folder, "data")}`];
  const install = Bun.spawn(
    ["mariadb-install-db", ...options, "--auth-root-authentication-method=normal", "--skip-test-db"],
    { stdout: "ignore", stderr: "ignore" },
  );
  if ((await install.exited) !== 0) throw new Error("MariaDB could not make its data folder.");
  const server = Bun.spawn(
    [
      "mariadbd",
      ...options,
      `--socket=${socket}`,
      `--port=${port}`,
      "--bind-address=127.0.0.1",
      "--max-allowed-packet=1G",
      "--innodb-flush-log-at-trx-commit=0",
    ],
    { stdout: "ignore", stderr: "ignore" },
  );
  const client = async (sql: string): Promise<string> => {
    const asked = Bun.spawn(
      [
        "mariadb",
        "--no-defaults",
        "-N",
        "-u",
        "root",
        `--socket=${socket}`,
        "--max-allowed-packet=1G",
        "--default-character-set=utf8mb4",
      ],
      {
        stdin: Buffer.from(sql),
        stdout: "pipe",
        stderr: "pipe",
      },
    );
    const [out, error] = await Promise.all([
      new Response(asked.stdout).text(),
      new Response(asked.stderr).text(),
    ]);
    if ((await asked.exited) !== 0) throw new Error(error);
    return out;
  };
  for (;;) {
    const isUp = await client("SELECT 1").then(
      () => true,
      () => false,
    );
    if (isUp) break;
    if (server.exitCode !== null) throw new Error("MariaDB did not start.");
    await Bun.sleep(50);
  }
  await client(
    "CREATE DATABASE shop; CREATE USER reader@'%' IDENTIFIED BY 'secret'; GRANT SELECT ON *.* TO reader@'%'",
  );
  return {
    config: { host: "127.0.0.1", port, database: "shop" },
    credentials: { user: "reader", password: "secret" },
    /** Runs statements as the owner, in the database `shop`. */
    run: (sql: string) => client(`USE shop; ${sql}`),
    async [Symbol.asyncDispose]() {
      server.kill();
      await server.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type TestMariadb = Awaited<ReturnType<typeof startMariadb>>;
