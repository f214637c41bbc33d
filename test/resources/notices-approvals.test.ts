import { expect, test } from "bun:test";
import { contextFor, write } from "../../src/context.ts";
import { findAutomation } from "../../src/flows/find.ts";
import { startAutomationRun } from "../../src/flows/start.ts";
import { slackLinks } from "../../src/resources/slack/table.ts";
import { startApp } from "../support/app.ts";
import { APPROVALS, ask, gate } from "../support/decisions.ts";
import { startWithMail } from "../support/mail.ts";
import { join } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";
import { AUTOMATIONS, branch, created, flowToEnd, makeAutomation, until } from "../support/work.ts";

const PREFERENCES = "/api/v1/users/me/notices";
const NOTICES = "/api/v1/notices";
const ADA = "ada@example.com";

const startMailing = () => startWithMail({ engine: true, stands: true, hurry: 20 });
type Mailing = Awaited<ReturnType<typeof startMailing>>;

/** Waits until nothing is due to be sent. */
const allSent = ({ owner }: Pick<Mailing, "owner">, count: number) =>
  until(
    owner,
    NOTICES,
    ({ items }) =>
      items.length === count && items.every(({ status }: { status: string }) => status !== "pending"),
  );

const addressesIn = ({ peer }: Mailing) => peer.received.flatMap(({ to }) => to).sort();

test("an open approval is emailed to everyone who can decide it, with a link to its page", async () => {
  await using app = await startMailing();
  const member = await join(app, "member");
  await join(app, "viewer");
  const { decision } = await ask(app, { title: "Ship <b>it</b>?", description: "Ten boxes" });
  await allSent(app, 2);
  expect(addressesIn(app)).toEqual([ADA, member.user.email].sort());
  const [mail] = app.peer.received;
  expect(mail?.headers.subject).toBe("Approval: Ship <b>it</b>?");
  expect(mail?.text).toContain("Ten boxes");
  expect(mail?.html).toContain("Ship &lt;b&gt;it&lt;/b&gt;?");
  const link = `${app.origin}/approvals/${decision.id}?organization=${app.ids.organizationId}`;
  expect(app.peer.linkTo(ADA).href).toBe(link);
});

test("an assigned one is emailed only to that user, and preferences determine what is", async () => {
  await using app = await startMailing();
  const member = await join(app, "member");
  const quiet = await join(app, "admin");
  const silent = await join(app, "member");
  expect((await app.owner("GET", PREFERENCES)).body).toEqual({ approvals: "all", failures: "mine" });
  await quiet.call("PATCH", PREFERENCES, { approvals: "assigned" });
  await silent.call("PATCH", PREFERENCES, { approvals: "none" });
  await ask(app);
  await allSent(app, 2);
  expect(addressesIn(app)).toEqual([ADA, member.user.email].sort());
  await ask(app, { assignedTo: quiet.user.email });
  await ask(app, { assignedTo: silent.user.email });
  await allSent(app, 3);
  expect(addressesIn(app).filter((address) => address === quiet.user.email)).toHaveLength(1);
  expect(addressesIn(app)).not.toContain(silent.user.email);
});

test("failures are emailed as each user prefers", async () => {
  await using app = await startMailing();
  const curious = await join(app, "viewer");
  const tired = await join(app, "member");
  await curious.call("PATCH", PREFERENCES, { failures: "all" });
  await tired.call("PATCH", PREFERENCES, { failures: "none" });
  const config = {
    action: { kind: "conditional_branch", definition: branch("a", "false") },
    alerts: { onFailure: true, notify: [{ email: tired.user.email }] },
  };
  const { id } = await makeAutomation(app.owner, config);
  await flowToEnd(app.owner, id);
  await allSent(app, 1);
  expect(addressesIn(app)).toEqual([curious.user.email]);
});

test("many at once are combined in few emails, and decided ones are left out", async () => {
  await using app = await startMailing();
  const step = {
    key: "ask",
    forEach: "{{input}}",
    maxParallel: 30,
    kind: "approval_gate",
    definition: gate(),
  };
  const { id } = await makeAutomation(app.owner, { steps: [step] });
  created(
    await app.owner("POST", `${AUTOMATIONS}/${id}/run`, { input: Array.from({ length: 30 }, (_, i) => i) }),
  );
  const { items } = await until(app.owner, APPROVALS, ({ total }) => total === 30);
  await until(app.owner, NOTICES, ({ items }) =>
    items.some(({ status }: { status: string }) => status === "sent"),
  );
  for (const { id } of items.slice(0, 5)) await app.owner("POST", `${APPROVALS}/${id}/approve`, {});
  for (let minutes = 0; minutes < 3; minutes++) app.clock.turn(61_000);
  await until(app.owner, NOTICES, ({ items }) =>
    items.every(({ status }: { status: string }) => status !== "pending"),
  );
  expect(app.peer.received.length).toBeLessThan(15);
  expect(app.peer.received.some(({ headers }) => /^\d+ approvals wait/.test(headers.subject ?? ""))).toBe(
    true,
  );
});

