import { createHmac } from "node:crypto";
import { eq } from "drizzle-orm";
import { contextFor } from "../../src/context.ts";
import { hashToken } from "../../src/crypto/tokens.ts";
import { codeAt, counterAt } from "../../src/crypto/totp.ts";
import { unsubscribeToken } from "../../src/resources/dashboard-subscriptions/unsubscribe.ts";
import { memberships } from "../../src/resources/organizations/table.ts";
import { passwordResets } from "../../src/resources/password-reset/table.ts";
import { ensureSetupToken } from "../../src/resources/sign-in/setup.ts";
import { users } from "../../src/resources/users/table.ts";
import { startModern } from "../peers/mcp-modern.ts";
import { startOAuthApi } from "../peers/oauth-api.ts";
import { startForgedSignIn } from "../peers/oauth-forger.ts";
import { type Answer, type Client, PASSWORD, type startApp } from "../support/app.ts";
import { addHttp, addMcp, httpApi, mcpApi } from "../support/catalog.ts";
import { addSigned, signInFor } from "../support/connection-sign-ins.ts";
import { connect, localFiles } from "../support/connections.ts";
import { ask } from "../support/decisions.ts";
import { startEchoHttp } from "../support/echo.ts";
import { makeHook, SECRET, sign } from "../support/hook.ts";
import { loadTable } from "../support/lake.ts";
import { browser, fromBase32, join, neighbour } from "../support/people.ts";
import { branch, created, makeAction, makeAutomation, runToEnd, until } from "../support/work.ts";

export type Started = Awaited<ReturnType<typeof startApp>>;

/** Where calls are made, and what was created there while runs were still executed. */
export interface World {
  weir: Started;
  /** An installation without an owner, and the token of its setup link. */
  fresh: Started;
  setupToken: string;
  /** Dead letters of `hook`. Each call that needs one takes one. */
  letters: string[];
  hookId: string;
  /** Finished runs, to be retried. */
  endedRunId: string;
  failedRunId: string;
  failedFlowId: string;
  /** Decisions that runs wait for. */
  decisions: string[];
}

/** A valid call of an operation, prepared. */
export interface Call {
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** Default: the owner's access token. */
  by?: Client;
  weir?: Started;
  /** Type and ID of the actor in the audit log. Default: the owner. */
  actor?: { type: string; id: string | null };
  /** Whether the audit log only knows the actor's ID. */
  isErased?: true;
}

export interface Expected {
  /** Each as `type entity`, in order. None for an operation that changes nothing. */
  events: readonly string[];
  /** Creates what the call is about. */
  call(world: World): Promise<Call> | Call;
  /** The ID of the first event's entity. Default: from the response, otherwise the last one in the path. */
  about?(answer: Answer, call: Call): string | null;
  /** A run continues, and the rest of its events belong to its own chain. */
  goesOn?: true;
  /** For an operation without events: the reason. */
  why?: string;
}

/** Secrets in calls; none of them may be in an event. */
export const SECRETS = ["audited-password", "audited-webhook-secret", SECRET, PASSWORD] as const;
const [password, webhookSecret] = SECRETS;

const BRANCH = { kind: "conditional_branch", definition: branch() };
const postgres = (n = 1) => ({
  name: `Warehouse ${n}`,
  provider: "postgres",
  config: { host: "127.0.0.1", port: 1, database: "shop" },
  credentials: { user: "ada", password },
});

const api = (path: string) => `/api/v1/${path}`;
/** The path of an automation with a draft. */
async function drafted({ owner }: Started): Promise<string> {
  const path = api(`automations/${(await makeAutomation(owner, { action: BRANCH })).id}`);
  const config = { action: { ...BRANCH, definition: branch("b") } };
  const draft = await owner("PATCH", `${path}/draft`, { config });
  if (draft.status !== 200) throw new Error(draft.text);
  return path;
}

const fallible = { ...BRANCH, definition: branch("a", "false") };

/** Creates the world. Runs are executed first and then no longer, so that what follows is caused by the calls. */
export async function makeWorld(weir: Started, fresh: Started): Promise<World> {
  const { owner } = weir;
  const unheard = { kind: "http_request", definition: { url: "http://127.0.0.1:1" } };
  const retries = { maxAttempts: 2, backoffSeconds: [0] };
  const hook = await makeHook(weir, { path: "dying", action: unheard, retries });
  const body = "{}";
  for (let n = 0; n < 3; n++) {
    const headers = { "content-type": "application/json", "x-svc-signature": sign(body) };
    await weir.anonymous("POST", "/webhooks/acme/dying", Buffer.from(body), headers);
  }
  const found = await until(owner, api(`webhook-deliveries?automation_id=${hook.id}`), ({ items }) =>
    items.every(({ status }: { status: string }) => status === "dead_letter"),
  );
  const letters = await lettersOf(weir, found.items);
  const action = await makeAction(owner);
  const run = created(await owner("POST", api(`actions/${action.id}/run`)));
  await until(owner, api(`action-runs/${run.id}`), ({ status }) => status === "completed");
  const flow = await makeAutomation(owner, { action: fallible }, { name: "Failing" });
  const flowRun = created(await owner("POST", api(`automations/${flow.id}/run`)));
  await until(owner, api(`automation-runs/${flowRun.id}`), ({ status }) => status === "failed");
  const retry = { maxAttempts: 2, backoffSeconds: [0] };
  const poor = await makeAction(owner, {
    ...unheard,
    name: "Poor",
    definition: { ...unheard.definition, retry },
  });
  const failed = await runToEnd(owner, poor.id);
  const asked = [await ask(weir), await ask(weir), await ask(weir)];
  await refreshToken(weir);
  const dropped = await ask(weir);
  await owner("POST", api(`action-runs/${dropped.run.id}/cancel`));
  await weir.engine?.stop(0);
  return {
    weir,
    fresh,
    setupToken: (await ensureSetupToken(fresh.app)) ?? "",
    letters,
    hookId: hook.id,
    endedRunId: run.id,
    failedRunId: failed.id,
    failedFlowId: flowRun.id,
    decisions: asked.map(({ decision }) => decision.id),
  };
}

/** Uses a connection that first gets its token from another system. */
async function refreshToken({ owner }: Started): Promise<void> {
  const peer = startEchoHttp("token");
  const auth = { type: "oauth2_client_credentials", tokenUrl: `${peer.url}/token` };
  const body = {
    slug: "by-token",
    displayName: "By token",
    templateType: "connection",
    definition: { http: { baseUrl: peer.url, auth, verify: { path: "/ok" } } },
  };
  const template = created(await owner("POST", api("templates"), body));
  await owner("POST", api(`templates/${template.id}/publish`));
  const credentials = { clientId: "weir", clientSecret: password };
  const { id } = await connect(owner, { name: "By token", templateSlug: "by-token", credentials });
  await owner("POST", api(`connections/${id}/verify`));
  await peer.stop();
}

