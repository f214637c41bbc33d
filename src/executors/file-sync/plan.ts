import type { TreeFile } from "../../providers/contract-tree.ts";
import type { ManifestEntry } from "../contract.ts";

export interface Failure {
  path: string;
  reason: string;
}

/** Input of the plan. */
export interface Sight {
  /** Files of the source that are part of the sync. */
  files: readonly TreeFile[];
  /** Files of the destination by their path relative to its folder. */
  present: ReadonlyMap<string, TreeFile>;
  manifest: ReadonlyMap<string, ManifestEntry>;
  runId: string;
  overwrite: "changed" | "always" | "never";
  mirror: boolean;
  /** Whether the destination rejects names that differ only by case, and a file with the name of a folder. */
  isFolderLike: boolean;
  /** Whether it lists a file or a folder under another name if both have the same. */
  renamesTwins: boolean;
  /** Why the destination can't have such a path, as a clause. */
  fault(path: string): string | null;
  /** Whether the source has since moved this file's rows to other files, as tables do; then it must not be kept. */
  hasDropped(path: string): boolean;
  /** Returns whether a file of the destination is part of the sync. */
  isMeant(path: string): boolean;
  /** What couldn't be read of the source. */
  unread: readonly Failure[];
  /** A path of the destination, as users know it. */
  at(path: string): string;
}

export interface Plan {
  copy: TreeFile[];
  /** Manifest entries to add for files that already exist at the destination. */
  adopt: ManifestEntry[];
  /** Copied by this run before it was interrupted. */
  done: ManifestEntry[];
  skipped: number;
  /** Paths relative to the destination's folder, to delete at the end. */
  remove: string[];
  /** Those to delete before copying: files where the source has a folder, and files in folders where it has a file. */
  clear: string[];
  /** Copied files that were since rewritten. They are deleted in any mode, which loses nothing. */
  replaced: string[];
  /** Paths of the manifest that are obsolete. */
  forget: string[];
  failed: Failure[];
}

/** What a sync has to do, computed before it changes anything. */
export function planSync(sight: Sight): Plan {
  const { files, present, manifest } = sight;
  const plan: Plan = {
    copy: [],
    adopt: [],
    done: [],
    skipped: 0,
    remove: [],
    clear: [],
    replaced: [],
    forget: [],
    failed: [...sight.unread],
  };
  const refused = collisions(sight);
  const wanted = new Set<string>();
  for (const file of files) {
    const reason =
      nameReason(file.path, sight.fault) ?? (wanted.has(file.path) ? TWICE : null) ?? refused.get(file.path);
    wanted.add(file.path);
    if (reason) plan.failed.push({ path: file.path, reason });
    else planFile(sight, plan, file);
  }
  const others = [...present].filter(([path]) => !wanted.has(path) && sight.isMeant(path));
  for (const [path, there] of others.sort(([a], [b]) => (a < b ? -1 : 1))) {
    const known = manifest.get(path);
    if (known && isSame(there, known) && sight.hasDropped(path)) plan.replaced.push(path);
    else if (sight.mirror) plan.remove.push(path);
  }
  if (sight.isFolderLike || sight.renamesTwins) clearWay(sight, plan);
  plan.forget = [...manifest.keys()].filter((path) => !wanted.has(path) && !present.has(path));
  return plan;
}

/** What keeps a file from being written. */
interface Blocked {
  /** Files of the destination. */
  obstacles: string[];
  reason: string;
}

/**
 * Moves deletions that other files wait for to `clear`, or reports those files as failed: without a mirror, if an
 * obstacle isn't part of the sync, and after any failure, since nothing is deleted then.
 */
function clearWay(sight: Sight, plan: Plan): void {
  const blocked = blockedFiles(sight, plan.copy);
  if (blocked.size === 0) return;
  const removable = new Set(plan.remove);
  const all = new Set([...blocked.values()].flatMap(({ obstacles }) => obstacles));
  if (plan.failed.length === 0 && [...all].every((path) => removable.has(path))) {
    plan.clear = plan.remove.filter((path) => all.has(path));
    plan.remove = plan.remove.filter((path) => !all.has(path));
    return;
  }
  if (!sight.isFolderLike) return;
  for (const [path, { obstacles, reason }] of blocked) {
    const advice = obstacles.every((each) => removable.has(each))
      ? "It will be deleted when nothing else fails."
      : "Delete it there.";
    plan.failed.push({ path, reason: `Not copied: ${reason}. ${advice}` });
  }
  plan.copy = plan.copy.filter(({ path }) => !blocked.has(path));
}

