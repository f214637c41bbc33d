import { operation } from "../../http/operation.ts";
import { runSync } from "./service.ts";
import { SyncRequest, SyncResult } from "./wire.ts";

export const syncOperations = [
  operation({
    method: "POST",
    path: "/api/v1/sync/run",
    audience: "admin",
    tag: "Sync",
    summary: "Sync datasets between organizations",
    description:
      "The source is tenantId or orgSlug, or by default the organization of the request. The destination is destTenantId, or by default that organization. The caller must be an admin of both. Files with the same size and hash aren't copied again. Files that were copied before and no longer exist at the source are removed; the destination's own rows are kept. Each dataset becomes visible as a whole. If the limits would be exceeded, nothing is copied. Dates refer to the UTC day of the load, inclusive.",
    body: SyncRequest,
    bodyExample: { layer: "raw", destTenantId: "01900000-0000-7000-8000-000000000002" },
    response: SyncResult,
    example: {
      status: "completed",
      plan: {
        layer: "raw",
        datasetFilter: null,
        datasets: ["shop"],
        dateFrom: null,
        dateTo: null,
        sourceBucket: "lake/01900000-0000-7000-8000-000000000001",
        destBucket: "lake/01900000-0000-7000-8000-000000000002",
        sourceTenantId: "01900000-0000-7000-8000-000000000001",
        destTenantId: "01900000-0000-7000-8000-000000000002",
        totalFiles: 3,
        totalBytes: 52_480,
        withinLimits: true,
        limitExceededReason: null,
      },
      filesCopied: 3,
      bytesCopied: 52_480,
      durationSeconds: 0.184,
      errors: [],
    },
    idempotent: "batched",
    errors: [403, 409],
    async handle({ ctx, body, visit }) {
      visit.keepOpen(); // A large copy takes longer than the idle timeout.
      return runSync(ctx, body);
    },
  }),
];