async function lettersOf({ owner }: Started, deliveries: { id: string }[]): Promise<string[]> {
  const { body } = await owner("GET", api("dead-letters"));
  const wanted = new Set(deliveries.map(({ id }) => id));
  return body.items
    .filter(({ deliveryId }: { deliveryId: string }) => wanted.has(deliveryId))
    .map(({ id }: { id: string }) => id);
}

const contextOf = ({ app, ids }: Started) =>
  contextFor(app, {
    organizationId: ids.organizationId,
    role: "owner",
    actor: { type: "user", id: ids.userId },
    correlationId: "audit-preparation",
  });

/** A run that isn't started. */
async function newRun({ weir }: World): Promise<string> {
  const action = await makeAction(weir.owner);
  return created(await weir.owner("POST", api(`actions/${action.id}/run`))).id;
}

const connection = async ({ weir }: World, body: object = postgres()) => connect(weir.owner, body);

/** The code of a new authenticator app of Ada. */
async function firstCode({ owner, clock }: Started): Promise<string> {
  const { status, text, body } = await owner("POST", api("users/me/totp"));
  if (status !== 200) throw new Error(`${status} ${text}`);
  return codeAt(fromBase32(body.secret), counterAt(clock.now().getTime()));
}

/** Signs Ada in again. The list has the session's ID. */
export async function session({ weir }: World) {
  const { row, person } = await signedIn(weir);
  return { id: row.id as string, person };
}

async function signedIn(weir: Started) {
  weir.clock.turn(60_000); // Only a few sign-ins per minute are allowed from one address.
  const person = browser(weir.origin);
  await person.signIn();
  const { body } = await person.call("GET", api("sessions?limit=1"));
  return { row: body.items[0], person };
}

/** An address where nobody listens. */
const UNHEARD = "http://127.0.0.1:1/";

const subscription = async ({ weir }: World): Promise<string> =>
  created(await weir.owner("POST", api("webhooks"), { url: UNHEARD, events: ["*"] })).id;

const replied = (pick: (body: Answer["body"]) => string) => (answer: Answer) => pick(answer.body);
const unsaid = () => null;

const template = (slug: string) => ({
  slug,
  displayName: "Template",
  templateType: "action",
  kind: "conditional_branch",
  definition: branch(),
});

const makeTemplate = async ({ weir }: World, slug: string, body: object = template(slug)) =>
  created(await weir.owner("POST", api("templates"), body));

const REDIRECT = "http://127.0.0.1:33418/callback";
const VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

/** A self-registered client's request for approval. */
export async function clientRequest({ weir }: World) {
  const { body } = await weir.anonymous("POST", "/oauth/register", { redirect_uris: [REDIRECT] });
  return {
    response_type: "code",
    client_id: body.client_id as string,
    redirect_uri: REDIRECT,
    code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    code_challenge_method: "S256",
  };
}

/** A device client that waits for approval. */
export async function waitingDevice({ weir }: World) {
  weir.clock.turn(60_000);
  const { body } = await weir.anonymous("POST", api("auth/device/code"), { client_id: "weir-cli" });
  return body as { device_code: string; user_code: string };
}

let agents = 0;
const agent = (more = "") => ({ markdown: `---\nname: Agent ${++agents}${more}\n---\nYou help.\n` });

const makeAgent = async ({ weir }: World, more?: string): Promise<string> =>
  created(await weir.owner("POST", api("agents/specs"), agent(more))).id;

const dashboard = async ({ weir }: World): Promise<string> =>
  api(`dashboards/${created(await weir.owner("POST", api("dashboards"), { name: "D" })).id}`);

const mailing = async (world: World): Promise<string> => {
  const path = `${await dashboard(world)}/subscriptions`;
  const body = { schedule: { cron: "0 7 * * *" }, recipients: [world.weir.ids.userId] };
  return `${path}/${created(await world.weir.owner("POST", path, body)).id}`;
};

const savedQuery = async ({ weir }: World): Promise<string> => {
  const { id } = created(await weir.owner("POST", api("queries"), { name: "Q", sql: "SELECT 1 AS one" }));
  return api(`queries/${id}`);
};

const makeThread = async (world: World, more?: string): Promise<string> => {
  const body = { agentSpecId: await makeAgent(world, more) };
  return created(await world.weir.owner("POST", api("chat/threads"), body)).id;
};

const decided = (verb: "approve" | "reject", at: number): Expected => ({
  events: ["decision.decided decision", "action.completed action by system"],
  goesOn: true,
  call: ({ decisions }) => ({ path: api(`approvals/${decisions[at]}/${verb}`), body: {} }),
});

/** A user of another organization, who was invited to the owner's, answers. */
async function answering({ weir }: World, email: string, verb: "accept" | "decline"): Promise<Call> {
  const { call, user } = await neighbour(weir);
  await weir.app.store.write(
    async (db) => void (await db.update(users).set({ email }).where(eq(users.id, user.id))),
  );
  const { id } = created(await weir.owner("POST", api("organizations/invitations"), { email }));
  return { by: call, path: api(`users/me/invitations/${id}/${verb}`), actor: { type: "user", id: user.id } };
}

const GRANTED = "auth.permission_granted membership";
const REVOKED = "auth.permission_revoked membership";

/** Audit log events of each operation that may change something. */
/** Slack's signing secret in these tests. */
export const SLACK_SECRET = "audited-slack-secret";

const slack = (place: string, body: string, why: string): Expected => ({
  events: [],
  why,
  call({ weir }) {
    const at = String(Math.floor(weir.clock.now().getTime() / 1000));
    const signature = createHmac("sha256", SLACK_SECRET).update(`v0:${at}:${body}`).digest("hex");
    const headers = { "x-slack-request-timestamp": at, "x-slack-signature": `v0=${signature}` };
    return { path: `/api/inbound/slack/${place}`, body, headers, by: weir.anonymous };
  },
});

