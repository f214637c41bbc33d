import { expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { memberships } from "../../src/resources/organizations/table.ts";
import { startSlack } from "../peers/slack.ts";
import { type Client, client, startApp } from "../support/app.ts";
import { startWithMail } from "../support/mail.ts";
import { join, neighbour } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { AUTOMATIONS, branch, created, faultsOf, flowToEnd, until } from "../support/work.ts";

const HOUR = 3_600_000;
const OPS = "ops@example.com";

/** An automation that fails for each input except `"fine"`. */
const alerting = async (call: Client, alerts: object, name = "Nightly") =>
  created(
    await call("POST", AUTOMATIONS, {
      name,
      config: {
        action: { kind: "conditional_branch", definition: branch("a", "input == 'fine'") },
        alerts,
      },
    }),
  );

const fail = async (call: Client, id: string) =>
  expect((await flowToEnd(call, id, { input: "bad" })).status).toBe("failed");
const complete = async (call: Client, id: string) =>
  expect((await flowToEnd(call, id, { input: "fine" })).status).toBe("completed");

const startMailing = () => startWithMail({ engine: true, stands: true, hurry: 20 });
type Mailing = Awaited<ReturnType<typeof startMailing>>;

/** The emails to an address, once there are this many. */
async function mailsTo({ owner, peer }: Mailing, address: string, count: number) {
  const found = () => peer.received.filter(({ to }) => to.includes(address));
  await until(owner, "/health", () => found().length >= count);
  expect(found()).toHaveLength(count);
  return found();
}

/** Decodes RFC 2047, in the encoding for mostly ASCII text. */
const subjectOf = (encoded = "") =>
  encoded
    .replaceAll(/\?=\s+=\?UTF-8\?Q\?/g, "")
    .replace(/^=\?UTF-8\?Q\?(.*)\?=$/, (_, text: string) =>
      text
        .replaceAll("_", " ")
        .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    );

const rowsOf = ({ app }: Pick<Mailing, "app">) =>
  app.store.db.all<{
    kind: string;
    target: string;
    count: number;
    sentAt: string | null;
    error: string | null;
  }>('select kind, target, count, sent_at as "sentAt", error from notices order by id');

/** Waits until each notice is stored as sent: an email arrives before that is saved, with the time of then. */
async function allWrittenDown(app: Mailing) {
  while ((await rowsOf(app)).some(({ sentAt }) => sentAt === null)) await Bun.sleep(10);
}

test("a failure is emailed once; those of the next hour are summarized in one email after it", async () => {
  await using app = await startMailing();
  const { id } = await alerting(app.owner, { onFailure: true, notify: [{ email: OPS }] });
  await fail(app.owner, id);
  const [first] = await mailsTo(app, OPS, 1);
  expect(first?.headers.subject).toBe("Nightly failed");
  expect(first?.text).toContain('The automation "Nightly" failed.');
  expect(app.peer.linkTo(OPS).href).toStartWith(`${app.origin}/automation-runs/`);
  for (let times = 0; times < 3; times++) await fail(app.owner, id);
  expect(await rowsOf(app)).toMatchObject([
    { count: 1, sentAt: expect.any(String) },
    { count: 3, sentAt: null },
  ]);
  app.clock.turn(HOUR - 1_000);
  await fail(app.owner, id);
  expect(app.peer.received).toHaveLength(1);
  app.clock.turn(1_001);
  const [, second] = await mailsTo(app, OPS, 2);
  expect(second?.headers.subject).toBe("Nightly failed 4 times");
  expect(second?.headers["message-id"]).not.toBe(first?.headers["message-id"]);
  await allWrittenDown(app);
  app.clock.turn(5 * HOUR);
  await fail(app.owner, id);
  await mailsTo(app, OPS, 3);
});

test("a change is reported at once: the recovery after many failures, and the failure after it", async () => {
  await using app = await startMailing();
  const { id } = await alerting(app.owner, { onFailure: true, onRecovery: true, notify: [{ email: OPS }] });
  await complete(app.owner, id);
  for (let round = 0; round < 2; round++) {
    await fail(app.owner, id);
    await mailsTo(app, OPS, 2 * round + 1);
    await allWrittenDown(app);
    await fail(app.owner, id);
    await complete(app.owner, id);
    await mailsTo(app, OPS, 2 * round + 2);
    await allWrittenDown(app);
    await complete(app.owner, id);
  }
  const subjects = (await mailsTo(app, OPS, 4)).map(({ headers }) => headers.subject);
  const [failed, again] = ["Nightly failed", "Nightly completed again"];
  expect(subjects).toEqual([failed, again, failed, again]);
});

test("with onRecovery alone, only the recovery is reported", async () => {
  await using app = await startMailing();
  const { id } = await alerting(app.owner, { onRecovery: true, notify: [{ email: OPS }] });
  await complete(app.owner, id);
  for (let round = 1; round <= 2; round++) {
    await fail(app.owner, id);
    await complete(app.owner, id);
    await mailsTo(app, OPS, round);
    await allWrittenDown(app);
  }
  const subjects = (await mailsTo(app, OPS, 2)).map(({ headers }) => headers.subject);
  expect(subjects).toEqual(["Nightly completed again", "Nightly completed again"]);
});

deepTest("beyond five changes an hour, a failure that is over is reported with the recovery", async () => {
  await using app = await startMailing();
  const { id } = await alerting(app.owner, { onFailure: true, onRecovery: true, notify: [{ email: OPS }] });
  for (let round = 1; round <= 5; round++) {
    await fail(app.owner, id);
    await mailsTo(app, OPS, 2 * round - 1);
    await allWrittenDown(app);
    await complete(app.owner, id);
    await mailsTo(app, OPS, 2 * round);
    await allWrittenDown(app);
    app.clock.turn(1_000);
  }
  await fail(app.owner, id);
  await complete(app.owner, id);
  expect(app.peer.received).toHaveLength(10);
  app.clock.turn(HOUR + 1);
  const mails = await mailsTo(app, OPS, 11);
  expect(mails[10]?.headers.subject).toBe("Nightly failed");
  expect(mails[10]?.text).toContain("A later run completed at");
  await allWrittenDown(app);
});

test("a failure after alerts were removed and added again is reported at once", async () => {
  await using app = await startMailing();
  const alerts = { onFailure: true, notify: [{ email: OPS }] };
  const { id } = await alerting(app.owner, alerts);
  await fail(app.owner, id);
  await mailsTo(app, OPS, 1);
  const change = (to: object | null) =>
    app.owner("PATCH", `${AUTOMATIONS}/${id}`, { config: { alerts: to } });
  expect((await change(null)).status).toBe(200);
  await complete(app.owner, id);
  expect((await change(alerts)).status).toBe(200);
  await fail(app.owner, id);
  await mailsTo(app, OPS, 2);
});

test("an automation that hasn't completed for too long is reported as late, once until it has", async () => {
  await using app = await startMailing();
  const { id } = await alerting(app.owner, {
    lateAfterSeconds: 3600,
    onRecovery: true,
    notify: [{ email: OPS }],
  });
  const watched = () => app.app.store.db.all("select * from automation_watches");
  while ((await watched()).length === 0) await Bun.sleep(10);
  app.clock.turn(HOUR + 1_000);
  const [late] = await mailsTo(app, OPS, 1);
  expect(late?.headers.subject).toBe("Nightly is late");
  app.clock.turn(5 * HOUR);
  await complete(app.owner, id);
  const mails = await mailsTo(app, OPS, 2);
  expect(mails[1]?.headers.subject).toBe("Nightly completed again");
  app.clock.turn(HOUR + 1_000);
  await mailsTo(app, OPS, 3);
});

test("a schedule whose run wasn't started is late", async () => {
  await using app = await startMailing();
  const config = {
    action: { kind: "conditional_branch", definition: branch() },
    schedule: { cron: "0 0 1 1 *" },
    alerts: { lateAfterSeconds: 3600, notify: [{ email: OPS }] },
  };
  const { id } = created(
    await app.owner("POST", AUTOMATIONS, { name: "Yearly", triggerType: "schedule", config }),
  );
  await complete(app.owner, id);
  const dueAt = new Date(app.clock.now().getTime() - HOUR - 1_000).toISOString();
  await app.engine?.stop(0);
  await app.app.store.write(async (db) => {
    await db.run(`update automations set next_run_at = '${dueAt}'`);
  });
  const { watchAutomations } = await import("../../src/flows/watch.ts");
  await watchAutomations(app.app, new Map());
  await watchAutomations(app.app, new Map());
  expect(
    await app.app.store.db.all("select kind, json_extract(facts, '$.dueAt') as due from notices"),
  ).toEqual([{ kind: "automation.late", due: dueAt }]);
});

test("external names and messages are text: no markup, no line, no link of theirs gets into an email or Slack", async () => {
  await using app = await startMailing();
  await using slack = startSlack();
  const name = `<img src=x onerror="alert(1)"> <!channel> & https://evil.example/`;
  const { id } = await alerting(
    app.owner,
    { onFailure: true, notify: [{ email: OPS }, { slack: slack.address }] },
    `${name}\r\nBcc: eve@example.com`,
  );
  await fail(app.owner, id);
  const [mail] = await mailsTo(app, OPS, 1);
  expect(mail?.to).toEqual([OPS]);
  expect(mail?.headers.bcc).toBeUndefined();
  expect(subjectOf(mail?.headers.subject)).toContain("https: //evil.example/ Bcc: eve@example.com failed");
  const html = mail?.html ?? "";
  expect(html.match(/<(?:a|img|script)\b/g)).toEqual(["<a"]);
  expect(html.match(/https?:\/\/[^"]+/g)).toEqual([app.peer.linkTo(OPS).href]);
  expect(html).toContain("&lt;img src=x onerror=&quot;alert(1)&quot;&gt;");
  await until(app.owner, "/health", () => slack.messages.length === 1);
  const [message] = slack.messages;
  expect(message?.text).toStartWith("&lt;img src=x");
  expect(message?.blocks[0]?.text).toMatchObject({ type: "plain_text" });
  expect(JSON.stringify(message).match(/<[^|>]*/g)).toHaveLength(1);
  expect(message?.blocks[1]?.text.text).toMatch(
    /^<http:\/\/127\.0\.0\.1:\d+\/automation-runs\/[\w-]+\?organization=[\w-]+\|Open the run>$/,
  );
});

test("only members of the organization are notified, and addresses without an account", async () => {
  await using app = await startMailing();
  const member = await join(app, "member");
  const gone = await join(app, "member");
  const other = await neighbour(app);
  await app.app.store.write(
    async (db) => void (await db.delete(memberships).where(eq(memberships.id, gone.membership.id))),
  );
  const notify = [OPS, member.user.email, gone.user.email, other.user.email].map((email) => ({ email }));
  const { id } = await alerting(app.owner, { onFailure: true, notify });
  await fail(app.owner, id);
  await mailsTo(app, OPS, 1);
  await mailsTo(app, member.user.email, 1);
  expect(app.peer.received).toHaveLength(2);
});

deepTest("an organization emails few external people at once, and the others later", async () => {
  await using app = await startMailing();
  const member = await join(app, "member");
  const notify = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, n) => ({ email: `outside-${from + n}@example.com` }));
  const first = await alerting(app.owner, { onFailure: true, notify: notify(0, 20) });
  const second = await alerting(app.owner, {
    onFailure: true,
    notify: [...notify(20, 25), { email: member.user.email }],
  });
  await fail(app.owner, first.id);
  await until(app.owner, "/health", () => app.peer.received.length === 20);
  await fail(app.owner, second.id);
  await mailsTo(app, member.user.email, 1);
  const waiting = async () =>
    (await rowsOf(app)).filter(({ error }) => error === "Too many emails at once.").length;
  while ((await waiting()) < 5) await Bun.sleep(10);
  expect(app.peer.received).toHaveLength(21);
  for (let sent = 22; sent <= 26; sent++) {
    app.clock.turn(60_001);
    await until(app.owner, "/health", () => app.peer.received.length >= sent);
  }
  expect(new Set(app.peer.received.flatMap(({ to }) => to)).size).toBe(26);
});

deepTest("a member who leaves before an email is sent doesn't get it", async () => {
  await using app = await startMailing();
  const member = await join(app, "member");
  const { id } = await alerting(app.owner, { onFailure: true, notify: [{ email: member.user.email }] });
  await fail(app.owner, id);
  await mailsTo(app, member.user.email, 1);
  await fail(app.owner, id);
  await app.app.store.write(
    async (db) => void (await db.delete(memberships).where(eq(memberships.id, member.membership.id))),
  );
  app.clock.turn(HOUR + 1);
  await until(app.owner, "/health", () => app.logged.some((line) => line.includes("notice dropped")));
  expect(app.peer.received).toHaveLength(1);
  expect(await rowsOf(app)).toMatchObject([
    {},
    { sentAt: null, error: expect.stringContaining("no longer exists") },
  ]);
});

test("alerts without recipients go to the user who created the automation, or the key that did", async () => {
  await using app = await startMailing();
  const { id } = await alerting(app.owner, { onFailure: true });
  await fail(app.owner, id);
  await mailsTo(app, "ada@example.com", 1);
  const { key } = created(await app.owner("POST", "/api/v1/api-keys", { name: "deploy" }));
  const byKey = await alerting(client(app.origin, { "x-api-key": key }), { onFailure: true }, "By a key");
  await fail(app.owner, byKey.id);
  await mailsTo(app, "ada@example.com", 2);
});

test("once all recipients of alerts have left the organization, they go to its owners", async () => {
  await using app = await startMailing();
  const gone = await join(app, "member");
  const notify = [{ email: gone.user.email }];
  const unnamed = await alerting(gone.call, { onFailure: true });
  const named = await alerting(app.owner, { onFailure: true, notify }, "Named");
  await app.app.store.write(
    async (db) => void (await db.delete(memberships).where(eq(memberships.id, gone.membership.id))),
  );
  await fail(app.owner, unnamed.id);
  await fail(app.owner, named.id);
  await mailsTo(app, "ada@example.com", 2);
  expect(app.peer.received).toHaveLength(2);
});

test("alerts without any recipient are logged", async () => {
  await using app = await startMailing();
  const { id } = await alerting(app.owner, { onFailure: true });
  await app.owner("PATCH", "/api/v1/users/me/notices", { failures: "none" });
  await fail(app.owner, id);
  await until(app.owner, "/health", () => app.logged.some((line) => line.includes("reach nobody")));
  expect(await rowsOf(app)).toEqual([]);
});

test("without a mail server, the automation, the log and the notice say so", async () => {
  await using app = await startApp({ hurry: 20 });
  const made = await alerting(app.owner, { onFailure: true, notify: [{ email: OPS }] });
  const words = "No mail server is set (WEIR_SMTP_URL and WEIR_MAIL_FROM).";
  expect(made.warnings).toEqual([`Alerts are not mailed. ${words}`]);
  const quiet = await alerting(app.owner, { onFailure: true, notify: [{ url: "https://example.com/x" }] });
  expect(quiet).not.toHaveProperty("warnings");
  await fail(app.owner, made.id);
  await until(app.owner, "/health", () => app.logged.some((line) => line.includes("notice given up")));
  expect(await rowsOf(app)).toMatchObject([{ target: OPS, sentAt: null, error: words }]);
});

deepTest("a POST is signed, and has the same ID and text at each attempt", async () => {
  await using app = await startApp({ stands: true, hurry: 20 });
  await using receiver = startReceiver((_, count) => new Response("", { status: count < 2 ? 503 : 204 }));
  const made = await alerting(app.owner, { onFailure: true, notify: [{ url: `${receiver.url}/hear` }] });
  expect(made.config.secret).toStartWith("whsec_");
  await fail(app.owner, made.id);
  await until(app.owner, "/health", () => app.logged.some((line) => line.includes("will be retried")));
  await fail(app.owner, made.id);
  app.clock.turn(5_001);
  await until(app.owner, "/health", () => receiver.got.length === 2);
  const [first, again] = receiver.got;
  expect([again?.text, again?.headers.get("webhook-id")]).toEqual([
    first?.text ?? "",
    first?.headers.get("webhook-id") ?? "",
  ]);
  const body = JSON.parse(first?.text ?? "");
  expect(body).toMatchObject({
    id: first?.headers.get("webhook-id"),
    type: "automation.failed",
    organizationId: app.ids.organizationId,
    automation: { id: made.id, name: "Nightly" },
    failures: 1,
    lastFailure: { code: "no_branch" },
  });
  const { Webhook } = await import("standardwebhooks");
  const headers = Object.fromEntries(
    ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => [
      name,
      first?.headers.get(name) ?? "",
    ]),
  );
  expect(() => new Webhook(made.config.secret).verify(first?.text ?? "", headers)).not.toThrow();
});

deepTest("Slack's pauses are respected, and what it rejects permanently isn't sent again", async () => {
  await using app = await startApp({ stands: true, hurry: 20 });
  await using slack = startSlack(["rate_limited"]);
  await using archived = startSlack(["channel_is_archived"]);
  const { id } = await alerting(app.owner, {
    onFailure: true,
    notify: [{ slack: slack.address }, { slack: archived.address }],
  });
  await fail(app.owner, id);
  await until(
    app.owner,
    "/health",
    () => app.logged.filter((line) => line.includes('"notice ')).length === 2,
  );
  app.clock.turn(29_000);
  await app.owner("GET", AUTOMATIONS);
  expect(slack.got).toHaveLength(1);
  app.clock.turn(1_001);
  await until(app.owner, "/health", () => slack.messages.length === 1);
  expect(archived.got).toHaveLength(1);
  expect((await rowsOf(app)).map(({ error }) => error)).toContain("Slack answered 410: channel_is_archived");
});

test("the end of a Slack URL is never shown, and stays if it is sent masked", async () => {
  await using app = await startApp({ hurry: 20 });
  await using slack = startSlack();
  const shown = slack.address.replace("aSecretOfTheWebhook", "***");
  const alerts = (address: string) => ({ onFailure: true, notify: [{ slack: address }] });
  const made = await alerting(app.owner, alerts(slack.address));
  expect(made.config.alerts.notify).toEqual([{ slack: shown }]);
  const path = `${AUTOMATIONS}/${made.id}`;
  const same = await app.owner("PATCH", path, { config: { alerts: alerts(shown) } });
  expect([same.status, same.body.updatedAt]).toEqual([200, made.updatedAt]);
  await app.owner("PATCH", path, {
    name: "Renamed",
    config: { alerts: { ...alerts(shown), onRecovery: true } },
  });
  await fail(app.owner, made.id);
  await until(app.owner, "/health", () => slack.messages.length === 1);
  expect(
    faultsOf(await app.owner("PATCH", path, { config: { alerts: alerts(shown.replace("B0001", "B2")) } })),
  ).toEqual(["body.config.alerts.notify missing"]);
  const replaced = await app.owner("PATCH", path, {
    config: { alerts: { ...alerts(slack.address.replace("aSecret", "another")), onRecovery: true } },
  });
  expect([replaced.status, replaced.body.updatedAt === made.updatedAt]).toEqual([200, false]);
  const dump = await app.app.store.db.all("select * from automations, versions, events, notices");
  expect(JSON.stringify(dump)).not.toContain("OfTheWebhook");
});

test("alerts are checked: each entry has one channel, and there must be something to report", async () => {
  await using app = await startApp({ engine: false });
  const config = (alerts: object) => ({
    action: { kind: "conditional_branch", definition: branch() },
    alerts,
  });
  const tried = async (alerts: object, more: object = {}) =>
    faultsOf(await app.owner("POST", AUTOMATIONS, { name: "x", config: { ...config(alerts), ...more } }));
  expect(await tried({})).toEqual(["body.config.alerts missing"]);
  expect(await tried({ notify: [{ email: OPS }] })).toEqual(["body.config.alerts missing"]);
  expect(
    await tried({
      onFailure: true,
      notify: [{}, { email: OPS, slack: "https://hooks.slack.com/services/T/B/x" }, { email: "no address" }],
    }),
  ).toEqual([
    "body.config.alerts.notify.2.email email_parsing",
    "body.config.alerts.notify.0 value_error",
    "body.config.alerts.notify.1 value_error",
  ]);
  expect(
    await tried({ lateAfterSeconds: 0, notify: [{ slack: "hooks.slack.com/x" }, { url: "file:///x" }] }),
  ).toEqual([
    "body.config.alerts.lateAfterSeconds greater_than_equal",
    "body.config.alerts.notify.0.slack string_pattern_mismatch",
    "body.config.alerts.notify.1.url string_pattern_mismatch",
  ]);
  expect(await tried({ failureThreshold: 3, failureWindow: 60, notifyUrl: "https://x.example" })).toEqual([
    "body.config.alerts.failureThreshold extra_forbidden",
    "body.config.alerts.failureWindow extra_forbidden",
    "body.config.alerts.notifyUrl extra_forbidden",
  ]);
});
