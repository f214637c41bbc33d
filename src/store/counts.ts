import { and, eq, sql } from "drizzle-orm";
import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { prepared } from "./prepared.ts";
import type { ReadDb } from "./store.ts";

/** Maintained by triggers, since counting a table costs many times as much as reading a page of it. */
const counts = sqliteTable(
  "counts",
  { organizationId: text().notNull(), noun: text().notNull(), n: integer().notNull() },
  (t) => [primaryKey({ columns: [t.organizationId, t.noun] })],
);

export type CountedNoun =
  | "connections"
  | "actions"
  | "action_runs"
  | "artifacts"
  | "automations"
  | "automation_runs";

const byNoun = prepared((db: ReadDb) =>
  db
    .select({ n: counts.n })
    .from(counts)
    .where(
      and(
        eq(counts.organizationId, sql.placeholder("organizationId")),
        eq(counts.noun, sql.placeholder("noun")),
      ),
    )
    .prepare(),
);

/**
 * The total number of rows in a list. A page that isn't full is the last one and needs no count, which would also be
 * newer than the page.
 */
export async function totalOf(
  { limit, offset }: { limit: number; offset: number },
  { length }: readonly unknown[],
  count: () => PromiseLike<number>,
): Promise<number> {
  if (length === 0 && offset > 0) return count();
  return length < limit ? offset + length : Math.max(await count(), offset + length);
}

/** The number of resources of one kind in an organization. */
export async function countOf(db: ReadDb, organizationId: string, noun: CountedNoun): Promise<number> {
  const [row] = await byNoun(db).all({ organizationId, noun });
  return row?.n ?? 0;
}
