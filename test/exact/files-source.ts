import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connectFolder, type startData } from "../data/place.ts";
import type { compare } from "./compare.ts";
import type { Source } from "./harness.ts";
import type { Made, SourceTable } from "./table.ts";

/** A table's file, with its values. */
export interface Written {
  content: string | Uint8Array;
  values: Made["values"];
  odd?: Made["odd"];
  /** Fields of the extract's resource. */
  resource?: object;
}

/** Tables as files of one format in a folder of the organization, written by `write`. */
export async function filesSource(
  data: Awaited<ReturnType<typeof startData>>,
  format: string,
  write: (table: SourceTable) => Written | Promise<Written>,
  own: { compare?: typeof compare } = {},
): Promise<Source> {
  const { app, owner } = data;
  const folder = join(app.dataFolder, "files", app.ids.organizationId, format);
  mkdirSync(folder, { recursive: true });
  return {
    name: format,
    connectionId: await connectFolder(owner, `/${format}`),
    async put(tables) {
      const made: Made[] = [];
      for (const table of tables) {
        const { content, values, odd, resource } = await write(table);
        writeFileSync(join(folder, `${table.name}.${format}`), content);
        made.push({ resource: { spec: `${table.name}.${format}`, ...resource }, values, odd });
      }
      return made;
    },
    clear: async (tables) => {
      for (const { name } of tables) rmSync(join(folder, `${name}.${format}`));
    },
    ...own,
  };
}
