import { and, eq, inArray, isNull, sql } from "drizzle-orm";
import { timestamp, timestampAfter } from "../../base/clock.ts";
import { AppError, invalid, notFound } from "../../base/errors.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import { cancelUnlessEnded } from "../../flows/cancel.ts";
import { triggerState } from "../../flows/trigger.ts";
import { isFinal, requestCancel } from "../../queue/cancel.ts";
import { automationRuns, automations, WEBHOOKS_TOPIC } from "../automations/table.ts";
import { endTurn } from "../chat/cancel.ts";
import { chatThreads } from "../chat/table.ts";
import { record } from "../events/service.ts";
import { findCurrentOrganization } from "../organizations/service.ts";
import {
  type MembershipRow,
  memberships,
  type OrganizationRow,
  organizations,
  RESTORABLE_MS,
} from "../organizations/table.ts";
import { chooseDefault } from "../organizations/team.ts";
import { actionRuns } from "../runs/table.ts";
import { users } from "../users/table.ts";

/** Number of runs cancelled per transaction. */
const BATCH = 50;

/**
 * Removes the request's organization: nobody can access it, its schedules, webhooks and subscriptions are disabled, and
 * its runs are cancelled. Throws `invalid` if `confirm` isn't its name.
 */
export async function removeOrganization(ctx: Context, { confirm }: { confirm: string }): Promise<void> {
  await write(ctx, async (tx) => {
    const before = await findCurrentOrganization(tx);
    if (before.removedAt !== null) return; // Removed by another request in the meantime, which stored the members.
    if (confirm !== before.name) {
      throw invalid(["body", "confirm"], "Enter the organization's name exactly", "confirm_mismatch");
    }
    const entity = { type: "organization", id: before.id } as const;
    await record(tx, "organization.removed", entity, { name: before.name, slug: before.slug });
    const members = await tx.db.select().from(memberships).where(eq(memberships.organizationId, before.id));
    const removedAt = timestamp(tx.clock);
    await tx.db
      .update(organizations)
      .set({ removedAt, keptMemberships: members, updatedAt: removedAt })
      .where(eq(organizations.id, before.id));
    await tx.db.delete(memberships).where(eq(memberships.organizationId, before.id));
    for (const { isDefault, userId } of members) if (isDefault) await chooseDefault(tx, userId);
    await tx.db
      .update(automations)
      .set({ nextRunAt: null, eventAfterSeq: null })
      .where(eq(automations.organizationId, before.id));
    tx.afterCommit(() => tx.signals.notify(WEBHOOKS_TOPIC));
  });
  await stopWork(ctx);
}

/** Cancels everything in progress in the context's organization: automation runs, action runs, and turns of chats. */
export async function stopWork(ctx: Context): Promise<void> {
  for (;;) {
    const open = await ctx.db
      .select({ id: automationRuns.id })
      .from(automationRuns)
      .where(and(eq(automationRuns.organizationId, ctx.organizationId), isNull(automationRuns.completedAt)))
      .limit(BATCH);
    if (open.length === 0) break;
    await write(ctx, async (tx) => {
      for (const { id } of open) await cancelUnlessEnded(tx, id);
    });
  }
  for (;;) {
    const open = await ctx.db
      .select({ id: actionRuns.id })
      .from(actionRuns)
      .where(
        and(
          eq(actionRuns.organizationId, ctx.organizationId),
          inArray(actionRuns.status, ["pending", "running", "waiting"]),
          isNull(actionRuns.cancelRequestedAt),
        ),
      )
      .limit(BATCH);
    if (open.length === 0) break;
    await write(ctx, (tx) => cancelAll(tx, open));
  }
  const threads = await ctx.db
    .select()
    .from(chatThreads)
    .where(
      and(
        eq(chatThreads.organizationId, ctx.organizationId),
        sql`${chatThreads.activeTurnId} in (
          select t.id from chat_turns t where t.status in ('pending', 'streaming', 'waiting'))`,
      ),
    );
  await Promise.all(threads.map((thread) => endTurn(ctx, thread, null)));
}

/** Cancelling a run can end another one. */
async function cancelAll(tx: WriteContext, open: readonly { id: string }[]): Promise<void> {
  for (const { id } of open) {
    const [run] = await tx.db.select().from(actionRuns).where(eq(actionRuns.id, id));
    if (run && !isFinal(run)) await requestCancel(tx, id);
  }
}

/**
 * Restores a removed organization, with its members and data. Cancelled runs stay cancelled. Throws `not_found`,
 * `invalid_state` for one that isn't removed, and `gone` after 7 days.
 */
export function restoreOrganization(ctx: Context, id: string): Promise<OrganizationRow> {
  return write(ctx, async (tx) => {
    const [before] = await tx.db.select().from(organizations).where(eq(organizations.id, id));
    if (!before) throw notFound("organization");
    if (before.removedAt === null) {
      throw new AppError("invalid_state", "This organization isn't removed.");
    }
    if (before.removedAt <= timestamp(tx.clock, -RESTORABLE_MS)) {
      throw new AppError("gone", "This organization was removed more than 7 days ago and is being erased.");
    }
    const change = {
      removedAt: null,
      keptMemberships: null,
      updatedAt: timestampAfter(tx.clock, before.updatedAt),
    };
    await tx.db.update(organizations).set(change).where(eq(organizations.id, id));
    for (const membership of before.keptMemberships ?? []) await putBack(tx, membership);
    const waiting = await tx.db
      .select()
      .from(automations)
      .where(and(eq(automations.organizationId, id), isNull(automations.deletedAt)));
    for (const automation of waiting) {
      const state = await triggerState(tx, automation);
      if (state.nextRunAt === null && state.eventAfterSeq === null) continue;
      await tx.db.update(automations).set(state).where(eq(automations.id, automation.id));
    }
    const entity = { type: "organization", id } as const;
    const data = { name: before.name, slug: before.slug };
    await record({ ...tx, organizationId: id }, "organization.restored", entity, data);
    tx.afterCommit(() => tx.signals.notify(WEBHOOKS_TOPIC));
    return { ...before, ...change };
  });
}

/** Restores a membership if its user still exists. */
async function putBack(tx: WriteContext, membership: MembershipRow): Promise<void> {
  const [user] = await tx.db.select({ id: users.id }).from(users).where(eq(users.id, membership.userId));
  if (!user) return;
  await tx.db.insert(memberships).values({ ...membership, isDefault: false });
  const hasDefault = await tx.db.$count(
    memberships,
    and(eq(memberships.userId, user.id), eq(memberships.isDefault, true)),
  );
  if (hasDefault === 0) await chooseDefault(tx, user.id);
}
