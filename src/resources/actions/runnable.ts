import { and, eq, isNull, sql } from "drizzle-orm";
import { AppError, notFound } from "../../base/errors.ts";
import type { WriteContext } from "../../context.ts";
import { prepared } from "../../store/prepared.ts";
import type { ReadDb, WriteDb } from "../../store/store.ts";
import { type ActionRow, actions } from "./table.ts";

export type Runnable = Pick<ActionRow, "id" | "kind" | "status" | "definition" | "version" | "connectionId">;

const liveById = prepared((db: ReadDb) =>
  db
    .select({
      id: actions.id,
      kind: actions.kind,
      status: actions.status,
      definition: actions.definition,
      version: actions.version,
      connectionId: actions.connectionId,
    })
    .from(actions)
    .where(
      and(
        eq(actions.organizationId, sql.placeholder("organizationId")),
        eq(actions.id, sql.placeholder("id")),
        isNull(actions.deletedAt),
      ),
    )
    .prepare(),
);

/** Selects a row without columns. Fails if the action was deleted or disabled since it was read. */
const insist = prepared((db: WriteDb) =>
  db.statement(
    "insert into action_runs (id) select null where not exists " +
      "(select 1 from actions where id = ? and deleted_at is null and status <> 'disabled')",
  ),
);

/**
 * Returns the action for a new run, in a transaction that hasn't changed it.
 * If only this process writes, the action is read from the last commit, without waiting for the writing thread.
 * If it changes in the meantime, the transaction is repeated.
 *
 * Throws `not_found`, and `invalid_state` for a disabled action.
 */
export async function findRunnable(tx: WriteContext, id: string): Promise<Runnable> {
  const { remote, db } = tx.store;
  const [action] = await liveById(remote ? tx.db : db).all({ organizationId: tx.organizationId, id });
  if (!action) throw notFound("action");
  if (action.status === "disabled")
    throw new AppError("invalid_state", "This action is disabled. Set its status to active first.");
  if (!remote) await insist(tx.db)([id]);
  return action;
}
