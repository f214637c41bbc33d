import { and, asc, eq, lte, sql } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import { openSetbacks } from "../base/setbacks.ts";
import type { App, WriteContext } from "../context.ts";
import { actionRuns } from "../resources/runs/table.ts";
import { prepared } from "../store/prepared.ts";
import type { ReadDb } from "../store/store.ts";
import { eachDue } from "./each-due.ts";
import { timeOutWait } from "./waits.ts";

const BATCH = 50;

/** A literal, so that SQLite uses the partial index. */
const isWaiting = sql`${actionRuns.status} = 'waiting'`;

const overdueRuns = prepared((db: ReadDb) => {
  const { id, organizationId, correlationId, waitUntil } = actionRuns;
  return db
    .select({ id, organizationId, correlationId })
    .from(actionRuns)
    .where(
      and(
        isWaiting,
        lte(waitUntil, sql.placeholder("now")),
        sql`${id} not in (select value from json_each(${sql.placeholder("passedOver")}))`,
      ),
    )
    .orderBy(asc(waitUntil))
    .limit(BATCH)
    .prepare();
});

/** Ends waits that are past their deadlines. Returns how many there were. */
export async function endOverdueWaits(app: App, setbacks = openSetbacks(app.clock)): Promise<number> {
  const overdue = await overdueRuns(app.store.db).all({
    now: timestamp(app.clock),
    passedOver: setbacks.passedOver(),
  });
  return eachDue(app, overdue, { setbacks, idName: "runId", work: endOverdue });
}

/** Does nothing if the wait has ended in the meantime. */
async function endOverdue(tx: WriteContext, id: string): Promise<void> {
  const isOverdue = lte(actionRuns.waitUntil, timestamp(tx.clock));
  const [run] = await tx.db
    .select()
    .from(actionRuns)
    .where(and(eq(actionRuns.id, id), isWaiting, isOverdue));
  if (run) await timeOutWait(tx, run);
}
