import { and, asc, count, eq, gt, inArray, isNotNull, isNull, lte, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import type { App, WriteContext } from "../../context.ts";
import type { AutomationConfig } from "../automations/config.ts";
import { automations, secretLabel } from "../automations/table.ts";
import {
  type AlertRow,
  type DeliveryRow,
  type NoticeType,
  webhookAlerts,
  webhookDeliveries,
} from "../inbound/table.ts";
import type { RunError } from "../runs/table.ts";
import { postSigned } from "../webhooks/send.ts";

/**
 * Puts an alert in the queue when the automation's failures within its window have reached the threshold, once a
 * window; in the transaction of the delivery's last failure (docs/decisions/webhooks-in.md).
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
  const { automationId } = delivery;
  const since = timestamp(tx.clock, -failureWindow * 1000);
  const [earlier] = await tx.db
    .select({ id: webhookAlerts.id })
    .from(webhookAlerts)
    .where(and(ofType(automationId, FAILING), gt(webhookAlerts.createdAt, since)))
    .limit(1);
  if (earlier) return;
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
  await putNotice(tx, automationId, FAILING, notifyUrl, {
    automation: { id: automationId, name: automation.name },
    failures,
    failureThreshold,
    failureWindow,
    lastFailure: { deliveryId: delivery.id, code: error.code, message: error.message },
  });
}

const FAILING: NoticeType = "webhook.failing";

const ofType = (automationId: string, type: NoticeType) =>
  and(eq(webhookAlerts.automationId, automationId), eq(webhookAlerts.type, type));

/** Puts a signed notice in the queue, in the transaction of what it tells; the ones before it of its type say nothing any more. */
export async function putNotice(
  tx: WriteContext,
  automationId: string,
  type: NoticeType,
  notifyUrl: string,
  facts: JsonObject,
): Promise<void> {
  const { organizationId } = tx;
  const id = tx.ids.uuid();
  const createdAt = timestamp(tx.clock);
  const body = JSON.stringify({ id, type, timestamp: createdAt, organizationId, ...facts });
  await tx.db.delete(webhookAlerts).where(and(ofType(automationId, type), isNull(webhookAlerts.dueAt)));
  const row = { id, organizationId, automationId, type, createdAt, notifyUrl, body };
  await tx.db.insert(webhookAlerts).values({ ...row, attempts: 0, dueAt: createdAt });
}

/** So many are sent side by side, … */
const BATCH = 20;
/** … and of one organization so many: its watchers that never answer are not to delay another's notices. */
const BATCH_OF_ONE = 2;
/** While one process sends an alert, no other takes it up. */
const LEASE_MS = 60_000;
const MAX_TIMEOUT_SECONDS = 15;
/** Pauses before the second and the later tries. */
const PAUSES_SECONDS = [5, 30, 120, 600];

/** Sends the alerts that are due; gives back how many there were. */
export async function sendDueAlerts(app: App, signal: AbortSignal): Promise<number> {
  const isDue = () => lte(webhookAlerts.dueAt, timestamp(app.clock));
  const { id, organizationId, dueAt } = webhookAlerts;
  const ranked = app.store.db
    .select({
      id,
      dueAt,
      rank: sql<number>`row_number() over (partition by ${organizationId} order by ${dueAt})`.as("place"),
    })
    .from(webhookAlerts)
    .where(isDue())
    .as("ranked");
  const due = await app.store.db
    .select({ id: ranked.id })
    .from(ranked)
    .where(lte(ranked.rank, BATCH_OF_ONE))
    .orderBy(asc(ranked.rank), asc(ranked.dueAt))
    .limit(BATCH);
  const ids = due.map((one) => one.id);
  if (ids.length === 0) return 0;
  const taken = await app.store.write((db) =>
    db
      .update(webhookAlerts)
      .set({ dueAt: timestamp(app.clock, LEASE_MS) })
      .where(and(inArray(id, ids), isDue()))
      .returning(),
  );
  await Promise.all(taken.map((alert) => sendAlert(app, alert, signal)));
  return due.length;
}

const ABOUT = { "webhook.failing": "failing webhooks", "automation.stale": "a stale automation" } as const;

async function sendAlert(app: App, alert: AlertRow, signal: AbortSignal): Promise<void> {
  const attempts = alert.attempts + 1;
  const pause = PAUSES_SECONDS[attempts - 1];
  const facts = { alertId: alert.id, automationId: alert.automationId, attempts };
  const about = ABOUT[alert.type];
  let dueAt: string | null = null;
  try {
    const status = await post(app, alert, signal);
    app.log.write("info", `an alert about ${about} was sent`, { ...facts, status });
  } catch (error) {
    if (signal.aborted) return; // its lease runs out, and it is sent after the next start
    if (pause !== undefined) dueAt = timestamp(app.clock, pause * 1000);
    const reason = error instanceof Error ? error.message : String(error);
    app.log.write("warn", `an alert about ${about} ${dueAt ? "waits for another try" : "was given up"}`, {
      ...facts,
      reason,
    });
  }
  await app.store.write(async (db) => {
    await db
      .update(webhookAlerts)
      .set({ attempts, dueAt })
      .where(and(eq(webhookAlerts.id, alert.id), eq(webhookAlerts.attempts, alert.attempts)));
  });
}

/** Posts it, signed with the automation's secret of this moment. */
async function post(
  app: App,
  { id, automationId, notifyUrl, body }: AlertRow,
  signal: AbortSignal,
): Promise<number> {
  const [row] = await app.store.db.select().from(automations).where(eq(automations.id, automationId));
  if (!row?.sealedSecret) throw new Error("the automation or its secret is gone");
  const secrets = [app.secrets.open(row.sealedSecret, secretLabel(row))] as const;
  const reply = await postSigned(
    { clock: app.clock, egress: app.egressFor(row.organizationId) },
    { url: notifyUrl, id, body, secrets },
    { timeoutMs: Math.min(app.config.webhookTimeout, MAX_TIMEOUT_SECONDS) * 1000, signal },
  );
  await reply.body.cancel();
  if (reply.status < 200 || reply.status > 299) throw new Error(`the receiver answered ${reply.status}`);
  return reply.status;
}
