import { eq } from "drizzle-orm";
import { contextFor, write } from "../../src/context.ts";
import { codeAt, counterAt } from "../../src/crypto/totp.ts";
import { createAccessToken } from "../../src/resources/access-tokens/service.ts";
import { record } from "../../src/resources/events/service.ts";
import { organizations, type Role } from "../../src/resources/organizations/table.ts";
import { addMember } from "../../src/resources/organizations/team.ts";
import { newUser } from "../../src/resources/users/service.ts";
import { users } from "../../src/resources/users/table.ts";
import { type Client, client, PASSWORD, type startApp } from "./app.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

/** Another user of the owner's organization, or of the given one, with an access token. */
export async function join(started: Started, role: Role, organizationId = started.ids.organizationId) {
  const { app, origin } = started;
  const name = `${role}-${app.ids.uuid()}`;
  const made = newUser(app, {
    email: `${name}@example.com`,
    passwordHash: null,
    firstName: name,
    lastName: null,
  });
  const user = { ...made, addressProvenAt: made.createdAt };
  const ctx = contextFor(app, {
    organizationId,
    role,
    actor: { type: "user", id: user.id, email: user.email },
    correlationId: "test-join",
  });
  const membership = await write(ctx, async (tx) => {
    await tx.db.insert(users).values(user);
    return addMember(tx, { userId: user.id, role });
  });
  const { token } = await createAccessToken(ctx, {
    name: "test",
    expiresInDays: 1,
    organizations: "all",
  });
  return { call: client(origin, { authorization: `Bearer ${token}` }), user, membership, token };
}

/** Another organization with its own owner. */
export async function neighbour(started: Started) {
  const { app } = started;
  const at = app.clock.now().toISOString();
  const id = app.ids.uuid();
  await app.store.write(async (db) => {
    const facts = {
      name: "Neighbour",
      plan: "free",
      webhookRate: null,
      requireFourEyes: false,
      createdAt: at,
      updatedAt: at,
    } as const;
    await db.insert(organizations).values({ ...facts, id, slug: `neighbour-${id.slice(-12)}` });
  });
  const actor = { type: "system", id: "test" } as const;
  const ctx = contextFor(app, { organizationId: id, role: "owner", actor, correlationId: "test-neighbour" });
  await write(ctx, (tx) => record(tx, "organization.created", { type: "organization", id }));
  const [organization] = await app.store.db.select().from(organizations).where(eq(organizations.id, id));
  return { ...(await join(started, "owner", id)), organization: organization! };
}

const cookiesOf = (all: string[]): Record<string, string> => {
  const cookie = all.filter(Boolean).join("; ");
  return cookie ? { cookie } : {};
};

/** A browser: stores cookies, and says that it is on Weir's own page. */
export function browser(origin: string, fixed: Record<string, string> = {}) {
  let cookie = "";
  let known = "";
  const call: Client = async (method, path, body, headers = {}) => {
    const own = { "sec-fetch-site": "same-origin", ...cookiesOf([cookie, known]), ...fixed };
    const answer = await client(origin, own)(method, path, body, headers);
    for (const set of answer.headers.getSetCookie()) {
      const pair = set.split(";")[0] ?? "";
      if (pair.startsWith("svc_token=")) cookie = pair === "svc_token=" ? "" : pair;
      else known = pair;
    }
    return answer;
  };
  return {
    call,
    cookie: () => cookie,
    signIn: (email = "ada@example.com", password = PASSWORD) =>
      call("POST", "/api/v1/auth/login", { email, password }),
  };
}

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** RFC 4648, as authenticator apps read a secret. */
export function fromBase32(text: string): Buffer {
  const bits = [...text].map((letter) => BASE32.indexOf(letter).toString(2).padStart(5, "0")).join("");
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2)));
}

/**
 * Turns on the second factor of the owner, or of the caller; `code` returns what the app shows,
 * `later` in steps of 30 s.
 */
export async function turnOnSecondFactor({ app, owner }: Started, call: Client = owner) {
  const begun = await call("POST", "/api/v1/users/me/totp");
  const secret = fromBase32(begun.body.secret);
  const code = (later = 0) => codeAt(secret, counterAt(app.clock.now().getTime()) + later);
  const confirmed = await call("POST", "/api/v1/users/me/totp/confirm", { code: code() });
  if (confirmed.status !== 200) throw new Error(`${confirmed.status} ${confirmed.text}`);
  return { code, recoveryCodes: confirmed.body.recoveryCodes as string[] };
}
