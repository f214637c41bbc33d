import { and, eq, isNull, ne, sql } from "drizzle-orm";
import type { Context } from "../../context.ts";
import { actions } from "../actions/table.ts";
import { automations } from "../automations/table.ts";

/** All tags of the organization, by name, with how many things have each. */
export async function listTags(
  ctx: Context,
): Promise<{ tag: string; automations: number; actions: number }[]> {
  const tagged = (table: typeof automations | typeof actions) =>
    ctx.db
      .select({ tags: table.tags })
      .from(table)
      .where(
        and(eq(table.organizationId, ctx.organizationId), isNull(table.deletedAt), ne(table.tags, sql`'[]'`)),
      );
  const counts = new Map<string, { automations: number; actions: number }>();
  const add = (rows: readonly { tags: string[] }[], noun: "automations" | "actions") => {
    for (const tag of rows.flatMap(({ tags }) => tags)) {
      const count = counts.get(tag) ?? { automations: 0, actions: 0 };
      count[noun]++;
      counts.set(tag, count);
    }
  };
  add(await tagged(automations), "automations");
  add(await tagged(actions), "actions");
  return [...counts]
    .map(([tag, count]) => ({ tag, ...count }))
    .sort((a, b) => a.tag.localeCompare(b.tag, "en"));
}
