import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import readExcelFile from "read-excel-file/node";
import { truthOf } from "../../src/cli/demo/sample.ts";
import { contextFor } from "../../src/context.ts";
import { builtIns } from "../../src/resources/template-library/built-in/all.ts";
import { templateFaults } from "../../src/resources/templates/faults.ts";
import { startSmtp } from "../peers/smtp.ts";
import { client, startApp } from "../support/app.ts";
import { BUNDLES, install, ok } from "../support/bundles.ts";
import { connect, trailOf } from "../support/connections.ts";
import { stamped } from "../support/hook.ts";
import { startWithMail } from "../support/mail.ts";
import { eventually } from "../support/outbound.ts";
import { startPostgres } from "../support/postgres.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { AUTOMATIONS, automationRunEnd, flowToEnd, until } from "../support/work.ts";

let started: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  started = await startApp();
});
afterAll(async () => {
  await started[Symbol.asyncDispose]();
});

const query = async (sql: string) => ok(await started.owner("POST", "/api/v1/query", { sql })).rows;

/** Expects that every step of a run completed, or was skipped if it is named. */
function expectDone(
  run: { status: string; steps: { key: string; status: string; error: unknown }[] },
  skipped: string[] = [],
) {
  const wrong = run.steps.filter(
    ({ key, status }) => status !== (skipped.includes(key) ? "skipped" : "completed"),
  );
  expect(wrong).toEqual([]);
  expect(run.status).toBe("completed");
}

describe("the built-in bundles", () => {
  test("are at least nine, and none has faults", async () => {
    const ctx = contextFor(started.app, {
      organizationId: started.ids.organizationId,
      role: "owner",
      actor: { type: "user", id: started.ids.userId },
      correlationId: "test-built-in",
    });
    const list = ok(await started.owner("GET", BUNDLES));
    expect(list.bundles.map(({ slug }: { slug: string }) => slug)).toEqual([
      "quick-start",
      "webhook-approval",
      "form-approval",
      "scheduled-report",
      "files-to-dataset",
      "api-to-dataset",
      "audit-export",
      "commerce-dashboard",
      "drive-to-dataset",
      "bucket-to-bucket",
      "mart-to-postgres",
    ]);
    for (const each of builtIns) {
      const faults = await templateFaults(ctx, { ...each, kind: null, inputDefaults: {} });
      expect([each.slug, faults]).toEqual([each.slug, []]);
    }
    expect(new Set(builtIns.map(({ id }) => id)).size).toBe(builtIns.length);
  });
});

deepTest("quick start: sample files are loaded and transformed, and the receiver is notified", async () => {
  await using receiver = startReceiver();
  const { ids } = await install(started.owner, "quick-start", {
    notifyUrl: receiver.url,
    secret: "a secret of the shop",
  });
  const { webhookUrl } = ok(await started.owner("GET", `${AUTOMATIONS}/${ids.exported}`));
  const body = JSON.stringify({ shop: "kettle-and-leaf" });
  const headers = stamped(body, "a secret of the shop");
  const sending = client("")("POST", webhookUrl, Buffer.from(body), headers);
  const { items } = await until(started.owner, "/api/v1/approvals", (page) => page.items.length > 0);
  expect(receiver.got).toEqual([]);
  ok(await started.owner("POST", `/api/v1/approvals/${items[0].id}/approve`, {}));
  const sent = await sending;
  expect(sent.status).toBe(200);
  expectDone(await automationRunEnd(started.owner, sent.body.automationRunId), ["report"]);
  const truth = truthOf(1);
  const [row] = await query(
    "SELECT count(*) AS days, CAST(sum(orders) AS BIGINT) AS orders FROM marts.daily_revenue",
  );
  expect(row).toEqual({ days: truth.days, orders: expect.any(Number) });
  expect(receiver.got.map(({ method, path, text }) => [method, path, JSON.parse(text)])).toEqual([
    [
      "POST",
      "/alerts",
      {
        event: "busy_day",
        shop: "kettle-and-leaf",
        newOrders: truth.orders,
        changedOrders: 0,
        days: truth.days,
      },
    ],
  ]);
});

deepTest("quick start runs without a receiver, and without any inputs", async () => {
  await using other = await startApp();
  const { ids } = await install(other.owner, "quick-start");
  expectDone(await flowToEnd(other.owner, ids.exported ?? ""), ["approve", "alert", "report"]);
  const { rows } = ok(
    await other.owner("POST", "/api/v1/query", { sql: "SELECT count(*) AS n FROM raw.shop__orders" }),
  );
  expect(rows[0].n).toBeGreaterThan(1000);
});

