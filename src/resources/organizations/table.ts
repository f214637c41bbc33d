import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { json } from "../../store/columns.ts";

export const PLANS = ["free", "pro", "enterprise"] as const;
export type Plan = (typeof PLANS)[number];

/** Rate limit of incoming webhooks: requests per minute, and burst. */
export interface WebhookRate {
  perMinute: number;
  burst: number;
}

/** What an organization may have of the installation; null or absent: no bound of its own. */
export interface Quotas {
  storageBytes?: number | null;
  queuedRuns?: number | null;
  concurrentRuns?: number | null;
  concurrentQueries?: number | null;
  llmTokensPerDay?: number | null;
}

/** A removed organization can be put back for this long. */
export const RESTORABLE_MS = 7 * 24 * 60 * 60 * 1000;

export const organizations = sqliteTable("organizations", {
  id: text().primaryKey(),
  name: text().notNull(),
  slug: text().notNull(),
  plan: text().$type<Plan>().notNull(),
  /** Only for the plan enterprise. Null: the plan's default. */
  webhookRate: json<WebhookRate | null>(),
  /** Whether users are kept from deciding their own requests. */
  requireFourEyes: integer({ mode: "boolean" }).notNull(),
  /** Set by operators. */
  quotas: json<Quotas | null>(),
  /** Private addresses that its outbound calls may reach, besides those of `WEIR_EGRESS_ALLOW`. */
  egressAllow: json<readonly string[] | null>(),
  /** Removed by an owner, and erased seven days later. */
  removedAt: text(),
  /** Who was in it when it was removed. */
  keptMemberships: json<MembershipRow[] | null>(),
  createdAt: text().notNull(),
  updatedAt: text().notNull(),
});
export type OrganizationRow = typeof organizations.$inferSelect;

/** From the least to the most. */
export const ROLES = ["viewer", "member", "admin", "owner"] as const;
export type Role = (typeof ROLES)[number];

export const memberships = sqliteTable("memberships", {
  id: text().primaryKey(),
  organizationId: text().notNull(),
  userId: text().notNull(),
  role: text().$type<Role>().notNull(),
  /** The organization that a person lands in without naming one: at most one for each user, else the oldest. */
  isDefault: integer({ mode: "boolean" }).notNull(),
  joinedAt: text().notNull(),
  /** The group of the identity provider that the person joined by, and leaves with; null for none. */
  identityGroup: text(),
});
export type MembershipRow = typeof memberships.$inferSelect;
