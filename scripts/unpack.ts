/**
 * Runs only inside the executable: a shared library can't be loaded from inside a file,
 * so it is written once to a cache folder of this user and loaded from there.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";

/** One embedded file, compressed with zstd: its place inside the executable, and its name and size outside. */
export interface Embedded {
  name: string;
  source: string;
  size: number;
}

/**
 * Writes `files` to the first usable cache folder and loads the last of them as a native module. `folder` contains the
 * content's hash, so two versions never mix. Throws one error that names every folder tried, with the reason.
 */
export function loadNative(folder: string, files: readonly Embedded[]): unknown {
  const refusals: string[] = [];
  for (const base of cacheFolders()) {
    try {
      return load(ownFolder(join(base, folder), base), files);
    } catch (error) {
      refusals.push(`${base} (${error instanceof Error ? error.message : String(error)})`);
    }
  }
  throw new Error(
    `DuckDB needs a folder of its own to unpack its library into, and none serves: ${refusals.join("; ")}. ` +
      "Set WEIR_CACHE_DIR to a folder that this user can write to and run programs from.",
  );
}

/** Only WEIR_CACHE_DIR if it is set; otherwise the user's cache and, last, the temp folder. */
function cacheFolders(): string[] {
  const { WEIR_CACHE_DIR: given, XDG_CACHE_HOME: xdg } = process.env;
  if (given) return [given];
  const user = process.getuid?.() ?? "user";
  const folders = xdg ? [join(xdg, "weir")] : [];
  try {
    if (existsSync(homedir())) folders.push(join(homedir(), ".cache", "weir"));
  } catch {
    // The system has no entry for the user, as in a bare container: only the temp folder remains.
  }
  const temporary = [...new Set([tmpdir(), "/tmp", "/var/tmp"])].filter((folder) => existsSync(folder));
  return [...folders, ...temporary.map((folder) => join(folder, `weir-${user}`))];
}

/** Creates `path` and its parents up to `base`. Rejects one that another user could have prepared. */
function ownFolder(path: string, base: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  for (const each of [base, path]) {
    const found = lstatSync(each);
    const uid = process.getuid?.();
    if (!found.isDirectory()) throw new Error("it is not a folder");
    if (uid !== undefined && found.uid !== uid) throw new Error("it belongs to another user");
    if (uid !== undefined && (found.mode & 0o022) !== 0) throw new Error("other users can write to it");
  }
  return path;
}

function load(path: string, files: readonly Embedded[]): unknown {
  const laid = files.map((file) => layDown(path, file));
  const native: { exports: unknown } = { exports: {} };
  process.dlopen(native, laid.at(-1) as string);
  return native.exports;
}

/** Written to a temporary name and renamed, so that a second process never loads half a library. */
function layDown(path: string, { name, source, size }: Embedded): string {
  const target = join(path, name);
  if (statSync(target, { throwIfNoEntry: false })?.size === size) return target;
  const aside = `${target}.${process.pid}`;
  try {
    const file = openSync(aside, "w", 0o700);
    try {
      const bytes = Bun.zstdDecompressSync(readFileSync(source)); // node:zlib takes 10 ms to load.
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(aside, target); // Closed before, as Windows requires.
  } finally {
    rmSync(aside, { force: true });
  }
  return target;
}
