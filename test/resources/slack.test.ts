import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { resetPassword } from "../../src/resources/sign-in/password.ts";
import { slackReplies } from "../../src/resources/slack/table.ts";
import vectors from "../crypto/vectors.json";
import { says, startModel } from "../peers/model.ts";
import { type Client, client, PASSWORD, startApp } from "../support/app.ts";
import { eventually } from "../support/outbound.ts";
import { browser, join } from "../support/people.ts";
import { branch, makeAction, makeAutomation, until } from "../support/work.ts";

const SECRET = vectors.slack.secret;
/** What Slack received, at a `response_url` or by `chat.postMessage`. */
let told: { path: string; authorization: string | null; body: { text: string; [name: string]: unknown } }[] =
  [];
let replies: number[] = [];
let slack: Bun.Server<undefined>;
let model: Awaited<ReturnType<typeof startModel>>;
let weir: Awaited<ReturnType<typeof startApp>>;
let open: Client;

beforeAll(async () => {
  slack = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const status = replies.shift() ?? 200;
      if (status !== 200) return new Response("later", { status });
      const body = (await request.json()) as (typeof told)[number]["body"];
      told.push({
        path: new URL(request.url).pathname,
        authorization: request.headers.get("authorization"),
        body,
      });
      return Response.json({ ok: true });
    },
  });
  model = await startModel(() => says("Forty-two orders."));
  weir = await startApp({
    hurry: 20,
    env: {
      ...model.env,
      WEIR_SLACK_SIGNING_SECRET: SECRET,
      WEIR_SLACK_BOT_TOKEN: "xoxb-the-token-of-the-bot",
      WEIR_SLACK_API_URL: `${slack.url.origin}/api`,
    },
  });
  open = client(weir.origin);
});
afterAll(async () => {
  await weir[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
  await slack.stop(true);
});
afterEach(() => {
  told = [];
  replies = [];
});

let count = 0;
const sign = (body: string, at = Math.floor(weir.clock.now().getTime() / 1000)) => ({
  "x-slack-request-timestamp": String(at),
  "x-slack-signature": `v0=${createHmac("sha256", SECRET).update(`v0:${at}:${body}`).digest("hex")}`,
});

const form = (fields: Record<string, string>) => new URLSearchParams(fields).toString();

/** A slash command, as Slack sends it. */
function command(text: string, more: Record<string, string> = {}, headers: Record<string, string> = {}) {
  const body = form({
    team_id: "T1",
    team_domain: "shop",
    user_id: "U1",
    user_name: "robin",
    command: "/weir",
    text,
    response_url: `${slack.url.origin}/hook`,
    trigger_id: `trigger-${++count}`,
    ...more,
  });
  return open("POST", "/api/inbound/slack/commands", body, {
    "content-type": "application/x-www-form-urlencoded",
    ...sign(body),
    ...headers,
  });
}

const linkIn = (text: string) => /<(http[^|>]+)\|/.exec(text)?.[1] ?? "";

/** Links a Slack user to the user of `call`. */
async function tie(call: Client, userId: string) {
  const { body } = await command("link", { user_id: userId });
  const { pathname, search } = new URL(linkIn(body.text));
  return call("GET", pathname + search);
}

async function heard(wanted: number) {
  await eventually(() => told.length >= wanted);
  return told;
}

describe("requests from Slack", () => {
  test("are accepted with Slack's own published signature", async () => {
    const { body, ts, header } = vectors.slack;
    const old = await open("POST", "/api/inbound/slack/commands", body, {
      "x-slack-request-timestamp": ts,
      "x-slack-signature": header,
    });
    // Correctly signed, in 2018.
    expect([old.status, old.body.detail]).toEqual([401, expect.stringContaining("300 s")]);
  });

  test.each<[string, (body: string) => Record<string, string>]>([
    ["without a signature", () => ({})],
    ["with a signature of something else", () => sign("something else")],
    ["signed six minutes ago", (body) => sign(body, Math.floor(weir.clock.now().getTime() / 1000) - 360)],
    ["signed in six minutes", (body) => sign(body, Math.floor(weir.clock.now().getTime() / 1000) + 360)],
  ])("%s are rejected at all three endpoints", async (_, headers) => {
    const body = form({ text: "help" });
    for (const place of ["commands", "interactions", "events"]) {
      const reply = await open("POST", `/api/inbound/slack/${place}`, body, headers(body));
      expect([reply.status, reply.body.code]).toEqual([401, "unauthenticated"]);
    }
  });

  test("are rejected with a sentence without a secret, and unknown providers don't exist", async () => {
    await using bare = await startApp({ engine: false });
    const at = client(bare.origin);
    const reply = await at("POST", "/api/inbound/slack/commands", "text=help", sign("text=help"));
    expect([reply.status, reply.body.detail]).toEqual([
      401,
      expect.stringContaining("WEIR_SLACK_SIGNING_SECRET"),
    ]);
    expect((await open("POST", "/api/inbound/teams/commands", "")).status).toBe(404);
  });

  test("that check the URL get its challenge", async () => {
    const body = JSON.stringify({ type: "url_verification", challenge: "abc" });
    const reply = await open("POST", "/api/inbound/slack/events", body, {
      "content-type": "application/json",
      ...sign(body),
    });
    expect([reply.status, reply.body]).toEqual([200, { challenge: "abc" }]);
  });
});

describe("a link", () => {
  test("is shown to an unknown user, works once, and lets them act as their account", async () => {
    const asked = await command("approvals", { user_id: "U-new" });
    expect(asked.body.response_type).toBe("ephemeral");
    const { pathname, search } = new URL(linkIn(asked.body.text));
    const preview = await weir.owner("GET", `/api/v1/chat-links${search}`);
    expect(preview.body).toEqual({
      provider: "slack",
      teamName: "shop",
      userName: "robin",
      expiresAt: expect.any(String),
    });
    expect((await open("GET", pathname + search)).status).toBe(401);
    const tied = await weir.owner("GET", pathname + search);
    expect([tied.status, tied.body]).toEqual([
      200,
      { linked: true, provider: "slack", teamId: "T1", chatUserId: "U-new" },
    ]);
    expect((await weir.owner("GET", pathname + search)).status).toBe(410);
    expect((await command("approvals", { user_id: "U-new" })).body.text).toBe("No pending approvals.");
    const { items } = (await weir.owner("GET", "/api/v1/events?type=auth.chat_linked&limit=1")).body;
    expect(items[0].type).toBe("auth.chat_linked");
    expect(items[0].data).toEqual({ provider: "slack", teamId: "T1", chatUserId: "U-new" });
  });

  test("expires after 15 minutes, and an invented one never works", async () => {
    const { body } = await command("link", { user_id: "U-late" });
    const { pathname, search } = new URL(linkIn(body.text));
    weir.clock.turn(15 * 60 * 1000 + 1000);
    expect((await weir.owner("GET", pathname + search)).body.code).toBe("gone");
    expect((await weir.owner("GET", `${pathname}?token=none`)).status).toBe(410);
    expect((await weir.owner("GET", pathname)).status).toBe(422);
  });

  test("that is opened in a browser asks first, and another site can't confirm it", async () => {
    const person = browser(weir.origin);
    await person.signIn();
    const { body } = await command("link", { user_id: "U-browser" });
    const { pathname, search } = new URL(linkIn(body.text));
    const cookie = { cookie: person.cookie() };
    const opened = await open("GET", pathname + search, undefined, {
      ...cookie,
      "sec-fetch-mode": "navigate",
      "sec-fetch-site": "cross-site",
    });
    expect([opened.status, opened.headers.get("location")]).toEqual([303, `/link${search}`]);
    const embedded = await open("GET", pathname + search, undefined, {
      ...cookie,
      "sec-fetch-mode": "no-cors",
      "sec-fetch-site": "cross-site",
    });
    expect([embedded.status, embedded.body.code]).toEqual([403, "csrf"]);
    const agreed = await open("GET", pathname + search, undefined, {
      ...cookie,
      "sec-fetch-mode": "cors",
      "sec-fetch-site": "same-origin",
    });
    expect(agreed.status).toBe(200);
  });
});

test("a token without all scopes links no account, since the link would have more", async () => {
  const scopesOf = { name: "narrow", scopes: ["write"] };
  const { token } = (await weir.owner("POST", "/api/v1/access-tokens", scopesOf)).body;
  const narrow = client(weir.origin, { authorization: `Bearer ${token}` });
  const refused = await tie(narrow, "U-narrow");
  expect([refused.status, refused.body.code]).toEqual([403, "scope_missing"]);
  const { body } = await command("approvals", { user_id: "U-narrow" });
  expect(body.text).toContain("link-callback");
});

describe("a linked account", () => {
  const ANSWER = "No pending approvals.";
  const saysOf = async (user_id: string) => (await command("approvals", { user_id })).body.text as string;

  test("is shown on request, and unlinked by its user", async () => {
    const { call, user } = await join(weir, "viewer");
    await tie(call, "U-leaves");
    expect((await command("whoami", { user_id: "U-leaves" })).body.text).toBe(
      `Linked to ${user.email} in Acme.`,
    );
    expect((await command("unlink", { user_id: "U-leaves" })).body.text).toBe(
      `No longer linked to ${user.email} in Acme.`,
    );
    expect(await saysOf("U-leaves")).toContain("link-callback");
    const { items } = (await weir.owner("GET", "/api/v1/events?type=auth.chat_unlinked&limit=1")).body;
    expect(items[0]).toMatchObject({
      type: "auth.chat_unlinked",
      entity: { type: "user", id: user.id },
      actor: { type: "user", id: user.id },
      data: { provider: "slack", teamId: "T1", chatUserId: "U-leaves" },
    });
  });

  test("is unlinked when its password is reset, or changed without keeping access", async () => {
    const { call, user } = await join(weir, "viewer");
    await tie(call, "U-reset");
    await tie(call, "U-reset-2");
    expect(await saysOf("U-reset")).toBe(ANSWER);
    const ended = await resetPassword(weir.app, { email: user.email, password: PASSWORD });
    expect(ended).toMatchObject({ slackLinks: 2 });
    expect(await saysOf("U-reset")).toContain("link-callback");
    const again = browser(weir.origin);
    expect((await again.signIn(user.email)).status).toBe(200);
    await tie(again.call, "U-reset");
    const change = (currentPassword: string, newPassword: string, endTokens: boolean) =>
      again.call("POST", "/api/v1/users/me/password", { currentPassword, newPassword, endTokens });
    expect((await change(PASSWORD, `${PASSWORD} 2`, false)).status).toBe(204);
    expect(await saysOf("U-reset")).toBe(ANSWER);
    expect((await change(`${PASSWORD} 2`, `${PASSWORD} 3`, true)).status).toBe(204);
    expect(await saysOf("U-reset")).toContain("link-callback");
  });

  test("is unlinked for good when its user is removed from the organization", async () => {
    const { user, membership } = await join(weir, "viewer");
    await resetPassword(weir.app, { email: user.email, password: PASSWORD });
    const person = browser(weir.origin);
    await person.signIn(user.email);
    await tie(person.call, "U-gone");
    await tie(weir.owner, "U-stays");
    const removed = `/api/v1/organizations/team/members/${membership.id}`;
    expect(await saysOf("U-gone")).toBe(ANSWER);
    expect((await weir.owner("DELETE", removed)).status).toBe(204);
    const invited = { email: user.email, roleSlug: "viewer" };
    const { inviteUrl } = (await weir.owner("POST", "/api/v1/organizations/invitations", invited)).body;
    const token = new URL(inviteUrl).searchParams.get("token");
    const accepted = { token, password: PASSWORD };
    expect((await open("POST", "/api/v1/auth/invitations/accept", accepted)).status).toBe(200);
    expect(await saysOf("U-gone")).toContain("link-callback");
    expect(await saysOf("U-stays")).toBe(ANSWER);
  });
});

describe("commands", () => {
  beforeAll(async () => {
    await tie(weir.owner, "U1");
  });

  test("run an action once, however often Slack asks, and report how it ended", async () => {
    const action = await makeAction(weir.owner, { slug: "nightly", name: "Nightly <load>" });
    const first = await command("run nightly", { trigger_id: "once" });
    expect(first.body.text).toMatch(
      /^Started: Nightly &lt;load&gt;\. <http.*\/runs\/[0-9a-f-]+\?organization=[0-9a-f-]+\|Open the run>$/,
    );
    const again = await command("run nightly", { trigger_id: "once" }, { "x-slack-retry-num": "1" });
    expect(again.body.text).toContain("Nothing new was started");
    const [end] = await heard(1);
    expect(end).toMatchObject({
      path: "/hook",
      body: { response_type: "ephemeral", text: expect.stringContaining('"branch": "a"') },
    });
    const { runs } = (await weir.owner("GET", `/api/v1/action-runs?action_id=${action.id}`)).body;
    expect(runs).toHaveLength(1);
    expect(runs[0]).toMatchObject({
      triggerMethod: "api",
      triggerSourceType: "user",
      triggerSourceId: weir.ids.userId,
    });
  });

  test("start an automation with input, and report why it failed", async () => {
    const fails = {
      kind: "conditional_branch",
      definition: { branches: [{ key: "a", when: "input.n > 1" }] },
    };
    await makeAutomation(weir.owner, { action: fails }, { slug: "counted" });
    expect((await command('start counted {"n": "x"}')).body.text).toContain("Started");
    expect((await heard(1))[0]?.body.text).toMatch(/^The run failed: /);
    expect((await command("start counted {n:")).body.text).toContain("must be JSON");
  });

  test("ask an agent, whose answer is reported", async () => {
    const markdown = "---\nname: Shop\nslug: shop\n---\nYou know the shop.";
    expect((await weir.owner("POST", "/api/v1/agents/specs", { markdown })).status).toBe(201);
    await command("ask shop How many orders?");
    expect((await heard(1))[0]?.body.text).toBe("Forty-two orders.");
    expect(JSON.stringify(model.heard.at(-1)?.body)).toContain("How many orders?");
  });

  test("an answer that Slack doesn't accept yet is sent again", async () => {
    await makeAction(weir.owner, { slug: "patient" });
    replies = [503, 429];
    await command("run patient");
    for (const refusals of [1, 2]) {
      await eventually(async () => {
        const [reply] = await weir.app.store.db.select().from(slackReplies);
        return reply?.attempts === refusals;
      });
      weir.clock.turn(60_000);
    }
    expect((await heard(1))[0]?.body.text).toContain("completed");
  });

  test.each([
    ["", "Commands:"],
    ["help", "Commands:"],
    ["dance", "Unknown command: dance"],
    ["run", "Specify which action"],
    ["run nowhere", "Action not found"],
    ["start nowhere", "Automation nowhere not found."],
    ["ask", "Specify which agent"],
    ["ask shop", "Missing question"],
    ["approve 01900000-0000-7000-8000-00000000abcd", "Approval"],
  ])("%p is answered in words", async (text, answer) => {
    const { status, body } = await command(text);
    expect([status, body.response_type]).toEqual([200, "ephemeral"]);
    expect(body.text).toContain(answer);
  });

  test("use the user's current role", async () => {
    const viewer = await join(weir, "viewer");
    await tie(viewer.call, "U-viewer");
    expect((await command("run nightly", { user_id: "U-viewer" })).body.text).toContain(
      "Requires the member role",
    );
    expect((await command("approvals", { user_id: "U-viewer" })).body.text).toBe("No pending approvals.");
  });
});

describe("approvals", () => {
  const gate = { kind: "approval_gate", definition: { title: "Pay *17* <now>?", description: "It is due." } };
  /** Sends what a click on a button sends. */
  function press(verb: string, id: string, userId = "U1") {
    const payload = {
      type: "block_actions",
      trigger_id: `press-${++count}`,
      user: { id: userId, username: "robin" },
      team: { id: "T1", domain: "shop" },
      response_url: `${slack.url.origin}/hook`,
      actions: [{ action_id: verb, value: id }],
    };
    const body = form({ payload: JSON.stringify(payload) });
    return open("POST", "/api/inbound/slack/interactions", body, sign(body));
  }
  async function waiting() {
    const flow = await makeAutomation(weir.owner, {
      steps: [
        { key: "ask", ...gate },
        { key: "then", kind: "conditional_branch", definition: branch(), dependsOn: ["ask"] },
      ],
    });
    await weir.owner("POST", `/api/v1/automations/${flow.id}/run`, {});
    const { items } = await until(weir.owner, "/api/v1/approvals", (page) => page.items.length > 0);
    return items[0].id as string;
  }

  test("are listed with buttons, and a click decides, as the user who clicked", async () => {
    const id = await waiting();
    const { body } = await command("approvals");
    expect(body.text).toBe("1 pending approval.");
    expect(body.blocks[0].text.text).toContain("*Pay *17* &lt;now&gt;?*");
    expect(
      body.blocks[1].elements.map((button: { action_id: string; value: string }) => [
        button.action_id,
        button.value,
      ]),
    ).toEqual([
      ["approve", id],
      ["reject", id],
    ]);
    const pressed = await press("approve", id);
    expect([pressed.status, pressed.body.text]).toEqual([200, "Approved: Pay *17* &lt;now&gt;?"]);
    const decision = (await weir.owner("GET", `/api/v1/decisions/${id}`)).body;
    expect(decision).toMatchObject({
      status: "decided",
      decisionValue: "approved",
      decidedBy: weir.ids.userId,
    });
    expect((await press("approve", id)).body.text).toContain("Approved"); // The same user, the same decision.
    expect((await press("reject", id)).body.text).toContain("Already approved by Ada");
  });

  test("show their content, with invisible characters written out, or a link to read it", async () => {
    const ask = async (context: object, assignedTo?: string) => {
      const definition = {
        title: "Send\u202e it?",
        context,
        ...(assignedTo ? { assignedTo } : {}),
      };
      const action = await makeAction(weir.owner, { kind: "approval_gate", definition });
      const run = (await weir.owner("POST", `/api/v1/actions/${action.id}/run`)).body;
      await until(weir.owner, `/api/v1/action-runs/${run.id}`, ({ status }) => status === "waiting");
      const { body } = await command("approvals", { user_id: "U-clerk" });
      await weir.owner("POST", `/api/v1/action-runs/${run.id}/cancel`);
      return JSON.parse(JSON.stringify(body.blocks).replaceAll("\\n", " "));
    };
    const clerk = await join(weir, "member");
    await tie(clerk.call, "U-clerk");
    const [head, about, last] = await ask({ to: "<bob>\u200b```", note: "Bearer sk-123456" });
    expect(head.text.text).toBe("*Send\\u202e it?*");
    expect(about.text.text).toBe('```{  "to": "&lt;bob&gt;\\u200b\'\'\'",  "note": "Bearer ***" }```');
    expect(last.type).toBe("actions");
    const long = await ask({ to: "x".repeat(2_500) });
    expect(long.map(({ type }: { type: string }) => type)).toEqual(["section", "context"]);
    expect(long[1].elements[0].text).toContain(`${weir.origin}/approvals`);
    const foreign = await ask(
      { agent: "a", tool: "t", arguments: { of: "a chat" }, hash: "h" },
      weir.ids.userId,
    );
    expect(foreign.map(({ type }: { type: string }) => type)).toEqual(["section", "section"]);
    expect(JSON.stringify(foreign)).not.toContain("a chat");
  });

  test("are rejected by a command with a reason, and can't be decided by a viewer or an unlinked user", async () => {
    const id = await waiting();
    expect((await press("approve", id, "U-viewer")).body.text).toContain("Requires the member role");
    expect((await press("approve", id, "U-unknown")).body.text).toContain("link-callback");
    expect((await weir.owner("GET", `/api/v1/decisions/${id}`)).body.status).toBe("pending");
    expect((await command(`reject ${id} too dear`)).body.text).toContain("Rejected");
    expect((await weir.owner("GET", `/api/v1/decisions/${id}`)).body).toMatchObject({
      decisionValue: "rejected",
      rejectionReason: "too dear",
    });
  });

  test("an unknown payload does nothing", async () => {
    for (const payload of ["[]", "{", "null"]) {
      const body = form({ payload });
      expect((await open("POST", "/api/inbound/slack/interactions", body, sign(body))).status).toBe(422);
    }
    const body = form({
      payload: JSON.stringify({ actions: [{ action_id: "approve", value: "x" }, 7, { action_id: "other" }] }),
    });
    const nothing = await open("POST", "/api/inbound/slack/interactions", body, sign(body));
    expect([nothing.status, nothing.text, nothing.headers.get("content-type")]).toEqual([
      200,
      "null",
      "application/json",
    ]);
  });
});

describe("mentions", () => {
  function mention(text: string, eventId: string, user = "U1", headers: Record<string, string> = {}) {
    return happen(
      eventId,
      { type: "app_mention", user, text: `<@UWEIR> ${text}`, channel: "C1", ts: "17.1" },
      headers,
    );
  }
  function happen(eventId: string, event: object, headers: Record<string, string> = {}) {
    const body = JSON.stringify({ type: "event_callback", team_id: "T1", event_id: eventId, event });
    return open("POST", "/api/inbound/slack/events", body, {
      "content-type": "application/json",
      ...sign(body),
      ...headers,
    });
  }

  test("are answered in their thread, and a repeat starts nothing new", async () => {
    const action = await makeAction(weir.owner, { slug: "mentioned" });
    expect((await mention("run mentioned", "Ev1")).status).toBe(200);
    expect((await mention("run mentioned", "Ev1", "U1", { "x-slack-retry-num": "1" })).status).toBe(200);
    const all = await heard(2);
    for (const { path, authorization, body } of all) {
      expect([path, authorization]).toEqual(["/api/chat.postMessage", "Bearer xoxb-the-token-of-the-bot"]);
      expect(body).toMatchObject({ channel: "C1", thread_ts: "17.1" });
    }
    await Bun.sleep(100);
    expect(told).toHaveLength(2);
    expect((await weir.owner("GET", `/api/v1/action-runs?action_id=${action.id}`)).body.total).toBe(1);
  });

  test("in direct messages are answered, also with a file, but not that a message was edited, deleted or unfurled", async () => {
    const message = { type: "message", channel_type: "im", channel: "D1", ts: "18.1" };
    const before = { user: "U1", text: "help", ts: "18.1" };
    for (const [id, change] of Object.entries({
      Ev4: { subtype: "message_changed", message: { ...before, text: "run mentioned" } },
      Ev5: { subtype: "message_deleted", previous_message: before },
      Ev6: { subtype: "message_changed", message: { ...before, bot_id: "B1" } },
    }))
      expect((await happen(id, { ...message, ...change })).status).toBe(200);
    await happen("Ev7", { ...message, user: "U1", text: "whoami" });
    for (const subtype of ["file_share", "thread_broadcast", "me_message"])
      await happen(`Ev-${subtype}`, { ...message, user: "U1", text: "whoami", subtype });
    const texts = (await heard(4)).map(({ body }) => body.text);
    expect(texts).toEqual(texts.map(() => expect.stringContaining("Linked to")));
  });

  test("never show a linking URL where others can read it", async () => {
    await mention("link", "Ev2");
    await mention("approvals", "Ev3", "U-stranger");
    for (const { body } of await heard(2)) {
      expect(body.text).toContain("slash command");
      expect(body.text).not.toContain("token=");
    }
  });
});

test("a mention works without a bot token too, without an answer; a repeat without an ID starts nothing new", async () => {
  await using other = await startApp({ env: { WEIR_SLACK_SIGNING_SECRET: SECRET } });
  const at = client(other.origin);
  const now = () => Math.floor(other.clock.now().getTime() / 1000);
  const send = (place: string, body: string) =>
    at("POST", `/api/inbound/slack/${place}`, body, sign(body, now()));
  const command = (text: string) => send("commands", form({ team_id: "T1", user_id: "U1", text }));
  const { pathname, search } = new URL(linkIn((await command("link")).body.text));
  expect((await other.owner("GET", pathname + search)).status).toBe(200);
  const action = await makeAction(other.owner, { slug: "quiet" });
  const event = { type: "app_mention", user: "U1", text: "<@UWEIR> run quiet", channel: "C1", ts: "17.1" };
  const body = JSON.stringify({ type: "event_callback", team_id: "T1", event });
  for (let tries = 0; tries < 2; tries++) expect((await send("events", body)).status).toBe(200);
  for (let tries = 0; tries < 2; tries++) expect((await command("run quiet")).status).toBe(200);
  expect((await other.owner("GET", `/api/v1/action-runs?action_id=${action.id}`)).body.total).toBe(2);
});

test("the address of an answer is stored encrypted", async () => {
  await using other = await startApp({ engine: false, env: { WEIR_SLACK_SIGNING_SECRET: SECRET } });
  const at = client(other.origin);
  const send = (text: string) => {
    const body = form({
      team_id: "T1",
      user_id: "U1",
      text,
      response_url: "https://hooks.slack.com/commands/secret-path",
      trigger_id: text,
    });
    return at(
      "POST",
      "/api/inbound/slack/commands",
      body,
      sign(body, Math.floor(other.clock.now().getTime() / 1000)),
    );
  };
  const { pathname, search } = new URL(linkIn((await send("link")).body.text));
  await other.owner("GET", pathname + search);
  await makeAction(other.owner, { slug: "kept" });
  expect((await send("run kept")).body.text).toContain("Started");
  const rows = await other.app.store.db.all("SELECT sealed_target FROM slack_replies" as never);
  expect(rows).toHaveLength(1);
  expect(JSON.stringify(rows)).not.toContain("secret-path");
});
