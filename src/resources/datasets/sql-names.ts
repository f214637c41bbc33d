import { and, eq, or } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import type { WriteContext } from "../../context.ts";
import { sqlName } from "../../lake/views.ts";
import type { Here } from "./commit.ts";
import { lakeTables } from "./table.ts";

/**
 * Throws `conflict` if another table of the layer has the SQL name of a new one: `shop.orders__lines` and
 * `shop__orders.lines` are both `shop__orders__lines`, and SQL would find only one of them.
 */
export async function checkSqlName(tx: WriteContext, { tableName: table, ...here }: Here): Promise<void> {
  const name = sqlName({ dataset: here.dataset, table });
  const others = tablesNamed(name).filter(({ dataset }) => dataset !== here.dataset);
  if (others.length === 0) return;
  const [other] = await tx.db
    .select({ dataset: lakeTables.dataset, table: lakeTables.tableName })
    .from(lakeTables)
    .where(
      and(
        eq(lakeTables.organizationId, here.organizationId),
        eq(lakeTables.layer, here.layer),
        or(
          ...others.map((one) =>
            and(eq(lakeTables.dataset, one.dataset), eq(lakeTables.tableName, one.table)),
          ),
        ),
      ),
    )
    .limit(1);
  if (!other) return;
  throw new AppError(
    "conflict",
    `Table ${table} of dataset ${here.dataset} would be ${here.layer}.${name} in SQL, which is the name of table ${other.table} of dataset ${other.dataset}. Use another dataset or table name.`,
  );
}

/** All tables that would have this SQL name. */
function tablesNamed(name: string): { dataset: string; table: string }[] {
  const tables = [{ dataset: name, table: name }];
  for (let at = name.indexOf("__"); at >= 0; at = name.indexOf("__", at + 1))
    tables.push({ dataset: name.slice(0, at), table: name.slice(at + 2) });
  return tables.filter((table) => sqlName(table) === name);
}
