import { afterAll, beforeAll, expect, test } from "bun:test";
import { sendDueDashboards } from "../../src/resources/dashboard-subscriptions/due.ts";
import { startApp } from "../support/app.ts";
import { startWithMail } from "../support/mail.ts";
import { join, neighbour } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";
import { created, faultsOf, until } from "../support/work.ts";

const DASHBOARDS = "/api/v1/dashboards";
const DAY = 86_400_000;
const SALES = `SELECT * FROM (VALUES ('CH', 1234.5, DATE '2026-01-01'), ('DE', 200, DATE '2026-01-02')) AS s(country, total, day)
  WHERE $country IS NULL OR country = $country`;
const SHOP = {
  name: "Shop & <b>floor</b>",
  filters: [{ key: "country", label: "Country", type: "text" }],
  panels: [
    {
      key: "total",
      title: "Total",
      sql: `SELECT sum(total) AS t FROM (${SALES})`,
      chart: { kind: "number", unit: "CHF" },
    },
    { key: "bars", title: "By country", sql: SALES, chart: { kind: "bar", x: "country", y: ["total"] } },
    { key: "rows", title: "Rows", sql: "SELECT range AS n, '<i>' AS mark FROM range(30)" },
    { key: "broken", title: "Broken", sql: "SELECT nothing" },
  ],
};

const start = () => startWithMail({ engine: true, stands: true, hurry: 20 });
let app: Awaited<ReturnType<typeof start>>;
beforeAll(async () => {
  app = await start();
});
afterAll(() => app[Symbol.asyncDispose]());

const mailsTo = async (address: string, count: number) => {
  const found = () => app.peer.received.filter(({ to }) => to.includes(address));
  await until(app.owner, "/health", () => found().length >= count);
  expect(found()).toHaveLength(count);
  return found();
};
const make = async (more: object = {}) => created(await app.owner("POST", DASHBOARDS, { ...SHOP, ...more }));
const eventsOf = async (id: string) =>
  (await app.owner("GET", `/api/v1/events?entityId=${id}&limit=100`)).body.items.map(
    ({ type }: { type: string }) => type,
  );

test("a dashboard is emailed now, as text and as HTML with numbers, bars and tables, in which markup is text", async () => {
  const { id } = await make();
  const grace = await join(app, "viewer");
  const body = { recipients: [app.ids.userId, grace.user.id], filters: { country: "CH" } };
  const sent = await app.owner("POST", `${DASHBOARDS}/${id}/send`, body);
  expect([sent.status, sent.body]).toEqual([202, { recipients: 2 }]);
  const [mail] = await mailsTo(grace.user.email, 1);
  expect(mail?.headers.subject).toBe("Shop & <b>floor</b>");
  expect(mail?.headers["list-unsubscribe"]).toBeUndefined();
  for (const text of [mail?.text ?? "", mail?.html ?? ""]) {
    expect(text).toContain("1,234.5 CHF");
    expect(text).toContain("Shows the first 20 of 30 rows.");
    expect(text).toContain("nothing");
    expect(text).toContain("Country");
    expect(text).not.toContain("DE");
  }
  expect(mail?.html).toContain("Shop &amp; &lt;b&gt;floor");
  expect(mail?.html).not.toMatch(/<i>|<b>/);
  expect(mail?.html).toContain('width="160"');
  const link = app.peer.linkTo(grace.user.email);
  expect(link.pathname).toBe(`/dashboards/${id}`);
  expect(link.searchParams.get("country")).toBe("CH");
  await mailsTo("ada@example.com", 1);
  await until(app.owner, `/api/v1/events?entityId=${id}&limit=100`, ({ items }) => items.length >= 4);
  expect((await eventsOf(id)).toSorted()).toEqual([
    "dashboard.created",
    "dashboard.send_requested",
    "dashboard.sent",
    "dashboard.sent",
  ]);
});

test("German readers get a dashboard's email in German, including numbers", async () => {
  const filters = [{ ...SHOP.filters[0], default: null }];
  const { id } = await make({ name: "Laden", filters });
  const emmy = await join(app, "viewer");
  await emmy.call("PATCH", "/api/v1/users/me/preferences", { locale: "de-CH" });
  const at = `${DASHBOARDS}/${id}/subscriptions`;
  const schedule = { cron: "0 7 * * *", timezone: "Europe/Zurich" };
  created(await app.owner("POST", at, { schedule, recipients: [emmy.user.id] }));
  app.clock.turn(DAY);
  await sendDueDashboards(app.app);
  const [mail] = await mailsTo(emmy.user.email, 1);
  for (const text of [mail?.text ?? "", mail?.html ?? ""]) {
    for (const german of ["Zeigt die ersten 20 von 30 Zeilen.", "Stand", "Dashboard öffnen", "Abbestellen"])
      expect(text).toContain(german);
    expect(text).not.toMatch(/Unsubscribe|As of|Shows the|Open the dashboard|A member of/);
  }
});

