import { eq } from "drizzle-orm";
import { contextFor, write } from "../../src/context.ts";
import { SCOPES, type Scope } from "../../src/resources/access-tokens/table.ts";
import type { Role } from "../../src/resources/organizations/table.ts";
import { openSession } from "../../src/resources/sessions/service.ts";
import { newUser } from "../../src/resources/users/service.ts";
import { users } from "../../src/resources/users/table.ts";
import { operations } from "../../src/server.ts";
import type { Client, startApp } from "../support/app.ts";
import { join, type neighbour } from "../support/people.ts";
import { created } from "../support/work.ts";
import type { Side } from "./things.ts";

type Started = Awaited<ReturnType<typeof startApp>>;
type Neighbour = Awaited<ReturnType<typeof neighbour>>;

/** A caller, with everything that the rules depend on. */
export interface Principal {
  name: string;
  /** Called for each operation, since the previous one may have ended the credential. */
  headers(): Promise<Record<string, string>> | Record<string, string>;
  /** `broken`: present but invalid; `key`: an API key; `cookie`: sent by a browser. */
  carrier: "none" | "broken" | "bearer" | "key" | "cookie";
  /** Where a browser says that the request comes from. */
  site?: "same-origin" | "cross-site";
  /** In the organization of the request. Null outside. */
  role: Role | null;
  /** Whether the principal is known not to be in the request's organization. */
  isShutOut?: boolean;
  /** Whether the account's address was never proven. */
  isUnproven?: boolean;
  /** Whether it is an operator. */
  isOperator?: boolean;
  /** Scopes of a limited access token. */
  scopes?: readonly Scope[];
  /** The side that its resources belong to. Omitted if it has none. */
  side?: Side;
}

const sideOf = (app: Started, organizationId: string, userId: string, call: Client): Side => ({
  app,
  organizationId,
  userId,
  call,
});

/** A user without an organization, with a session. */
async function outsider({ app }: Started): Promise<Record<string, string>> {
  const email = `stranger-${app.ids.uuid()}@example.com`;
  const made = newUser(app, { email, passwordHash: null, firstName: null, lastName: null });
  const user = { ...made, addressProvenAt: made.createdAt };
  await app.store.write(async (db) => void (await db.insert(users).values(user)));
  return ownPage(await sessionOf(app, "", user.id));
}

/** Headers of a browser on Weir's own page. */
const ownPage = (token: string) => ({ cookie: `svc_token=${token}`, "sec-fetch-site": "same-origin" });

const sessionOf = (app: Started["app"], organizationId: string, userId: string) =>
  write(
    contextFor(app, {
      organizationId,
      role: "owner",
      actor: { type: "user", id: userId },
      correlationId: "made-for-a-test",
    }),
    async (tx) => (await openSession(tx, "password")).token,
  );

