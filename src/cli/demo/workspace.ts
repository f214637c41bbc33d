import { systemIds } from "../../base/ids.ts";
import { ConfigError } from "../../config.ts";
import { type App, contextFor } from "../../context.ts";
import { makeToken } from "../../crypto/tokens.ts";
import { createAccessToken } from "../../resources/access-tokens/service.ts";
import { findHome } from "../../resources/organizations/team.ts";
import { createFirstOwner, hasUsers } from "../../resources/sign-in/setup.ts";
import { findUserByEmail } from "../../resources/users/service.ts";

export const EMAIL = "owner@kettle-and-leaf.example";
const ORGANIZATION = "Kettle and Leaf";
const TOKEN_DAYS = 1;

/** What the demo needs to speak for the sample workspace's owner. */
export interface Owner {
  /** An access token, good for a day. */
  token: string;
  /** Null where the owner was there before: only the hash of the password is kept. */
  password: string | null;
}

/**
 * The owner of the sample workspace, made where there is none. Throws `ConfigError` for a data directory
 * that holds someone's own workspace, which the demo keeps out of.
 */
export async function takeOwner(app: App): Promise<Owner> {
  const correlationId = app.ids.uuid();
  const isNew = !(await hasUsers(app.store));
  const password = isNew ? makeToken("", systemIds).slice(0, 20) : null;
  if (password !== null) {
    const owner = {
      email: EMAIL,
      password,
      firstName: "Robin",
      lastName: "Blake",
      organizationName: ORGANIZATION,
    };
    await createFirstOwner(app, owner, correlationId);
  }
  const user = await findUserByEmail(app.store.db, EMAIL);
  const home = user && (await findHome(app.store.db, user.id));
  if (!user || !home) {
    throw new ConfigError(
      `${app.config.dataFolder} contains data that wasn't created by the demo. Set --data to another directory.`,
    );
  }
  const ctx = contextFor(app, {
    organizationId: home.organizationId,
    role: home.role,
    actor: { type: "user", id: user.id, email: user.email },
    correlationId,
  });
  const { token } = await createAccessToken(ctx, { name: "weir demo", expiresInDays: TOKEN_DAYS });
  return { token, password };
}
