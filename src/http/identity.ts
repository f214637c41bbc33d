import { and, eq, sql } from "drizzle-orm";
import { timestamp } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { slot } from "../base/memory.ts";
import type { Actor, App, WriteContext } from "../context.ts";
import { hashToken, isWellFormed, TOKEN_PREFIX } from "../crypto/tokens.ts";
import { accessTokens, type Scope } from "../resources/access-tokens/table.ts";
import { apiKeys } from "../resources/api-keys/table.ts";
import { resolveOrganization } from "../resources/organizations/service.ts";
import { memberships, organizations, ROLES, type Role } from "../resources/organizations/table.ts";
import { findHome } from "../resources/organizations/team.ts";
import { lastOf, SESSION_COOKIE, slideFrom } from "../resources/sessions/service.ts";
import { type ClientType, sessions } from "../resources/sessions/table.ts";
import { users } from "../resources/users/table.ts";
import { prepared } from "../store/prepared.ts";
import type { ReadDb, WriteDb } from "../store/store.ts";
import { cookieOf } from "./cookie.ts";
import type { Visit } from "./operation.ts";

/** The caller and the credential used. */
export interface Identity {
  readonly carrier: "authorization" | "x-api-key" | "cookie";
  readonly kind: "pat" | "session" | "api_key";
  /** ID of the token, session or key. */
  readonly credentialId: string;
  /** The user, or the API key's own ID. */
  readonly userId: string;
  /** Null for an API key. */
  readonly email: string | null;
  readonly clientType: ClientType;
  /** When the session's user last authenticated. */
  readonly signedInAt: string | null;
  /** Expiry of an access token, and the latest expiry of a client's session. */
  readonly expiresAt: string | null;
  /** The organization that the credential is bound to. Null if none. */
  readonly organizationId: string | null;
  /** True if the credential is valid in that organization only. */
  readonly isConfined: boolean;
  /** Scopes of an access token. Null means all. */
  readonly scopes: readonly Scope[] | null;
  /** Role of an API key. A user's role depends on the membership. */
  readonly role?: Role;
}

/** The time of last use is stored at most this often. */
const USE_NOTED_MS = 60_000;

const patByHash = prepared((db: ReadDb) =>
  db
    .select({
      id: accessTokens.id,
      userId: accessTokens.userId,
      organizationId: accessTokens.organizationId,
      organizations: accessTokens.organizations,
      scopes: accessTokens.scopes,
      expiresAt: accessTokens.expiresAt,
      revokedAt: accessTokens.revokedAt,
      lastUsedAt: accessTokens.lastUsedAt,
      email: users.email,
      goneAt: organizations.removedAt,
    })
    .from(accessTokens)
    .innerJoin(users, eq(users.id, accessTokens.userId))
    .innerJoin(organizations, eq(organizations.id, accessTokens.organizationId))
    .where(eq(accessTokens.tokenHash, sql.placeholder("hash")))
    .prepare(),
);

const keyByHash = prepared((db: ReadDb) =>
  db
    .select({
      id: apiKeys.id,
      organizationId: apiKeys.organizationId,
      role: apiKeys.role,
      lastUsedAt: apiKeys.lastUsedAt,
      revokedAt: apiKeys.revokedAt,
      goneAt: organizations.removedAt,
    })
    .from(apiKeys)
    .innerJoin(organizations, eq(organizations.id, apiKeys.organizationId))
    .where(eq(apiKeys.tokenHash, sql.placeholder("hash")))
    .prepare(),
);

const sessionByHash = prepared((db: ReadDb) =>
  db
    .select({
      id: sessions.id,
      userId: sessions.userId,
      organizationId: sessions.organizationId,
      isConfined: sessions.isConfined,
      clientType: sessions.clientType,
      createdAt: sessions.createdAt,
      endsAt: sessions.endsAt,
      confirmedAt: sessions.confirmedAt,
      lastActiveAt: sessions.lastActiveAt,
      expiresAt: sessions.expiresAt,
      revokedAt: sessions.revokedAt,
      email: users.email,
      goneAt: organizations.removedAt,
    })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .leftJoin(organizations, eq(organizations.id, sessions.organizationId))
    .where(eq(sessions.tokenHash, sql.placeholder("hash")))
    .prepare(),
);

/**
 * Identifies the caller by the first credential present: Authorization, X-API-Key, cookie.
 * Null if there is none. API keys are accepted as bearer tokens only `withKeys`.
 * Throws `unauthenticated` if that credential is invalid, without trying the next.
 */
