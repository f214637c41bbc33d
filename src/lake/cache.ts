import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { copyFile, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "../base/clock.ts";
import { codeOf, diskFull } from "../base/disk.ts";
import type { Ids } from "../base/ids.ts";

export interface CacheOptions {
  /** Absolute path, used by this cache only. */
  folder: string;
  /** Maximum total size of the files. Files in use may exceed it. */
  maxBytes: number;
  /** Minimum time that a file stays after its last use. */
  graceMs: number;
  clock: Clock;
  ids: Ids;
}

/** Local copies of immutable files, by their paths below the folder. */
export interface FileCache {
  /**
   * Returns the absolute path of a copy. Calls `fetch` if there is no copy, once even for concurrent requests. Calls
   * `hold` before the file could be evicted, with a function that releases it.
   */
  get(
    path: string,
    fetch: (into: string) => Promise<void>,
    hold?: (release: () => void) => void,
  ): Promise<string>;
  /** Moves a finished file into the cache. */
  put(path: string, source: string): Promise<void>;
  drop(path: string): Promise<void>;
}

interface Entry {
  bytes: number;
  usedAt: number;
  holders: number;
}

/** Folder below the cache's own for files that are being fetched. */
const PARTS = ".parts";

/** Opens the cache. Keeps what earlier processes fetched, and deletes their unfinished files. */
export function openCache({ folder, maxBytes, graceMs, clock, ids }: CacheOptions): FileCache {
  rmSync(join(folder, PARTS), { recursive: true, force: true });
  mkdirSync(join(folder, PARTS), { recursive: true, mode: 0o700 });
  const entries = new Map<string, Entry>(); // least recently used first
  const fetching = new Map<string, Promise<void>>();
  let total = 0;
  for (const { path, bytes } of filesBelow(folder)) {
    entries.set(path, { bytes, usedAt: Number.NEGATIVE_INFINITY, holders: 0 });
    total += bytes;
  }

  const use = (path: string): Entry | null => {
    const entry = entries.get(path);
    if (!entry) return null;
    entry.usedAt = clock.monotonic();
    entries.delete(path);
    entries.set(path, entry);
    return entry;
  };

  const forget = (path: string, { bytes }: Entry) => {
    entries.delete(path);
    total -= bytes;
    rmSync(join(folder, path), { force: true }); // synchronous: it may be fetched again a moment later
  };

  const makeRoom = () => {
    const since = clock.monotonic() - graceMs;
    for (const [path, entry] of [...entries]) {
      if (total <= maxBytes) return;
      if (entry.holders === 0 && entry.usedAt < since) forget(path, entry);
    }
  };

  /** Renames a finished part to its final name. */
  const keep = async (path: string, part: string) => {
    const target = join(folder, path);
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await rename(part, target);
    const bytes = statSync(target).size;
    total += bytes - (entries.get(path)?.bytes ?? 0);
    entries.set(path, { bytes, usedAt: clock.monotonic(), holders: entries.get(path)?.holders ?? 0 });
  };

  const bring = async (path: string, write: (part: string) => Promise<void>) => {
    const part = join(folder, PARTS, ids.uuid());
    try {
      await write(part);
      await sync(part);
      await keep(path, part);
    } catch (error) {
      await rm(part, { force: true });
      throw diskError(error);
    }
  };

  const fetchOnce = (path: string, fetch: (into: string) => Promise<void>): Promise<void> => {
    const known = fetching.get(path);
    if (known) return known;
    const fetched = bring(path, fetch).finally(() => fetching.delete(path));
    fetching.set(path, fetched);
    return fetched;
  };

  return {
    async get(path, fetch, hold) {
      let entry = use(path);
      while (entry === null) {
        await fetchOnce(path, fetch);
        entry = use(path);
      }
      const heldEntry = entry;
      if (hold) {
        heldEntry.holders++;
        hold(() => void heldEntry.holders--);
      }
      makeRoom();
      return join(folder, path);
    },
    async put(path, source) {
      await bring(path, (part) => moveTo(source, part));
      makeRoom();
    },
    async drop(path) {
      const entry = entries.get(path);
      if (entry) forget(path, entry);
    },
  };
}

async function moveTo(source: string, target: string): Promise<void> {
  try {
    await rename(source, target);
  } catch (error) {
    if (codeOf(error) !== "EXDEV") throw error;
    await copyFile(source, target);
  }
}

/** After a power failure a copy can be empty. It must not be read as the file. */
async function sync(path: string): Promise<void> {
  const file = await open(path, "r+");
  try {
    await file.chmod(0o600);
    await file.sync();
  } finally {
    await file.close();
  }
}

function* filesBelow(folder: string): Generator<{ path: string; bytes: number }> {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => ({ path: join(entry.parentPath, entry.name).slice(folder.length + 1), entry }))
    .filter(({ path }) => !path.startsWith(PARTS));
  const known = found.map(({ path }) => ({ path, stat: statSync(join(folder, path)) }));
  known.sort((a, b) => a.stat.mtimeMs - b.stat.mtimeMs);
  for (const { path, stat } of known) yield { path, bytes: stat.size };
}

const diskError = (cause: unknown): unknown =>
  diskFull(cause, "The disk is full. Free some space, or set WEIR_LAKE_CACHE lower.") ?? cause;
