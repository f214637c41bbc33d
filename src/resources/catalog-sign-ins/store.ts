import { and, eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { storedJson } from "../../base/json.ts";
import { type Context, created, SYSTEM, touched, type WriteContext, write } from "../../context.ts";
import type { Challenge } from "../../oauth/challenge.ts";
import type { OAuthClient, Tokens } from "../../oauth/client.ts";
import type { AuthorizationServer } from "../../oauth/discovery.ts";
import { record } from "../events/service.ts";
import {
  catalogSignIns,
  clientLabel,
  type GrantType,
  type SignInRow,
  type StoredClient,
  type StoredTokens,
  tokensLabel,
} from "./table.ts";

/** Normalizes a URL. */
export const serverUrl = (url: string): string => new URL(url).href;

export const entity = (id: string) => ({ type: "catalog_sign_in" as const, id });

/** Null if nothing is known about the server at this URL. */
export async function findSignIn(ctx: Context, url: string): Promise<SignInRow | null> {
  const mine = and(
    eq(catalogSignIns.organizationId, ctx.organizationId),
    eq(catalogSignIns.url, serverUrl(url)),
  );
  const [row] = await ctx.db.select().from(catalogSignIns).where(mine);
  return row ?? null;
}

/** The client, with its secret. */
export function clientOf(ctx: Context, row: SignInRow): OAuthClient | null {
  if (row.client === null) return null;
  const { id, method } = row.client;
  const sealed = row.sealedClientSecret;
  return { id, method, secret: sealed === null ? null : ctx.secrets.open(sealed, clientLabel(row)) };
}

export const openTokens = (ctx: Context, row: SignInRow): StoredTokens | null =>
  row.sealedTokens === null ? null : storedJson(ctx.secrets.open(row.sealedTokens, tokensLabel(row)));

const BLANK = {
  state: "needed",
  grantType: null,
  server: null,
  resource: null,
  client: null,
  sealedClientSecret: null,
  scope: null,
  wantedScope: null,
  resourceMetadata: null,
  sealedTokens: null,
  isRenewable: false,
  expiresAt: null,
  signedInAt: null,
  signedInBy: null,
  problem: null,
  generation: 0,
  leaseUntil: null,
} as const;

type Change = Partial<Omit<SignInRow, "id" | "organizationId" | "url">>;

/** Updates the record of the server at `url`, or creates it. */
export async function save(
  tx: WriteContext,
  url: string,
  change: (row: SignInRow) => Change,
): Promise<SignInRow> {
  const before = await findSignIn(tx, url);
  if (before) {
    const row = { ...before, ...change(before), ...touched(tx, before) };
    await tx.db.update(catalogSignIns).set(row).where(eq(catalogSignIns.id, row.id));
    return row;
  }
  const blank: SignInRow = { ...BLANK, ...created(tx), id: tx.ids.uuid(), url: serverUrl(url) };
  const row = { ...blank, ...change(blank) };
  await tx.db.insert(catalogSignIns).values(row);
  return row;
}

/** The columns of Weir's client at an authorization server. */
export const clientColumns = (
  ctx: Context,
  row: SignInRow,
  { id, method, secret }: OAuthClient,
  facts: Pick<StoredClient, "kind" | "redirectUri">,
): Change => ({
  client: { id, method, ...facts },
  sealedClientSecret: secret === null ? null : ctx.secrets.seal(secret, clientLabel(row)),
});

/** Result of a sign-in. */
export interface SignedIn {
  grantType: GrantType;
  server: AuthorizationServer;
  resource: string;
  client: OAuthClient;
  facts: Pick<StoredClient, "kind" | "redirectUri">;
  /** The requested scopes. */
  scope: string | null;
  tokens: Tokens;
}

/** Stores the tokens of a new sign-in, replacing the previous ones. */
export function keepSignIn(ctx: Context, url: string, signedIn: SignedIn): Promise<SignInRow> {
  const { grantType, server, resource, client, facts } = signedIn;
  return write(ctx, async (tx) => {
    const row = await save(tx, url, (before) => ({
      ...clientColumns(tx, before, client, facts),
      ...tokenColumns(tx, before, signedIn, grantType),
      grantType,
      server,
      resource,
      signedInAt: timestamp(tx.clock),
      signedInBy: tx.actor.id,
    }));
    const { issuer } = server;
    const { scope, expiresAt } = row;
    await record(tx, "catalog.signed_in", entity(row.id), {
      url: row.url,
      issuer,
      grantType,
      scope,
      expiresAt,
    });
    return row;
  });
}

/** The columns of a set of tokens. */
export function tokenColumns(
  ctx: Context,
  row: SignInRow,
  { tokens, scope }: Pick<SignedIn, "tokens" | "scope">,
  grantType: GrantType,
): Change {
  const { accessToken, refreshToken, expiresInSeconds } = tokens;
  const kept: StoredTokens = { accessToken, refreshToken };
  return {
    state: "signed_in",
    sealedTokens: ctx.secrets.seal(JSON.stringify(kept), tokensLabel(row)),
    scope: tokens.scope ?? scope,
    isRenewable: grantType === "client_credentials" || refreshToken !== null,
    expiresAt: expiresInSeconds === null ? null : timestamp(ctx.clock, expiresInSeconds * 1000),
    wantedScope: null,
    problem: null,
    generation: row.generation + 1,
    leaseUntil: null,
  };
}

/**
 * Records that a user has to sign in (again). `isOver`: the tokens no longer work. Otherwise the server requires more
 * scopes. `isClientGone`: the client registration is no longer known, so that Weir registers again.
 */
export async function noteNeeded(
  ctx: Context,
  url: string,
  {
    challenge = null,
    wantedScope = null,
    problem = null,
    isOver = false,
    isClientGone = false,
  }: {
    challenge?: Challenge | null;
    wantedScope?: string | null;
    problem?: string | null;
    isOver?: boolean;
    isClientGone?: boolean;
  },
): Promise<void> {
  const next = (row: SignInRow): Change => ({
    resourceMetadata: challenge?.resourceMetadata ?? row.resourceMetadata,
    wantedScope: wantedScope ?? row.wantedScope,
    problem: problem ?? row.problem,
    ...(isOver
      ? { state: "needed", sealedTokens: null, isRenewable: false, expiresAt: null, leaseUntil: null }
      : {}),
    ...(isClientGone && row.client?.kind === "registered" ? { client: null, sealedClientSecret: null } : {}),
  });
  const known = await findSignIn(ctx, url);
  if (known && isSame(known, next(known))) return; // Every failing call gets here.
  await write(ctx, async (tx) => {
    const before = await findSignIn(tx, url);
    if (before && isSame(before, next(before))) return;
    const system = { ...tx, actor: SYSTEM };
    const row = await save(system, url, next);
    const { wantedScope: scope, problem: why } = row;
    await record(system, "catalog.sign_in_needed", entity(row.id), { url: row.url, scope, problem: why });
  });
}

const isSame = (row: SignInRow, change: Change) =>
  Object.entries(change).every(([name, value]) => row[name as keyof SignInRow] === value);