export const AUDITED: Readonly<Record<string, Expected>> = {
  "POST /api/observability/simulate-llm-error": {
    events: [],
    why: "It changes nothing.",
    call: () => ({ path: "/api/observability/simulate-llm-error" }),
  },
  "POST /api/v1/auth/setup": {
    events: ["organization.created organization", GRANTED, "auth.login session"],
    about: unsaid,
    call: ({ fresh, setupToken }) => ({
      weir: fresh,
      by: fresh.anonymous,
      path: api("auth/setup"),
      body: { token: setupToken, email: "eve@example.com", password: PASSWORD, organizationName: "Fresh" },
      actor: { type: "user", id: null },
    }),
  },
  "POST /api/v1/auth/login": {
    events: ["auth.login session"],
    about: unsaid,
    call: ({ weir }) => ({
      by: weir.anonymous,
      path: api("auth/login"),
      body: { email: "ada@example.com", password: PASSWORD },
    }),
  },
  "POST /api/v1/auth/logout": {
    events: ["auth.logout session"],
    about: unsaid,
    call: async (world) => ({ by: (await session(world)).person.call, path: api("auth/logout") }),
  },
  "POST /api/v1/users/me/password": {
    events: ["user.updated user", "auth.logout session"],
    about: unsaid,
    call: async (world) => {
      const { person } = await session(world);
      await person.call("DELETE", api("sessions"));
      await session(world);
      const body = { currentPassword: PASSWORD, newPassword: PASSWORD, endTokens: false };
      return { by: person.call, path: api("users/me/password"), body };
    },
  },
  "POST /api/v1/auth/confirm": {
    events: [],
    why: "It only says that whoever signed in is still there.",
    call: async (world) => ({
      by: (await session(world)).person.call,
      path: api("auth/confirm"),
      body: { password: PASSWORD },
    }),
  },
  "POST /api/v1/users/me/totp": {
    events: [],
    why: "Nothing changes for a sign-in until the first code confirms it.",
    call: () => ({ path: api("users/me/totp") }),
  },
  "POST /api/v1/users/me/totp/confirm": {
    events: ["user.updated user"],
    about: unsaid,
    call: async ({ weir }) => ({ path: api("users/me/totp/confirm"), body: { code: await firstCode(weir) } }),
  },
  "DELETE /api/v1/users/me/totp": {
    events: ["user.updated user"],
    about: unsaid,
    call: async ({ weir }) => {
      const code = await firstCode(weir).catch(() => null);
      if (code !== null) await weir.owner("POST", api("users/me/totp/confirm"), { code });
      return { path: api("users/me/totp"), body: { password: PASSWORD } };
    },
  },
  "DELETE /api/v1/users/me": {
    events: ["user.erased user", REVOKED, "auth.token_revoked access_token"],
    about: unsaid,
    call: async ({ weir }) => {
      const { call, user } = await join(weir, "member");
      return {
        by: call,
        path: api("users/me"),
        body: { confirm: user.email },
        actor: { type: "user", id: user.id },
        isErased: true,
      };
    },
  },
  "DELETE /api/v1/installation/users/{user_id}": {
    events: ["user.erased user", REVOKED, "auth.token_revoked access_token"],
    call: async ({ weir }) => {
      const { user } = await join(weir, "member");
      return { path: api(`installation/users/${user.id}`), body: { confirm: user.email } };
    },
  },
  "PATCH /api/v1/users/me/preferences": {
    events: ["user.updated user"],
    call: () => ({ path: api("users/me/preferences"), body: { locale: "de-CH" } }),
  },
  "PATCH /api/v1/users/me/notices": {
    events: ["user.updated user"],
    call: () => ({ path: api("users/me/notices"), body: { approvals: "none" } }),
  },
  "POST /api/v1/organizations": {
    events: ["organization.created organization", GRANTED],
    call: () => ({ path: api("organizations"), body: { name: "Second" } }),
  },
  "PATCH /api/v1/organizations/current": {
    events: ["organization.updated organization"],
    call: () => ({ path: api("organizations/current"), body: { name: "Acme & Daughters" } }),
  },
  "DELETE /api/v1/organizations/current": {
    events: ["organization.removed organization"],
    about: (_, { headers }) => headers?.["x-organization-id"] ?? null,
    call: async ({ weir }) => {
      const { id } = created(await weir.owner("POST", api("organizations"), { name: "Old" }));
      return {
        path: api("organizations/current"),
        body: { confirm: "Old" },
        headers: { "x-organization-id": id },
      };
    },
  },
  "PATCH /api/v1/installation/organizations/{organization_id}": {
    events: ["organization.updated organization"],
    call: async ({ weir }) => ({
      path: api(`installation/organizations/${(await neighbour(weir)).organization.id}`),
      body: { quotas: { queuedRuns: 5 } },
    }),
  },
  "POST /api/v1/installation/organizations/{organization_id}/restore": {
    events: ["organization.restored organization"],
    about: replied(({ id }) => id),
    call: async ({ weir }) => {
      const { call, organization } = await neighbour(weir);
      await call("DELETE", api("organizations/current"), { confirm: organization.name });
      return { path: api(`installation/organizations/${organization.id}/restore`) };
    },
  },
  "PATCH /api/v1/organizations/team/members/{membership_id}/role": {
    events: [REVOKED, GRANTED],
    about: replied(({ membershipId }) => membershipId),
    call: async ({ weir }) => ({
      path: api(`organizations/team/members/${(await join(weir, "member")).membership.id}/role`),
      body: { roleSlug: "viewer" },
    }),
  },
  "DELETE /api/v1/organizations/team/members/{membership_id}": {
    events: [REVOKED, "auth.token_revoked access_token"],
    call: async ({ weir }) => ({
      path: api(`organizations/team/members/${(await join(weir, "member")).membership.id}`),
    }),
  },
  "DELETE /api/v1/sessions": {
    events: ["auth.logout session"],
    about: unsaid,
    async call(world) {
      await world.weir.owner("DELETE", api("sessions?exclude_current=false"));
      await session(world);
      return { path: api("sessions?exclude_current=false") };
    },
  },
  "DELETE /api/v1/sessions/{session_id}": {
    events: ["auth.logout session"],
    call: async (world) => ({ path: api(`sessions/${(await session(world)).id}`) }),
  },
  "POST /api/v1/access-tokens": {
    events: ["auth.token_created access_token"],
    call: () => ({ path: api("access-tokens"), body: { name: "audited" } }),
  },
  "DELETE /api/v1/organizations/tokens/{token_id}": {
    events: ["auth.token_revoked access_token"],
    call: async ({ weir }) => ({
      path: api(
        `organizations/tokens/${created(await weir.owner("POST", api("access-tokens"), { name: "x" })).id}`,
      ),
    }),
  },
  "DELETE /api/v1/access-tokens/{token_id}": {
    events: ["auth.token_revoked access_token"],
    call: async ({ weir }) => ({
      path: api(`access-tokens/${created(await weir.owner("POST", api("access-tokens"), { name: "x" })).id}`),
    }),
  },
  "POST /mcp": {
    events: [],
    why: "It lists tools; each call of one is a run, or a decision, with events of its own.",
    call: () => ({
      path: "/mcp",
      body: { jsonrpc: "2.0", id: 1, method: "tools/list" },
      headers: { accept: "application/json, text/event-stream" },
    }),
  },
  "POST /api/inbound/slack/commands": slack(
    "commands",
    "text=help",
    "It only answers; what it sets off has its own.",
  ),
  "POST /api/inbound/slack/interactions": slack(
    "interactions",
    `payload=${encodeURIComponent("{}")}`,
    "A decision is told of as one.",
  ),
  "POST /api/inbound/slack/events": slack(
    "events",
    JSON.stringify({ type: "url_verification", challenge: "x" }),
    "It only answers; what it sets off has its own.",
  ),
  "POST /api/v1/auth/device/code": {
    events: [],
    why: "Nobody is known yet, and nothing is let in.",
    call: ({ weir }) => ({
      by: weir.anonymous,
      path: api("auth/device/code"),
      body: { client_id: "weir-cli" },
    }),
  },
  "POST /api/v1/auth/device/approve": {
    events: ["auth.device_approved device_code"],
    about: unsaid,
    async call(world) {
      const { user_code: userCode } = await waitingDevice(world);
      const { person } = await session(world);
      return { by: person.call, path: api("auth/device/approve"), body: { userCode, approve: true } };
    },
  },
  "POST /api/v1/auth/device/token": {
    events: ["auth.login session"],
    about: unsaid,
    async call(world) {
      const { device_code, user_code: userCode } = await waitingDevice(world);
      const { person } = await session(world);
      await person.call("POST", api("auth/device/approve"), { userCode, approve: true });
      const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
      const body = { grant_type, device_code, client_id: "weir-cli" };
      return { by: world.weir.anonymous, path: api("auth/device/token"), body };
    },
  },
  "POST /iceberg/v1/oauth/tokens": {
    events: [],
    why: "It gives back the token that it was given.",
    call: ({ weir }) => ({
      by: weir.anonymous,
      path: "/iceberg/v1/oauth/tokens",
      body: { grant_type: "client_credentials", client_secret: weir.token },
    }),
  },
  "POST /oauth/register": {
    events: [],
    why: "Nobody is known yet, and nothing is stored.",
    call: ({ weir }) => ({
      by: weir.anonymous,
      path: "/oauth/register",
      body: { client_name: "agent", redirect_uris: [REDIRECT] },
    }),
  },
  "POST /api/v1/auth/clients/decide": {
    events: ["auth.client_approved authorization_code"],
    about: unsaid,
    async call(world) {
      const { person } = await session(world);
      const request = await clientRequest(world);
      return { by: person.call, path: api("auth/clients/decide"), body: { request, approve: true } };
    },
  },
  "POST /oauth/token": {
    events: ["auth.token_created access_token"],
    about: unsaid,
    async call(world) {
      const { person } = await session(world);
      const request = await clientRequest(world);
      const { body } = await person.call("POST", api("auth/clients/decide"), { request, approve: true });
      const code = new URL(body.redirectTo).searchParams.get("code");
      const { client_id } = request;
      const fields = {
        grant_type: "authorization_code",
        code,
        client_id,
        redirect_uri: REDIRECT,
        code_verifier: VERIFIER,
      };
      return { by: world.weir.anonymous, path: "/oauth/token", body: fields };
    },
  },
  "POST /api/v1/organizations/invitations": {
    events: ["organization.invitation_created invitation"],
    call: () => ({ path: api("organizations/invitations"), body: { email: "grace@example.com" } }),
  },
  "DELETE /api/v1/organizations/invitations/{invitation_id}": {
    events: ["organization.invitation_withdrawn invitation"],
    async call({ weir }) {
      const invited = await weir.owner("POST", api("organizations/invitations"), {
        email: "eve@example.com",
      });
      return { path: api(`organizations/invitations/${created(invited).id}`) };
    },
  },
  "POST /api/v1/auth/invitations/accept": {
    events: [GRANTED, "auth.login session"],
    about: unsaid,
    async call({ weir }) {
      weir.clock.turn(60_000);
      const invited = await weir.owner("POST", api("organizations/invitations"), {
        email: "mary@example.com",
      });
      const token = new URL(created(invited).inviteUrl).searchParams.get("token");
      return {
        by: weir.anonymous,
        path: api("auth/invitations/accept"),
        body: { token, password: PASSWORD, firstName: "Mary" },
        actor: { type: "user", id: null },
      };
    },
  },
  "POST /api/v1/users/me/invitations/{invitation_id}/accept": {
    events: [GRANTED],
    about: replied(({ membershipId }) => membershipId),
    call: async (world) => answering(world, "carol@example.com", "accept"),
  },
  "POST /api/v1/users/me/invitations/{invitation_id}/decline": {
    events: ["organization.invitation_withdrawn invitation"],
    call: async (world) => answering(world, "dora@example.com", "decline"),
  },
  "POST /api/v1/auth/forgot": {
    events: [],
    why: "It only mails a link; the new password is told when it is set.",
    call: ({ weir }) => ({
      by: weir.anonymous,
      path: api("auth/forgot"),
      body: { email: "ada@example.com" },
    }),
  },
  "POST /api/v1/auth/reset": {
    events: ["user.updated user", "auth.token_revoked access_token"],
    about: unsaid,
    async call({ weir }) {
      const { user } = await join(weir, "viewer");
      const token = weir.app.ids.uuid();
      await weir.app.store.write(async (db) => {
        await db.update(users).set({ email: "erna@example.com" }).where(eq(users.id, user.id));
        const [createdAt, expiresAt] = [weir.clock.now().toISOString(), "2999-01-01T00:00:00.000Z"];
        await db
          .insert(passwordResets)
          .values({ tokenHash: hashToken(token), userId: user.id, createdAt, expiresAt });
      });
      const actor = { type: "user", id: user.id };
      return { by: weir.anonymous, path: api("auth/reset"), body: { token, password: PASSWORD }, actor };
    },
  },
  "PATCH /api/v1/installation/users/{user_id}": {
    events: ["user.updated user"],
    call: async ({ weir }) => ({
      path: api(`installation/users/${(await join(weir, "viewer")).user.id}`),
      body: { isOperator: true },
    }),
  },
  "POST /api/v1/api-keys": {
    events: ["auth.token_created api_key"],
    call: () => ({ path: api("api-keys"), body: { name: "audited" } }),
  },
  "DELETE /api/v1/api-keys/{key_id}": {
    events: ["auth.token_revoked api_key"],
    call: async ({ weir }) => ({
      path: api(`api-keys/${created(await weir.owner("POST", api("api-keys"), { name: "x" })).id}`),
    }),
  },
  "POST /api/v1/templates": {
    events: ["template.created template"],
    call: () => ({ path: api("templates"), body: template("audited") }),
  },
  "PUT /api/v1/templates/{template_id}": {
    events: ["template.updated template"],
    call: async (world) => ({
      path: api(`templates/${(await makeTemplate(world, "put")).id}`),
      body: { displayName: "Renamed" },
    }),
  },
  "DELETE /api/v1/templates/{template_id}": {
    events: ["template.deleted template"],
    call: async (world) => ({ path: api(`templates/${(await makeTemplate(world, "gone")).id}`) }),
  },
  "POST /api/v1/templates/{template_id}/publish": {
    events: ["template.published template"],
    call: async (world) => ({ path: api(`templates/${(await makeTemplate(world, "shown")).id}/publish`) }),
  },
  "POST /api/v1/templates/{template_id}/deprecate": {
    events: ["template.deprecated template"],
    async call(world) {
      const { id } = await makeTemplate(world, "old");
      await world.weir.owner("POST", api(`templates/${id}/publish`));
      return { path: api(`templates/${id}/deprecate`) };
    },
  },
  "POST /api/v1/bundles/{slug}/install": {
    events: ["connection.created connection", "action.created action", "bundle.installed bundle"],
    about: replied(({ components }) => components[0].entityId),
    async call(world) {
      const secret = { type: "string", format: "password" };
      const { id } = await makeTemplate(world, "pair", {
        slug: "pair",
        displayName: "Pair",
        templateType: "bundle",
        definition: {
          components: [
            {
              key: "warehouse",
              type: "connection",
              definition: {
                ...postgres(),
                name: undefined,
                credentials: { user: "ada", password: "{{inputs.password}}" },
              },
            },
            { key: "branch", type: "action", definition: BRANCH },
          ],
        },
        inputJsonSchema: { type: "object", properties: { password: secret }, required: ["password"] },
      });
      await world.weir.owner("POST", api(`templates/${id}/publish`));
      return { path: api("bundles/pair/install"), body: { inputs: { password } } };
    },
  },
  "POST /api/v1/approvals/{approval_id}/approve": decided("approve", 0),
  "POST /api/v1/approvals/{approval_id}/reject": {
    ...decided("reject", 1),
    events: ["decision.decided decision", "action.failed action by system"],
  },
  "POST /api/v1/decisions/{decision_id}/decide": {
    ...decided("approve", 2),
    call: ({ decisions }) => ({
      path: api(`decisions/${decisions[2]}/decide`),
      body: { decisionValue: "approved" },
    }),
  },
  "POST /api/v1/agents/specs": {
    events: ["agent_spec.created agent_spec"],
    call: () => ({ path: api("agents/specs"), body: agent() }),
  },
  "PATCH /api/v1/agents/specs/{spec_id}": {
    events: ["agent_spec.updated agent_spec"],
    call: async (world) => ({ path: api(`agents/specs/${await makeAgent(world)}`), body: agent() }),
  },
  "POST /api/v1/agents/specs/{spec_id}/versions/{version}/restore": {
    events: ["agent_spec.updated agent_spec"],
    async call(world) {
      const at = api(`agents/specs/${await makeAgent(world)}`);
      await world.weir.owner("PATCH", at, agent());
      return { path: `${at}/versions/1/restore` };
    },
  },
  "DELETE /api/v1/agents/specs/{spec_id}": {
    events: ["agent_spec.deleted agent_spec"],
    call: async (world) => ({ path: api(`agents/specs/${await makeAgent(world)}`) }),
  },
  "POST /api/v1/chat/threads": {
    events: ["chat_thread.created chat_thread"],
    call: async (world) => ({ path: api("chat/threads"), body: { agentSpecId: await makeAgent(world) } }),
  },
  "POST /api/v1/chat/threads/bulk-delete": {
    events: ["chat_thread.deleted chat_thread"],
    about: (_, { body }) => (body as { threadIds: string[] }).threadIds[0] ?? null,
    call: async (world) => ({
      path: api("chat/threads/bulk-delete"),
      body: { threadIds: [await makeThread(world)] },
    }),
  },
  "PATCH /api/v1/chat/threads/{thread_id}": {
    events: ["chat_thread.updated chat_thread"],
    call: async (world) => ({ path: api(`chat/threads/${await makeThread(world)}`), body: { title: "New" } }),
  },
  "DELETE /api/v1/chat/threads/{thread_id}": {
    events: ["chat_thread.deleted chat_thread"],
    call: async (world) => ({ path: api(`chat/threads/${await makeThread(world)}`) }),
  },
  "POST /api/v1/chat/threads/{thread_id}/turns/stream": {
    events: ["chat_turn.started chat_thread", "chat_turn.completed chat_thread by system"],
    call: async (world) => ({
      path: api(`chat/threads/${await makeThread(world)}/turns/stream`),
      body: { content: "Hello?" },
    }),
  },
  "POST /api/v1/chat/threads/{thread_id}/turns/cancel": {
    events: ["chat_turn.cancelled chat_thread", "decision.cancelled decision", "action.cancelled action_run"],
    goesOn: true,
    async call(world) {
      const definition = { method: "POST", url: "http://127.0.0.1:1" };
      const { slug } = await makeAction(world.weir.owner, { kind: "http_request", name: "Send", definition });
      const id = await makeThread(world, `\ntools: ['action:${slug}']`);
      await world.weir.owner("POST", api(`chat/threads/${id}/turns/stream`), { content: "Send it" });
      return { path: api(`chat/threads/${id}/turns/cancel`) };
    },
  },
  "POST /api/v1/connections": {
    events: ["connection.created connection"],
    call: () => ({ path: api("connections"), body: postgres() }),
  },
  "PATCH /api/v1/connections/{connection_id}": {
    events: ["connection.updated connection"],
    call: async (world) => ({
      path: api(`connections/${(await connection(world)).id}?if_changed=true`),
      body: { name: "Renamed", credentials: { user: "ada", password: `${password}-2` } },
    }),
  },
  "DELETE /api/v1/connections/{connection_id}": {
    events: ["connection.deleted connection"],
    call: async (world) => ({ path: api(`connections/${(await connection(world)).id}`) }),
  },
  "POST /api/v1/connections/{connection_id}/disable": {
    events: ["connection.updated connection"],
    call: async (world) => ({ path: api(`connections/${(await connection(world)).id}/disable`) }),
  },
  "POST /api/v1/connections/{connection_id}/reactivate": {
    events: ["connection.updated connection"],
    async call(world) {
      const { id } = await connection(world);
      await world.weir.owner("POST", api(`connections/${id}/disable`));
      return { path: api(`connections/${id}/reactivate`) };
    },
  },
  "POST /api/v1/connections/{connection_id}/verify": {
    events: ["connection.tested connection", "connection.error connection by system"],
    call: async (world) => ({ path: api(`connections/${(await connection(world)).id}/verify`) }),
  },
  "POST /api/v1/connections/test": {
    events: ["connection.tested connection"],
    about: unsaid,
    call: () => ({ path: api("connections/test"), body: postgres() }),
  },
  "POST /api/v1/connections/{connection_id}/test": {
    events: ["connection.tested connection"],
    call: async (world) => ({ path: api(`connections/${(await connection(world)).id}/test`), body: {} }),
  },
  "POST /api/v1/connections/{connection_id}/set-default": {
    events: ["connection.updated connection"],
    call: async (world) => ({ path: api(`connections/${(await connection(world)).id}/set-default`) }),
  },
  "PUT /api/v1/connections/{connection_id}/files": {
    events: ["connection.updated connection"],
    about: (_, { path }) => path.split("/")[4] ?? null,
    call: async (world) => ({
      path: api(`connections/${(await connection(world, localFiles("Files"))).id}/files?path=/a.csv`),
      body: "id\n1\n",
    }),
  },
  "DELETE /api/v1/connections/{connection_id}/files": {
    events: ["connection.updated connection"],
    about: (_, { path }) => path.split("/")[4] ?? null,
    async call(world) {
      const path = api(`connections/${(await connection(world, localFiles("Files"))).id}/files?path=/a.csv`);
      const put = await world.weir.owner("PUT", path, "id\n1\n", {
        "content-type": "application/octet-stream",
      });
      if (put.status !== 201) throw new Error(put.text);
      return { path };
    },
  },
  "POST /api/v1/connections/{connection_id}/files/validate": {
    events: [],
    why: "It only looks.",
    call: async (world) => ({
      path: api(`connections/${(await connection(world, localFiles("Files"))).id}/files/validate`),
      body: { selectedItems: [] },
    }),
  },
  "POST /api/v1/actions": {
    events: ["action.created action"],
    call: () => ({ path: api("actions"), body: { name: "Branch", ...BRANCH } }),
  },
  "PATCH /api/v1/actions/{action_id}": {
    events: ["action.updated action"],
    call: async ({ weir }) => ({
      path: api(`actions/${(await makeAction(weir.owner)).id}`),
      body: { name: "Renamed" },
    }),
  },
  "POST /api/v1/actions/{action_id}/versions/{version}/restore": {
    events: ["action.updated action"],
    async call({ weir }) {
      const at = api(`actions/${(await makeAction(weir.owner)).id}`);
      await weir.owner("PATCH", at, { name: "Renamed" });
      return { path: `${at}/versions/1/restore` };
    },
  },
  "DELETE /api/v1/actions/{action_id}": {
    events: ["action.deleted action"],
    call: async ({ weir }) => ({ path: api(`actions/${(await makeAction(weir.owner)).id}`) }),
  },
  "POST /api/v1/actions/{action_id}/run": {
    events: [],
    why: "The worker tells of the start, once the run has started.",
    call: async ({ weir }) => ({ path: api(`actions/${(await makeAction(weir.owner)).id}/run`) }),
  },
  "POST /api/v1/actions/{action_id}/state/reset": {
    events: ["action.updated action"],
    about: (_, { path }) => path.split("/")[4] ?? null,
    async call({ weir }) {
      const warehouse = await connect(weir.owner, postgres());
      const definition = { dataset: "shop", resources: [{ name: "orders" }] };
      const action = await makeAction(weir.owner, {
        kind: "dlt_extract",
        connectionId: warehouse.id,
        definition,
      });
      const cursor = { cursorField: "id", lastValue: 7, boundary: [], loadId: null };
      await loadTable(contextOf(weir), {
        layer: "raw",
        dataset: "audited_state",
        table: "orders",
        select: "SELECT 1 AS id",
        ownerId: action.id,
        cursors: { orders: cursor as never },
      });
      return { path: api(`actions/${action.id}/state/reset`), body: {} };
    },
  },
  "POST /api/v1/action-runs/{run_id}/cancel": {
    events: ["action.cancelled action"],
    about: replied(({ actionId }) => actionId),
    call: async (world) => ({ path: api(`action-runs/${await newRun(world)}/cancel`) }),
  },
  "POST /api/v1/action-runs/{run_id}/retry": {
    events: [],
    why: "The worker tells of the start, once the run has started.",
    call: ({ failedRunId }) => ({ path: api(`action-runs/${failedRunId}/retry`) }),
  },
  "POST /api/v1/automations": {
    events: ["automation.created automation"],
    call: () => ({
      path: api("automations"),
      body: {
        name: "Hook",
        triggerType: "webhook",
        config: { path: "audited", secret: webhookSecret, action: BRANCH },
      },
    }),
  },
  "PATCH /api/v1/automations/{automation_id}": {
    events: ["automation.updated automation", "automation.disabled automation"],
    call: async ({ weir }) => ({
      path: api(`automations/${(await makeHook(weir, { path: "patched", action: BRANCH })).id}`),
      body: { status: "disabled", config: { secret: webhookSecret, debug: true } },
    }),
  },
  "DELETE /api/v1/automations/{automation_id}": {
    events: ["automation.deleted automation"],
    call: async ({ weir }) => ({
      path: api(`automations/${(await makeAutomation(weir.owner, { action: BRANCH })).id}`),
    }),
  },
  "POST /api/v1/automations/{automation_id}/versions/{version}/restore": {
    events: ["automation.updated automation"],
    async call({ weir }) {
      const at = api(`automations/${(await makeAutomation(weir.owner, { action: BRANCH })).id}`);
      await weir.owner("PATCH", at, { name: "Renamed" });
      return { path: `${at}/versions/1/restore` };
    },
  },
  "POST /api/v1/automations/{automation_id}/duplicate": {
    events: ["automation.created automation"],
    call: async ({ weir }) => ({
      path: api(`automations/${(await makeAutomation(weir.owner, { action: BRANCH })).id}/duplicate`),
    }),
  },
  "POST /api/v1/actions/{action_id}/duplicate": {
    events: ["action.created action"],
    call: async ({ weir }) => ({ path: api(`actions/${(await makeAction(weir.owner)).id}/duplicate`) }),
  },
  "POST /api/v1/automations/{automation_id}/test": {
    events: [
      "automation.triggered automation",
      "action.started action_run by automation",
      "action.completed action_run by system",
      "automation.completed automation by system",
    ],
    about: replied(({ automationId }) => automationId),
    call: async ({ weir }) => ({
      path: api(`automations/${(await makeAutomation(weir.owner, { action: BRANCH })).id}/test`),
    }),
  },
  "POST /api/v1/automations/{automation_id}/run": {
    events: [
      "automation.triggered automation",
      "action.started action_run by automation",
      "action.completed action_run by system",
      "automation.completed automation by system",
    ],
    about: replied(({ automationId }) => automationId),
    call: async ({ weir }) => ({
      path: api(`automations/${(await makeAutomation(weir.owner, { action: BRANCH })).id}/run`),
    }),
  },
  "POST /api/v1/automation-runs/{run_id}/cancel": {
    events: ["action.cancelled action_run", "automation.cancelled automation"],
    about: replied(({ steps }) => steps[0].actionRunId),
    async call({ weir }) {
      const definition = { url: "http://127.0.0.1:1" };
      const { id } = await makeAutomation(weir.owner, { action: { kind: "http_request", definition } });
      const run = created(await weir.owner("POST", api(`automations/${id}/run`)));
      return { path: api(`automation-runs/${run.id}/cancel`) };
    },
  },
  "POST /api/v1/automation-runs/{run_id}/retry": {
    events: [
      "automation.triggered automation",
      "action.started action_run by automation",
      "action.failed action_run by system",
      "automation.failed automation by system",
    ],
    about: replied(({ automationId }) => automationId),
    call: ({ failedFlowId }) => ({ path: api(`automation-runs/${failedFlowId}/retry`) }),
  },
  "PATCH /api/v1/automations/{automation_id}/draft": {
    events: [],
    why: "It is published on purpose; until then nothing goes by it.",
    call: async ({ weir }) => ({ path: `${await drafted(weir)}/draft`, body: { config: {} } }),
  },
  "DELETE /api/v1/automations/{automation_id}/draft": {
    events: [],
    why: "It is published on purpose; until then nothing goes by it.",
    call: async ({ weir }) => ({ path: `${await drafted(weir)}/draft` }),
  },
  "POST /api/v1/automations/{automation_id}/draft/publish": {
    events: ["automation.updated automation"],
    call: async ({ weir }) => ({ path: `${await drafted(weir)}/draft/publish` }),
  },
  "PUT /api/v1/automations/{automation_id}/layout": {
    events: [],
    why: "It is how things look, and no part of the automation.",
    call: async ({ weir }) => ({
      path: `${await drafted(weir)}/layout`,
      body: { direction: "down", positions: {}, groups: [], notes: [] },
    }),
  },
  "POST /f/{org_id}/{path}": {
    events: [
      "automation.triggered automation by system",
      "action.started action_run",
      "action.completed action_run by system",
      "automation.completed automation by system",
    ],
    about: unsaid,
    async call({ weir }) {
      const config = { path: "asked", form: { title: "Ask", schema: {}, access: "public" }, action: BRANCH };
      const made = await weir.owner("POST", api("automations"), { name: "Ask", triggerType: "form", config });
      if (made.status !== 201) throw new Error(made.text);
      const path = "/f/acme/asked";
      const actor = { type: "automation", id: made.body.id };
      return { by: weir.anonymous, path, body: {}, actor };
    },
  },
  "POST /webhooks/{org_id}/{path}": {
    events: [
      "automation.triggered automation by system",
      "action.started action_run",
      "action.completed action_run by system",
      "automation.completed automation by system",
    ],
    about: unsaid,
    async call({ weir }) {
      const hook = await makeHook(weir, { path: "received", action: BRANCH });
      const headers = { "content-type": "application/json", "x-svc-signature": sign("{}") };
      const path = "/webhooks/acme/received";
      return { by: weir.anonymous, path, headers, body: "{}", actor: { type: "automation", id: hook.id } };
    },
  },
  "POST /api/v1/webhooks": {
    events: ["webhook.created webhook"],
    call: () => ({
      path: api("webhooks"),
      body: { url: UNHEARD, events: ["*"], secret: webhookSecret },
    }),
  },
  "PATCH /api/v1/webhooks/{webhook_id}": {
    events: ["webhook.updated webhook", "webhook.enabled webhook"],
    async call(world) {
      const path = api(`webhooks/${await subscription(world)}`);
      await world.weir.owner("PATCH", path, { status: "disabled" });
      return { path, body: { events: ["action.*"], status: "active" } };
    },
  },
  "DELETE /api/v1/webhooks/{webhook_id}": {
    events: ["webhook.deleted webhook"],
    call: async (world) => ({ path: api(`webhooks/${await subscription(world)}`) }),
  },
  "POST /api/v1/webhooks/{webhook_id}/rotate-secret": {
    events: ["webhook.secret_rotated webhook"],
    call: async (world) => ({
      path: api(`webhooks/${await subscription(world)}/rotate-secret`),
      body: { secret: `${webhookSecret}-2` },
    }),
  },
  "POST /api/v1/webhooks/{webhook_id}/test": {
    events: ["webhook.tested webhook"],
    about: (_, { path }) => path.split("/")[4] ?? null,
    call: async (world) => ({ path: api(`webhooks/${await subscription(world)}/test`) }),
  },
  "POST /api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver": {
    events: ["webhook.replayed webhook_delivery"],
    about: (_, { path }) => path.split("/")[6] ?? null,
    async call(world) {
      const path = api(`webhooks/${await subscription(world)}`);
      const { body } = await world.weir.owner("POST", `${path}/test`);
      return { path: `${path}/deliveries/${body.id}/redeliver` };
    },
  },
  "POST /api/v1/dead-letters/{dead_letter_id}/replay": {
    events: ["automation.triggered automation", "webhook.replayed dead_letter"],
    about: unsaid,
    call: ({ letters }) => ({ path: api(`dead-letters/${letters[0]}/replay`) }),
  },
  "POST /api/v1/dead-letters/replay": {
    events: ["automation.triggered automation", "webhook.replayed dead_letter"],
    about: unsaid,
    call: ({ letters }) => ({ path: api("dead-letters/replay"), body: { ids: [letters[1]] } }),
  },
  "DELETE /api/v1/dead-letters/{dead_letter_id}": {
    events: ["webhook.discarded dead_letter"],
    call: ({ letters }) => ({ path: api(`dead-letters/${letters[2]}`) }),
  },
  "POST /api/v1/artifacts": {
    events: ["artifact.created artifact"],
    call: async (world) => ({
      path: api("artifacts"),
      body: { actionRunId: await newRun(world), kind: "text", content: "text" },
    }),
  },
  "DELETE /api/v1/artifacts/{artifact_id}": {
    events: ["artifact.deleted artifact"],
    async call(world) {
      const body = { actionRunId: await newRun(world), kind: "text", content: "text" };
      return { path: api(`artifacts/${created(await world.weir.owner("POST", api("artifacts"), body)).id}`) };
    },
  },
  "PUT /api/v1/datasets/{layer}/{dataset}/upload": {
    events: ["dataset.uploaded dataset"],
    about: () => "raw.uploaded",
    call: () => ({ path: api("datasets/raw/uploaded/upload?format=csv"), body: "id\n1\n" }),
  },
  "DELETE /api/v1/datasets/{layer}/{dataset}": {
    events: ["dataset.deleted dataset"],
    about: () => "raw.audited",
    async call({ weir }) {
      const table = { layer: "raw", dataset: "audited", table: "orders", select: "SELECT 1 AS id" };
      await loadTable(contextOf(weir), table);
      return { path: api("datasets/raw/audited") };
    },
  },
  "POST /api/v1/sync/run": {
    events: ["dataset.synced dataset", "dataset.synced dataset"],
    about: () => "audited_sync.orders",
    async call({ weir }) {
      const { organization, user } = await neighbour(weir);
      await weir.app.store.write(async (db) => {
        await db.insert(memberships).values({
          id: weir.app.ids.uuid(),
          organizationId: organization.id,
          userId: weir.ids.userId,
          role: "admin",
          isDefault: false,
          joinedAt: user.createdAt,
        });
      });
      const table = { layer: "audited_sync", dataset: "orders", table: "orders", select: "SELECT 1 AS id" };
      await loadTable(contextOf(weir), table);
      return { path: api("sync/run"), body: { layer: "audited_sync", destTenantId: organization.id } };
    },
  },
  "POST /api/v1/api-catalog/http": {
    events: ["catalog.created catalog_entry"],
    call: () => ({ path: api("api-catalog/http"), body: httpApi("Audited") }),
  },
  "POST /api/v1/api-catalog/mcp": {
    events: ["catalog.created catalog_entry"],
    call: () => ({ path: api("api-catalog/mcp"), body: mcpApi("Audited tools") }),
  },
  "PATCH /api/v1/api-catalog/{api_id}": {
    events: ["catalog.updated catalog_entry"],
    call: async ({ weir }) => ({
      path: api(`api-catalog/${(await addHttp(weir.owner, httpApi("Audited change"))).id}`),
      body: { description: "Changed.", endpoints: [{ name: "list_orders", enabled: false }] },
    }),
  },
  "DELETE /api/v1/api-catalog/{api_id}": {
    events: ["catalog.deleted catalog_entry"],
    call: async ({ weir }) => ({
      path: api(`api-catalog/${(await addHttp(weir.owner, httpApi("Audited end"))).id}`),
    }),
  },
  "POST /api/v1/api-catalog/discover": {
    events: [],
    why: "It only looks.",
    call: () => ({
      path: api("api-catalog/discover"),
      body: { sourceType: "http", baseUrl: "http://127.0.0.1:9" },
    }),
  },
  "POST /api/v1/api-catalog/ai-import": {
    events: [],
    why: "It only reads.",
    call: () => ({ path: api("api-catalog/ai-import"), body: { content: "curl https://x.example/a" } }),
  },
  "POST /api/v1/api-catalog/{api_id}/ai-import": {
    events: [],
    why: "It only compares.",
    call: async ({ weir }) => ({
      path: api(`api-catalog/${(await addHttp(weir.owner, httpApi("Audited import"))).id}/ai-import`),
      body: { content: "curl https://x.example/a" },
    }),
  },
  "POST /api/v1/api-catalog/{api_id}/connection-template": {
    events: ["template.created template"],
    about: replied(({ template }) => template.id),
    call: async ({ weir }) => ({
      path: api(
        `api-catalog/${(await addHttp(weir.owner, httpApi("Audited lists"))).id}/connection-template`,
      ),
      body: {},
    }),
  },
  "POST /api/v1/api-catalog/{api_id}/refresh": {
    events: ["catalog.drifted catalog_entry by system"],
    about: unsaid,
    async call({ weir }) {
      const { url } = startModern();
      const tools = [{ upstreamName: "echo", inputSchema: { type: "object" } }];
      const entry = await addMcp(weir.owner, mcpApi("Audited drift", { url, tools }));
      return { path: api(`api-catalog/${entry.id}/refresh`) };
    },
  },
  "POST /api/v1/api-catalog/authorize": {
    events: ["catalog.sign_in_started catalog_sign_in"],
    about: unsaid,
    call: async () => ({
      path: api("api-catalog/authorize"),
      body: { mcpUrl: (await startForgedSignIn({})).url, clientId: "audited" },
    }),
  },
  "POST /api/v1/api-catalog/{api_id}/authorize": {
    events: ["catalog.sign_in_started catalog_sign_in"],
    about: unsaid,
    async call({ weir }) {
      const { url } = await startForgedSignIn({});
      const entry = await addMcp(weir.owner, mcpApi("Audited sign-in", { url }));
      return { path: api(`api-catalog/${entry.id}/authorize`), body: { clientId: "audited" } };
    },
  },
  "DELETE /api/v1/api-catalog/{api_id}/sign-in": {
    events: ["catalog.signed_out catalog_sign_in"],
    about: unsaid,
    async call({ weir }) {
      const { url } = await startForgedSignIn({});
      const entry = await addMcp(weir.owner, mcpApi("Audited sign-out", { url }));
      const begun = await weir.owner("POST", api(`api-catalog/${entry.id}/authorize`), {
        clientId: "audited",
      });
      if (begun.status !== 200) throw new Error(begun.text);
      return { path: api(`api-catalog/${entry.id}/sign-in`) };
    },
  },
  "POST /api/v1/connections/{connection_id}/authorize": {
    events: ["connection.sign_in_started connection"],
    about: unsaid,
    async call({ weir }) {
      await using peer = await startOAuthApi();
      const { id } = await addSigned(weir, peer);
      return { path: api(`connections/${id}/authorize`) };
    },
  },
  "DELETE /api/v1/connections/{connection_id}/sign-in": {
    events: ["connection.signed_out connection", "connection.updated connection"],
    about: unsaid,
    async call({ weir }) {
      await using peer = await startOAuthApi();
      const { id } = await addSigned(weir, peer);
      await signInFor(weir, id);
      return { path: api(`connections/${id}/sign-in`) };
    },
  },
  "POST /api/v1/api-catalog/{api_id}/endpoints/{name}/test": {
    events: ["catalog.tested catalog_entry"],
    async call({ weir }) {
      const entry = await addHttp(
        weir.owner,
        httpApi("Audited call", { baseUrl: startEchoHttp("token").url }),
      );
      return { path: api(`api-catalog/${entry.id}/endpoints/list_orders/test`) };
    },
  },
  "POST /api/v1/expressions/evaluate": {
    events: [],
    why: "It only looks.",
    call: () => ({ path: api("expressions/evaluate"), body: { text: "{{ 1 + 1 }}", scope: {} } }),
  },
  "POST /api/v1/query": {
    events: [],
    why: "It only looks.",
    call: () => ({ path: api("query"), body: { sql: "SELECT 1 AS one" } }),
  },
  "POST /api/v1/dashboards": {
    events: ["dashboard.created dashboard"],
    call: () => ({ path: api("dashboards"), body: { name: "Audited", sharing: "link" } }),
  },
  "PATCH /api/v1/dashboards/{dashboard_id}": {
    events: ["dashboard.updated dashboard"],
    call: async (world) => ({ path: await dashboard(world), body: { refreshSeconds: 60 } }),
  },
  "DELETE /api/v1/dashboards/{dashboard_id}": {
    events: ["dashboard.deleted dashboard"],
    call: async (world) => ({ path: await dashboard(world) }),
  },
  "POST /api/v1/dashboards/{dashboard_id}/send": {
    events: ["dashboard.send_requested dashboard"],
    call: async (world) => ({
      path: `${await dashboard(world)}/send`,
      body: { recipients: [world.weir.ids.userId] },
    }),
  },
  "POST /api/v1/dashboards/{dashboard_id}/subscriptions": {
    events: ["dashboard_subscription.created dashboard_subscription"],
    call: async (world) => ({
      path: `${await dashboard(world)}/subscriptions`,
      body: { schedule: { cron: "0 7 * * *" }, recipients: [world.weir.ids.userId] },
    }),
  },
  "PATCH /api/v1/dashboards/{dashboard_id}/subscriptions/{subscription_id}": {
    events: ["dashboard_subscription.updated dashboard_subscription"],
    call: async (world) => ({ path: await mailing(world), body: { schedule: { cron: "0 8 * * *" } } }),
  },
  "DELETE /api/v1/dashboards/{dashboard_id}/subscriptions/{subscription_id}": {
    events: ["dashboard_subscription.deleted dashboard_subscription"],
    call: async (world) => ({ path: await mailing(world) }),
  },
  "POST /unsubscribe": {
    events: ["dashboard_subscription.deleted dashboard_subscription"],
    about: unsaid,
    async call(world) {
      const { weir } = world;
      const subscriptionId = (await mailing(world)).split("/").at(-1) ?? "";
      const { userId } = weir.ids;
      const token = unsubscribeToken(weir.app.secrets, { subscriptionId, userId });
      const actor = { type: "user", id: userId };
      return { by: weir.anonymous, path: `/unsubscribe?token=${token}`, actor };
    },
  },
  "POST /api/v1/queries": {
    events: ["query.created query"],
    call: () => ({ path: api("queries"), body: { name: "Audited", sql: "SELECT 1 AS one" } }),
  },
  "PATCH /api/v1/queries/{query_id}": {
    events: ["query.updated query"],
    call: async (world) => ({ path: await savedQuery(world), body: { description: "Changed" } }),
  },
  "DELETE /api/v1/queries/{query_id}": {
    events: ["query.deleted query"],
    call: async (world) => ({ path: await savedQuery(world) }),
  },
  "POST /api/v1/queries/{query_id}/run": {
    events: [],
    why: "It only looks.",
    call: async (world) => ({ path: `${await savedQuery(world)}/run` }),
  },
};
