import { and, eq, isNotNull } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import { actions } from "../actions/table.ts";
import { record } from "../events/service.ts";
import { entity, findConnection, mine } from "./service.ts";
import {
  connectionQuotas,
  connectionSignInAttempts,
  connectionSignIns,
  connectionState,
  connections,
  connectionTokens,
} from "./table.ts";
import { usesOf } from "./uses.ts";

/** Throws `not_found`, and `in_use` naming the actions, automations and catalog APIs that use it. */
export function deleteConnection(ctx: Context, id: string): Promise<void> {
  return write(ctx, async (tx) => {
    const row = await findConnection(tx, id);
    await refuseUsed(tx, row.id);
    // Deleted actions are kept for their runs, and would still refer to it.
    await tx.db
      .update(actions)
      .set({ connectionId: null })
      .where(and(eq(actions.connectionId, row.id), isNotNull(actions.deletedAt)));
    await tx.db.delete(connectionTokens).where(eq(connectionTokens.connectionId, row.id));
    await tx.db.delete(connectionSignIns).where(eq(connectionSignIns.connectionId, row.id));
    await tx.db.delete(connectionSignInAttempts).where(eq(connectionSignInAttempts.connectionId, row.id));
    await tx.db.delete(connectionState).where(eq(connectionState.connectionId, row.id));
    await tx.db.delete(connectionQuotas).where(eq(connectionQuotas.connectionId, row.id));
    await tx.db.delete(connections).where(mine(tx, row.id));
    await record(tx, "connection.deleted", entity(row.id), {
      name: row.name,
      slug: row.slug,
      provider: row.provider,
    });
  });
}

const NAMES_TOLD = 10;

async function refuseUsed(tx: WriteContext, id: string): Promise<void> {
  const { actions: byActions, automations: byAutomations, apis: byApis } = await usesOf(tx, id);
  const users = [
    userList("action", byActions),
    userList("automation", byAutomations),
    userList("API", byApis),
  ].filter((text) => text !== "");
  if (users.length === 0) return;
  throw new AppError(
    "in_use",
    `This connection is in use by ${users.join(" and ")}. Update them before you delete it.`,
  );
}

function userList(noun: string, rows: readonly { name: string }[]): string {
  if (rows.length === 0) return "";
  const names = rows.slice(0, NAMES_TOLD).map(({ name }) => `"${name}"`);
  const more = rows.length > NAMES_TOLD ? ` and ${rows.length - NAMES_TOLD} more` : "";
  return `the ${noun}${rows.length === 1 ? "" : "s"} ${names.join(", ")}${more}`;
}
