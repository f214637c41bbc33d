import { and, desc, eq, isNull, lt, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { notFound } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { maskSecrets } from "../../base/mask.ts";
import { type Context, created, touched, type WriteContext, write } from "../../context.ts";
import { makeCursor, readCursor } from "../../crypto/cursor.ts";
import { endOfTrail } from "../events/followed.ts";
import { changesBetween, record } from "../events/service.ts";
import { changeTypes, forgetFormer } from "./former.ts";
import { hold, wake } from "./hold.ts";
import { shownUrl } from "./shown-url.ts";
import { outboundDeliveries, type WebhookRow, webhookLabel, webhooks } from "./table.ts";
import type { NewWebhook, WebhookPatch } from "./wire.ts";

/** Every query here uses this condition: subscriptions of other organizations and deleted ones don't exist. */
const mine = (ctx: Context, id: string) =>
  and(eq(webhooks.organizationId, ctx.organizationId), eq(webhooks.id, id), isNull(webhooks.deletedAt));

const entity = (id: string) => ({ type: "webhook" as const, id });

const SECRET_BYTES = 32;
/** After a rotation, the previous secret signs as well for this long (docs/decisions/webhooks-out.md). */
const OVERLAP_MS = 24 * 60 * 60 * 1000;

/** In the format of the Standard Webhooks libraries. */
const makeSecret = (ctx: Context) => `whsec_${Buffer.from(ctx.ids.bytes(SECRET_BYTES)).toString("base64")}`;

/** Newest first. */
export async function listWebhooks(
  ctx: Context,
  { limit, cursor }: { limit: number; cursor?: string },
): Promise<{ rows: WebhookRow[]; nextCursor?: string }> {
  const scope = ["webhooks", ctx.organizationId];
  const before = cursor === undefined ? undefined : lt(webhooks.id, String(readCursor(ctx, scope, cursor)));
  const rows = await ctx.db
    .select()
    .from(webhooks)
    .where(and(eq(webhooks.organizationId, ctx.organizationId), isNull(webhooks.deletedAt), before))
    .orderBy(desc(webhooks.id))
    .limit(limit + 1);
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return { rows: rows.slice(0, limit), ...(last ? { nextCursor: makeCursor(ctx, scope, last.id) } : {}) };
}

export async function findWebhook(ctx: Context, id: string): Promise<WebhookRow> {
  const [row] = await ctx.db.select().from(webhooks).where(mine(ctx, id));
  if (!row) throw notFound("webhook");
  return row;
}

/** Subscribes to events from now on. `secret` is returned only once. */
export async function createWebhook(
  ctx: Context,
  input: NewWebhook,
): Promise<{ row: WebhookRow; secret: string }> {
  const secret = input.secret ?? makeSecret(ctx);
  return write(ctx, async (tx) => {
    const id = tx.ids.uuid();
    const { organizationId } = tx;
    const row: WebhookRow = {
      id,
      ...created(tx),
      url: input.url,
      events: input.events,
      sealedSecret: tx.secrets.seal(secret, webhookLabel({ id, organizationId })),
      sealedPreviousSecret: null,
      previousUntil: null,
      status: "active",
      disabledReason: null,
      failingSince: null,
      afterSeq: await endOfTrail(tx.db),
      heldFrom: null,
      heldTo: null,
      deletedAt: null,
    };
    await tx.db.insert(webhooks).values(row);
    wake(tx);
    await record(tx, "webhook.created", entity(id), { url: shownUrl(row.url), events: row.events });
    return { row, secret };
  });
}

/** While disabled, it holds events. Once active again, it delivers all of them. */
export async function updateWebhook(ctx: Context, id: string, patch: WebhookPatch): Promise<WebhookRow> {
  return write(ctx, async (tx) => {
    const before = await findWebhook(tx, id);
    const { status, ...rest } = patch;
    const changes = changesBetween(before, rest);
    const isTurned = status !== undefined && status !== before.status;
    if (changes.length === 0 && !isTurned) return before;
    const retyped = changes.some(({ field }) => field === "events") ? await changeTypes(tx, before) : {};
    const turned = !isTurned ? {} : status === "active" ? await release(tx, before) : await hold(tx, before);
    const [row] = await tx.db
      .update(webhooks)
      .set({ ...rest, ...retyped, ...turned, ...touched(tx, before) })
      .where(mine(tx, id))
      .returning();
    if (!row) throw notFound("webhook");
    wake(tx);
    if (changes.length > 0) {
      const shown = changes.map((change) =>
        change.field === "url"
          ? { ...change, from: shownUrl(before.url), to: shownUrl(row.url) }
          : (change as unknown as JsonObject),
      );
      await record(tx, "webhook.updated", entity(id), { changes: maskSecrets(shown) });
    }
    if (isTurned) {
      await record(tx, status === "active" ? "webhook.enabled" : "webhook.disabled", entity(id), {
        url: shownUrl(row.url),
        reason: row.disabledReason,
      });
    }
    return row;
  });
}

/** Makes it active: held events up to now are delivered, and deliveries that wait for a retry are due now. */
async function release(tx: WriteContext, { id, heldFrom }: WebhookRow) {
  const now = timestamp(tx.clock);
  await tx.db
    .update(outboundDeliveries)
    .set({ dueAt: now })
    .where(
      and(
        eq(outboundDeliveries.webhookId, id),
        sql`${outboundDeliveries.dueAt} > ${now}`,
        isNull(outboundDeliveries.takenBy),
      ),
    );
  const afterSeq = await endOfTrail(tx.db);
  return {
    status: "active" as const,
    disabledReason: null,
    failingSince: null,
    afterSeq,
    heldTo: heldFrom === null ? null : afterSeq,
  };
}

/** The previous secret signs as well for a day, and the one before it is dropped. The new one is returned only once. */
export async function rotateSecret(
  ctx: Context,
  id: string,
  newSecret: string | undefined,
): Promise<{ row: WebhookRow; secret: string }> {
  const secret = newSecret ?? makeSecret(ctx);
  return write(ctx, async (tx) => {
    const before = await findWebhook(tx, id);
    // The secret is the same: nothing to rotate, and the previous one stays valid as before.
    if (before.sealedSecret !== null && tx.secrets.open(before.sealedSecret, webhookLabel(before)) === secret)
      return { row: before, secret };
    const previousUntil = timestamp(tx.clock, OVERLAP_MS);
    const [row] = await tx.db
      .update(webhooks)
      .set({
        sealedSecret: tx.secrets.seal(secret, webhookLabel(before)),
        sealedPreviousSecret: before.sealedSecret,
        previousUntil,
        ...touched(tx, before),
      })
      .where(mine(tx, id))
      .returning();
    if (!row) throw notFound("webhook");
    await record(tx, "webhook.secret_rotated", entity(id), { previousUntil });
    return { row, secret };
  });
}

/** Its deliveries are deleted in small steps. */
export async function deleteWebhook(ctx: Context, id: string): Promise<void> {
  await write(ctx, async (tx) => {
    const before = await findWebhook(tx, id);
    await tx.db
      .update(webhooks)
      .set({
        deletedAt: timestamp(tx.clock),
        status: "disabled",
        sealedSecret: null,
        sealedPreviousSecret: null,
        ...touched(tx, before),
      })
      .where(mine(tx, id));
    await forgetFormer(tx.db, id, Number.POSITIVE_INFINITY);
    await record(tx, "webhook.deleted", entity(id), { url: shownUrl(before.url) });
  });
}
