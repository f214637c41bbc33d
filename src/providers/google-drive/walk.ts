import type { FileSource, OtherName } from "../files/file-extract.ts";
import { exportedName, openFile, workbookNames } from "./export.ts";
import { type DriveFile, findFile, isFolder, listAll } from "./files.ts";
import { recallOrWalk } from "./recall.ts";
import type { DriveLink } from "./shape.ts";
import { findRoot, seesShared } from "./tree.ts";

/** Fullwidth slash, which replaces a slash in a name: that would look like a folder. */
const SLASH = "\uff0f";

/** All files by path, in order of UTF-8 bytes, as an extract needs them. */
export function driveSource(link: DriveLink): FileSource {
  return {
    hasOthers: true,
    async *walk(prefix) {
      const walked = recallOrWalk(link, `source ${prefix}`, {
        start: () => findRoot(link, false),
        walk: (root, seen) => walkDrive(link, root, prefix, seen),
      });
      for await (const { path, file, others = [] } of walked) {
        const real = file.target ? { ...file.target, name: file.name } : file;
        yield { path, others, open: (format) => openFile(link, real, { asWorkbook: format === "xlsx" }) };
      }
    },
  };
}

/** A file on a walk. */
export interface Walked {
  /** Path of names below the starting folder. */
  path: string;
  /** The shortcut itself if it is one, including its target. */
  file: DriveFile;
  /** Additional names of a Sheet that no other file in the folder has. */
  others?: readonly OtherName[];
  /** IDs of the folders above, both as listed and as targets of shortcuts. */
  trail: readonly string[];
}

/** All files below a folder whose paths start with `prefix`, in order of UTF-8 bytes; calls `seen` for every entry. */
export async function* walkDrive(
  link: DriveLink,
  { id, driveId }: { id: string; driveId: string | null },
  prefix: string,
  seen: (file: DriveFile) => void = () => undefined,
): AsyncGenerator<Walked> {
  yield* walkFolder({ link, prefix, returnedIds: new Set(), seen }, { id, driveId }, "", [id]);
}

interface Walk {
  link: DriveLink;
  prefix: string;
  /** IDs of files returned so far: each is returned once, however many shortcuts lead to it. */
  returnedIds: Set<string>;
  seen(file: DriveFile): void;
}

/** `trail` lists the folders above: a shortcut to one of them would be a cycle. */
async function* walkFolder(
  walk: Walk,
  folder: { id: string; driveId: string | null },
  path: string,
  trail: readonly string[],
): AsyncGenerator<Walked> {
  const { link, prefix, returnedIds: yielded } = walk;
  const { id: folderId, driveId } = folder;
  const files = await listAll(link, { folderId, driveId, withShared: seesShared(link, folderId) });
  for (const file of files) walk.seen(file);
  const children = childrenOf(files, path);
  children.sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
  for (const child of children) {
    const { file, others } = child;
    const target = file.target?.id ?? file.id;
    if (isFolder(file)) {
      const isWanted = child.path.startsWith(prefix) || prefix.startsWith(child.path);
      if (!isWanted || trail.includes(target)) continue;
      const real = file.target ? await findFile(link, target, false) : file;
      if (real) walk.seen(real);
      if (real) yield* walkFolder(walk, real, child.path, [...trail, file.id, target]);
    } else if ([child, ...others].some((each) => each.path.startsWith(prefix)) && !yielded.has(target)) {
      yielded.add(target);
      yield { path: child.path, file, trail, ...(others.length > 0 ? { others } : {}) };
    }
  }
}

/** Entries of a folder, by path; an additional name that is another file's own name refers to that file. */
function childrenOf(files: readonly DriveFile[], above: string) {
  const children = named(files).map(({ name, file }) => ({
    file,
    path: `${above}${name}${isFolder(file) ? "/" : ""}`,
  }));
  const taken = new Set(children.map(({ path }) => path));
  return children.map(({ file, path }) => ({
    ...{ file, path },
    others: workbookNames(file, path).filter((other) => !taken.has(other.path)),
  }));
}

/** Makes names unique: the oldest of several files keeps its name, the others get their ID appended. */
function named(files: readonly DriveFile[]): { name: string; file: DriveFile }[] {
  const order = (file: DriveFile) => `${file.createdTime ?? ""} ${file.id}`;
  const taken = new Set<string>();
  return [...files]
    .sort((a, b) => (order(a) < order(b) ? -1 : 1))
    .map((file) => {
      const plain = exportedName(file).replaceAll("/", SLASH);
      const name = taken.has(plain) ? withId(plain, file.id) : plain;
      taken.add(name);
      return { name, file };
    });
}

const withId = (name: string, id: string): string => {
  const [, stem = name, ending = ""] = /^(.+?)((?:\.[^.]+)?(?:\.gz)?)$/.exec(name) ?? [];
  return `${stem} (${id.slice(0, 8)})${ending}`;
};
