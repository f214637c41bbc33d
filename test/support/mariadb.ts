import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createConnection } from "mysql2/promise";
import { inGround, succeed } from "./ground.ts";
import { freePort } from "./postgres.ts";

const program = (name: string): string | null =>
  Bun.which(name, { PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` });

/** Whether the machine has a MariaDB server. Debian's package is `mariadb-server`. */
export const hasMariadb = program("mariadbd") !== null && program("mariadb-install-db") !== null;

const START_TRIES = 600;

/** A real MariaDB in a temporary folder. `await using` stops it and deletes the folder. */
export async function startMariadb(options: readonly string[] = []) {
  const folder = mkdtempSync(join(tmpdir(), "weir-mariadb-"));
  const data = join(folder, "data");
  const asRoot = process.getuid?.() === 0 ? ["--user=root"] : [];
  const own = ["--no-defaults", `--datadir=${data}`, ...asRoot];
  await inGround("mariadb", data, async () => {
    const installer = program("mariadb-install-db") ?? "";
    await succeed([installer, ...own, "--auth-root-authentication-method=normal", "--skip-test-db"]);
  });
  const port = await freePort();
  const server = Bun.spawn(
    [
      program("mariadbd") ?? "",
      ...own,
      `--port=${port}`,
      `--socket=${join(folder, "sock")}`,
      "--bind-address=127.0.0.1",
      "--skip-name-resolve",
      "--innodb-flush-log-at-trx-commit=0",
      "--innodb-buffer-pool-size=32M",
      "--max-allowed-packet=1G",
      ...options,
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  const root = await connected(port);
  await root.query(
    "CREATE DATABASE shop; CREATE USER reader@'%' IDENTIFIED BY 'secret'; GRANT SELECT ON *.* TO reader@'%'; USE shop",
  );
  return {
    config: { host: "127.0.0.1", port, database: "shop" },
    credentials: { user: "reader", password: "secret" },
    /** The owner's own client. It accepts several statements at once and returns every value as text. */
    root,
    /** Runs statements as the owner, in the database `shop`. */
    run: (sql: string) => root.query(`USE shop; ${sql}`),
    async [Symbol.asyncDispose]() {
      root.destroy();
      server.kill("SIGKILL");
      await server.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function connected(port: number) {
  for (let tries = 0; ; tries++) {
    try {
      return await createConnection({
        host: "127.0.0.1",
        port,
        user: "root",
        charset: "utf8mb4",
        multipleStatements: true,
        rowsAsArray: true,
        typeCast: (field) => field.string(),
      });
    } catch (error) {
      if (tries === START_TRIES) throw error;
      await Bun.sleep(50);
    }
  }
}

export type TestMariadb = Awaited<ReturnType<typeof startMariadb>>;