test("the requester isn't notified if four eyes are required", async () => {
  await using app = await startMailing();
  await app.owner("PATCH", "/api/v1/organizations/current", { requireFourEyes: true });
  const member = await join(app, "member");
  await ask(app);
  await allSent(app, 1);
  expect(addressesIn(app)).toEqual([member.user.email]);
});

test("nobody is notified of what a private chat started: neither its failure nor its questions", async () => {
  await using app = await startMailing();
  await join(app, "member");
  const { organizationId, userId } = app.ids;
  const actor = { type: "user", id: userId } as const;
  const ctx = contextFor(app.app, {
    organizationId,
    role: "owner",
    actor,
    correlationId: "private-chat",
    privateTo: userId,
  });
  const trigger = { method: "agent", sourceType: "user", sourceId: userId, privateTo: userId } as const;
  for (const action of [
    { kind: "conditional_branch", definition: branch("a", "false") },
    { kind: "approval_gate", definition: gate() },
  ]) {
    const made = await makeAutomation(app.owner, { action, alerts: { onFailure: true } });
    const { automation } = await findAutomation(ctx, made.id);
    await write(ctx, (tx) => startAutomationRun(tx, automation, { trigger }));
  }
  await until(app.owner, APPROVALS, ({ total }) => total === 1);
  const failed = "/api/v1/events?type=automation.failed";
  await until(app.owner, failed, ({ items }) => items.length === 1);
  expect((await app.owner("GET", NOTICES)).body.items).toEqual([]);
});

test("a linked Slack user is notified there by the bot", async () => {
  await using slack = startReceiver(() => Response.json({ ok: true }));
  const env = {
    WEIR_SLACK_SIGNING_SECRET: "x".repeat(32),
    WEIR_SLACK_BOT_TOKEN: "xoxb-1",
    WEIR_SLACK_API_URL: slack.url,
  };
  await using app = await startApp({ env, hurry: 20 });
  const { organizationId, userId } = app.ids;
  const link = {
    teamId: "T1",
    slackUserId: "U1",
    userId,
    organizationId,
    createdAt: new Date().toISOString(),
  };
  await app.app.store.write(async (db) => void (await db.insert(slackLinks).values(link)));
  const { decision } = await ask(app);
  await until(app.owner, NOTICES, () => slack.got.length === 1);
  const [request] = slack.got;
  expect([request?.path, request?.headers.get("authorization")]).toEqual([
    "/chat.postMessage",
    "Bearer xoxb-1",
  ]);
  const message = JSON.parse(request?.text ?? "");
  expect([message.channel, message.text]).toEqual(["U1", "Approval: Ship it?"]);
  expect(JSON.stringify(message)).toContain(
    `/approvals/${decision.id}?organization=${organizationId}|Open the approval>`,
  );
});

test("an approval that nobody is emailed, for lack of a mail server, is one log line", async () => {
  await using app = await startApp({ hurry: 20 });
  const member = await join(app, "member");
  await ask(app);
  const lines = () => app.logged.filter((line) => line.includes("approval not mailed"));
  await until(app.owner, NOTICES, () => lines().length > 0);
  expect(lines()).toHaveLength(1);
  expect(lines()[0]).toContain("WEIR_SMTP_URL");
  expect((await app.owner("GET", NOTICES)).body.items).toEqual([]);
  const { warnings } = (await member.call("GET", PREFERENCES)).body;
  expect(warnings).toEqual(["Nothing is mailed. No mail server is set (WEIR_SMTP_URL and WEIR_MAIL_FROM)."]);
});

test("an erased user leaves no notice, no preference and no address in alerts", async () => {
  await using app = await startMailing();
  const { user, call } = await join(app, "member");
  await call("PATCH", PREFERENCES, { failures: "all" });
  const config = {
    action: { kind: "conditional_branch", definition: branch("a", "false") },
    alerts: { onFailure: true, notify: [{ email: user.email }, { email: "ops@example.com" }] },
  };
  const { id } = await makeAutomation(app.owner, config);
  await flowToEnd(app.owner, id);
  await allSent(app, 2);
  await flowToEnd(app.owner, id);
  expect((await call("DELETE", "/api/v1/users/me", { confirm: user.email })).status).toBe(204);
  const { body } = await app.owner("GET", `${AUTOMATIONS}/${id}`);
  expect(body.config.alerts.notify).toEqual([{ email: "ops@example.com" }]);
  for (const table of ["notices", "notice_preferences", "automations", "automation_versions", "versions"])
    expect(JSON.stringify(await app.app.store.db.all(`select * from ${table}`))).not.toContain(user.email);
  app.clock.turn(3_600_001);
  await allSent(app, 2);
  expect(app.peer.received.filter(({ to }) => to.includes(user.email))).toHaveLength(1);
});
