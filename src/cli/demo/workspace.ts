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

/** Access to the sample workspace as its owner. */
export interface Owner {
  /** An access token, valid for a day. */
  token: string;
  /** Null if the owner existed before: only the password's hash is stored. */
  password: string | null;
}

/**
 * Returns the owner of the sample workspace, created if necessary.
 * Throws `ConfigError` for a data directory with the user's own workspace, which the demo doesn't touch.
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
