import type { Database as Sqlite } from "bun:sqlite";
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Clock, timestamp } from "../base/clock.ts";
import { flush } from "../base/disk.ts";
import { AppError } from "../base/errors.ts";
import { Copier } from "./copier.ts";
import { fileFault, storeFault } from "./faults.ts";
import type { Migration } from "./migrate.ts";

const KEPT_BEFORE_MIGRATIONS = 5;

/**
 * Creates the file `path` with `copy`, which fills the file it is passed.
 * Atomic: `path` never contains an incomplete copy. Throws `conflict` if it exists.
 */
async function keepCopy(path: string, copy: (to: string) => Promise<void> | void): Promise<void> {
  if (existsSync(path)) throw new AppError("conflict", "A file already exists at the backup's path.");
  const part = `${path}.part`;
  try {
    rmSync(part, { force: true });
    closeSync(openSync(part, "wx", 0o600)); // VACUUM INTO accepts an empty file and keeps its mode
    await copy(part);
    flush(part);
    renameSync(part, path);
    flush(dirname(path));
  } catch (error) {
    rmSync(part, { force: true });
    throw storeFault(error);
  }
}

/** Writes the last committed state of the file `path`, compacted, to the new file `to`, in a separate thread. */
export async function backup(path: string, to: string): Promise<void> {
  const copier = new Copier();
  try {
    await keepCopy(to, (part) => copier.ask({ do: "copy", path, to: part }));
  } catch (error) {
    throw fileFault(error, path); // reading takes space as well
  } finally {
    await copier.close();
  }
}

/** Copies a database before it is migrated, and keeps only the latest copies. Returns the path of this one. */
export async function backupBefore(
  connection: Sqlite,
  next: Migration,
  options: { folder: string; clock: Clock },
): Promise<string> {
  const { folder, clock } = options;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stamp = timestamp(clock).replaceAll(/[:.]/g, "-");
  const path = join(folder, `before-${next.name}-${stamp}.db`);
  await keepCopy(path, (to) => {
    connection.run("VACUUM INTO ?", [to]);
  });

  const copies = readdirSync(folder).filter((name) => /^before-.*\.db$/.test(name));
  const stampOf = (name: string) => name.slice(-"0000-00-00T00-00-00-000Z.db".length);
  copies.sort((a, b) => (stampOf(a) < stampOf(b) ? 1 : -1));
  for (const name of copies.slice(KEPT_BEFORE_MIGRATIONS)) rmSync(join(folder, name));
  return path;
}
