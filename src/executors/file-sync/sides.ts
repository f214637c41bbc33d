import { AppError } from "../../base/errors.ts";
import type { LakeLoad } from "../../lake/contract.ts";
import type { Link } from "../../providers/contract.ts";
import type { Opened, Stamp, Tree, TreeFile, Unread } from "../../providers/contract-tree.ts";
import type { ConnectionUse, ManifestEntry, RunContext } from "../contract.ts";
import { type Definition, LAKE, partsOf } from "./definition.ts";
import { lakeSource } from "./lake-source.ts";
import { openLakeTarget } from "./lake-target.ts";

type Selection = { items: readonly string[]; missing(item: string): void };

/** The source of a sync. */
export interface Source {
  /** Identifies the folder, with `/` at its end. That of a subfolder starts with it. */
  home: string;
  walk(only: Selection | undefined, unread: Unread): AsyncIterable<TreeFile>;
  /**
   * After a walk: returns whether a file with this path belonged to an existing table and was since rewritten or
   * deleted. Always false for sources whose files aren't rows.
   */
  hasDropped(path: string): boolean;
  stat(file: TreeFile): Promise<TreeFile | null>;
  open(file: TreeFile): Promise<Opened>;
  /** The connection. Null for the lake. */
  via: { tree: Tree; link: Link } | null;
}

/** What identifies a written file. */
export interface Written extends Stamp {
  detail?: ManifestEntry["detail"];
}

/** The destination of a sync. Paths are relative to its folder. */
export interface Target {
  home: string;
  isFolderLike: boolean;
  renamesTwins: boolean;
  /** Lists the existing files, including those that this run wrote before it was interrupted. */
  list(manifest: ReadonlyMap<string, ManifestEntry>): Promise<Map<string, TreeFile>>;
  /** The path in the destination's connection or dataset, as users know it. */
  at(path: string): string;
  fault(path: string): string | null;
  /** Lets the external system copy by itself, if it can. */
  copy(source: Source, file: TreeFile): Promise<Written | null>;
  put(path: string, file: Opened, size: number | null): Promise<Written>;
  remove(path: string): Promise<void>;
  /** The load that becomes visible when the run completes. Also releases all resources. */
  finish(): Promise<LakeLoad | null>;
  close(): Promise<void>;
}

/** Opens the folder that a sync reads from. Throws as `connection` does, and for a connection without files. */
export async function openSource(
  ctx: RunContext,
  { connectionId, path = "/" }: Definition["source"],
  mode: Definition["mode"],
): Promise<Source> {
  if (connectionId === LAKE) return lakeSource(ctx, path);
  const { tree, link, title } = await openTree(ctx, connectionId, "read");
  if (!tree) throw new AppError("definition_invalid", `A connection of ${title} has no files to copy.`);
  const folder = folderOf(path);
  return {
    home: `${tree.home(link)}${folder.slice(1)}`,
    walk: (only, unread) => {
      const files = tree.walk(link, folder, only, unread);
      return mode === "copy" && folder === "/" && !only ? walkIfThere(files) : files;
    },
    hasDropped: () => false,
    stat: (file) => tree.stat(link, file),
    open: (file) => tree.open(link, file),
    via: { tree, link },
  };
}

/** Yields nothing for a missing root. A mirror would consider it emptied. */
async function* walkIfThere(files: AsyncIterable<TreeFile>): AsyncGenerator<TreeFile> {
  try {
    yield* files;
  } catch (error) {
    if (!(error instanceof AppError && error.code === "not_found")) throw error;
  }
}

/** Opens the folder that a sync writes to. Throws as `openSource` does, and for a read-only connection. */
export async function openTarget(
  ctx: RunContext,
  { connectionId, path = "/" }: Definition["destination"],
  mode: Definition["mode"],
): Promise<Target> {
  if (connectionId === LAKE) return openLakeTarget(ctx, path);
  const { tree, link, title } = await openTree(ctx, connectionId, "write");
  const writes = tree?.writes;
  const refusal = writes ? writes.refusal?.(link.config) : readOnly(title);
  if (!tree || !writes || refusal) throw new AppError("definition_invalid", refusal ?? readOnly(title));
  const folder = folderOf(path);
  const at = (below: string) => `${folder}${below}`;
  return {
    home: `${tree.home(link)}${folder.slice(1)}`,
    isFolderLike: writes.isFolderLike,
    renamesTwins: writes.renamesTwins ?? false,
    async list() {
      const found = new Map<string, TreeFile>();
      try {
        for await (const file of tree.walk(link, folder)) found.set(file.path, file);
      } catch (error) {
        if (!(error instanceof AppError && error.code === "not_found")) throw error; // the folder doesn't exist yet
      }
      return found;
    },
    at,
    fault: (below) => writes.fault(link, at(below)),
    copy: async ({ via }, file) =>
      via?.tree === tree ? ((await writes.copy?.(via.link, file, link, at(file.path))) ?? null) : null,
    put: (below, file, size) => writes.put(link, at(below), file, size, mode === "mirror"),
    remove: (below) => writes.remove(link, at(below)),
    finish: async () => null,
    close: async () => undefined,
  };
}

async function openTree(ctx: RunContext, connectionId: string | undefined, purpose: ConnectionUse) {
  const { provider, link } = await (connectionId === undefined
    ? ctx.connection(purpose)
    : ctx.openConnection(connectionId, purpose));
  return { tree: provider.tree, link, title: provider.title };
}

export const readOnly = (title: string): string =>
  `Files can be read from a connection of ${title}, not written. Choose another destination.`;

/** With a slash at both ends; the provider refuses `.` and `..`. */
const folderOf = (path: string): string => {
  const parts = partsOf(path);
  return parts.length === 0 ? "/" : `/${parts.join("/")}/`;
};
