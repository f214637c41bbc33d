import type { Context } from "../../context.ts";
import { findAutomation } from "../../flows/find.ts";
import { listAllRuns } from "./all-runs.ts";
import type { Found } from "./run-filters.ts";
import type { AutomationRunQuery } from "./wire.ts";

/** Newest first. */
export async function listAutomationRuns(
  ctx: Context,
  automationId: string,
  { status, limit, offset }: AutomationRunQuery,
): Promise<Found> {
  await findAutomation(ctx, automationId);
  const statuses = status === undefined ? {} : { statuses: [status] };
  return listAllRuns(ctx, { automation_id: automationId, ...statuses, limit, offset });
}
