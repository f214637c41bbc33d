import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { json } from "../../store/columns.ts";

export const PLANS = ["free", "pro", "enterprise"] as const;
export type Plan = (typeof PLANS)[number];

/** Rate limit of incoming webhooks: requests per minute, and burst. */
export interface WebhookRate {
  perMinute: number;
  burst: number;
}

/** An organization's limits. Null or absent: no limit of its own. */
export interface Quotas {
  storageBytes?: number | null;
  queuedRuns?: number | null;
  concurrentRuns?: number | null;
  concurrentQueries?: number | null;
  llmTokensPerDay?: number | null;
}

/** How long a removed organization can be restored. */
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
  /** Private addresses that its outbound calls can access, in addition to `WEIR_EGRESS_ALLOW`. */
  egressAllow: json<readonly string[] | null>(),
  /** Removed by an owner, and erased seven days later. */
  removedAt: text(),
  /** Its members when it was removed. */
  keptMemberships: json<MembershipRow[] | null>(),
  createdAt: text().notNull(),
  updatedAt: text().notNull(),
});
export type OrganizationRow = typeof organizations.$inferSelect;

/** From lowest to highest. */
export const ROLES = ["viewer", "member", "admin", "owner"] as const;
export type Role = (typeof ROLES)[number];

export const memberships = sqliteTable("memberships", {
  id: text().primaryKey(),
  organizationId: text().notNull(),
  userId: text().notNull(),
  role: text().$type<Role>().notNull(),
  /** The user's organization if a request names none: at most one per user. If none is marked, the oldest. */
  isDefault: integer({ mode: "boolean" }).notNull(),
  joinedAt: text().notNull(),
  /** Identity provider group through which the user joined. The membership ends with it. Null for none. */
  identityGroup: text(),
});
export type MembershipRow = typeof memberships.$inferSelect;
