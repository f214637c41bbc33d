import { and, eq, isNull, lte, or } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { slot } from "../../base/memory.ts";
import { within } from "../../base/within.ts";
import { type Context, SYSTEM, write } from "../../context.ts";
import { ownTokens, refreshTokens, type Tokens } from "../../oauth/client.ts";
import { record } from "../events/service.ts";
import { clientOf, entity, findSignIn, noteNeeded, openTokens, save, tokenColumns } from "./store.ts";
import { catalogSignIns, type SignInRow } from "./table.ts";

/** Longer than a server may take. If the process with the lease dies, others wait this long. */
const LEASE_MS = 30_000;
const WORK_MS = 20_000;
const POLL_MS = 200;

/** Refreshes in progress in this process, by sign-in. */
const UNDER_WAY = slot(() => new Map<string, Promise<SignInRow | null>>());

/**
 * Refreshes the tokens of `row`, once for all concurrent callers in all processes. Null if a user has to sign in.
 * Throws `upstream` or `timeout` if a later attempt may succeed.
 */
export function renew(
  ctx: Context,
  row: SignInRow,
  scope: string | null = row.scope,
): Promise<SignInRow | null> {
  const key = `${row.id}:${row.generation}:${scope}`;
  const underWay = ctx.memory.of(UNDER_WAY);
  const known = underWay.get(key);
  if (known) return known;
  const work = renewOnce(ctx, row, scope).finally(() => underWay.delete(key));
  underWay.set(key, work);
  return work;
}

async function renewOnce(ctx: Context, row: SignInRow, scope: string | null): Promise<SignInRow | null> {
  while (!(await claim(ctx, row))) {
    const now = await findSignIn(ctx, row.url);
    if (now?.generation !== row.generation) return now?.state === "signed_in" ? now : null;
    await ctx.clock.sleep(POLL_MS); // Another process is refreshing them.
  }
  let tokens: Awaited<ReturnType<typeof fetchTokens>>;
  try {
    tokens = await fetchTokens(ctx, row, scope);
  } catch (error) {
    await release(ctx, row);
    throw error;
  }
  if (typeof tokens === "string") {
    const host = row.server === null ? "Its server" : new URL(row.server.issuer).host;
    const isClientGone = tokens === "no_client";
    const problem = isClientGone
      ? `${host} no longer recognizes Weir's client registration.`
      : `${host} no longer renews the sign-in.`;
    await noteNeeded(ctx, row.url, { problem, isOver: true, isClientGone });
    return null;
  }
  const fresh = tokens;
  return write(ctx, async (tx) => {
    const now = await findSignIn(tx, row.url);
    if (now?.generation !== row.generation) return now; // Signed out or signed in again in the meantime.
    const system = { ...tx, actor: SYSTEM };
    const next = await save(system, row.url, (before) =>
      tokenColumns(tx, before, { tokens: fresh, scope }, row.grantType ?? "authorization_code"),
    );
    const { url, expiresAt } = next;
    await record(system, "catalog.token_refreshed", entity(row.id), { url, expiresAt });
    return next;
  });
}

/** All other errors are permanent. */
async function fetchTokens(
  ctx: Context,
  row: SignInRow,
  scope: string | null,
): Promise<Tokens | "no_token" | "no_client"> {
  const client = clientOf(ctx, row);
  const { server, resource } = row;
  if (client === null || server === null || resource === null) return "no_token";
  const reach = { egress: ctx.egress, signal: within(WORK_MS, new URL(server.issuer).host) };
  const party = { server, client, resource };
  if (row.grantType === "client_credentials") {
    try {
      return await ownTokens(reach, party, scope);
    } catch (error) {
      const isFinal =
        error instanceof AppError && error.details?.oauthError !== undefined && !error.retryable;
      if (isFinal) return "no_token";
      throw error;
    }
  }
  const refreshToken = openTokens(ctx, row)?.refreshToken ?? null;
  return refreshToken === null ? "no_token" : refreshTokens(reach, party, refreshToken);
}

const claim = (ctx: Context, { id, generation }: SignInRow): Promise<boolean> =>
  ctx.store.write(async (db) => {
    const isFree = or(
      isNull(catalogSignIns.leaseUntil),
      lte(catalogSignIns.leaseUntil, timestamp(ctx.clock)),
    );
    const claimed = await db
      .update(catalogSignIns)
      .set({ leaseUntil: timestamp(ctx.clock, LEASE_MS) })
      .where(and(eq(catalogSignIns.id, id), eq(catalogSignIns.generation, generation), isFree))
      .returning({ id: catalogSignIns.id });
    return claimed.length > 0;
  });

const release = (ctx: Context, { id, generation }: SignInRow): Promise<void> =>
  ctx.store.write(async (db) => {
    await db
      .update(catalogSignIns)
      .set({ leaseUntil: null })
      .where(and(eq(catalogSignIns.id, id), eq(catalogSignIns.generation, generation)));
  });
