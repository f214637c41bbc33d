import type { TreeFile } from "../../providers/contract.ts";
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
  /** Why the destination can't have such a path, as a clause. */
  fault(path: string): string | null;
  /** Whether the source has since moved this file's rows to other files, as tables do; then it must not be kept. */
  hasDropped(path: string): boolean;
  /** Returns whether a file of the destination is part of the sync. */
  isMeant(path: string): boolean;
}

export interface Plan {
  copy: TreeFile[];
  /** Manifest entries to add for files that already exist at the destination. */
  adopt: ManifestEntry[];
  /** Copied by this run before it was interrupted. */
  done: ManifestEntry[];
  skipped: number;
  /** Paths relative to the destination's folder. */
  remove: string[];
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
    replaced: [],
    forget: [],
    failed: [],
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
  plan.forget = [...manifest.keys()].filter((path) => !wanted.has(path) && !present.has(path));
  return plan;
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
    for (let end = path.indexOf("/"); end !== -1; end = path.indexOf("/", end + 1))
      folders.add(fold(path.slice(0, end)));
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
