import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHmac } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startSmtp } from "../peers/smtp.ts";
import { client, startApp } from "../support/app.ts";
import { startPostgres } from "../support/postgres.ts";
import { PROGRAM } from "../support/program.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { folder } from "../support/shell.ts";
import {
  AUTOMATION_RUNS,
  AUTOMATIONS,
  automationRunEnd,
  created,
  flowToEnd,
  makeAction,
  until,
} from "../support/work.ts";
import { blocks, docs } from "./blocks.ts";

setDefaultTimeout(120_000);

const EXAMPLES = join(import.meta.dir, "..", "..", "examples");
const workspaces = readdirSync(EXAMPLES).filter((name) => name.endsWith(".yaml"));
const TICKETS = Array.from({ length: 5 }, (_, n) => ({
  id: n + 1,
  updated_at: `2026-05-0${n + 1}T00:00:00Z`,
}));

/** The API of a helpdesk, with two tickets per page. */
function helpdesk(path: string): Response {
  const { pathname, searchParams } = new URL(path, "http://desk.test");
  if (pathname === "/me") return Response.json({ name: "Ada" });
  const since = searchParams.get("updated_since") ?? "";
  const from = Number(searchParams.get("after") ?? 0);
  const rest = TICKETS.filter(
    ({ updated_at }) => Date.parse(updated_at) >= (since ? Date.parse(since) : 0),
  ).slice(from);
  return Response.json({ data: rest.slice(0, 2), meta: { next: rest.length > 2 ? from + 2 : null } });
}

let app: Awaited<ReturnType<typeof startApp>>;
let postgres: Awaited<ReturnType<typeof startPostgres>>;
let mail: Awaited<ReturnType<typeof startSmtp>>;
let receiver: ReturnType<typeof startReceiver>;
let desk: ReturnType<typeof startReceiver>;
let env: Record<string, string>;
let home: ReturnType<typeof folder>;

beforeAll(async () => {
  [app, postgres, mail] = await Promise.all([
    startApp({ hurry: 20 }),
    startPostgres(),
    startSmtp({ secure: false }),
  ]);
  receiver = startReceiver(({ path }) =>
    path.endsWith("/crm?id=7") ? new Response("no", { status: 400 }) : Response.json({ ok: true }),
  );
  desk = startReceiver(({ path }) => helpdesk(path));
  home = folder();
  const { host, port, database, user, password } = postgres;
  const databases = ["SHOP", "REPORTS"].flatMap((name) => [
    [`${name}_DB_HOST`, host],
    [`${name}_DB_NAME`, database],
    [`${name}_DB_USER`, user],
    [`${name}_DB_PASSWORD`, password],
  ]);
  env = {
    ...Object.fromEntries(databases),
    HELLO_TOKEN: "token-of-the-hello-example",
    CONTACTS_TOKEN: "token-of-the-contacts-example",
    REFUND_TOKEN: "token-of-the-refund-example",
    GITHUB_WEBHOOK_SECRET: "secret-of-the-github-example",
    HELPDESK_URL: desk.url,
    HELPDESK_TOKEN: "token-of-the-helpdesk",
    CHAT_URL: `${receiver.url}/chat`,
    CRM_URL: `${receiver.url}/crm`,
    PAGER_URL: `${receiver.url}/pager`,
    PAYMENTS_URL: `${receiver.url}/payments`,
    MAIL_HOST: "127.0.0.1",
    MAIL_FROM: "Weir <weir@example.com>",
    MAIL_TO: "team@example.com",
  };
  await postgres.sql`create table orders (id int primary key, total numeric(10, 2), updated_at timestamptz not null)`;
  await postgres.sql`insert into orders values (1, 12.5, now() - interval '1 hour'), (2, 8, now() - interval '1 hour')`;
  await weir(["login", "--server", app.origin, "--token"], { stdin: app.token });
  const ports = {
    "port: 5432": `port: ${port}`,
    "port: 587": `port: ${mail.port}`,
    "security: starttls": "security: none",
  };
  for (const name of workspaces) {
    let text = readFileSync(join(EXAMPLES, name), "utf8");
    for (const [usual, here] of Object.entries(ports)) text = text.replace(usual, here);
    writeFileSync(join(home.path, name), text);
  }
  const { code, err } = await weir(["apply", "-f", home.path, "--yes"]);
  expect({ code, err }).toEqual({ code: 0, err: expect.any(String) });
});

afterAll(async () => {
  await Promise.all([app, postgres, mail, receiver, desk].map((each) => each[Symbol.asyncDispose]()));
  home[Symbol.dispose]();
});