deepTest("webhook intake: what a user approves becomes a row, the rest doesn't", async () => {
  const { ids } = await install(started.owner, "webhook-approval", {
    secret: "a secret of the office",
    title: "Pay {{payload}}?",
  });
  const { webhookUrl } = ok(await started.owner("GET", `${AUTOMATIONS}/${ids.intake}`));
  const send = async (payload: object) => {
    const body = JSON.stringify(payload);
    const headers = stamped(body, "a secret of the office");
    const sent = await client("")("POST", webhookUrl, Buffer.from(body), headers);
    expect(sent.status).toBe(202);
    const { items } = await until(started.owner, "/api/v1/approvals", (page) =>
      page.items.some(
        ({ automationRunId }: { automationRunId: string }) => automationRunId === sent.body.automationRunId,
      ),
    );
    return items.find(
      ({ automationRunId }: { automationRunId: string }) => automationRunId === sent.body.automationRunId,
    );
  };
  const wanted = await send({ invoice: 17, amount: 250.5 });
  expect(wanted).toMatchObject({
    title: "Pay {{payload}}?",
    stepKey: "approve",
    context: { request: { invoice: 17, amount: 250.5 } },
  });
  ok(await started.owner("POST", `/api/v1/approvals/${wanted.id}/approve`, {}));
  expectDone(await automationRunEnd(started.owner, wanted.automationRunId));
  const unwanted = await send({ invoice: 18, amount: 1 });
  ok(
    await started.owner("POST", `/api/v1/approvals/${unwanted.id}/reject`, { rejectionReason: "too little" }),
  );
  expectDone(await automationRunEnd(started.owner, unwanted.automationRunId), ["keep"]);
  expect(
    await query("SELECT approved_by, payload::JSON ->> 'invoice' AS invoice FROM raw.approved_requests"),
  ).toEqual([{ approved_by: started.ids.userId, invoice: "17" }]);
});

deepTest("requests by form: a form is submitted, a user decides, and the decision is a row", async () => {
  const { ids } = await install(started.owner, "form-approval", { title: "Ask the office" });
  const { formUrl } = ok(await started.owner("GET", `${AUTOMATIONS}/${ids.requests}`));
  const at = new URL(formUrl).pathname;
  const sent = await started.owner("POST", at, { what: "A chair", amount: 120.5, neededBy: "2026-12-01" });
  expect(sent.status).toBe(202);
  const { items } = await until(started.owner, "/api/v1/approvals", (page) =>
    page.items.some(({ title }: { title: string }) => title === "A chair"),
  );
  const question = items.find(({ title }: { title: string }) => title === "A chair");
  ok(await started.owner("POST", `/api/v1/approvals/${question.id}/reject`, { rejectionReason: "no" }));
  expectDone(await automationRunEnd(started.owner, sent.body.automationRunId));
  expect(await query("SELECT asked_by, what, amount, needed_by, decision FROM raw.requests")).toEqual([
    {
      asked_by: "ada@example.com",
      what: "A chair",
      amount: 120.5,
      needed_by: "2026-12-01",
      decision: "rejected",
    },
  ]);
});

deepTest("mart into PostgreSQL: its table has the revenue, however often it runs", async () => {
  await using postgres = await startPostgres();
  const { host, port, database, user, password } = postgres;
  const connection = await connect(started.owner, {
    name: "Warehouse",
    provider: "postgres",
    config: { host, port, database, sslMode: "disable" },
    credentials: { user, password },
  });
  const { ids } = await install(started.owner, "mart-to-postgres", {
    postgres: connection.id,
    folder: "mart",
  });
  for (const inserted of [true, false]) {
    const run = await flowToEnd(started.owner, ids.mart ?? "");
    expectDone(run);
    expect(run.result.write.output.inserted > 0).toBe(inserted);
  }
  const [sum] = await postgres.sql`select sum(revenue)::text as revenue from public.weir_revenue`;
  expect(sum?.revenue).toBe("255.70");
});

deepTest("scheduled report: it runs when it is due", async () => {
  await using other = await startApp();
  const soon = Math.floor(other.clock.now().getTime() / 60_000) * 60_000 + 3 * 3_600_000;
  const there = new Date(soon + 5.5 * 3_600_000);
  const { ids } = await install(other.owner, "scheduled-report", {
    cron: `${there.getUTCMinutes()} ${there.getUTCHours()} * * *`,
    timezone: "Asia/Kolkata",
  });
  const { nextRunAt } = ok(await other.owner("GET", `${AUTOMATIONS}/${ids.report}`));
  expect(Date.parse(nextRunAt)).toBe(soon);
  other.clock.turn(Date.parse(nextRunAt) - other.clock.now().getTime() + 1000);
  const { runs } = await until(other.owner, `${AUTOMATIONS}/${ids.report}/runs`, (page) => page.total > 0);
  expect(runs[0].triggerMethod).toBe("schedule");
  expectDone(await automationRunEnd(other.owner, runs[0].id), ["mail"]);
  const { rows } = ok(
    await other.owner("POST", "/api/v1/query", {
      sql: "SELECT strftime(day, '%d') AS day, sales, items, revenue, best_product FROM marts.sales_report ORDER BY 1",
    }),
  );
  expect(rows).toEqual([
    { day: "02", sales: 3, items: 6, revenue: "75.70", best_product: "Teapot" },
    { day: "03", sales: 2, items: 9, revenue: "68.50", best_product: "Green tea" },
    { day: "04", sales: 3, items: 9, revenue: "111.50", best_product: "Teapot" },
  ]);
});

