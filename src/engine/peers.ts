import { and, eq, sql } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import type { App } from "../context.ts";
import { chatTurns } from "../resources/chat/table.ts";
import { actionRuns } from "../resources/runs/table.ts";
import { OUTBOUND_TOPIC, outboundDeliveries } from "../resources/webhooks/table.ts";
import { type ProcessRow, removeProcess } from "../store/processes.ts";
import type { Loop } from "./loop.ts";

/** Signalled when leases were ended early. */
export const LOST_TOPIC = "processes:lost";

/** Minimum clock correction to log. */
const TOLD_MS = 1_000;

/**
 * Sends this process's heartbeat to its peers on the store, and ends the leases of dead ones.
 * The leases decide who takes over their work, and keep a dead process that is alive after all from writing.
 */
export function peers(app: App): Loop {
  return {
    name: "peers",
    async tick() {
      if (app.peers === null) return "idle";
      const { dead, wasTakenForDead, correctedMs } = await app.peers.check();
      if (wasTakenForDead) app.log.write("warn", "other processes had marked this one as dead; rejoined");
      if (Math.abs(correctedMs) >= TOLD_MS)
        app.log.write("warn", "clock adjusted to the database", { milliseconds: correctedMs });
      for (const one of dead) await bury(app, one);
      return "idle";
    },
  };
}

async function bury(app: App, dead: ProcessRow): Promise<void> {
  const at = timestamp(app.clock);
  const over = timestamp(app.clock, -1);
  const isGone = await app.store.write(async (db) => {
    if (!(await removeProcess(db, dead))) return false; // another process removed it, or it is alive
    await db
      .update(actionRuns)
      .set({ leaseUntil: over })
      .where(and(sql`${actionRuns.status} = 'running'`, eq(actionRuns.bootId, dead.id)));
    await db
      .update(chatTurns)
      .set({ leaseUntil: over })
      .where(and(sql`${chatTurns.status} in ('streaming', 'waiting')`, eq(chatTurns.bootId, dead.id)));
    await db
      .update(outboundDeliveries)
      .set({ dueAt: at, takenBy: null })
      .where(sql`${outboundDeliveries.dueAt} is not null and ${outboundDeliveries.takenBy} = ${dead.id}`);
    return true;
  });
  if (!isGone) return;
  app.signals.notify(LOST_TOPIC);
  app.signals.notify(OUTBOUND_TOPIC);
  const { id, host, pid, seenAt } = dead;
  app.log.write("warn", "peer lost; taking over its work", { id, host, pid, seenAt });
}
