import { type Static, Type } from "@sinclair/typebox";
import { nullable, object, oneOf, optional, uuid } from "../../base/shape.ts";
import { LAKE_NAME_PATTERN, MAX_LAKE_NAME_CHARACTERS } from "../../lake/names.ts";

const lakeName = (description: string) =>
  Type.String({ minLength: 1, maxLength: MAX_LAKE_NAME_CHARACTERS, pattern: LAKE_NAME_PATTERN, description });

const day = (description: string) => optional(nullable(Type.String({ format: "date", description })));

export const SyncRequest = object({
  layer: lakeName("The layer to copy from, and into."),
  dataset: optional(nullable(lakeName("Only this one; all of the layer by default."))),
  dateFrom: day("Only files that a load of this day (UTC) or a later one wrote."),
  dateTo: day("Only files that a load of this day (UTC) or an earlier one wrote."),
  destTenantId: optional(nullable(uuid())),
  tenantId: optional(nullable(uuid())),
  orgSlug: optional(nullable(Type.String({ minLength: 1, maxLength: 100 }))),
  maxBytes: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 1_073_741_824 }),
  maxFiles: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 1_000 }),
});
export type SyncRequest = Static<typeof SyncRequest>;

export const SyncPlan = object({
  layer: Type.String(),
  datasetFilter: nullable(Type.String()),
  datasets: Type.Array(Type.String(), {
    description: "Those that the choice means, whether or not they have changed.",
  }),
  dateFrom: nullable(Type.String({ format: "date" })),
  dateTo: nullable(Type.String({ format: "date" })),
  sourceBucket: Type.String({ description: "Where the source's files lie." }),
  destBucket: Type.String({ description: "Where they are copied to." }),
  sourceTenantId: uuid(),
  destTenantId: uuid(),
  totalFiles: Type.Integer({ description: "Files to copy; what is there already does not count." }),
  totalBytes: Type.Integer(),
  withinLimits: Type.Boolean(),
  limitExceededReason: nullable(Type.String()),
});
export type SyncPlan = Static<typeof SyncPlan>;

export const SYNC_STATUSES = ["completed", "nothing_to_copy", "partial", "limit_exceeded"] as const;

export const SyncResult = object({
  status: oneOf(SYNC_STATUSES),
  plan: SyncPlan,
  filesCopied: Type.Integer(),
  bytesCopied: Type.Integer(),
  durationSeconds: Type.Number(),
  errors: Type.Array(
    object({
      key: Type.String({ description: "The dataset, or the table of it, that was not copied." }),
      code: Type.String(),
      message: Type.String(),
    }),
  ),
});
export type SyncResult = Static<typeof SyncResult>;
