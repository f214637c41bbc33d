import { and, asc, desc, eq, isNull, like, sql } from "drizzle-orm";
import { timestamp, timestampAfter } from "../../base/clock.ts";
import { AppError, invalid, notFound } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { freeSlug, slugify } from "../../base/slug.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import { prepared } from "../../store/prepared.ts";
import type { ReadDb } from "../../store/store.ts";
import { WEBHOOKS_TOPIC } from "../automations/table.ts";
import { changesBetween, record } from "../events/service.ts";
import { isOperator } from "../users/service.ts";
import {
  type MembershipRow,
  memberships,
  type OrganizationRow,
  organizations,
  type Plan,
  type WebhookRate,
} from "./table.ts";
import { addMember } from "./team.ts";
import type { NewOrganization, OrganizationChange } from "./wire.ts";

/** Lists the organizations of the current user, the default one first. */
export function listMemberships(
  ctx: Context,
): Promise<{ membership: MembershipRow; organization: OrganizationRow }[]> {
  return ctx.db
    .select({ membership: memberships, organization: organizations })
    .from(memberships)
    .innerJoin(organizations, eq(organizations.id, memberships.organizationId))
    .where(eq(memberships.userId, ctx.actor.id))
    .orderBy(desc(memberships.isDefault), asc(memberships.id));
}

/** Returns the request's organization. Throws `not_found`. */
export async function findCurrentOrganization(ctx: Context): Promise<OrganizationRow> {
  const [row] = await ctx.db.select().from(organizations).where(eq(organizations.id, ctx.organizationId));
  if (!row) throw notFound("organization");
  return row;
}

/** Creates an organization, with the current user as its owner. Throws `slug_taken`, `invalid`. */
export async function createOrganization(ctx: Context, input: NewOrganization): Promise<OrganizationRow> {
  const at = timestamp(ctx.clock);
  return write(ctx, async (tx) => {
    const organization: OrganizationRow = {
      id: tx.ids.uuid(),
      name: input.name,
      slug: input.slug === undefined ? await slugFor(tx, input.name) : await freeOrThrow(tx, input.slug),
      plan: tx.config.defaultPlan,
      webhookRate: null,
      quotas: null,
      egressAllow: null,
      removedAt: null,
      keptMemberships: null,
      requireFourEyes: false,
      createdAt: at,
      updatedAt: at,
    };
    await tx.db.insert(organizations).values(organization);
    const inside: WriteContext = { ...tx, organizationId: organization.id, role: "owner" };
    const entity = { type: "organization", id: organization.id } as const;
    await record(inside, "organization.created", entity, {
      name: organization.name,
      slug: organization.slug,
    });
    await addMember(inside, { userId: tx.actor.id, role: "owner" });
    return organization;
  });
}

const OPERATORS_ONLY: readonly string[] = ["plan", "webhookRate"];

/** Returns the change, without a webhook rate if the plan has none. Throws `invalid` if one is given. */
export function refuseRateOfPlan<C extends { plan?: Plan; webhookRate?: WebhookRate | null }>(
  before: OrganizationRow,
  input: C,
): C {
  if ((input.plan ?? before.plan) === "enterprise") return input;
  if (input.webhookRate) {
    throw invalid(
      ["body", "webhookRate"],
      "Only the enterprise plan has a custom webhook rate limit",
      "plan_required",
    );
  }
  return { ...input, webhookRate: null }; // The plan that it was set for has changed.
}

/**
 * Changes the given fields. Throws `slug_taken`, `invalid` for a rate without the enterprise plan,
 * and `forbidden` for a plan or rate changed by a non-operator.
 */
export function updateOrganization(ctx: Context, input: OrganizationChange): Promise<OrganizationRow> {
  return write(ctx, async (tx) => {
    const before = await findCurrentOrganization(tx);
    const field = changesBetween(before, input).find(({ field }) => OPERATORS_ONLY.includes(field))?.field;
    if (field !== undefined && !(await isOperator(tx.db, tx.actor.id)))
      throw new AppError("forbidden", `Only operators of this installation can change ${field}.`);
    const settings = refuseRateOfPlan(before, input);
    const changes = changesBetween(before, settings);
    if (changes.length === 0) return before;
    if (settings.slug !== undefined && settings.slug !== before.slug) await freeOrThrow(tx, settings.slug);
    const change = { ...settings, updatedAt: timestampAfter(tx.clock, before.updatedAt) };
    await tx.db.update(organizations).set(change).where(eq(organizations.id, before.id));
    tx.afterCommit(() => tx.signals.notify(WEBHOOKS_TOPIC));
    const data = { changes } as unknown as JsonObject;
    await record(tx, "organization.updated", { type: "organization", id: before.id }, data);
    return { ...before, ...change };
  });
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Returns a free slug derived from `name`. It never looks like an ID, which would hide the organization with that ID.
 */
async function slugFor(tx: WriteContext, name: string): Promise<string> {
  const derived = slugify(name, "organization");
  const base = UUID.test(derived) ? `organization-${derived}` : derived;
  const taken = await tx.db
    .select({ slug: organizations.slug })
    .from(organizations)
    .where(like(organizations.slug, `${base.slice(0, 90)}%`));
  return freeSlug(base, new Set(taken.map(({ slug }) => slug)));
}

async function freeOrThrow(tx: WriteContext, slug: string): Promise<string> {
  if (UUID.test(slug)) throw invalid(["body", "slug"], "A slug must not look like an ID", "slug_reserved");
  const [taken] = await tx.db
    .select({ id: organizations.id })
    .from(organizations)
    .where(eq(organizations.slug, slug));
  if (taken)
    throw new AppError(
      "slug_taken",
      `The slug '${slug}' is already in use by another organization. Choose another.`,
    );
  return slug;
}

const bySlug = prepared((db: ReadDb) =>
  db
    .select({ id: organizations.id })
    .from(organizations)
    .where(and(eq(organizations.slug, sql.placeholder("slug")), isNull(organizations.removedAt)))
    .prepare(),
);

const byId = prepared((db: ReadDb) =>
  db
    .select({ id: organizations.id })
    .from(organizations)
    .where(and(eq(organizations.id, sql.placeholder("id")), isNull(organizations.removedAt)))
    .prepare(),
);

/** Returns the ID of the organization with this ID or slug. Null if there is none, or it was removed. */
export async function resolveOrganization(db: ReadDb, named: string): Promise<string | null> {
  const text = named.toLowerCase();
  const [row] = await (UUID.test(text) ? byId(db).all({ id: text }) : bySlug(db).all({ slug: text }));
  return row?.id ?? null;
}
