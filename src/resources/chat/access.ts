import { and, eq } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import type { Context } from "../../context.ts";
import type { OpenAgent } from "../../models/contract.ts";
import type { ReadDb } from "../../store/store.ts";
import { memberships, type Role } from "../organizations/table.ts";

/** The user's current role. Throws `forbidden` for a former member, and for one who is now a viewer. */
export async function roleOf(
  db: ReadDb,
  { organizationId, userId }: { organizationId: string; userId: string },
): Promise<Role> {
  const [row] = await db
    .select({ role: memberships.role })
    .from(memberships)
    .where(and(eq(memberships.organizationId, organizationId), eq(memberships.userId, userId)));
  if (row && row.role !== "viewer") return row.role;
  throw new AppError("forbidden", "The user who asked no longer has access to this organization.");
}

/** Throws as `roleOf` does for the chat's user: a turn may last longer than their access. */
export const checkAccess = ({ db, organizationId, actor }: Context): Promise<Role> =>
  roleOf(db, { organizationId, userId: actor.id });

/** The agent, whose tools can be called only while its user has access. */
export const whileAllowed = (ctx: Context, agent: OpenAgent): OpenAgent => ({
  ...agent,
  tools: agent.tools.map((tool) => ({
    ...tool,
    async call(input) {
      await checkAccess(ctx);
      return tool.call(input);
    },
  })),
});
