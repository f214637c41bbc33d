import { copyFile, lstat, mkdir, open, rename, rm, rmdir, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { codeOf, diskFull, syncFolder } from "../base/disk.ts";
import { AppError } from "../base/errors.ts";
import { type Ids, systemIds } from "../base/ids.ts";
import type { Lake, LakeFile } from "./contract.ts";
import { entriesOf, filesBelow, touchedAt } from "./leftovers.ts";
import { checkId, checkPath, folderOf } from "./names.ts";

/** Below the root: work folders of active runs, on the same disk as the files. */
export const WORK = ".work";

/** A lake in a local folder, which is created if missing. */
export function openFolderLake(root: string, ids: Ids = systemIds): Lake {
  const home = resolve(root);

  const inside = (path: string) => insideOf(home, path);
  const numbers = new Numbers();

  return {
    // Other engines take the URL literally, so nothing in it is percent-encoded.
    home: `file://${home}`,

    async workFolder(runId) {
      checkId("run", runId);
      const path = join(home, WORK, `${runId}-${ids.uuid()}`);
      await mkdir(path, { recursive: true, mode: 0o700 });
      return { path, dispose: () => rm(path, { recursive: true, force: true }) };
    },

    async add(at, file) {
      const { loadId } = at;
      const folder = folderOf(at);
      await syncFile(file.path);
      const name = await moveInto(home, folder, loadId, file.path, numbers);
      const added: LakeFile = {
        id: ids.uuid(),
        path: `${folder}/${name}`,
        rows: file.rows,
        bytes: file.bytes,
        loadId,
        ...(file.part ? { part: file.part } : {}),
      };
      return added;
    },

    async localPath({ path }) {
      const absolute = inside(path);
      await refuseLinks(home, absolute);
      return absolute;
    },

    async tail({ path, bytes }, length) {
      const absolute = inside(path);
      await refuseLinks(home, absolute);
      return bytesBetween(absolute, Math.max(bytes - length, 0), bytes).catch((error: unknown) => {
        if (codeOf(error) !== "ENOENT") throw error;
        const message = "The dataset changed while it was being read. Try again.";
        throw new AppError("dataset_changed", message, { retryable: true, cause: error });
      });
    },

    async write(folder, files) {
      const target = inside(folder);
      await refuseLinks(home, target);
      try {
        await makeFolders(home, target);
        for (const { name, bytes } of files) await writeOver(join(target, name), bytes, ids);
        await syncFolder(target);
      } catch (error) {
        throw diskError(error);
      }
    },

    async remove(paths) {
      for (const path of paths) {
        const absolute = inside(path);
        try {
          await refuseLinks(home, dirname(absolute));
          await unlink(absolute);
        } catch (error) {
          if (codeOf(error) !== "ENOENT") throw error;
        }
        await removeEmpty(home, dirname(absolute));
      }
    },

    async *list(before) {
      for (const entry of await entriesOf(home)) {
        if (!entry.isDirectory()) continue;
        if (entry.name === WORK) yield* abandonedWork(home, before);
        else yield* filesBelow(home, before, entry.name);
      }
    },
  };
}

async function bytesBetween(path: string, from: number, to: number): Promise<Uint8Array> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(to - from), 0, to - from, from);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/**
 * The only function that turns a relative path into one on disk. Throws `bad_request` for a path that would leave
 * the root.
 */
function insideOf(home: string, path: string): string {
  return join(home, ...checkPath(path));
}

/** Throws `not_found` if part of the path below the root is a symbolic link, which could lead anywhere. */
async function refuseLinks(home: string, absolute: string): Promise<void> {
  for (let end = home.length; end !== -1; end = absolute.indexOf("/", end + 1)) {
    const next = absolute.indexOf("/", end + 1);
    const part = next === -1 ? absolute : absolute.slice(0, next);
    if (part.length <= home.length) return;
    try {
      if (!(await lstat(part)).isSymbolicLink()) continue;
    } catch (error) {
      if (codeOf(error) === "ENOENT") return; // a missing path leads nowhere, and opening it fails anyway
      throw error;
    }
    throw new AppError("not_found", "A file of the lake is missing.");
  }
}

