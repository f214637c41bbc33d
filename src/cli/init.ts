import { type App, contextFor } from "../context.ts";
import { createAccessToken } from "../resources/access-tokens/service.ts";
import { MAX_TOKEN_DAYS } from "../resources/access-tokens/wire.ts";
import { checkFirstOwner, createFirstOwner } from "../resources/sign-in/setup.ts";
import type { FirstOwner } from "../resources/sign-in/wire.ts";
import { carryOut, type Host, readArgs, readSecret, UsageError, withApp } from "./host.ts";
import { usage } from "./usage.ts";

/** Output of `weir init --json`. */
interface Initialized {
  userId: string;
  organizationId: string;
  organizationSlug: string;
  /** An access token of the owner, valid for a year. */
  token: string;
}

/**
 * `weir init`: creates the first owner and organization without a browser or a running server.
 * `args` are the words after `init`. Returns the exit code. Fails once there is a user.
 */
export const init = (args: readonly string[], host: Host) =>
  carryOut(host, usage.init.line, async () => {
    const { values: flags } = readArgs({
      args: [...args],
      options: {
        email: { type: "string" },
        "password-stdin": { type: "boolean" },
        org: { type: "string" },
        data: { type: "string" },
        json: { type: "boolean" },
      },
    });
    const { email, org } = flags;
    if (!email) throw new UsageError("Missing flag: --email, the email address of the owner.");
    if (!org) throw new UsageError("Missing flag: --org, the name of the organization.");
    if (!flags["password-stdin"]) {
      throw new UsageError("Missing flag: --password-stdin. The password is read from standard input.");
    }
    const owner = checkFirstOwner({ email, password: await readSecret(host), organizationName: org });
    const made = await withApp(await host.parts({ data: flags.data }), (app) => initialize(app, owner));
    if (flags.json) return host.out(JSON.stringify(made));
    host.out(`Created organization ${org} (${made.organizationSlug}) with owner ${email}.`);
    host.out(`Access token (not shown again): ${made.token}`);
  });

async function initialize(app: App, owner: FirstOwner): Promise<Initialized> {
  const correlationId = app.ids.uuid();
  const { user, organization } = await createFirstOwner(app, owner, correlationId);
  const ctx = contextFor(app, {
    organizationId: organization.id,
    role: "owner",
    actor: { type: "user", id: user.id, email: user.email },
    correlationId,
  });
  const { token } = await createAccessToken(ctx, { name: "weir init", expiresInDays: MAX_TOKEN_DAYS });
  return { userId: user.id, organizationId: organization.id, organizationSlug: organization.slug, token };
}
