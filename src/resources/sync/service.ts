import { AppError, invalid } from "../../base/errors.ts";
import type { App, Context } from "../../context.ts";
import { copyDataset } from "./copy.ts";
import { findParties, type Parties } from "./parties.ts";
import { type DatasetPlan, type Days, planDatasets } from "./plan.ts";
import type { SyncPlan, SyncRequest, SyncResult } from "./wire.ts";

/** Number of attempts for a dataset that is committed to in the meantime. */
const MAX_TRIES = 3;

/** Errors that aren't about one dataset, so that the request fails. */
const OWN_FAULTS = new Set(["internal", "unavailable", "disk_full"]);

/**
 * Copies tables from one organization's lake to another's, except files that are already there with the same size and
 * hash. Each dataset becomes visible as a whole, in one transaction with its events in both organizations.
 * Datasets that can't be copied are reported, and the others are copied.
 *
 * Throws `invalid`, and `forbidden` if the caller isn't an admin of both.
 */
export async function runSync(ctx: Context, request: SyncRequest): Promise<SyncResult> {
  const began = ctx.clock.monotonic();
  const { layer } = request;
  const days: Days = { from: request.dateFrom ?? null, to: request.dateTo ?? null };
  if (days.from !== null && days.to !== null && days.from > days.to)
    throw invalid(["body", "dateTo"], "dateTo is before dateFrom");
  const parties = await findParties(ctx, request);
  const plans = await planDatasets(
    parties,
    { layer, ...(request.dataset ? { dataset: request.dataset } : {}) },
    days,
  );
  const plan = describe(request, parties, plans);
  const result: SyncResult = {
    status: "nothing_to_copy",
    plan,
    filesCopied: 0,
    bytesCopied: 0,
    durationSeconds: 0,
    errors: [],
  };
  let hasChanged = false;
  if (!plan.withinLimits) result.status = "limit_exceeded";
  else {
    for (const each of plans) {
      if (each.tables.length + each.faults.length === 0) continue;
      const done = await copyUntilStable(parties, layer, each, days, result);
      hasChanged ||= done;
    }
    if (result.errors.length > 0) result.status = "partial";
    else if (hasChanged) result.status = "completed";
  }
  result.durationSeconds = Math.round(ctx.clock.monotonic() - began) / 1000;
  return result;
}

/** Returns whether the destination has changed. */
async function copyUntilStable(
  parties: Parties,
  layer: string,
  initialPlan: DatasetPlan,
  days: Days,
  result: SyncResult,
): Promise<boolean> {
  let plan = initialPlan;
  for (let tries = 1; ; tries++) {
    if (plan.faults.length > 0) {
      result.errors.push(...plan.faults);
      return false;
    }
    if (plan.tables.length === 0) return false;
    try {
      const { files, bytes } = await copyDataset(parties, layer, plan);
      result.filesCopied += files;
      result.bytesCopied += bytes;
      return true;
    } catch (error) {
      if (!(error instanceof AppError) || OWN_FAULTS.has(error.code)) throw error;
      if (error.code !== "dataset_changed" || tries === MAX_TRIES) {
        result.errors.push({ key: `${layer}.${plan.dataset}`, code: error.code, message: error.message });
        return false;
      }
      const [again] = await planDatasets(parties, { layer, dataset: plan.dataset }, days);
      plan = again ?? { ...plan, tables: [], faults: [] };
    }
  }
}

function describe(
  request: SyncRequest,
  { source, target }: Parties,
  plans: readonly DatasetPlan[],
): SyncPlan {
  const files = plans
    .filter(({ faults }) => faults.length === 0)
    .flatMap(({ tables }) => tables.flatMap(({ copy }) => copy));
  const totalFiles = files.length;
  const totalBytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const { maxFiles, maxBytes } = request;
  const limitExceededReason =
    totalFiles > maxFiles
      ? `${totalFiles} files exceed maxFiles (${maxFiles}). Nothing was copied.`
      : totalBytes > maxBytes
        ? `${totalBytes} bytes exceed maxBytes (${maxBytes}). Nothing was copied.`
        : null;
  return {
    layer: request.layer,
    datasetFilter: request.dataset ?? null,
    datasets: plans.map(({ dataset }) => dataset),
    dateFrom: request.dateFrom ?? null,
    dateTo: request.dateTo ?? null,
    sourceBucket: bucketOf(source, source.organizationId),
    destBucket: bucketOf(target, target.organizationId),
    sourceTenantId: source.organizationId,
    destTenantId: target.organizationId,
    totalFiles,
    totalBytes,
    withinLimits: limitExceededReason === null,
    limitExceededReason,
  };
}

/** Returns the organization's own folder in the lake: in the bucket, or in the data directory. */
const bucketOf = ({ config }: App, organizationId: string): string =>
  `${config.lakeUrl?.replace(/^s3:\/\//, "").replace(/\/+$/, "") ?? "lake"}/${organizationId}`;
