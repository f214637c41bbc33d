import { AppError } from "../../base/errors.ts";
import type { Tree, TreeFile } from "../contract-tree.ts";
import { changedFile, readChunks, toStream } from "../files/streams.ts";
import { isNative, openFile } from "./export.ts";
import { type DriveFile, findFile, isFolder } from "./files.ts";
import { recallOrWalk } from "./recall.ts";
import { baseOf, type DriveLink } from "./shape.ts";
import { findPath, isRootGone } from "./tree.ts";
import { type Walked, walkDrive } from "./walk.ts";
import { driveWrites } from "./write.ts";

/**
 * Drive folders as a sync reads and writes them; Google's own documents are exported. If several files have the same
 * name, the oldest keeps it.
 */
export const driveTree: Tree<DriveLink> = {
  home: ({ config }) => `drive:${baseOf(config)}/${config.rootFolderId ?? "root"}/`,

  async *walk(link, path, only) {
    const walked = recallOrWalk(link, `tree ${path}`, {
      async start() {
        const folder = await findPath(link, path).catch((error: unknown) => {
          throw isRootGone(error) ? new AppError("not_found", error.message, { cause: error }) : error;
        });
        if (!folder.target || isFolder(folder.target)) return folder;
        throw new AppError("bad_request", `${JSON.stringify(path)} is a file, not a folder.`);
      },
      walk: (folder, seen) => walkReal(link, folder, seen),
    });
    const wanted = only && wantedBy(only.items, path);
    for await (const { path: below, file, trail } of walked) {
      if (!wanted || wanted.has(below, trail.slice(1))) yield fileOf(file, below);
    }
    for (const item of wanted?.left() ?? []) only?.missing(item);
  },

  async stat(link, file) {
    const found = await findFile(link, file.id, false);
    return found && fileOf(found, file.path);
  },

  writes: driveWrites,

  async open(link, file) {
    const { modifiedTime, ...known } = details.get(file) ?? (await findAgain(link, file));
    const bytes = await openFile(link, known);
    if (!isNative(known.mimeType)) return { bytes };
    const isSame = async () => (await findFile(link, file.id, false))?.modifiedTime === modifiedTime;
    return { bytes: toStream(checked(readChunks(bytes, link.signal), isSame, file.path)) };
  },
};

/** Files, with shortcuts replaced by their targets, whose own IDs end the trails. */
async function* walkReal(
  link: DriveLink,
  folder: { id: string; driveId: string | null },
  seen: (file: DriveFile) => void,
): AsyncGenerator<Walked> {
  for await (const { path, file, trail } of walkDrive(link, folder, "", seen)) {
    const real = file.target ? await findFile(link, file.target.id, false) : file;
    if (!real) continue;
    seen(real);
    yield { path, file: real, trail: [...trail, file.id] };
  }
}

/** Drive's metadata of listed files, so that opening one needs no further request. */
const details = new WeakMap<TreeFile, DriveFile>();

function fileOf(file: DriveFile, path: string): TreeFile {
  const described: TreeFile = {
    id: file.id,
    path,
    size: file.size,
    modifiedAt: file.modifiedTime,
    version: file.md5 ?? `${file.modifiedTime}`,
    hash: file.md5,
  };
  details.set(described, file);
  return described;
}

async function findAgain(link: DriveLink, { id, path }: TreeFile): Promise<DriveFile> {
  const found = await findFile(link, id, false);
  if (!found) throw new AppError("not_found", `File ${JSON.stringify(path)} no longer exists.`);
  return found;
}

/** Files selected by their own ID, by the ID of a folder above, or by a path of names. */
function wantedBy(items: readonly string[], root: string) {
  const left = new Set(items);
  const base = partsOf(root);
  const ids = new Map(items.map((item) => [partsOf(item).at(-1) ?? "", item]));
  const paths = items.map((item) => {
    const parts = partsOf(item);
    const isBelow = item.startsWith("/") && base.every((part, index) => parts[index] === part);
    return { item, path: (isBelow ? parts.slice(base.length) : parts).join("/") };
  });
  return {
    has(path: string, trail: readonly string[]): boolean {
      const byId = trail.map((id) => ids.get(id)).filter((item) => item !== undefined);
      const byPath = paths.filter(
        (each) => each.path === "" || path === each.path || path.startsWith(`${each.path}/`),
      );
      for (const item of [...byId, ...byPath.map((each) => each.item)]) left.delete(item);
      return byId.length + byPath.length > 0;
    },
    /** Selected items without a file. */
    left: (): Iterable<string> => left,
  };
}

const partsOf = (path: string) => path.split("/").filter((part) => part !== "");

async function* checked(
  bytes: AsyncIterable<Uint8Array>,
  isSame: () => Promise<boolean>,
  path: string,
): AsyncGenerator<Uint8Array> {
  yield* bytes;
  if (!(await isSame())) throw changedFile(path);
}