deepTest(
  "a schedule emails each time once, even with several processes; former members get nothing",
  async () => {
    const { id } = await make({ name: "Scheduled" });
    const at = `${DASHBOARDS}/${id}/subscriptions`;
    const linus = await join(app, "member");
    const made = created(
      await app.owner("POST", at, {
        schedule: { cron: "0 7 * * *", timezone: "Europe/Zurich" },
        recipients: [linus.user.id],
      }),
    );
    expect(made.nextAt).toMatch(/T0[56]:00:00.000Z$/);
    app.clock.turn(DAY);
    await Promise.all([sendDueDashboards(app.app), sendDueDashboards(app.app)]);
    await mailsTo(linus.user.email, 1);
    await until(app.owner, `${at}/${made.id}`, ({ sentAt }) => sentAt !== null);
    app.clock.turn(DAY);
    await mailsTo(linus.user.email, 2);
    const memberships = (await app.owner("GET", "/api/v1/organizations/team")).body.members;
    const { membershipId } = memberships.find(({ userId }: { userId: string }) => userId === linus.user.id);
    await app.owner("DELETE", `/api/v1/organizations/team/members/${membershipId}`);
    app.clock.turn(DAY);
    await until(
      app.owner,
      `${at}/${made.id}`,
      ({ nextAt }) => Date.parse(nextAt) > app.clock.now().getTime(),
    );
    await mailsTo(linus.user.email, 2);
    expect(
      faultsOf(await app.owner("POST", at, { schedule: made.schedule, recipients: [linus.user.id] })),
    ).toEqual(["body.recipients.0 not_found"]);
  },
);

deepTest(
  "a recipient unsubscribes from a schedule by the link in its emails without signing in, and the last one ends it",
  async () => {
    const { id } = await make({ name: "Left" });
    const at = `${DASHBOARDS}/${id}/subscriptions`;
    const [mary, joan] = [await join(app, "viewer"), await join(app, "viewer")];
    const made = created(
      await app.owner("POST", at, {
        schedule: { cron: "0 7 * * *" },
        recipients: [mary.user.id, joan.user.id],
      }),
    );
    app.clock.turn(DAY);
    const linkIn = async (address: string) => {
      const [{ headers, text, html }] = (await mailsTo(address, 1)) as [(typeof app.peer.received)[number]];
      const [, link = ""] = /^<(.*)>$/.exec(headers["list-unsubscribe"] ?? "") ?? [];
      expect(link).toStartWith(`${app.origin}/unsubscribe?token=`);
      expect(headers["list-unsubscribe-post"]).toBe("List-Unsubscribe=One-Click");
      expect([text?.includes(`Unsubscribe:\n${link}`), html?.includes(`href="${link}"`)]).toEqual([
        true,
        true,
      ]);
      return link;
    };
    const [ofMary, ofJoan] = [await linkIn(mary.user.email), await linkIn(joan.user.email)];
    /** As a mail program does (RFC 8058). */
    const post = async (link: string) =>
      (
        await fetch(link, {
          method: "POST",
          headers: { "content-type": "application/x-www-form-urlencoded" },
          body: "List-Unsubscribe=One-Click",
        })
      ).status;
    const recipients = async () => (await app.owner("GET", `${at}/${made.id}`)).body.recipients;
    expect((await fetch(ofMary)).headers.get("content-type")).toContain("text/html");
    expect(await recipients()).toEqual([mary.user.id, joan.user.id]);

    expect([
      await post(ofMary.replace(mary.user.id, joan.user.id)),
      await post(`${app.origin}/unsubscribe?token=a`),
    ]).toEqual([404, 404]);
    expect(await recipients()).toEqual([mary.user.id, joan.user.id]);
    expect([await post(ofMary), await post(ofMary)]).toEqual([204, 204]);
    expect(await recipients()).toEqual([joan.user.id]);
    expect(await post(ofJoan)).toBe(204);
    expect((await app.owner("GET", `${at}/${made.id}`)).status).toBe(404);
    expect([await post(ofJoan), await post(ofMary)]).toEqual([204, 204]);
    const { items } = (await app.owner("GET", `/api/v1/events?entityId=${made.id}&limit=100`)).body;
    expect(
      items
        .filter(({ type }: { type: string }) => type.startsWith("dashboard_subscription"))
        .map(({ type, actor }: { type: string; actor: { id: string } }) => [type, actor.id]),
    ).toEqual([
      ["dashboard_subscription.deleted", joan.user.id],
      ["dashboard_subscription.updated", mary.user.id],
      ["dashboard_subscription.created", app.ids.userId],
    ]);
  },
);