export async function identify(app: App, headers: Headers, withKeys = false): Promise<Identity | null> {
  const authorization = headers.get("authorization");
  if (authorization !== null) {
    const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
    if (!token) throw refused("Invalid Authorization header. Use: Bearer TOKEN.");
    if (withKeys && token.startsWith(TOKEN_PREFIX.apiKey)) return byApiKey(app, token);
    return token.startsWith(TOKEN_PREFIX.session)
      ? bySession(app, token, "authorization")
      : byPat(app, token);
  }
  const key = headers.get("x-api-key");
  if (key !== null) return byApiKey(app, key);
  const cookie = cookieOf(headers.get("cookie"), SESSION_COOKIE);
  return cookie ? bySession(app, cookie, "cookie") : null;
}

/**
 * Throws `other_user` if the caller isn't the user that the page shows. In another tab of the browser, someone else may
 * have signed in since, whose cookie the page then sends.
 */
export function requireExpectedUser({ request }: Visit, { kind, userId }: Identity): void {
  const expected = request.headers.get("x-expected-user-id");
  if (expected && kind !== "api_key" && expected !== userId)
    throw new AppError("other_user", "Someone else has signed in in this browser. Reload the page.");
}

const refused = (message: string) => new AppError("unauthenticated", message);

async function byPat(app: App, token: string): Promise<Identity> {
  const wrong = () => refused("Invalid access token. It may have expired or been revoked.");
  if (!isWellFormed(token, TOKEN_PREFIX.pat)) throw wrong();
  const [row] = await patByHash(app.store.db).all({ hash: hashToken(token) });
  const now = timestamp(app.clock);
  if (!row || row.revokedAt !== null || row.expiresAt <= now) throw wrong();
  const isConfined = row.organizations === "current";
  if (isConfined && row.goneAt !== null) throw wrong();
  if (isStale(app, row.lastUsedAt)) {
    const noted = note(app, row.id, (db) =>
      db.update(accessTokens).set({ lastUsedAt: now }).where(eq(accessTokens.id, row.id)),
    );
    if (row.lastUsedAt === null) await briefly(app, noted);
  }
  return {
    carrier: "authorization",
    kind: "pat",
    credentialId: row.id,
    userId: row.userId,
    email: row.email,
    clientType: "api",
    signedInAt: null,
    expiresAt: row.expiresAt,
    organizationId: row.goneAt === null ? row.organizationId : null,
    isConfined,
    scopes: row.scopes,
  };
}

async function byApiKey(app: App, key: string): Promise<Identity> {
  const wrong = () => refused("Invalid API key. It may have been revoked.");
  if (!isWellFormed(key, TOKEN_PREFIX.apiKey)) throw wrong();
  const [row] = await keyByHash(app.store.db).all({ hash: hashToken(key) });
  if (!row || row.revokedAt !== null || row.goneAt !== null) throw wrong();
  if (isStale(app, row.lastUsedAt)) {
    const now = timestamp(app.clock);
    const noted = note(app, row.id, (db) =>
      db.update(apiKeys).set({ lastUsedAt: now }).where(eq(apiKeys.id, row.id)),
    );
    if (row.lastUsedAt === null) await briefly(app, noted);
  }
  return {
    carrier: "x-api-key",
    kind: "api_key",
    credentialId: row.id,
    userId: row.id,
    email: null,
    clientType: "api",
    signedInAt: null,
    expiresAt: null,
    organizationId: row.organizationId,
    isConfined: true,
    scopes: null,
    role: row.role,
  };
}

async function bySession(app: App, token: string, carrier: "authorization" | "cookie"): Promise<Identity> {
  const wrong = () => refused("Your session has ended. Sign in again.");
  if (!isWellFormed(token, TOKEN_PREFIX.session)) throw wrong();
  const [row] = await sessionByHash(app.store.db).all({ hash: hashToken(token) });
  const now = timestamp(app.clock);
  if (!row || row.revokedAt !== null || row.expiresAt <= now) throw wrong();
  if (row.isConfined && row.goneAt !== null) throw wrong();
  // browser sessions are valid only in cookies, client sessions only in headers
  if ((row.clientType === "web") !== (carrier === "cookie")) throw wrong();
  if (isStale(app, row.lastActiveAt)) {
    const expiresAt = slideFrom(row, app.clock);
    note(app, row.id, (db) =>
      db.update(sessions).set({ lastActiveAt: now, expiresAt }).where(eq(sessions.id, row.id)),
    );
  }
  return {
    carrier,
    kind: "session",
    credentialId: row.id,
    userId: row.userId,
    email: row.email,
    clientType: row.clientType,
    signedInAt: row.confirmedAt ?? row.createdAt,
    expiresAt: row.clientType === "web" ? null : lastOf(row),
    organizationId: row.goneAt === null ? row.organizationId : null,
    isConfined: row.isConfined,
    scopes: null,
  };
}