/** Files to copy for which the destination has a file in place of a folder, or a folder in place of the file. */
function blockedFiles({ present, at }: Sight, copy: readonly TreeFile[]): Map<string, Blocked> {
  const blocked = new Map<string, Blocked>();
  const wanted = new Set(copy.map(({ path }) => path));
  for (const path of wanted) {
    const file = foldersOf(path).find((folder) => present.has(folder));
    if (file === undefined) continue;
    const reason = `${JSON.stringify(at(file))} is a file at the destination, not a folder`;
    blocked.set(path, { obstacles: [file], reason });
  }
  for (const obstacle of present.keys()) {
    for (const path of foldersOf(obstacle).filter((folder) => wanted.has(folder))) {
      const reason = `${JSON.stringify(at(path))} is a folder at the destination, not a file`;
      const known = blocked.get(path);
      if (known) known.obstacles.push(obstacle);
      else blocked.set(path, { obstacles: [obstacle], reason });
    }
  }
  return blocked;
}

/** Paths of the folders that a file is in. */
function foldersOf(path: string): string[] {
  const folders: string[] = [];
  for (let end = path.indexOf("/"); end !== -1; end = path.indexOf("/", end + 1))
    folders.push(path.slice(0, end));
  return folders;
}

const TWICE = "The source has two files of this name.";

/** Adds one file to the plan. */
function planFile({ present, manifest, runId, overwrite }: Sight, plan: Plan, file: TreeFile): void {
  const there = present.get(file.path);
  const known = manifest.get(file.path);
  const isAsLeft = there !== undefined && known !== undefined && isSame(there, known);
  const isCurrent = isAsLeft && known.sourceVersion === file.version;
  if (there === undefined) plan.copy.push(file);
  else if (isCurrent && known.runId === runId) plan.done.push(known);
  else if (overwrite === "always") plan.copy.push(file);
  else if (overwrite === "never" || isCurrent) plan.skipped++;
  else if (hasSameBytes(file, there)) {
    plan.skipped++;
    const { path, version: sourceVersion } = file;
    plan.adopt.push({
      path,
      sourceVersion,
      targetVersion: there.version,
      size: there.size ?? 0,
      detail: null,
      runId: known?.runId ?? "",
    });
  } else plan.copy.push(file);
}

/** Returns whether a file of the destination is the one in the manifest. */
const isSame = (there: TreeFile, known: ManifestEntry): boolean =>
  known.targetVersion === "" ? there.size === known.size : there.version === known.targetVersion;

const hasSameBytes = (a: TreeFile, b: TreeFile): boolean =>
  a.size !== null && a.size === b.size && a.hash !== null && a.hash === b.hash;

/** Returns why a file of this name must not be written anywhere. A source can contain any name. */
export function nameReason(path: string, fault: (path: string) => string | null): string | null {
  const parts = path.split("/");
  const own = parts.some((part) => part === "." || part === "..")
    ? 'its name has "." or ".." between slashes, and would lead outside the folder'
    : path === "" || path.startsWith("/")
      ? "its name is an absolute path"
      : path.endsWith("/")
        ? "its name ends like a folder's"
        : path.includes("\0")
          ? "its name contains a NUL character"
          : !path.isWellFormed()
            ? "its name is not valid Unicode"
            : null;
  const clause = own ?? fault(path);
  return clause === null ? null : `Not copied: ${clause}.`;
}

/** Returns files whose names collide with others in their folder, with the reason. One file of each group is kept. */
function collisions({ files, manifest, isFolderLike }: Sight): Map<string, string> {
  const refused = new Map<string, string>();
  if (!isFolderLike) return refused;
  const folders = new Set<string>();
  const groups = new Map<string, string[]>();
  for (const { path } of files) {
    for (const folder of foldersOf(path)) folders.add(fold(folder));
    const group = groups.get(fold(path));
    if (group) group.push(path);
    else groups.set(fold(path), [path]);
  }
  for (const [folded, paths] of groups) {
    const isFolder = folders.has(folded);
    const [first = "", ...others] = [...new Set(paths)].sort(
      (a, b) =>
        Number(manifest.has(b)) - Number(manifest.has(a)) || Buffer.compare(Buffer.from(a), Buffer.from(b)),
    );
    if (isFolder) refused.set(first, "Not copied: a folder of the same name exists.");
    for (const path of others)
      refused.set(
        path,
        `Not copied: its name differs from ${JSON.stringify(first)} by case or accents alone.`,
      );
  }
  return refused;
}

/** Names that a destination may consider equal. */
const fold = (path: string): string => path.normalize("NFC").toLowerCase();
