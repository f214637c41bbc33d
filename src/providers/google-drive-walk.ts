import type { FileSource } from "./file-extract.ts";
import { exportedName, openFile } from "./google-drive-export.ts";
import { noSuchItem } from "./google-drive-failure.ts";
import { type DriveFile, findFile, isFolder, listAll } from "./google-drive-files.ts";
import type { DriveLink } from "./google-drive-shape.ts";
import { findRoot, seesShared } from "./google-drive-tree.ts";

/** A slash in a name would read as a folder; it is written as its wide form. */
const SLASH = "\uff0f";

/** All files by the path of their names, in order of UTF-8 bytes, as an extract asks for them. */
export function driveSource(link: DriveLink): FileSource {
  const found = new Map<string, DriveFile>();
  return {
    async *walk(prefix) {
      const root = await findRoot(link, false);
      const walk: Walk = { link, prefix, found, given: new Set() };
      yield* walkFolder(walk, { id: root.id, driveId: root.driveId }, "", [root.id]);
    },
    async open(path) {
      const file = found.get(path);
      if (!file) throw noSuchItem(JSON.stringify(path));
      return openFile(link, file.target ? { ...file.target, name: file.name } : file);
    },
  };
}

interface Walk {
  link: DriveLink;
  prefix: string;
  found: Map<string, DriveFile>;
  /** Contents that were given: a file comes once, whatever shortcuts lead to it. */
  given: Set<string>;
}

/** `trail` is the folders on the way here: a shortcut to one of them leads in a circle. */
async function* walkFolder(
  walk: Walk,
  folder: { id: string; driveId: string | null },
  path: string,
  trail: readonly string[],
): AsyncGenerator<string> {
  const { link, prefix, found, given } = walk;
  const { id: folderId, driveId } = folder;
  const files = await listAll(link, { folderId, driveId, withShared: seesShared(link, folderId) });
  const children = named(files).map(({ name, file }) => ({
    file,
    path: `${path}${name}${isFolder(file) ? "/" : ""}`,
  }));
  children.sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
  for (const child of children) {
    const { file } = child;
    const target = file.target?.id ?? file.id;
    if (isFolder(file)) {
      const isWanted = child.path.startsWith(prefix) || prefix.startsWith(child.path);
      if (!isWanted || trail.includes(target)) continue;
      const real = file.target ? await findFile(link, target, false) : file;
      if (real) yield* walkFolder(walk, real, child.path, [...trail, target]);
    } else if (child.path.startsWith(prefix) && !given.has(target)) {
      given.add(target);
      found.set(child.path, file);
      yield child.path;
    }
  }
}

/** Each file with a name of its own: of several that bear one name the oldest keeps it, the others bear their id too. */
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
