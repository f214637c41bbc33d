import { type Static, Type } from "@sinclair/typebox";
import { described, nullable, object, oneOf, optional, uuid } from "../../base/shape.ts";
import { LAKE_NAME_PATTERN, MAX_LAKE_NAME_CHARACTERS } from "../../lake/names.ts";

const lakeName = (description: string) =>
  Type.String({ minLength: 1, maxLength: MAX_LAKE_NAME_CHARACTERS, pattern: LAKE_NAME_PATTERN, description });

const day = (description: string) => optional(nullable(Type.String({ format: "date", description })));

export const SyncRequest = object({
  layer: lakeName("The layer to copy from, and into."),
  dataset: optional(nullable(lakeName("Dataset to copy. Default: all datasets of the layer."))),
  dateFrom: day("Only files that a load of this day (UTC) or a later one wrote."),
  dateTo: day("Only files that a load of this day (UTC) or an earlier one wrote."),
  destTenantId: optional(
    nullable(described("Organization to copy to. Default: that of the request.", uuid())),
  ),
  tenantId: optional(nullable(described("Organization to copy from. Default: that of the request.", uuid()))),
  orgSlug: optional(
    nullable(Type.String({ minLength: 1, maxLength: 100, description: "Its slug, instead of tenantId." })),
  ),
  maxBytes: Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    default: 1_073_741_824,
    description: "If more bytes would be copied, nothing is.",
  }),
  maxFiles: Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    default: 1_000,
    description: "If more files would be copied, nothing is.",
  }),
});
export type SyncRequest = Static<typeof SyncRequest>;

export const SyncPlan = object({
  layer: Type.String(),
  datasetFilter: nullable(Type.String()),
  datasets: Type.Array(Type.String(), {
    description: "Datasets selected by the request, changed or not.",
  }),
  dateFrom: nullable(Type.String({ format: "date" })),
  dateTo: nullable(Type.String({ format: "date" })),
  sourceBucket: Type.String({ description: "Where the source's files are stored." }),
  destBucket: Type.String({ description: "Where the files are copied to." }),
  sourceTenantId: uuid(),
  destTenantId: uuid(),
  totalFiles: Type.Integer({
    description: "Number of files to copy, without those already at the destination.",
  }),
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
      key: Type.String({ description: "Dataset, or table of it, that wasn't copied." }),
      code: Type.String(),
      message: Type.String(),
    }),
  ),
});
export type SyncResult = Static<typeof SyncResult>;
