import { and, eq, gt, isNull, lte, or, sql } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import type { LakeTable } from "../../lake/contract.ts";
import { sqlName } from "../../lake/views.ts";
import type { PastTable } from "../../sql/as-of.ts";
import type { ReadDb } from "../../store/store.ts";
import { lakeFiles, lakeLoads, lakeSchemas, lakeTables } from "./table.ts";

/**
 * Returns a table as of a load of the organization, of its own dataset or another. Throws `sql_error` with the reason
 * if it can't be read: the load doesn't exist, the table is newer, or its files were deleted.
 */
export async function readPast(
  db: ReadDb,
  organizationId: string,
  { layer, name, loadId }: Omit<PastTable, "view">,
): Promise<LakeTable> {
  const [load] = await db
    .select({ seq: lakeLoads.seq })
    .from(lakeLoads)
    .where(and(eq(lakeLoads.id, loadId), eq(lakeLoads.organizationId, organizationId)));
  if (!load) throw unknown(`Load ${JSON.stringify(loadId)} not found.`);

  const schema = (await schemasAt(db, organizationId, layer, load.seq)).find(({ dataset, tableName }) =>
    [sqlName({ dataset, table: tableName }), `${dataset}__${tableName}`].includes(name.toLowerCase()),
  );
  if (!schema) {
    throw unknown(`Table ${layer}.${name} didn't exist as of load ${loadId}, or has been deleted since.`);
  }
  const { dataset, tableName, columns } = schema;
  const here = <T extends typeof lakeTables | typeof lakeFiles>(table: T) =>
    and(
      eq(table.organizationId, organizationId),
      eq(table.layer, schema.layer),
      eq(table.dataset, dataset),
      eq(table.tableName, tableName),
    );
  const wasThere = and(here(lakeFiles), lte(lakeFiles.addedSeq, load.seq));
  const files = await db
    .select()
    .from(lakeFiles)
    .where(or(and(wasThere, isNull(lakeFiles.removedAt)), and(wasThere, gt(lakeFiles.removedSeq, load.seq))))
    .orderBy(lakeFiles.id);
  // Checked after the files: the available history only shrinks, and that is recorded before files are deleted.
  const [table] = await db.select().from(lakeTables).where(here(lakeTables));
  if (!table || table.keptFrom > load.seq) {
    throw unknown(
      `The state of ${layer}.${name} as of load ${loadId} is no longer stored (WEIR_LAKE_HISTORY_DAYS).`,
    );
  }
  const sumOf = (field: "rows" | "bytes") => files.reduce((sum, file) => sum + file[field], 0);
  return {
    layer: schema.layer,
    dataset,
    table: tableName,
    columns,
    files,
    rows: sumOf("rows"),
    bytes: sumOf("bytes"),
    version: table.version,
  };
}

/** Returns the layer's tables with the columns that each had at `seq`. */
const schemasAt = (db: ReadDb, organizationId: string, layer: string, seq: number) =>
  db
    .select()
    .from(lakeSchemas)
    .where(
      and(
        eq(lakeSchemas.organizationId, organizationId),
        eq(lakeSchemas.layer, layer.toLowerCase()),
        sql`${lakeSchemas.seq} = (select max(s.seq) from lake_schemas s
          where s.organization_id = ${organizationId} and s.layer = ${lakeSchemas.layer}
            and s.dataset = ${lakeSchemas.dataset} and s.table_name = ${lakeSchemas.tableName} and s.seq <= ${seq})`,
      ),
    );

const unknown = (message: string) => new AppError("sql_error", message);
