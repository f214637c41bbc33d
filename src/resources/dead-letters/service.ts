import { and, desc, eq, inArray, isNull, lt } from "drizzle-orm";
import { AppError, invalid, notFound } from "../../base/errors.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import { makeCursor, readCursor } from "../../crypto/cursor.ts";
import type { AutomationConfig } from "../automations/config.ts";
import { automations } from "../automations/table.ts";
import { record } from "../events/service.ts";
import { storeDelivery } from "../inbound/intake.ts";
import { type DeliveryRow, webhookDeliveries } from "../inbound/table.ts";
import { type DeadLetterRow, deadLetters } from "./table.ts";
import { type DeadLetterQuery, type ReplayMany, toDeadLetter } from "./wire.ts";

/** Newest first. */
export async function listDeadLetters(ctx: Context, query: DeadLetterQuery) {
  const { source, automation_id, webhook_id, cursor, limit } = query;
  const scope = [
    "dead-letters",
    ctx.organizationId,
    source ?? null,
    automation_id ?? null,
    webhook_id ?? null,
  ];
  const before = cursor === undefined ? null : String(readCursor(ctx, scope, cursor));
  const rows = await ctx.db
    .select()
    .from(deadLetters)
    .where(
      and(
        eq(deadLetters.organizationId, ctx.organizationId),
        source === undefined ? undefined : eq(deadLetters.source, source),
        automation_id === undefined
          ? undefined
          : and(eq(deadLetters.source, "inbound"), eq(deadLetters.sourceId, automation_id)),
        webhook_id === undefined
          ? undefined
          : and(eq(deadLetters.source, "outbound"), eq(deadLetters.sourceId, webhook_id)),
        before === null ? undefined : lt(deadLetters.id, before),
      ),
    )
    .orderBy(desc(deadLetters.id))
    .limit(limit + 1);
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const page = { items: items.map(toDeadLetter) };
  return rows.length > limit && last ? { ...page, nextCursor: makeCursor(ctx, scope, last.id) } : page;
}

/**
 * Delivers a dead letter once more, as a new delivery with the same content. Throws `invalid_state` while
 * a replay is under way or after one succeeded, and when its automation is gone or disabled.
 */
export async function replayDeadLetter(tx: WriteContext, id: string): Promise<DeliveryRow> {
  const [letter] = await tx.db
    .select()
    .from(deadLetters)
    .where(and(eq(deadLetters.organizationId, tx.organizationId), eq(deadLetters.id, id)));
  if (!letter) throw notFound("dead letter");
  if (letter.status !== "dead")
    throw new AppError("invalid_state", `This dead letter is ${letter.status} already.`);
  return replay(tx, letter);
}

async function replay(tx: WriteContext, letter: DeadLetterRow): Promise<DeliveryRow> {
  const [hook] = await tx.db
    .select()
    .from(automations)
    .where(
      and(
        eq(automations.organizationId, tx.organizationId),
        eq(automations.id, letter.sourceId),
        isNull(automations.deletedAt),
      ),
    );
  if (!hook) throw new AppError("invalid_state", "The automation of this dead letter has been deleted.");
  if (hook.status === "disabled")
    throw new AppError("invalid_state", `The automation ${hook.name} is disabled; enable it first.`);
  const [delivery] = await tx.db
    .select()
    .from(webhookDeliveries)
    .where(eq(webhookDeliveries.id, letter.deliveryId));
  if (!delivery) throw new AppError("gone", "The content of this dead letter is not kept any more.");
  const { deliveryId } = await storeDelivery(
    tx,
    { id: hook.id, config: hook.config as AutomationConfig, version: hook.version },
    {
      payload: delivery.payload,
      headers: delivery.headers,
      query: delivery.query,
      ipAddress: delivery.ipAddress,
      isKept: delivery.isKept,
      repeatKey: null,
      replayOf: delivery.id,
    },
  );
  await tx.db
    .update(deadLetters)
    .set({ status: "replaying", replayCount: letter.replayCount + 1 })
    .where(eq(deadLetters.id, letter.id));
  await record(
    tx,
    "webhook.replayed",
    { type: "dead_letter", id: letter.id },
    { deliveryId, automationId: hook.id },
  );
  const [row] = await tx.db.select().from(webhookDeliveries).where(eq(webhookDeliveries.id, deliveryId));
  if (!row) throw notFound("webhook delivery");
  return row;
}

const MAX_AT_ONCE = 1000;

/** Replays the named letters, or all dead ones of an automation (1,000 at most); gives back how many. */
export async function replayMany(tx: WriteContext, input: ReplayMany): Promise<number> {
  if ((input.ids === undefined) === (input.automationId === undefined)) {
    throw invalid(["body"], "Give either ids or automationId", "value_error");
  }
  const letters = await tx.db
    .select()
    .from(deadLetters)
    .where(
      and(
        eq(deadLetters.organizationId, tx.organizationId),
        eq(deadLetters.source, "inbound"),
        eq(deadLetters.status, "dead"),
        input.ids === undefined
          ? eq(deadLetters.sourceId, input.automationId ?? "")
          : inArray(deadLetters.id, input.ids),
      ),
    )
    .orderBy(deadLetters.id)
    .limit(MAX_AT_ONCE);
  for (const letter of letters) await replay(tx, letter);
  return letters.length;
}

/** The delivery itself stays. */
export async function deleteDeadLetter(ctx: Context, id: string): Promise<void> {
  await write(ctx, async (tx) => {
    const [gone] = await tx.db
      .delete(deadLetters)
      .where(and(eq(deadLetters.organizationId, tx.organizationId), eq(deadLetters.id, id)))
      .returning({
        source: deadLetters.source,
        sourceId: deadLetters.sourceId,
        deliveryId: deadLetters.deliveryId,
      });
    if (!gone) throw notFound("dead letter");
    await record(tx, "webhook.discarded", { type: "dead_letter", id }, gone);
  });
}
