import { createReadStream } from "node:fs";
import { basename } from "node:path";
import { AppError } from "../../base/errors.ts";
import type { LakeFile, LakeTable } from "../../lake/contract.ts";
import type { TreeFile } from "../../providers/contract-tree.ts";
import { toStream } from "../../providers/files/streams.ts";
import type { RunContext } from "../contract.ts";
import { partsOf } from "./definition.ts";
import type { Source } from "./sides.ts";

/** The organization's tables as folders of Parquet files, `LAYER/DATASET/TABLE/FILE`, below one of these folders. */
export function lakeSource(ctx: RunContext, path: string): Source {
  const base = partsOf(path);
  const known = new Map<string, LakeFile>();
  /** Names of the live files by their table's folder, for tables that are walked completely. */
  const folders = new Map<string, Set<string>>();
  return {
    home: `lake:/${base.map((part) => `${part}/`).join("")}`,
    async *walk(only) {
      const left = new Set(only?.items);
      let isThere = base.length === 0;
      for (const table of await ctx.lake.tables()) {
        const tableName = [table.layer, table.dataset, table.table];
        if (!base.every((part, index) => tableName[index] === part)) continue;
        isThere = true;
        const folder = tableName.slice(base.length).join("/");
        if (!only || isSelected(only.items, base, `${folder}/`, new Set()))
          folders.set(folder, new Set(table.files.map((file) => basename(file.path))));
        for (const file of table.files) {
          const found = fileOf(table, file, base.length);
          if (only && !isSelected(only.items, base, found.path, left)) continue;
          known.set(found.id, file);
          yield found;
        }
      }
      if (!isThere) throw new AppError("not_found", `There is nothing at ${path} in the lake.`);
      for (const item of left) only?.missing(item);
    },
    hasDropped(below) {
      const end = Math.max(below.lastIndexOf("/"), 0);
      return folders.get(below.slice(0, end))?.has(basename(below)) === false;
    },
    // Files of the lake never change. A file removed by a load is kept for its readers.
    stat: async (file) => file,
    async open({ id, path: name }) {
      const file = known.get(id);
      if (!file) throw new AppError("not_found", `File ${JSON.stringify(name)} no longer exists.`);
      const local = await ctx.lake.localPath(file);
      return { bytes: toStream(createReadStream(local, { signal: ctx.signal })) };
    },
    via: null,
  };
}

const fileOf = ({ layer, dataset, table }: LakeTable, file: LakeFile, depth: number): TreeFile => ({
  id: file.id,
  path: [layer, dataset, table].slice(depth).concat(basename(file.path)).join("/"),
  size: file.bytes,
  modifiedAt: null,
  version: file.id,
  hash: null,
});

function isSelected(
  items: readonly string[],
  base: readonly string[],
  path: string,
  left: Set<string>,
): boolean {
  const hits = items.filter((item) => {
    const parts = partsOf(item);
    const isBelow = item.startsWith("/") && base.every((part, index) => parts[index] === part);
    const below = (isBelow ? parts.slice(base.length) : parts).join("/");
    return below === "" || path === below || path.startsWith(`${below}/`);
  });
  for (const item of hits) left.delete(item);
  return hits.length > 0;
}
