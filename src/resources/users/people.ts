import { inArray, sql } from "drizzle-orm";
import type { Context } from "../../context.ts";
import { prepared } from "../../store/prepared.ts";
import type { ReadDb } from "../../store/store.ts";
import { users } from "./table.ts";
import type { People } from "./wire.ts";

export { People } from "./wire.ts";

const byIds = prepared((db: ReadDb) =>
  db
    .select({
      id: users.id,
      firstName: users.firstName,
      lastName: users.lastName,
      profilePictureUrl: users.profilePictureUrl,
    })
    .from(users)
    .where(inArray(users.id, sql`(select value from json_each(${sql.placeholder("ids")}))`))
    .prepare(),
);

/** Returns users by ID, for the `users` of a list. Ignores null and IDs that aren't users'. */
export async function usersById(ctx: Context, ids: readonly (string | null)[]): Promise<People> {
  const wanted = [...new Set(ids)].filter((id) => id !== null);
  if (wanted.length === 0) return {};
  const rows = await byIds(ctx.db).all({ ids: JSON.stringify(wanted) });
  return Object.fromEntries(rows.map((row) => [row.id, row]));
}
