import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { OAuthClient, Tokens } from "../../oauth/client.ts";
import type { AuthorizationServer } from "../../oauth/discovery.ts";
import { json, owned } from "../../store/columns.ts";

export const GRANTS = ["authorization_code", "client_credentials"] as const;
/** A user's sign-in, or client credentials for servers where no user signs in. */
export type GrantType = (typeof GRANTS)[number];

/** `none`: the server was never signed in to, and hasn't asked for it yet. */
export const SIGN_IN_STATES = ["none", "needed", "signed_in"] as const;
/** needed → signed_in by a sign-in; signed_in → needed if the server or a refresh rejects the token. */
export type SignInState = Exclude<(typeof SIGN_IN_STATES)[number], "none">;

/** Weir's client registration at one authorization server, without its secret. */
export interface StoredClient extends Omit<OAuthClient, "secret"> {
  /** `registered` dynamically, `document`: the URL of Weir's metadata document, `given` by a user. */
  kind: "registered" | "document" | "given";
  /** As registered. */
  redirectUri: string;
}

/** The encrypted part of an organization's tokens. */
export type StoredTokens = Pick<Tokens, "accessToken" | "refreshToken">;

/** An organization's sign-in with the MCP server at one URL. All entries for it use it. */
export const catalogSignIns = sqliteTable("catalog_sign_ins", {
  ...owned(),
  /** Normalized by `URL`. */
  url: text().notNull(),
  state: text().$type<SignInState>().notNull(),
  grantType: text().$type<GrantType>(),
  server: json<AuthorizationServer>(),
  /** What the tokens are for (RFC 8707). */
  resource: text(),
  client: json<StoredClient>(),
  /** Null for a public client. */
  sealedClientSecret: text(),
  /** The requested or granted scopes. */
  scope: text(),
  /** Scopes that the server requires and the tokens lack. */
  wantedScope: text(),
  /** URL of the server's resource metadata. */
  resourceMetadata: text(),
  /** JSON of `KeptTokens`. */
  sealedTokens: text(),
  /** Whether the tokens are renewed without a user. */
  isRenewable: integer({ mode: "boolean" }).notNull(),
  /** Of the access token. Null if the server doesn't say. */
  expiresAt: text(),
  signedInAt: text(),
  signedInBy: text(),
  /** Why a sign-in is needed again, as a sentence. */
  problem: text(),
  /** Changes with each set of tokens. */
  generation: integer().notNull(),
  /** Until when one process may renew the tokens. A refresh token that is used twice is treated as stolen. */
  leaseUntil: text(),
});
export type SignInRow = typeof catalogSignIns.$inferSelect;

/** A sign-in whose user hasn't returned yet. The row is deleted then. */
export const catalogSignInAttempts = sqliteTable("catalog_sign_in_attempts", {
  /** SHA-256 of `state`, hex. */
  stateHash: text().primaryKey(),
  organizationId: text().notNull(),
  /** Only the user who began a sign-in can finish it. */
  userId: text().notNull(),
  url: text().notNull(),
  /** A path of the web interface. */
  returnTo: text().notNull(),
  sealedFacts: text().notNull(),
  expiresAt: text().notNull(),
});

interface Ids {
  readonly id: string;
  readonly organizationId: string;
}

/** Label for encrypting a client secret. */
export const clientLabel = ({ id, organizationId }: Ids) => `catalog-sign-in:${id}:${organizationId}:client`;
/** Label for encrypting tokens. */
export const tokensLabel = ({ id, organizationId }: Ids) => `catalog-sign-in:${id}:${organizationId}:tokens`;
/** Label for encrypting an attempt. */
export const attemptLabel = ({ stateHash }: { readonly stateHash: string }) =>
  `catalog-sign-in-attempt:${stateHash}`;