/** Runs a command of a user on this machine. */
async function weir(
  args: string[],
  { stdin = "", env: more = {} }: { stdin?: string; env?: Record<string, string> } = {},
) {
  const { HOME: _, ...rest } = process.env;
  const child = Bun.spawn([...PROGRAM, ...args], {
    env: { ...rest, ...env, ...more, HOME: home.path },
    stdin: new TextEncoder().encode(stdin),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, out, err };
}

const find = async (slug: string) =>
  (await app.owner("GET", `${AUTOMATIONS}?limit=100`)).body.automations.find(
    (each: { slug: string }) => each.slug === slug,
  );

const run = async (slug: string, body?: object) => flowToEnd(app.owner, (await find(slug)).id, body);

const rows = async (sql: string) => (await app.owner("POST", "/api/v1/query", { sql })).body.rows;

/** Sends a request with a token to a webhook. */
async function send(path: string, token: string, body: object) {
  const reply = await client(app.origin)("POST", `/webhooks/acme/${path}`, body, {
    authorization: `Bearer ${token}`,
  });
  expect([200, 202]).toContain(reply.status);
  return reply.body.automationRunId as string;
}

/** Decides the approval that a run requests. */
async function decide(runId: string, decision: object) {
  const of = (items: { automationRunId: string; id: string }[]) =>
    items.find((each) => each.automationRunId === runId);
  const { items } = await until(app.owner, "/api/v1/approvals", (body) => of(body.items) !== undefined);
  const reply = await app.owner("POST", `/api/v1/decisions/${of(items)?.id}/decide`, decision);
  expect(reply.status).toBe(200);
}

test("workspaces in the documents are applied unchanged", async () => {
  using place = folder();
  const texts = docs.flatMap((doc) => blocks(doc, "yaml").filter((text) => text.startsWith("weir: 1")));
  for (const [at, text] of texts.entries()) writeFileSync(join(place.path, `${at}.yaml`), text);
  const variables = texts.flatMap((text) =>
    [...text.matchAll(/\$\{([A-Z_]+)\}/g)].map(([, name = ""]) => name),
  );
  const values = Object.fromEntries(variables.map((name) => [name, `value-of-${name.toLowerCase()}`]));
  const { code, err } = await weir(["apply", "-f", place.path, "--yes"], { env: values });
  const others = err
    .split("\n")
    .filter((line) => !line.includes("Alerts are not mailed. No mail server is set"));
  expect({ code, others }).toEqual({ code: 0, others: [""] });
  expect(texts.length).toBeGreaterThan(7);
});

describe("the examples", () => {
  test("change nothing when applied again, and list what each needs", async () => {
    const { code, out } = await weir(["apply", "-f", home.path, "--dry-run"]);
    expect([code, out]).toEqual([0, expect.stringMatching(/0 to create, 0 to update, 0 to delete/)]);
    const index = readFileSync(join(EXAMPLES, "README.md"), "utf8");
    for (const name of workspaces) {
      expect(index).toContain(`](${name})`);
      const text = readFileSync(join(EXAMPLES, name), "utf8");
      const [about = ""] = text.split("\nweir: 1");
      const needed = new Set([...text.matchAll(/\$\{([A-Z_]+)\}/g)].map(([, variable = ""]) => variable));
      expect([name, [...needed].filter((variable) => !about.includes(variable))]).toEqual([name, []]);
    }
  });

  deepTest(
    "hello.yaml stores an order, asks about a large one, and stores it once it is approved",
    async () => {
      await send("hello", "token-of-the-hello-example", { customer: "Ada", amount: 12.5 });
      const id = await send("hello", "token-of-the-hello-example", { customer: "Grace", amount: 4200 });
      await decide(id, { decisionValue: "approved" });
      expect((await automationRunEnd(app.owner, id)).status).toBe("completed");
      expect(await rows("SELECT customer, amount FROM raw.orders ORDER BY amount")).toEqual([
        { customer: "Ada", amount: "12.50" },
        { customer: "Grace", amount: "4200.00" },
      ]);
      expect(await rows("SELECT customer FROM marts.large_orders")).toEqual([{ customer: "Grace" }]);
    },
  );

  test("files-to-mart.yaml loads files and aggregates them", async () => {
    const { id } = (await app.owner("GET", "/api/v1/connections/slug/sales-files")).body;
    const csv = "id,customer,amount\n1,Ada,12.50\n2,Ada,7.50\n";
    expect((await app.owner("PUT", `/api/v1/connections/${id}/files?path=/may.csv`, csv)).status).toBe(201);
    expect((await run("nightly-sales")).status).toBe("completed");
    expect(await rows("SELECT customer, revenue FROM marts.revenue_by_customer")).toEqual([
      { customer: "Ada", revenue: "20.00" },
    ]);
  });

  deepTest("postgres-to-lake.yaml loads rows, and later changed ones", async () => {
    await run("shop-orders");
    await postgres.sql`update orders set total = 9, updated_at = now() where id = 2`;
    await run("shop-orders");
    expect(await rows("SELECT id, total FROM raw.shop__orders ORDER BY id")).toEqual([
      { id: 1, total: "12.50" },
      { id: 2, total: "9.00" },
    ]);
  });

  deepTest("lake-to-postgres.yaml publishes a table", async () => {
    await run("publish-numbers");
    await run("publish-numbers");
    expect([
      ...(await postgres.sql`select count(*)::int as n, max(square)::int as most from squares`),
    ]).toEqual([{ n: 10, most: 100 }]);
  });

  deepTest("api-to-lake.yaml loads all pages", async () => {
    expect((await run("load-tickets")).status).toBe("completed");
    expect(await rows("SELECT count(*) AS n FROM raw.desk__tickets")).toEqual([{ n: 5 }]);
  });

  test("leave-request.yaml stores what was approved", async () => {
    const reply = await client(app.origin)("POST", "/f/acme/leave", {
      name: "Ada",
      from: "2026-07-01",
      days: 3,
    });
    expect(reply.status).toBeLessThan(300);
    const { id } = (
      await until(
        app.owner,
        `${AUTOMATIONS}/${(await find("leave-request")).id}/runs`,
        ({ runs }) => runs.length > 0,
      )
    ).runs[0];
    await decide(id, { decisionValue: "approved" });
    expect((await automationRunEnd(app.owner, id)).status).toBe("completed");
    expect(await rows("SELECT name, days FROM marts.approved_leave")).toEqual([{ name: "Ada", days: 3 }]);
  });

  test("github-alerts.yaml posts only urgent issues", async () => {
    for (const label of ["question", "urgent"]) {
      const body = JSON.stringify({
        action: "opened",
        issue: { title: label, html_url: "https://x.test", labels: [{ name: label }] },
      });
      const signature = createHmac("sha256", "secret-of-the-github-example").update(body).digest("hex");
      const headers = {
        "content-type": "application/json",
        "x-hub-signature-256": `sha256=${signature}`,
        "x-github-delivery": label,
      };
      expect(
        (await client(app.origin)("POST", "/webhooks/acme/github", Buffer.from(body), headers)).status,
      ).toBe(200);
    }
    const posts = receiver.got.filter(({ path }) => path === "/chat").map(({ text }) => JSON.parse(text));
    expect(posts).toEqual([{ text: "Urgent issue: urgent https://x.test" }]);
  });

  deepTest("rows-to-api.yaml sends each row, and names the one that failed", async () => {
    const { id } = await run("rows-to-api");
    const { status, steps } = (await app.owner("GET", `${AUTOMATION_RUNS}/${id}`)).body;
    const sent = receiver.got.filter(({ path }) => path.startsWith("/crm?"));
    expect([status, new Set(sent.map(({ path }) => path)).size]).toEqual(["completed", 25]);
    expect(steps.find(({ key }: { key: string }) => key === "send").status).toBe("failed");
  });

  deepTest("clean-contacts.yaml keeps each address once", async () => {
    const contacts = [
      { name: " Ada ", email: "Ada@Example.com " },
      { name: "Ada", email: "ada@example.com" },
      { name: "?" },
    ];
    await send("contacts", "token-of-the-contacts-example", { contacts });
    expect(await rows("SELECT email, name FROM marts.contacts")).toEqual([
      { email: "ada@example.com", name: "Ada" },
    ]);
  });

  deepTest("mailed-report.yaml emails a workbook", async () => {
    expect((await run("mailed-report")).status).toBe("completed");
    expect(mail.received.map(({ to, attachments }) => [to, attachments.map(({ name }) => name)])).toEqual([
      [["team@example.com"], ["Revenue by week.xlsx"]],
    ]);
  });

  test("refund-desk.yaml pays what a user enters", async () => {
    const id = await send("refunds", "token-of-the-refund-example", { order: "A-1" });
    await decide(id, { decisionValue: "approved", formResponse: { amount: 12.5 } });
    expect((await automationRunEnd(app.owner, id)).status).toBe("completed");
    const paid = receiver.got.filter(({ path }) => path === "/payments").map(({ text }) => JSON.parse(text));
    expect(paid).toEqual([{ order: "A-1", amount: 12.5 }]);
  });

  test("watch-failures.yaml notifies a pager of a failed run", async () => {
    const action = await makeAction(app.owner, {
      kind: "http_request",
      definition: { url: `${receiver.url}/crm?id=7` },
    });
    const { id } = created(await app.owner("POST", `/api/v1/actions/${action.id}/run`));
    const pages = () =>
      receiver.got.filter(({ path }) => path === "/pager").map(({ text }) => JSON.parse(text));
    await until(app.owner, AUTOMATIONS, () => pages().some((page) => page.run === id));
    expect(pages()).toContainEqual({
      run: id,
      code: "unexpected_status",
      message: expect.stringContaining("400"),
    });
  });
});
