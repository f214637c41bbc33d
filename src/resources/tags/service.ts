import { and, eq, isNull, ne, sql } from "drizzle-orm";
import type { Context } from "../../context.ts";
import { actions } from "../actions/table.ts";
import { automations } from "../automations/table.ts";

interface Counts {
  automations: number;
  actions: number;
}

/** Lists all tags of the organization, including folders, by name, with the number of resources in each. */
export async function listTags(ctx: Context) {
  const tagged = (table: typeof automations | typeof actions) =>
    ctx.db
      .select({ tags: table.tags })
      .from(table)
      .where(
        and(eq(table.organizationId, ctx.organizationId), isNull(table.deletedAt), ne(table.tags, sql`'[]'`)),
      );
  const [tags, folders] = [new Map<string, Counts>(), new Map<string, Counts>()];
  for (const [noun, table] of [
    ["automations", automations],
    ["actions", actions],
  ] as const)
    for (const row of await tagged(table)) {
      for (const tag of row.tags) countIn(tags, tag, noun);
      for (const path of new Set(row.tags.flatMap(pathsTo))) countIn(folders, path, noun);
    }
  return {
    tags: byName(tags).map(([tag, counts]) => ({ tag, ...counts })),
    folders: byName(folders).map(([path, counts]) => ({ path, ...counts })),
  };
}

function countIn(into: Map<string, Counts>, name: string, noun: keyof Counts): void {
  const counts = into.get(name) ?? { automations: 0, actions: 0 };
  counts[noun]++;
  into.set(name, counts);
}

/** Returns a folder and its parents. Empty for a tag that isn't a folder. */
function pathsTo(tag: string): string[] {
  if (!tag.startsWith("/")) return [];
  const names = tag.split("/").slice(1);
  return names.map((_, at) => `/${names.slice(0, at + 1).join("/")}`);
}

const byName = (counts: ReadonlyMap<string, Counts>) =>
  [...counts].sort(([a], [b]) => a.localeCompare(b, "en"));
