import { inArray } from "drizzle-orm";
import type { Context } from "../../context.ts";
import { users } from "./table.ts";
import type { People } from "./wire.ts";

export { People } from "./wire.ts";

/** The people among `ids`, by id, for the `users` of a list; null and ids of no person are passed over. */
export async function usersById(ctx: Context, ids: readonly (string | null)[]): Promise<People> {
  const wanted = [...new Set(ids)].filter((id) => id !== null);
  if (wanted.length === 0) return {};
  const rows = await ctx.db
    .select({
      id: users.id,
      firstName: users.firstName,
      lastName: users.lastName,
      profilePictureUrl: users.profilePictureUrl,
    })
    .from(users)
    .where(inArray(users.id, wanted));
  return Object.fromEntries(rows.map((row) => [row.id, row]));
}
