import { and, desc, eq, lt } from "drizzle-orm";
import type { JsonObject } from "../../base/json.ts";
import { type Context, write } from "../../context.ts";
import { pageOf, readCursor } from "../../crypto/cursor.ts";
import type { ReadDb } from "../../store/store.ts";
import { changesBetween, record } from "../events/service.ts";
import { type NoticePreferences, type NoticeRow, noticePreferences, notices } from "./table.ts";
import type { NoticePreferencesPatch, NoticeQuery } from "./wire.ts";

const DEFAULTS: NoticePreferences = { approvals: "all", failures: "mine" };

/** Email preferences of a user. */
export async function findPreferences(db: ReadDb, userId: string): Promise<NoticePreferences> {
  const { approvals, failures } = noticePreferences;
  const [row] = await db
    .select({ approvals, failures })
    .from(noticePreferences)
    .where(eq(noticePreferences.userId, userId));
  return row ?? DEFAULTS;
}

/** Changes the caller's email preferences. */
export function updatePreferences(ctx: Context, patch: NoticePreferencesPatch): Promise<NoticePreferences> {
  return write(ctx, async (tx) => {
    const { id: userId } = tx.actor;
    const before = await findPreferences(tx.db, userId);
    const changes = changesBetween(before, patch);
    if (changes.length === 0) return before;
    const next = { ...before, ...patch };
    await tx.db
      .insert(noticePreferences)
      .values({ userId, ...next })
      .onConflictDoUpdate({ target: noticePreferences.userId, set: next });
    if (tx.organizationId)
      await record(tx, "user.updated", { type: "user", id: userId }, { changes } as unknown as JsonObject);
    return next;
  });
}

/** Newest first. */
export async function listNotices(
  ctx: Context,
  { automation_id, limit, cursor }: NoticeQuery,
): Promise<{ rows: NoticeRow[]; nextCursor?: string }> {
  const scope = ["notices", ctx.organizationId, automation_id ?? null];
  const before = cursor === undefined ? undefined : lt(notices.id, String(readCursor(ctx, scope, cursor)));
  const rows = await ctx.db
    .select()
    .from(notices)
    .where(
      and(
        eq(notices.organizationId, ctx.organizationId),
        automation_id === undefined ? undefined : eq(notices.automationId, automation_id),
        before,
      ),
    )
    .orderBy(desc(notices.id))
    .limit(limit + 1);
  return pageOf(ctx, scope, rows, limit);
}
