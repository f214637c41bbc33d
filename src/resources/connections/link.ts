import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { and, eq, inArray } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { Context } from "../../context.ts";
import type { Link, Provider } from "../../providers/contract.ts";
import { openFileRoom } from "../usage/quotas.ts";
import { approvalMissing, needsApproval, type Purpose } from "./approval.ts";
import { openCredentials } from "./credentials.ts";
import { providerOf } from "./input.ts";
import { providerStateOf } from "./provider-state.ts";
import { quotasOf } from "./quotas.ts";
import { signInTokensOf } from "./sign-in-tokens.ts";
import { type ApprovalRule, type ConnectionRow, connections } from "./table.ts";
import { tokensOf } from "./tokens.ts";

/** A link, and its connection's approval rule for callers that request approval themselves. */
export interface OpenedConnection {
  provider: Provider;
  link: Link;
  approvalRequired: ApprovalRule;
}

/**
 * Returns what a provider needs to work with a connection, on behalf of the run `runId`. All access to external systems
 * goes through it. Throws `invalid_state` for a purpose that needs approval.
 */
export async function linkOf(
  ctx: Context,
  row: ConnectionRow,
  { signal, purpose, runId = null }: { signal: AbortSignal; purpose: Purpose; runId?: string | null },
): Promise<OpenedConnection> {
  if (needsApproval(row.approvalRequired, purpose)) throw approvalMissing(row);
  const provider = providerOf(ctx, row);
  if (provider.isLocal) await ctx.peers?.requireTogether("The files of this connection");
  const filesFolder = join(ctx.filesFolder, row.organizationId);
  await mkdir(filesFolder, { recursive: true, mode: 0o700 });
  const signIn = signInTokensOf(ctx, row, { runId, signal });
  const link: Link = {
    connectionId: row.id,
    config: row.config,
    credentials: openCredentials(ctx, row),
    egress: ctx.egress,
    memory: ctx.memory,
    clock: ctx.clock,
    signal,
    compute: (job) => ctx.compute.run(job, { organizationId: row.organizationId, signal }),
    filesFolder,
    ...(provider.isLocal ? { openRoom: () => openFileRoom(ctx) } : {}),
    tokens: tokensOf(ctx, row, runId),
    quotas: quotasOf(ctx, row.id),
    state: providerStateOf(ctx, row),
    ...(signIn ? { signIn } : {}),
  };
  return { provider, link, approvalRequired: row.approvalRequired };
}

/** Minimum interval between updates of the time of last use. */
const USE_NOTED_MS = 60_000;

/**
 * Opens a run's connection: the one it names, otherwise the default one of its kind's providers. Throws
 * `definition_invalid` if there is none, `connection_disabled`, `not_found`.
 */
export async function openLink(
  ctx: Context,
  wanted: {
    runId: string;
    connectionId: string | null;
    providers: readonly string[] | null;
    signal: AbortSignal;
    purpose: Purpose;
    /** Called if the purpose needs approval. Throws unless it was approved. */
    requireApproval(row: ConnectionRow): Promise<void>;
  },
): Promise<OpenedConnection> {
  const row =
    wanted.connectionId === null
      ? await findDefault(ctx, wanted.providers)
      : await find(ctx, wanted.connectionId);
  if (row.status === "disabled") {
    throw new AppError("connection_disabled", `Connection ${row.name} is disabled. Reactivate it first.`, {
      details: { connectionId: row.id },
    });
  }
  if (wanted.providers !== null && wanted.providers.length > 0 && !wanted.providers.includes(row.provider)) {
    throw new AppError(
      "definition_invalid",
      `This kind requires a connection of ${wanted.providers.join(", ")}, but ${row.name} uses ${row.provider}.`,
    );
  }
  const { purpose, ...rest } = wanted;
  const isAsked = needsApproval(row.approvalRequired, purpose);
  if (isAsked) await wanted.requireApproval(row);
  noteUse(ctx, row);
  return linkOf(ctx, row, { ...rest, purpose: isAsked ? "approved" : purpose });
}

async function find(ctx: Context, id: string): Promise<ConnectionRow> {
  const [row] = await ctx.db
    .select()
    .from(connections)
    .where(and(eq(connections.organizationId, ctx.organizationId), eq(connections.id, id)));
  if (!row)
    throw new AppError("not_found", "The connection of this action no longer exists. Select another.");
  return row;
}

async function findDefault(ctx: Context, providers: readonly string[] | null): Promise<ConnectionRow> {
  const rows = await ctx.db
    .select()
    .from(connections)
    .where(
      and(
        eq(connections.organizationId, ctx.organizationId),
        eq(connections.isDefault, true),
        providers === null || providers.length === 0
          ? undefined
          : inArray(connections.provider, [...providers]),
      ),
    )
    .limit(2);
  const [row] = rows;
  if (row && rows.length === 1) return row;
  throw new AppError(
    "definition_invalid",
    row
      ? "Connection required: several are the default of their provider. Set connectionId."
      : "Connection required. Set connectionId, or make one the default of its provider.",
  );
}

function noteUse(ctx: Context, row: ConnectionRow): void {
  const now = ctx.clock.now().getTime();
  if (row.lastUsedAt !== null && now - Date.parse(row.lastUsedAt) < USE_NOTED_MS) return;
  ctx.store
    .write(async (db) => {
      await db
        .update(connections)
        .set({ lastUsedAt: timestamp(ctx.clock) })
        .where(eq(connections.id, row.id));
    })
    .catch((error) => ctx.log.report(error, { at: "record the use of a connection" }));
}
