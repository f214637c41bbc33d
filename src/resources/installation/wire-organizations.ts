import { type Static, Type } from "@sinclair/typebox";
import {
  cursorQuery,
  described,
  instant,
  nullable,
  object,
  oneOf,
  optional,
  uuid,
} from "../../base/shape.ts";
import { type OrganizationRow, PLANS, type Quotas, RESTORABLE_MS } from "../organizations/table.ts";
import { exampleOrganization, WebhookRate } from "../organizations/wire.ts";

const bound = (description: string) => nullable(Type.Integer({ minimum: 0, maximum: 2 ** 50, description }));

const QUOTAS = {
  storageBytes: bound("Maximum bytes of tables, artifacts and uploaded files together"),
  queuedRuns: bound("Maximum number of queued action runs"),
  concurrentRuns: bound("Maximum number of action runs at once, in all processes. Others are queued"),
  concurrentQueries: bound("Maximum number of SQL queries by people and agents at once, in each process"),
  llmTokensPerDay: bound("Maximum number of language model tokens per day (UTC)"),
};

/** An organization as operators see one. */
export const InstallationOrganization = object({
  id: uuid(),
  name: Type.String(),
  slug: Type.String(),
  plan: oneOf(PLANS),
  webhookRate: nullable(WebhookRate),
  quotas: described("Quotas. Null: no limit", object(QUOTAS)),
  egressAllow: Type.Array(Type.String()),
  removedAt: nullable(instant()),
  restorableUntil: described(
    "When a removed organization is erased. Null for all others",
    nullable(instant()),
  ),
  createdAt: instant(),
  updatedAt: instant(),
});

export const InstallationOrganizationList = object({
  items: Type.Array(InstallationOrganization),
  nextCursor: optional(Type.String()),
});

export const InstallationOrganizationQuery = object({
  q: optional(Type.String({ maxLength: 255, description: "Part of the name or slug" })),
  removed: optional(
    Type.Boolean({ description: "True: only removed organizations. False: only the others" }),
  ),
  ...cursorQuery(50, 200),
});
export type InstallationOrganizationQuery = Static<typeof InstallationOrganizationQuery>;

export const InstallationOrganizationChange = object({
  plan: optional(oneOf(PLANS)),
  webhookRate: optional(nullable(WebhookRate)),
  quotas: optional(
    nullable(
      object({
        storageBytes: optional(QUOTAS.storageBytes),
        queuedRuns: optional(QUOTAS.queuedRuns),
        concurrentRuns: optional(QUOTAS.concurrentRuns),
        concurrentQueries: optional(QUOTAS.concurrentQueries),
        llmTokensPerDay: optional(QUOTAS.llmTokensPerDay),
      }),
    ),
  ),
  egressAllow: optional(
    nullable(
      Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
        maxItems: 100,
        description:
          "Private addresses that outbound calls of this organization may reach, in addition to `WEIR_EGRESS_ALLOW`: CIDR ranges, addresses and host names, each also with a port.",
      }),
    ),
  ),
});
export type InstallationOrganizationChange = Static<typeof InstallationOrganizationChange>;

/** Returns every quota, with null for each that isn't set. */
export const allQuotas = (quotas: Quotas | null): Required<Quotas> => ({
  storageBytes: quotas?.storageBytes ?? null,
  queuedRuns: quotas?.queuedRuns ?? null,
  concurrentRuns: quotas?.concurrentRuns ?? null,
  concurrentQueries: quotas?.concurrentQueries ?? null,
  llmTokensPerDay: quotas?.llmTokensPerDay ?? null,
});

export const toInstallationOrganization = (
  row: OrganizationRow,
): Static<typeof InstallationOrganization> => ({
  id: row.id,
  name: row.name,
  slug: row.slug,
  plan: row.plan,
  webhookRate: row.webhookRate,
  quotas: allQuotas(row.quotas),
  egressAllow: [...(row.egressAllow ?? [])],
  removedAt: row.removedAt,
  restorableUntil:
    row.removedAt === null ? null : new Date(Date.parse(row.removedAt) + RESTORABLE_MS).toISOString(),
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
});

const { id, name, slug, plan, webhookRate, createdAt, updatedAt } = exampleOrganization;

export const exampleInstallationOrganization: Static<typeof InstallationOrganization> = {
  ...{ id, name, slug, plan, webhookRate },
  quotas: allQuotas({ storageBytes: 10_737_418_240, concurrentRuns: 4 }),
  egressAllow: ["10.1.0.0/16"],
  removedAt: null,
  restorableUntil: null,
  ...{ createdAt, updatedAt },
};