/** Number of concurrent loads to remember. All others look for a free number from 1. */
const MAX_NUMBERED = 1000;

/** The next file number of each load, so that a load of many files doesn't try all numbers it has used. */
class Numbers {
  readonly #last = new Map<string, number>();

  after(load: string): number {
    return (this.#last.get(load) ?? 0) + 1;
  }

  took(load: string, n: number): void {
    this.#last.delete(load);
    this.#last.set(load, n);
    const [oldest] = this.#last.keys();
    if (this.#last.size > MAX_NUMBERED && oldest !== undefined) this.#last.delete(oldest);
  }
}

/**
 * Moves the file to `LOAD-N.parquet` with the next free N, and syncs all folders on the path. Reserves the name by
 * creating it, so that an existing file is never overwritten.
 */
async function moveInto(
  home: string,
  folder: string,
  loadId: string,
  source: string,
  numbers: Numbers,
): Promise<string> {
  const target = join(home, ...folder.split("/"));
  const load = `${folder}/${loadId}`;
  for (let n = numbers.after(load); ; n++) {
    const name = `${loadId}-${n}.parquet`;
    await refuseLinks(home, target);
    try {
      await makeFolders(home, target);
      await (await open(join(target, name), "wx", 0o600)).close();
    } catch (error) {
      if (codeOf(error) === "EEXIST") continue;
      if (codeOf(error) === "ENOENT") {
        n--; // the empty folder was removed in between
        continue;
      }
      throw diskError(error);
    }
    try {
      await moveOver(source, join(target, name));
      await syncFolder(target);
    } catch (error) {
      await rm(join(target, name), { force: true });
      throw diskError(error);
    }
    numbers.took(load, n);
    return name;
  }
}

async function moveOver(source: string, target: string): Promise<void> {
  try {
    await rename(source, target);
  } catch (error) {
    if (codeOf(error) !== "EXDEV") throw error;
    const aside = `${target}.new`;
    await copyFile(source, aside);
    await syncFile(aside);
    await rename(aside, target);
    await rm(source, { force: true });
  }
}

/** Syncs a file and moves it to its final path, replacing an existing file. */
async function writeOver(path: string, bytes: Uint8Array, ids: Ids): Promise<void> {
  const aside = `${path}.${ids.uuid()}`;
  const file = await open(aside, "wx", 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(aside, path);
}

/** Creates missing folders, each durably. */
async function makeFolders(home: string, folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length && made.length > home.length; made = dirname(made)) {
    await syncFolder(dirname(made));
  }
}

/** Restricts the file to its owner and syncs it to disk. */
async function syncFile(path: string): Promise<void> {
  const file = await open(path, "r+");
  try {
    await file.chmod(0o600);
    await file.sync();
  } catch (error) {
    throw diskError(error);
  } finally {
    await file.close();
  }
}

const diskError = (cause: unknown): unknown =>
  diskFull(cause, "The disk of the lake is full. Free some space and try again.") ?? cause;

/** Removes empty folders, up to the root. */
async function removeEmpty(home: string, folder: string): Promise<void> {
  for (let each = folder; each.length > home.length; each = dirname(each)) {
    try {
      await rmdir(each);
    } catch {
      return; // not empty, or another process was faster
    }
  }
}

/** Files of runs whose work folder hasn't been written to since. An active run keeps its old files too. */
async function* abandonedWork(home: string, before: Date): AsyncIterable<string> {
  for (const entry of await entriesOf(join(home, WORK))) {
    const files = await Array.fromAsync(filesBelow(home, new Date(8.64e15), `${WORK}/${entry.name}`));
    const times = await Promise.all(files.map((file) => touchedAt(join(home, file))));
    if (times.every((time) => time < before.getTime())) yield* files;
  }
}
