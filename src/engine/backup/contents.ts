import { link, lstat, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { asc } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import { type FolderEntry, readEntries } from "../../base/folder-entries.ts";
import { lakeFiles } from "../../resources/datasets/table.ts";
import { endOfChain } from "../../resources/events/heads.ts";
import { organizations } from "../../resources/organizations/table.ts";
import { openReader } from "../../store/file.ts";
import { migrations } from "../../store/migrations.ts";
import { settings } from "../../store/settings.ts";
import { Reader } from "../../store/sqlite.ts";
import type { ReadDb } from "../../store/store.ts";
import type { Manifest } from "./shape.ts";

/** A file to back up. */
export interface Piece {
  /** Its name in the backup, with slashes. */
  name: string;
  /** Its current path. */
  path: string;
  bytes: number;
  /** False if the file may be missing. */
  isNeeded: boolean;
}

/** Runs `work` with a database file that no server has open, then closes it. */
export async function withDatabase<T>(path: string, work: (db: ReadDb) => Promise<T>): Promise<T> {
  const reader = new Reader(openReader(path));
  try {
    return await work(reader.db);
  } finally {
    reader.close();
  }
}

/** Metadata of a copied database. */
export interface Described {
  migrations: string[];
  keyId: string | null;
  organizations: Manifest["organizations"];
}

/** Throws `unavailable` for a database of a newer version, and `invalid_state` during a rotation of the master key. */
export async function describe(db: ReadDb): Promise<Described> {
  const applied = await migrationsOf(db);
  refuseNewer(applied, "This database");
  const kept = new Map(
    (await db.select().from(settings)).map(({ key, value }): [string, string] => [key, value]),
  );
  if (kept.has("next_key_id")) {
    throw new AppError(
      "invalid_state",
      "A master key rotation is in progress. Try again when it has finished.",
      {
        retryable: true,
      },
    );
  }
  const found: Manifest["organizations"] = [];
  const { id, slug } = organizations; // Older versions lack other columns.
  for (const row of await db.select({ id, slug }).from(organizations).orderBy(asc(id))) {
    const { events, head } = await endOfChain(db, row.id);
    found.push({ ...row, events, head });
  }
  return { migrations: applied, keyId: kept.get("key_id") ?? null, organizations: found };
}

export const migrationsOf = async (db: ReadDb): Promise<string[]> =>
  (await db.all<{ name: string }>("SELECT name FROM migrations ORDER BY name")).map(({ name }) => name);

/** Throws `unavailable` for migrations that this version doesn't know. */
export function refuseNewer(applied: readonly string[], what: string): void {
  const known = new Set(migrations.map(({ name }) => name));
  const newer = applied.filter((name) => !known.has(name));
  if (newer.length === 0) return;
  throw new AppError(
    "unavailable",
    `${what} was created by a newer version of Weir (migrations: ${newer.join(", ")}). Use that version.`,
  );
}

/**
 * The lake's files that a database names, and those of past states that are missing. Throws `invalid_state` if any
 * other file is missing.
 */
export async function lakePieces(db: ReadDb, lake: string): Promise<{ pieces: Piece[]; gone: string[] }> {
  const { path, bytes, removedAt } = lakeFiles;
  const rows = await db.select({ path, bytes, removedAt }).from(lakeFiles).orderBy(asc(path));
  const pieces: Piece[] = [];
  const gone: string[] = [];
  for (const row of rows) {
    const from = join(lake, row.path);
    const there = await lstat(from).catch(() => null);
    const name = `lake/${row.path}`;
    if (there?.isFile())
      pieces.push({ name, path: from, bytes: there.size, isNeeded: row.removedAt === null });
    else if (row.removedAt !== null) gone.push(name);
    else {
      throw new AppError(
        "invalid_state",
        `The lake file ${row.path} is missing from ${lake}. If the lake is in a bucket, set WEIR_LAKE_URL. "weir doctor" lists missing files.`,
      );
    }
  }
  return { pieces, gone };
}

/**
 * All files in a folder, by name. What can't be included is left out: links, special files, names that aren't valid
 * UTF-8, and what is deleted in the meantime.
 */
export async function folderPieces(
  root: string,
  name: string,
  skip: (name: string) => boolean = () => false,
): Promise<{ pieces: Piece[]; leftOut: string[] }> {
  const found = { pieces: [] as Piece[], leftOut: [] as string[] };
  await collect(root, name);
  return found;

  /** Returns false for a missing folder. */
  async function collect(folder: string, folderName: string): Promise<boolean> {
    const entries = await readEntries(folder).catch(absentAsNull);
    if (entries === null) return false;
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (skip(entry.name)) continue;
      const as = `${folderName}/${entry.name}`;
      if (!(await include(entry, as))) found.leftOut.push(as);
    }
    return true;
  }

  async function include({ kind, path, isMisnamed }: FolderEntry, as: string): Promise<boolean> {
    if (isMisnamed || typeof path !== "string") return false;
    if (kind === "folder") return collect(path, as);
    const there = kind === "file" ? await lstat(path).catch(absentAsNull) : null;
    if (!there?.isFile()) return false;
    found.pieces.push({ name: as, path, bytes: there.size, isNeeded: false });
    return true;
  }
}

function absentAsNull(error: unknown): null {
  if (isAbsent(error)) return null;
  throw error;
}

const isAbsent = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOENT";

/**
 * Creates hard links to the files below `folder`, so that they remain if a server deletes them in the meantime.
 * If the file system doesn't support that, or `folder` is on another disk, the original is used.
 */
export async function hold(
  pieces: readonly Piece[],
  folder: string,
): Promise<{ heldPieces: Piece[]; gone: string[] }> {
  const made = new Set<string>();
  const heldPieces: Piece[] = [];
  const gone: string[] = [];
  for (const piece of pieces) {
    const path = join(folder, piece.name);
    if (!made.has(dirname(path))) await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    made.add(dirname(path));
    try {
      await link(piece.path, path);
      heldPieces.push({ ...piece, path });
    } catch (error) {
      if (!isAbsent(error)) heldPieces.push(piece);
      else if (piece.isNeeded) throw error;
      else gone.push(piece.name);
    }
  }
  return { heldPieces, gone };
}
