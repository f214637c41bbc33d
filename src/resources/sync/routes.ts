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
    summary: "Copies tables of the lake from one organization to another",
    description:
      "The source is tenantId or orgSlug, else the organization of the request; the destination is destTenantId, else that organization. The caller is an admin of both. What is there already with the same size and hash is not copied again, and what was copied before and is no longer at the source is taken out; rows of the destination's own stay. Each dataset becomes visible whole. A plan over its limits copies nothing. Dates go by the day (UTC) of the load, both ends included. A request with an Idempotency-Key is answered again as the first was, for 24 hours.",
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
      visit.keepOpen(); // a large copy takes longer than a quiet line may stay open
      return onceOutside(ctx, visit, body, () => runSync(ctx, body));
    },
  }),
];

/** Nothing is kept under the key yet. */
class NothingKept extends Error {}

/** As `once`, for work that is no transaction: two requests at once may both do it, and get one reply. */
async function onceOutside(
  ctx: Context,
  { request, url }: Visit,
  body: unknown,
  work: () => Promise<unknown>,
): Promise<unknown> {
  const key = request.headers.get("idempotency-key");
  if (key === null) return work();
  const asked = { method: request.method, path: url.pathname + url.search, body };
  const reply = { status: 200, isSealed: false };
  try {
    return await once(ctx, key, asked, reply, () => Promise.reject(new NothingKept()));
  } catch (error) {
    if (!(error instanceof NothingKept)) throw error;
  }
  const done = await work();
  return once(ctx, key, asked, reply, async () => done);
}
