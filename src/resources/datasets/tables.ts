import { and, eq, isNull, sql } from "drizzle-orm";
import { storedJson } from "../../base/json.ts";
import type { LakeTable } from "../../lake/contract.ts";
import type { Column } from "../../sql/contract.ts";
import type { ReadDb } from "../../store/store.ts";
import { lakeFiles, lakeTables } from "./table.ts";

/**
 * Reads all tables of an organization with their live files, in one statement so that both come from the same commit.
 */
export async function readTables(
  db: ReadDb,
  where: { organizationId: string; layer?: string; dataset?: string; table?: string },
): Promise<LakeTable[]> {
  const rows = await db
    .select({
      layer: lakeTables.layer,
      dataset: lakeTables.dataset,
      table: lakeTables.tableName,
      columns: sql<string>`${lakeTables.columns}`,
      rows: lakeTables.rows,
      bytes: lakeTables.bytes,
      version: lakeTables.version,
      file: {
        id: lakeFiles.id,
        path: lakeFiles.path,
        rows: lakeFiles.rows,
        bytes: lakeFiles.bytes,
        loadId: lakeFiles.loadId,
        part: lakeFiles.part,
      },
    })
    .from(lakeTables)
    .leftJoin(
      lakeFiles,
      and(
        eq(lakeFiles.organizationId, lakeTables.organizationId),
        eq(lakeFiles.layer, lakeTables.layer),
        eq(lakeFiles.dataset, lakeTables.dataset),
        eq(lakeFiles.tableName, lakeTables.tableName),
        isNull(lakeFiles.removedAt),
      ),
    )
    .where(
      and(
        eq(lakeTables.organizationId, where.organizationId),
        where.layer === undefined ? undefined : eq(lakeTables.layer, where.layer),
        where.dataset === undefined ? undefined : eq(lakeTables.dataset, where.dataset),
        where.table === undefined ? undefined : eq(lakeTables.tableName, where.table),
      ),
    )
    .orderBy(lakeTables.layer, lakeTables.dataset, lakeTables.tableName, lakeFiles.id);
  const tables = new Map<string, LakeTable>();
  for (const { file, columns, ...row } of rows) {
    const key = `${row.layer}/${row.dataset}/${row.table}`;
    const table = tables.get(key) ?? { ...row, columns: storedJson<Column[]>(columns), files: [] };
    tables.set(key, table);
    if (file !== null && file.id !== null) table.files.push(file);
  }
  return [...tables.values()];
}
