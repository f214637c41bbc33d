import { readFileSync } from "node:fs";
import { eq } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError, InvalidInput } from "../../base/errors.ts";
import { storedJson } from "../../base/json.ts";
import { read } from "../../base/shape.ts";
import { ConfigError } from "../../config.ts";
import { type Actor, type App, contextFor, type WriteContext, write } from "../../context.ts";
import { hashPassword } from "../../crypto/passwords.ts";
import { hashToken, makeToken } from "../../crypto/tokens.ts";
import { settings } from "../../store/settings.ts";
import { createOrganization } from "../organizations/service.ts";
import type { OrganizationRow } from "../organizations/table.ts";
import { openSession } from "../sessions/service.ts";
import { newUser } from "../users/service.ts";
import { type UserRow, users } from "../users/table.ts";
import { rememberBrowser } from "./browsers.ts";
import { FirstOwner } from "./wire.ts";

/** Name of the organization created for `WEIR_ADMIN_EMAIL`. Its owner can rename it. */
const DEFAULT_ORGANIZATION = "Weir";

/** How long the setup link is valid (docs/decisions/sign-in.md). */
const SETUP_TOKEN_MS = 24 * 60 * 60 * 1000;
const SETUP_TOKEN = "setup_token";

/** The sender of a request, as far as known before signing in. */
export interface Visitor extends Pick<Actor, "ip" | "userAgent"> {
  correlationId: string;
}

/**
 * False until the first owner exists.
 * Until then, nobody has credentials, so everything except setup and `/health` is closed.
 */
export async function hasUsers({ db }: { db: App["store"]["db"] }): Promise<boolean> {
  const [row] = await db.select({ id: users.id }).from(users).limit(1);
  return row !== undefined;
}

/**
 * Returns a new setup token, valid for 24 hours and one use, which replaces any previous one.
 * Null once there is a user. Only its hash is stored.
 */
export async function ensureSetupToken(app: App): Promise<string | null> {
  const token = makeToken("", app.ids);
  const value = JSON.stringify({ hash: hashToken(token), expiresAt: timestamp(app.clock, SETUP_TOKEN_MS) });
  return app.store.write(async (db) => {
    if (await hasUsers({ db })) return null;
    await db
      .insert(settings)
      .values({ key: SETUP_TOKEN, value })
      .onConflictDoUpdate({ target: settings.key, set: { value } });
    return token;
  });
}

/**
 * Creates the first owner with a setup token, and signs them in.
 * Throws `unauthenticated` for a wrong token, `gone` for an expired one, `invalid_state` once there is a user.
 */
export async function setUp(
  app: App,
  { token, ...owner }: FirstOwner & { token: string },
  visitor: Visitor,
  cookie: string | null,
): Promise<{ user: UserRow; token: string; browser: string }> {
  if (await hasUsers(app.store)) throw isSetUp();
  const [row] = await app.store.db.select().from(settings).where(eq(settings.key, SETUP_TOKEN));
  const kept = row && storedJson<{ hash: string; expiresAt: string }>(row.value);
  if (kept?.hash !== hashToken(token)) {
    throw new AppError(
      "unauthenticated",
      "This setup link is invalid. Use the latest link in the server log.",
    );
  }
  if (kept.expiresAt <= timestamp(app.clock)) {
    throw new AppError(
      "gone",
      "This setup link has expired. Restart the server and use the new link in its log.",
    );
  }
  const { user, also } = await found(app, owner, visitor, async (tx) => ({
    session: await openSession(tx, "password"),
    browser: await rememberBrowser(tx, cookie),
  }));
  return { user, token: also.session.token, browser: also.browser };
}

/** Creates the first user, as owner of the first organization. Throws `invalid_state` if there is one. */
export function createFirstOwner(
  app: App,
  input: FirstOwner,
  correlationId: string,
): Promise<{ user: UserRow; organization: OrganizationRow }> {
  return found(app, input, { correlationId }, async () => null);
}

/**
 * Creates the first owner from `WEIR_ADMIN_EMAIL` and `WEIR_ADMIN_PASSWORD_FILE`.
 * Null if these aren't set or there is a user already. Throws `ConfigError`.
 */
export async function createAdminFromConfig(app: App): Promise<UserRow | null> {
  const { adminEmail: email, adminPasswordFile: file } = app.config;
  if (email === null && file === null) return null;
  if (email === null || file === null) {
    throw new ConfigError("Set both WEIR_ADMIN_EMAIL and WEIR_ADMIN_PASSWORD_FILE, or neither.");
  }
  if (await hasUsers(app.store)) return null;
  const owner = { email, password: readPassword(file), organizationName: DEFAULT_ORGANIZATION };
  const { value, faults } = read(FirstOwner, owner, []);
  const [fault] = faults;
  if (fault) {
    const name = fault.loc[0] === "email" ? "WEIR_ADMIN_EMAIL" : "password in WEIR_ADMIN_PASSWORD_FILE";
    throw new ConfigError(`Invalid ${name}: ${fault.msg}.`);
  }
  const { user } = await createFirstOwner(app, value, app.ids.uuid());
  return user;
}

function readPassword(file: string): string {
  try {
    return readFileSync(file, "utf8").replace(/\r?\n$/, "");
  } catch (cause) {
    throw new ConfigError(`Couldn't read ${file} (WEIR_ADMIN_PASSWORD_FILE).`, { cause });
  }
}

/** Throws `InvalidInput` for an invalid first owner. */
export function checkFirstOwner(input: unknown): FirstOwner {
  const { value, faults } = read(FirstOwner, input, []);
  if (faults.length > 0) throw new InvalidInput(faults);
  return value;
}

/** Creates user, organization and membership, and runs `then`, all in one transaction. */
async function found<T>(
  app: App,
  input: FirstOwner,
  { correlationId, ip, userAgent }: Visitor,
  then: (tx: WriteContext) => Promise<T>,
): Promise<{ user: UserRow; organization: OrganizationRow; also: T }> {
  const { email, firstName = null, lastName = null } = input;
  const made = newUser(app, { email, firstName, lastName, passwordHash: await hashPassword(input.password) });
  const user = { ...made, addressProvenAt: made.createdAt, isOperator: true };
  const ctx = contextFor(app, {
    organizationId: "",
    role: "owner",
    actor: { type: "user", id: user.id, email: user.email, ip, userAgent },
    correlationId,
  });
  return write(ctx, async (tx) => {
    if (await hasUsers(tx)) throw isSetUp();
    await tx.db.delete(settings).where(eq(settings.key, SETUP_TOKEN));
    await tx.db.insert(users).values(user);
    const organization = await createOrganization(tx, { name: input.organizationName });
    return { user, organization, also: await then({ ...tx, organizationId: organization.id }) };
  });
}

const isSetUp = () => new AppError("invalid_state", "Weir is already set up. Sign in instead.");