/** Every principal that the rules distinguish. */
export async function makePrincipals(app: Started, other: Neighbour): Promise<Principal[]> {
  const { organizationId } = app.ids;
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const people = await Promise.all(
    (["owner", "admin", "member", "viewer"] as const).map(async (role): Promise<Principal> => {
      const { user, token, call } = await join(app, role);
      const side = sideOf(app, organizationId, user.id, call);
      return { name: role, headers: () => bearer(token), carrier: "bearer", role, side };
    }),
  );

  const operator = await join(app, "viewer");
  await app.app.store.write(
    async (db) =>
      void (await db.update(users).set({ isOperator: true }).where(eq(users.id, operator.user.id))),
  );
  const unproven = await join(app, "member");
  await app.app.store.write(
    async (db) =>
      void (await db.update(users).set({ addressProvenAt: null }).where(eq(users.id, unproven.user.id))),
  );
  const left = await join(app, "owner");
  created204(await app.owner("DELETE", `/api/v1/organizations/team/members/${left.membership.id}`));
  const second = created(await app.owner("POST", "/api/v1/organizations", { name: "Second" }));
  const confined = created(
    await app.owner(
      "POST",
      "/api/v1/access-tokens",
      { name: "confined" },
      { "x-organization-id": second.id },
    ),
  );
  const shut = await join(app, "owner");
  const revoked = created(await app.owner("POST", "/api/v1/access-tokens", { name: "revoked" }));
  created204(await app.owner("DELETE", `/api/v1/access-tokens/${revoked.id}`));
  const surfer = await join(app, "owner");
  const cookie = async () => `svc_token=${await sessionOf(app.app, organizationId, surfer.user.id)}`;
  const byCookie = (site: "same-origin" | "cross-site"): Principal => ({
    name: `owner by cookie, ${site}`,
    headers: async () => ({
      cookie: await cookie(),
      "sec-fetch-site": site,
      "x-organization-id": organizationId,
    }),
    carrier: "cookie",
    site,
    role: "owner",
    side: sideOf(app, organizationId, surfer.user.id, surfer.call),
  });

  return [
    ...people,
    {
      name: "operator",
      headers: () => bearer(operator.token),
      carrier: "bearer",
      role: "viewer",
      isOperator: true,
      side: sideOf(app, organizationId, operator.user.id, operator.call),
    },
    {
      name: "member whose address is not proven",
      headers: () => bearer(unproven.token),
      carrier: "bearer",
      role: "member",
      isUnproven: true,
      side: sideOf(app, organizationId, unproven.user.id, unproven.call),
    },
    ...(await scopedTokens(app)),
    byCookie("same-origin"),
    byCookie("cross-site"),
    {
      name: "owner of another organization",
      headers: () => bearer(other.token),
      carrier: "bearer",
      role: "owner",
      side: sideOf(app, other.organization.id, other.user.id, other.call),
    },
    {
      name: "owner who names another organization",
      headers: () => ({ ...bearer(shut.token), "x-organization-id": other.organization.id }),
      carrier: "bearer",
      role: null,
      isShutOut: true,
    },
    {
      name: "owner who has left",
      headers: async () => ({
        ...ownPage(await sessionOf(app.app, organizationId, left.user.id)),
        "x-organization-id": organizationId,
      }),
      carrier: "cookie",
      site: "same-origin",
      role: null,
      isShutOut: true,
    },
    {
      name: "token of an owner who has left",
      headers: () => bearer(left.token),
      carrier: "broken",
      role: null,
    },
    {
      name: "owner by a token for another organization",
      headers: () => ({ ...bearer(confined.token), "x-organization-id": organizationId }),
      carrier: "bearer",
      role: null,
      isShutOut: true,
    },
    {
      name: "owner by a cookie's value in the Authorization header",
      headers: async () => bearer(await sessionOf(app.app, organizationId, surfer.user.id)),
      carrier: "broken",
      role: null,
    },
    {
      name: "stranger",
      headers: () => outsider(app),
      carrier: "cookie",
      site: "same-origin",
      role: null,
    },
    { name: "nobody", headers: () => ({}), carrier: "none", role: null },
    { name: "revoked token", headers: () => bearer(revoked.token), carrier: "broken", role: null },
    {
      name: "revoked token before a good cookie",
      headers: async () => ({
        ...bearer(revoked.token),
        cookie: await cookie(),
        "sec-fetch-site": "same-origin",
      }),
      carrier: "broken",
      role: null,
    },
    ...(await apiKeys(app)),
  ];
}

/** Tokens of an owner with one scope each. */
function scopedTokens(app: Started): Promise<Principal[]> {
  return Promise.all(
    SCOPES.map(async (scope): Promise<Principal> => {
      const { user, call } = await join(app, "owner");
      const { token } = created(
        await call("POST", "/api/v1/access-tokens", { name: scope, scopes: [scope] }),
      );
      return {
        name: `owner's token for ${scope}`,
        headers: () => ({ authorization: `Bearer ${token}` }),
        carrier: "bearer",
        role: "owner",
        scopes: [scope],
        side: sideOf(app, app.ids.organizationId, user.id, call),
      };
    }),
  );
}

async function apiKeys(app: Started): Promise<Principal[]> {
  if (!operations.some(({ method, path }) => method === "POST" && path === "/api/v1/api-keys")) return [];
  const { organizationId, userId } = app.ids;
  const make = async (roleSlug: Role) =>
    created(await app.owner("POST", "/api/v1/api-keys", { name: roleSlug, roleSlug }));
  const gone = await make("owner");
  created204(await app.owner("DELETE", `/api/v1/api-keys/${gone.id}`));
  const working = await Promise.all(
    (["admin", "member", "viewer"] as const).map(async (role): Promise<Principal> => {
      const { key } = await make(role);
      const side = sideOf(app, organizationId, userId, app.owner);
      return { name: `API key, ${role}`, headers: () => ({ "x-api-key": key }), carrier: "key", role, side };
    }),
  );
  const broken: Principal = {
    name: "revoked API key",
    headers: () => ({ "x-api-key": gone.key }),
    carrier: "broken",
    role: null,
  };
  return [...working, broken];
}

function created204({ status, text }: { status: number; text: string }): void {
  if (status !== 204) throw new Error(`${status} ${text}`);
}
