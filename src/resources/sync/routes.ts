import type { Context } from "../../context.ts";
import { once } from "../../http/idempotency.ts";
import { operation, type Visit } from "../../http/operation.ts";
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
      "The source is tenantId or orgSlug, or by default the organization of the request. The destination is destTenantId, or by default that organization. The caller must be an admin of both. Files with the same size and hash aren't copied again. Files that were copied before and no longer exist at the source are removed; the destination's own rows are kept. Each dataset becomes visible as a whole. If the limits would be exceeded, nothing is copied. Dates refer to the UTC day of the load, inclusive. A request with an Idempotency-Key returns the first response again for 24 hours.",
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
    errors: [403, 409],
    async handle({ ctx, body, visit }) {
      visit.keepOpen(); // A large copy takes longer than the idle timeout.
      return onceOutside(ctx, visit, body, () => runSync(ctx, body));
    },
  }),
];

/** Nothing is kept under the key yet. */
class NothingKept extends Error {}

/** As `once`, for work that isn't a transaction: two concurrent requests may both do it, and get one response. */
async function onceOutside(
  ctx: Context,
  { request, url }: Visit,
  body: unknown,
  work: () => Promise<unknown>,
): Promise<unknown> {
  const key = request.headers.get("idempotency-key");
  if (key === null) return work();
  const call = { method: request.method, path: url.pathname + url.search, body };
  const reply = { status: 200, isSealed: false };
  try {
    return await once(ctx, key, call, reply, () => Promise.reject(new NothingKept()));
  } catch (error) {
    if (!(error instanceof NothingKept)) throw error;
  }
  const done = await work();
  return once(ctx, key, call, reply, async () => done);
}
