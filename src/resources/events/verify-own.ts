import type { Context } from "../../context.ts";
import { readHeadFile } from "./head-file.ts";
import { verifyTrail } from "./verify.ts";
import type { Verification } from "./wire.ts";

/** Verifies the audit log of the request's organization, also against the seals next to the database. */
export function verifyOwnTrail(ctx: Context, signal: AbortSignal): Promise<Verification> {
  const { config, store, secrets, organizationId } = ctx;
  const kept = store.remote ? null : readHeadFile(config.dataFolder, secrets);
  return verifyTrail(ctx, organizationId, { beside: kept?.[organizationId] ?? null, signal });
}