deepTest(
  "scheduled report: its table is emailed as a workbook, by a connection or the installation's server",
  async () => {
    await using other = await startWithMail({ engine: true });
    await using peer = await startSmtp();
    const smtp = await connect(other.owner, {
      name: "Mail",
      provider: "smtp",
      config: { host: "127.0.0.1", port: peer.port, security: "none", from: "Weir <weir@example.com>" },
      credentials: {},
    });
    const addresses = ["grace@example.com", "ada@example.com"];
    for (const [more, { received }] of [
      [{}, other.peer],
      [{ smtp: smtp.id }, peer],
    ] as const) {
      const { ids } = await install(other.owner, "scheduled-report", { addresses, ...more });
      expectDone(await flowToEnd(other.owner, ids.report ?? ""));
      expect(received).toMatchObject([
        {
          to: addresses,
          headers: { subject: "Sales report" },
          text: "Sales of 3 days are in the attached workbook.",
          attachments: [{ name: "Sales report.xlsx" }],
        },
      ]);
      const [sheet] = await readExcelFile(received[0]?.attachments[0]?.bytes ?? Buffer.alloc(0));
      expect(sheet?.data as unknown).toEqual([
        ["day", "sales", "items", "revenue", "best_product"],
        [new Date("2026-03-02"), 3, 6, 75.7, "Teapot"],
        [new Date("2026-03-03"), 2, 9, 68.5, "Green tea"],
        [new Date("2026-03-04"), 3, 9, 111.5, "Teapot"],
      ]);
    }
  },
);

deepTest("file drop: the dataset contains what the folder contains", async () => {
  const { ids } = await install(started.owner, "files-to-dataset", { dataset: "drop" });
  expectDone(await flowToEnd(started.owner, ids.load ?? ""));
  expect(await query("SELECT count(*) AS n, sum(amount) AS amount FROM raw.drop")).toEqual([
    { n: 3, amount: "60.75" },
  ]);
  const put = await started.owner(
    "PUT",
    `/api/v1/connections/${ids.files}/files?path=/more.csv`,
    "id,name,amount\n4,fourth,1\n",
  );
  expect(put.status).toBe(201);
  expectDone(await flowToEnd(started.owner, ids.load ?? ""));
  expect(await query("SELECT count(*) AS n, sum(amount) AS amount FROM raw.drop")).toEqual([
    { n: 4, amount: "61.75" },
  ]);
});

deepTest("API to dataset: the items of a response become rows, requested with the token", async () => {
  await using api = startReceiver(({ headers }) =>
    headers.get("authorization") === "Bearer token-of-the-api"
      ? Response.json({
          data: [
            { id: 1, tags: ["a", "{{payload}}"] },
            { id: 2, tags: [] },
          ],
        })
      : new Response("no", { status: 401 }),
  );
  const { ids } = await install(started.owner, "api-to-dataset", {
    baseUrl: `${api.url}/v1`,
    path: "/things?page=1",
    items: "data",
    token: "token-of-the-api",
    dataset: "things",
  });
  expect(ok(await started.owner("POST", `/api/v1/connections/${ids.api}/verify`))).toMatchObject({
    provider: "http",
    isFromTemplate: true,
    status: "active",
    verificationError: null,
  });
  expectDone(await flowToEnd(started.owner, ids.fetch ?? ""));
  expect(api.got.map(({ path }) => path)).toEqual(["/v1/things?page=1", "/v1/things?page=1"]);
  expect(
    await query(
      "SELECT position, item::JSON ->> 'id' AS id, item::JSON ->> '$.tags[1]' AS tag FROM raw.things ORDER BY 1",
    ),
  ).toEqual([
    { position: 1, id: "1", tag: "{{payload}}" },
    { position: 2, id: "2", tag: null },
  ]);
});

test("audit export: each event is sent to the collector as it is in the audit log", async () => {
  await using other = await startApp();
  await using collector = startReceiver();
  await install(other.owner, "audit-export", {
    collectorUrl: `${collector.url}/audit`,
    token: "token-of-the-collector",
    types: ["connection.*"],
  });
  const made = await other.owner("POST", "/api/v1/connections", {
    name: "Watched {{payload}}",
    provider: "local_files",
    credentials: {},
  });
  expect(made.status).toBe(201);
  const sent = () =>
    collector.got.map(({ text }) => JSON.parse(text)).filter(({ entity }) => entity.id === made.body.id);
  await eventually(() => sent().length > 0);
  const [event] = await trailOf(other, made.body.id);
  expect(sent()).toEqual([ok(await other.owner("GET", `/api/v1/events?entityId=${made.body.id}`)).items[0]]);
  expect(sent()[0]).toMatchObject({
    id: event?.id,
    type: "connection.created",
    data: { name: "Watched {{payload}}" },
  });
  expect(collector.got[0]?.path).toBe("/audit");
  expect(collector.got[0]?.headers.get("authorization")).toBe("Bearer token-of-the-collector");
});
