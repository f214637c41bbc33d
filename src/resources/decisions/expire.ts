import { and, asc, eq, lte, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { openSetbacks } from "../../base/setbacks.ts";
import type { App, WriteContext } from "../../context.ts";
import { eachDue } from "../../queue/each-due.ts";
import type { Ending } from "../../queue/waits.ts";
import { prepared } from "../../store/prepared.ts";
import type { ReadDb } from "../../store/store.ts";
import { record } from "../events/service.ts";
import { endingOf, resumeRunOf } from "./decide.ts";
import { about, entityOf, maskedText } from "./open.ts";
import { type DecisionRow, decisions } from "./table.ts";

const BATCH = 50;

/** A literal, so that SQLite uses the partial index. */
const isPending = sql`${decisions.status} = 'pending'`;

const dueDecisions = prepared((db: ReadDb) => {
  const { id, organizationId, correlationId, expiresAt } = decisions;
  return db
    .select({ id, organizationId, correlationId })
    .from(decisions)
    .where(
      and(
        isPending,
        lte(expiresAt, sql.placeholder("now")),
        sql`${id} not in (select value from json_each(${sql.placeholder("passedOver")}))`,
      ),
    )
    .orderBy(asc(expiresAt))
    .limit(BATCH)
    .prepare();
});

/** Ends expired decisions. Returns how many there were. */
export async function expireDueDecisions(app: App, setbacks = openSetbacks(app.clock)): Promise<number> {
  const due = await dueDecisions(app.store.db).all({
    now: timestamp(app.clock),
    passedOver: setbacks.passedOver(),
  });
  return eachDue(app, due, { setbacks, idName: "decisionId", work: expire });
}

/** Does nothing if someone decided in the meantime. */
async function expire(tx: WriteContext, id: string): Promise<void> {
  const at = timestamp(tx.clock);
  const isRejection = sql`${decisions.onExpire} = 'reject'`;
  const [row] = await tx.db
    .update(decisions)
    .set({
      status: "expired",
      decisionValue: sql`case when ${isRejection} then 'rejected' end`,
      decidedAt: sql`case when ${isRejection} then ${at} end`,
      rejectionReason: sql`case when ${isRejection} then 'Nobody decided in time.' end`,
      updatedAt: at,
    })
    .where(and(eq(decisions.id, id), isPending))
    .returning();
  if (!row) return;
  await record(tx, "decision.expired", entityOf(id), { ...about(row), onExpire: row.onExpire });
  await resumeRunOf(tx, row, expiryOf(row));
}

function expiryOf(row: DecisionRow): Ending {
  switch (row.onExpire) {
    case "reject":
      return endingOf(row);
    case "cancel":
      return { status: "cancelled" };
    case "fail": {
      const message = `The approval "${maskedText(row.title)}" expired at ${row.expiresAt}.`;
      const details = { decisionId: row.id };
      return { status: "failed", error: { code: "expired", message, retryable: false, details } };
    }
  }
}