const isStale = (app: App, at: string | null) =>
  at === null || app.clock.now().getTime() - Date.parse(at) > USE_NOTED_MS;

/** Uses being stored, by credential, so that a burst of requests writes once. */
const NOTING = slot(() => new Map<string, Promise<void>>());

function note(app: App, id: string, update: (db: WriteDb) => PromiseLike<unknown>): Promise<void> {
  const noting = app.memory.of(NOTING);
  const current = noting.get(id);
  if (current) return current;
  const noted = app.store
    .write(async (db) => void (await update(db)))
    .catch((error) => app.log.report(error, { at: "record the use of a credential" }))
    .finally(() => noting.delete(id));
  noting.set(id, noted);
  return noted;
}

const FIRST_USE_MS = 1_000;

/**
 * Waits for a first use to be stored: after it, a list must not show the credential as unused. Not for long, since other
 * writes could take seconds.
 */
async function briefly(app: App, noted: Promise<void>): Promise<void> {
  const done = new AbortController();
  await Promise.race([noted, app.clock.limit(FIRST_USE_MS, done.signal)]);
  done.abort();
}

const roleById = prepared((db: ReadDb) =>
  db
    .select({ role: memberships.role })
    .from(memberships)
    .where(
      and(
        eq(memberships.organizationId, sql.placeholder("organizationId")),
        eq(memberships.userId, sql.placeholder("userId")),
      ),
    )
    .prepare(),
);

/**
 * Returns the organization of a request and the caller's role there: `X-Organization-Id` (ID or slug),
 * else the token's own organization, else the default membership. Throws `forbidden` if the caller isn't a member.
 */
export async function enter(
  app: App,
  identity: Identity,
  named: string | null,
): Promise<{ organizationId: string; role: Role } | null> {
  if (named !== null) {
    const organizationId = await resolveOrganization(app.store.db, named);
    const role = organizationId && (await roleIn(app, identity, organizationId));
    if (!organizationId || !role) throw outside();
    if (identity.isConfined && organizationId !== identity.organizationId) throw confined(identity);
    return { organizationId, role };
  }
  const organizationId =
    identity.organizationId ?? (await findHome(app.store.db, identity.userId))?.organizationId;
  if (!organizationId) return null;
  const role = await roleIn(app, identity, organizationId);
  if (!role) throw outside();
  return { organizationId, role };
}

/**
 * Throws `unauthenticated` if the credential was revoked since it was read,
 * and `forbidden` if its user has left the organization or lost the role.
 * Runs in the transaction of the change, so that a revoked credential can't create another.
 */
export async function refuseEnded(tx: WriteContext, identity: Identity): Promise<void> {
  if (await isRevoked(tx.db, identity)) throw refused("This credential has been revoked. Sign in again.");
  if (identity.role || !tx.organizationId) return;
  const { organizationId } = tx;
  const [now] = await roleById(tx.db).all({ userId: identity.userId, organizationId });
  if (!now) throw outside();
  if (ROLES.indexOf(now.role) < ROLES.indexOf(tx.role))
    throw new AppError("forbidden", `Your role has changed to ${now.role}. Try again.`);
}

async function isRevoked(db: ReadDb, { kind, credentialId }: Identity): Promise<boolean> {
  const table = kind === "pat" ? accessTokens : kind === "session" ? sessions : apiKeys;
  const [row] = await db.select({ revokedAt: table.revokedAt }).from(table).where(eq(table.id, credentialId));
  return !row || row.revokedAt !== null;
}

const outside = () => new AppError("forbidden", "You aren't a member of this organization.");

const confined = ({ kind }: Identity) =>
  new AppError(
    "forbidden",
    kind === "api_key"
      ? "API keys work only in their own organization."
      : "This access token works only in the organization it was created in. To use one in others, create it with organizations: all.",
  );

async function roleIn(app: App, identity: Identity, organizationId: string): Promise<Role | null> {
  if (identity.role) return identity.organizationId === organizationId ? identity.role : null;
  const [row] = await roleById(app.store.db).all({ userId: identity.userId, organizationId });
  return row?.role ?? null;
}

/** The actor of a request: a user with email and user agent, or an API key with its address only. */
export const actorOf = (identity: Identity, address: string, userAgent: string | null): Actor =>
  identity.kind === "api_key"
    ? { type: "api", id: identity.credentialId, ip: address }
    : { type: "user", id: identity.userId, email: identity.email, ip: address, userAgent };
