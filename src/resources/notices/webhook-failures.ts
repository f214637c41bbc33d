import { and, count, eq, gt, isNotNull, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { WriteContext } from "../../context.ts";
import type { AutomationConfig } from "../automations/config.ts";
import { type DeliveryRow, webhookDeliveries } from "../inbound/table.ts";
import type { RunError } from "../runs/table.ts";
import { putNotice } from "./put.ts";
import { type NoticeKind, notices } from "./table.ts";

/**
 * Queues an alert when the automation's failures within its window reach the threshold, at most once per window.
 * Called in the transaction of the delivery's last failure (docs/decisions/webhooks-in.md).
 */
export async function noticeWebhookFailures(
  tx: WriteContext,
  delivery: DeliveryRow,
  automation: { name: string; config: AutomationConfig },
  error: RunError,
): Promise<void> {
  const { alerts } = automation.config;
  if (!alerts) return;
  const { failureThreshold, failureWindow, notifyUrl } = alerts;
  if (failureThreshold === undefined || failureWindow === undefined || notifyUrl === undefined) return;
  const { automationId } = delivery;
  const since = timestamp(tx.clock, -failureWindow * 1000);
  const [earlier] = await tx.db
    .select({ id: notices.id })
    .from(notices)
    .where(
      and(eq(notices.automationId, automationId), eq(notices.kind, FAILING), gt(notices.createdAt, since)),
    )
    .limit(1);
  if (earlier) return;
  const [failed] = await tx.db
    .select({ n: count() })
    .from(webhookDeliveries)
    .where(
      and(
        eq(webhookDeliveries.automationId, automationId),
        // A literal, so that SQLite uses the partial index.
        sql`${webhookDeliveries.status} in ('failed', 'dead_letter')`,
        gt(webhookDeliveries.updatedAt, since),
        isNotNull(webhookDeliveries.error),
      ),
    );
  const failures = failed?.n ?? 0;
  if (failures < failureThreshold) return;
  const facts = {
    automation: { id: automationId, name: automation.name },
    failures,
    failureThreshold,
    failureWindow,
    lastFailure: { deliveryId: delivery.id, code: error.code, message: error.message },
  };
  const to = { channel: "url", target: notifyUrl, userId: null } as const;
  await putNotice(tx, to, { kind: FAILING, automationId, facts });
}

const FAILING: NoticeKind = "webhook.failing";
