import type { Setbacks } from "../base/setbacks.ts";
import { type App, contextFor, SYSTEM, type WriteContext, write } from "../context.ts";
import { mayPass } from "../store/faults.ts";

interface Due {
  id: string;
  organizationId: string;
  correlationId: string;
}

/**
 * Does the work of each that is due, in a transaction of its own. One that fails is tried again after a pause, and
 * doesn't keep the others waiting; `idName` is what the log calls its ID. Returns how many succeeded.
 */
export async function eachDue(
  app: App,
  due: readonly Due[],
  {
    setbacks,
    idName,
    work,
  }: { setbacks: Setbacks; idName: string; work(tx: WriteContext, id: string): Promise<void> },
): Promise<number> {
  let failed = 0;
  for (const { id, ...where } of due) {
    try {
      await write(contextFor(app, { ...where, actor: SYSTEM, role: "member" }), (tx) => work(tx, id));
    } catch (error) {
      failed++;
      if (!mayPass(error)) setbacks.note(id);
      app.log.report(error, { [idName]: id, correlationId: where.correlationId });
    }
  }
  return due.length - failed;
}
