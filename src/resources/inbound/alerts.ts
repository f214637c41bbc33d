import { and, count, eq, gt, inArray, isNotNull, isNull, lte } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { App, WriteContext } from "../../context.ts";
import { signDelivery } from "../../crypto/signature.ts";
import type { AutomationConfig } from "../automations/config.ts";
import { secretLabel } from "../automations/service.ts";
import { automations } from "../automations/table.ts";
import type { RunError } from "../runs/table.ts";
import { type AlertRow, type DeliveryRow, webhookAlerts, webhookDeliveries } from "./table.ts";

/**
 * Puts an alert in line when the automation's failures within its window have reached the threshold, once a
 * window; in the transaction of the delivery's last failure (decisions, section 8).
 */
export async function raiseAlert(
  tx: WriteContext,
  delivery: DeliveryRow,
  automation: { name: string; config: AutomationConfig },
  error: RunError,
): Promise<void> {
  const { alerts } = automation.config;
  if (!alerts) return;
  const { failureThreshold, failureWindow, notifyUrl } = alerts;
  const { automationId, organizationId } = delivery;
  const since = timestamp(tx.clock, -failureWindow * 1000);
  const [told] = await tx.db
    .select({ id: webhookAlerts.id })
    .from(webhookAlerts)
    .where(and(eq(webhookAlerts.automationId, automationId), gt(webhookAlerts.createdAt, since)))
    .limit(1);
  if (told) return;
  const [failed] = await tx.db
    .select({ n: count() })
    .from(webhookDeliveries)
    .where(
      and(
        eq(webhookDeliveries.automationId, automationId),
        inArray(webhookDeliveries.status, ["failed", "dead_letter"]),
        gt(webhookDeliveries.updatedAt, since),
        isNotNull(webhookDeliveries.error),
      ),
    );
  const failures = failed?.n ?? 0;
  if (failures < failureThreshold) return;
  const id = tx.ids.uuid();
  const createdAt = timestamp(tx.clock);
  const body = JSON.stringify({
    id,
    type: "webhook.failing",
    timestamp: createdAt,
    organizationId,
    automation: { id: automationId, name: automation.name },
    failures,
    failureThreshold,
    failureWindow,
    lastFailure: { deliveryId: delivery.id, code: error.code, message: error.message },
  });
  const old = and(eq(webhookAlerts.automationId, automationId), isNull(webhookAlerts.dueAt));
  await tx.db.delete(webhookAlerts).where(old); // those of earlier windows say nothing any more
  await tx.db
    .insert(webhookAlerts)
    .values({ id, organizationId, automationId, createdAt, notifyUrl, body, attempts: 0, dueAt: createdAt });
}

const BATCH = 10;
/** While one process sends an alert, no other takes it up. */
const LEASE_MS = 60_000;
const TIMEOUT_MS = 15_000;
/** Pauses before the second and the later tries. */
const PAUSES_SECONDS = [5, 30, 120, 600];

/** Sends the alerts that are due; gives back how many there were. */
export async function sendDueAlerts(app: App, signal: AbortSignal): Promise<number> {
  const isDue = () => lte(webhookAlerts.dueAt, timestamp(app.clock));
  const due = await app.store.db
    .select({ id: webhookAlerts.id })
    .from(webhookAlerts)
    .where(isDue())
    .limit(BATCH);
  for (const { id } of due) {
    const [alert] = await app.store.write((db) =>
      db
        .update(webhookAlerts)
        .set({ dueAt: timestamp(app.clock, LEASE_MS) })
        .where(and(eq(webhookAlerts.id, id), isDue()))
        .returning(),
    );
    if (alert) await sendAlert(app, alert, signal);
  }
  return due.length;
}

async function sendAlert(app: App, alert: AlertRow, signal: AbortSignal): Promise<void> {
  const attempts = alert.attempts + 1;
  const pause = PAUSES_SECONDS[attempts - 1];
  const facts = { alertId: alert.id, automationId: alert.automationId, attempts };
  let dueAt: string | null = null;
  try {
    const status = await post(app, alert, signal);
    app.log.write("info", "an alert about failing webhooks was sent", { ...facts, status });
  } catch (error) {
    if (signal.aborted) return; // its lease runs out, and it is sent after the next start
    if (pause !== undefined) dueAt = timestamp(app.clock, pause * 1000);
    const reason = error instanceof Error ? error.message : String(error);
    app.log.write(
      "warn",
      `an alert about failing webhooks ${dueAt ? "waits for another try" : "was given up"}`,
      {
        ...facts,
        reason,
      },
    );
  }
  await app.store.write(async (db) => {
    await db.update(webhookAlerts).set({ attempts, dueAt }).where(eq(webhookAlerts.id, alert.id));
  });
}

/** Posts it, signed with the automation's secret of this moment. */
async function post(
  app: App,
  { automationId, notifyUrl, body }: AlertRow,
  signal: AbortSignal,
): Promise<number> {
  const [row] = await app.store.db.select().from(automations).where(eq(automations.id, automationId));
  if (!row?.sealedSecret) throw new Error("the automation is gone");
  const secret = app.secrets.open(row.sealedSecret, secretLabel(row));
  const seconds = Math.floor(app.clock.now().getTime() / 1000);
  const reply = await app.egress.fetch(notifyUrl, {
    method: "POST",
    headers: { "content-type": "application/json", ...signDelivery(secret, seconds, body) },
    body,
    signal,
    timeoutMs: TIMEOUT_MS,
    maxRedirects: 0,
  });
  await reply.body.cancel();
  if (reply.status < 200 || reply.status > 299) throw new Error(`the receiver answered ${reply.status}`);
  return reply.status;
}