test("why an email wasn't sent is shown at the subscription and recorded as an event", async () => {
  const { id } = await make({ name: "Changed" });
  const at = `${DASHBOARDS}/${id}/subscriptions`;
  const made = created(
    await app.owner("POST", at, {
      schedule: { cron: "0 7 * * *" },
      recipients: [app.ids.userId],
      filters: { country: "CH" },
    }),
  );
  await app.owner("PATCH", `${DASHBOARDS}/${id}`, { filters: [], panels: [] });
  app.clock.turn(DAY);
  const told = await until(app.owner, `${at}/${made.id}`, ({ error }) => error !== null);
  expect(told).toMatchObject({ sentAt: null, error: expect.stringContaining("filters have changed") });
  expect(await eventsOf(made.id)).toEqual(["dashboard.send_failed", "dashboard_subscription.created"]);
  await app.owner("PATCH", `${at}/${made.id}`, { filters: {} });
  app.clock.turn(DAY);
  const mended = await until(app.owner, `${at}/${made.id}`, ({ sentAt }) => sentAt !== null);
  expect(mended.error).toBeNull();
});

test("subscriptions are changed with If-Match by members, deleted with their dashboard, and rejected if they can't work", async () => {
  const { id } = await make({ name: "Refused" });
  const at = `${DASHBOARDS}/${id}/subscriptions`;
  const recipients = [app.ids.userId];
  const post = async (body: object) => faultsOf(await app.owner("POST", at, body));
  expect(await post({ schedule: { cron: "often" }, recipients })).toEqual(["body.schedule.cron value_error"]);
  expect(await post({ schedule: { cron: "0 7 * * *", timezone: "Moon" }, recipients })).toEqual([
    "body.schedule.timezone value_error",
  ]);
  expect(await post({ schedule: { cron: "0 7 * * *" }, recipients, filters: { size: "L" } })).toEqual([
    "body.filters.size extra_forbidden",
  ]);
  const made = created(await app.owner("POST", at, { schedule: { cron: "0 7 * * *" }, recipients }));
  const etag = (await app.owner("GET", `${at}/${made.id}`)).headers.get("etag") ?? "";
  const change = { schedule: { cron: "0 8 * * 1" } };
  app.clock.turn(1);
  expect((await app.owner("PATCH", `${at}/${made.id}`, change, { "if-match": etag })).status).toBe(200);
  expect((await app.owner("PATCH", `${at}/${made.id}`, { recipients }, { "if-match": etag })).status).toBe(
    412,
  );
  const viewer = await join(app, "viewer");
  expect((await viewer.call("GET", at)).body.subscriptions).toHaveLength(1);
  expect((await viewer.call("POST", `${DASHBOARDS}/${id}/send`, { recipients })).status).toBe(403);
  const stranger = await neighbour(app);
  expect((await stranger.call("GET", `${at}/${made.id}`)).status).toBe(404);
  await app.owner("DELETE", `${DASHBOARDS}/${id}`);
  expect((await app.owner("GET", at)).status).toBe(404);
  expect(
    await app.app.store.db.all(`select id from dashboard_subscriptions where id = '${made.id}'`),
  ).toEqual([]);
});

test("without a mail server, nothing is sent, and it says so", async () => {
  await using silent = await startApp({ engine: false });
  const { id } = created(await silent.owner("POST", DASHBOARDS, SHOP));
  const refused = await silent.owner("POST", `${DASHBOARDS}/${id}/send`, { recipients: [silent.ids.userId] });
  expect([refused.status, refused.body.code]).toEqual([409, "invalid_state"]);
  expect((await silent.owner("GET", `${DASHBOARDS}/${id}/subscriptions`)).body.warnings).toHaveLength(1);
});
