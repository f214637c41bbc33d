import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { connect } from "../support/connections.ts";
import { stamped } from "../support/hook.ts";
import { startWithMail } from "../support/mail.ts";
import { hasMariadb, startMariadb } from "../support/mariadb.ts";
import { startPostgres } from "../support/postgres.ts";
import { startInstallation } from "../support/process.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest, scaled } from "../support/scale.ts";
import {
  AUTOMATION_RUNS,
  AUTOMATIONS,
  automationRunEnd,
  created,
  flowToEnd,
  makeAction,
  makeAutomation,
  runToEnd,
  until,
} from "../support/work.ts";

setDefaultTimeout(900_000);

deepTest(
  "a form is submitted, an approval is emailed and decided from its link, and a row is in PostgreSQL",
  async () => {
    await using postgres = await startPostgres();
    await postgres.sql`create table requests (who text not null, days int not null, approved_by text)`;
    await using app = await startWithMail({ engine: true, stands: true, hurry: 20 });
    const { host, port, database, user, password } = postgres;
    const target = await connect(app.owner, {
      name: "Requests",
      provider: "postgres",
      config: { host, port, database, sslMode: "disable" },
      credentials: { user, password },
    });
    const form = {
      title: "Leave",
      schema: {
        type: "object",
        properties: { who: { type: "string" }, days: { type: "integer", minimum: 1 } },
        required: ["who", "days"],
      },
      access: "public",
    };
    const steps = [
      {
        key: "ask",
        kind: "approval_gate",
        definition: { title: "{{payload.days}} days for {{payload.who}}?" },
      },
      {
        key: "keep",
        dependsOn: ["ask"],
        kind: "duckdb_transform",
        definition: {
          sql: "SELECT {{payload.who}} AS who, CAST({{payload.days}} AS INTEGER) AS days, {{steps.ask.result.decidedBy}} AS approved_by",
          output: { connectionId: target.id, table: "public.requests", writeDisposition: "append" },
        },
      },
    ];
    const flow = created(
      await app.owner("POST", AUTOMATIONS, { name: "Leave", triggerType: "form", config: { form, steps } }),
    );
    const at = new URL(flow.formUrl).pathname;
    const sent = await app.anonymous("POST", at, { who: 'Ann\'s "crew"', days: 3 });
    expect(sent.status).toBe(202);
    await until(app.owner, "/api/v1/notices", () => app.peer.received.length > 0);
    const link = app.peer.linkTo("ada@example.com");
    const [, id = ""] = /\/approvals\/([^?]+)/.exec(link.href) ?? [];
    const question = (await app.owner("GET", `/api/v1/decisions/${id}`)).body;
    expect(question.title).toBe('3 days for Ann\'s "crew"?');
    expect((await app.owner("POST", `/api/v1/approvals/${id}/approve`, {})).status).toBe(200);
    const run = await automationRunEnd(app.owner, sent.body.automationRunId);
    expect([run.status, run.error]).toEqual(["completed", null]);
    const rows = await postgres.sql`select * from requests`;
    expect([...rows]).toEqual([{ who: 'Ann\'s "crew"', days: 3, approved_by: app.ids.userId }]);
  },
);

test("a webhook responds with a value computed from its payload, and the automation's status", async () => {
  await using app = await startApp();
  const secret = "a-secret-of-the-sender";
  const config = {
    path: "order",
    secret,
    response: {
      status: 201,
      headers: { "X-Lines": "{{size(payload.lines)}}" },
      body: { total: "{{payload.lines.map(l, l.price * l.count).sum()}}" },
    },
    steps: [
      {
        key: "check",
        kind: "conditional_branch",
        definition: { branches: [{ key: "ok", when: "payload.lines.all(l, l.count > 0)" }], else: "no" },
      },
    ],
  };
  created(await app.owner("POST", AUTOMATIONS, { name: "Order", triggerType: "webhook", config }));
  const body = JSON.stringify({
    lines: [
      { price: 2.5, count: 4 },
      { price: 10, count: 1 },
    ],
  });
  const reply = await fetch(`${app.origin}/webhooks/acme/order`, {
    method: "POST",
    headers: stamped(body, secret),
    body,
  });
  expect([reply.status, reply.headers.get("x-lines"), await reply.json()]).toEqual([201, "2", { total: 20 }]);
});

const ROWS = scaled(1_000, 100_000);

test(`${ROWS} rows of a table pass one by one through a script and to an API in batches of 500`, async () => {
  await using app = await startApp();
  const got = new Map<number, number>();
  const sizes: number[] = [];
  await using api = startReceiver(({ text }) => {
    const rows = JSON.parse(text) as { id: number; gross: number }[];
    sizes.push(rows.length);
    for (const { id, gross } of rows) got.set(id, gross);
    return Response.json({});
  });
  const sql = `SELECT range AS id, range * 2 AS net FROM range(${ROWS})`;
  const output = { layer: "marts", dataset: "orders" };
  const action = await makeAction(app.owner, { kind: "duckdb_transform", definition: { sql, output } });
  expect((await runToEnd(app.owner, action.id)).status).toBe("completed");
  const steps = [
    {
      key: "each",
      forEach: { table: "marts.orders", orderBy: "id" },
      kind: "run_script",
      definition: {
        source: "export default (row) => ({ id: row.id, gross: row.net * 1.5 })",
        input: "{{item}}",
      },
    },
    {
      key: "send",
      dependsOn: ["each"],
      kind: "http_request",
      definition: {
        method: "POST",
        url: api.url,
        batch: { items: { artifactId: "{{steps.each.result.artifactId}}" }, size: 500 },
        body: "{{items.map(i, i.result.output)}}",
      },
    },
  ];
  const flow = await makeAutomation(app.owner, { steps });
  const { id } = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`));
  for (let status = ""; status !== "completed"; await Bun.sleep(200)) {
    const run = (await app.owner("GET", `${AUTOMATION_RUNS}/${id}`)).body;
    status = run.status;
    if (status === "failed") throw new Error(JSON.stringify(run.error));
  }
  expect(sizes).toEqual(Array(ROWS / 500).fill(500));
  expect([got.size, got.get(0), got.get(ROWS - 1)]).toEqual([ROWS, 0, (ROWS - 1) * 3]);
});

describe.skipIf(!hasMariadb)("MariaDB", () => {
  deepTest(
    "pages of a JSON API pass through a script into a table, each key once however often it occurs",
    async () => {
      await using db = await startMariadb();
      await db.run(
        "CREATE USER writer@'%' IDENTIFIED BY 'secret'; GRANT ALL ON shop.* TO writer@'%'; CREATE TABLE people (id int PRIMARY KEY, name varchar(100) NOT NULL, score decimal(6,2))",
      );
      await using app = await startApp();
      const people = Array.from({ length: 25 }, (_, id) => ({ id, name: ` Person ${id} `, points: id * 10 }));
      await using api = startReceiver(({ path }) => {
        const page = Number(new URL(path, "http://api.test").searchParams.get("page") ?? 1);
        return Response.json({ items: people.slice((page - 1) * 10, page * 10), more: page < 3 });
      });
      const shop = await connect(app.owner, {
        name: "Shop",
        provider: "mysql",
        config: db.config,
        credentials: { user: "writer", password: "secret" },
      });
      const source =
        "export default (people) => people.map(({ id, name, points }) => ({ id, name: name.trim(), score: (points / 8).toFixed(2) }))";
      const sql =
        'SELECT unnest(from_json($people, \'[{"id":"INTEGER","name":"VARCHAR","score":"DECIMAL(6,2)"}]\'), recursive := true)';
      const steps = [
        {
          key: "read",
          kind: "http_request",
          definition: {
            url: `${api.url}/people`,
            pagination: { type: "page", itemsPath: "items", hasNextPath: "more" },
          },
        },
        {
          key: "shape",
          dependsOn: ["read"],
          kind: "run_script",
          definition: { source, input: "{{steps.read.result.extracted}}" },
        },
        {
          key: "merge",
          dependsOn: ["shape"],
          kind: "duckdb_transform",
          definition: {
            sql,
            parameters: { people: "{{json.text(steps.shape.result.output)}}" },
            output: { connectionId: shop.id, table: "people", writeDisposition: "merge", primaryKey: ["id"] },
          },
        },
      ];
      const flow = await makeAutomation(app.owner, { steps });
      const first = await flowToEnd(app.owner, flow.id);
      expect([first.error, first.result.merge.output]).toEqual([
        null,
        { connectionId: shop.id, table: "people", inserted: 25, updated: 0, deleted: 0 },
      ]);
      people[3] = { id: 3, name: "Three", points: 1 };
      const second = await flowToEnd(app.owner, flow.id);
      expect(second.result.merge.output).toMatchObject({ inserted: 0, updated: 1 });
      const rowsOf = async (select: string) => ((await db.run(select))[0] as unknown[][]).at(-1);
      expect(await rowsOf("SELECT count(*), max(score) FROM people")).toEqual([["25", "30.00"]]);
      expect(await rowsOf("SELECT name, score FROM people WHERE id = 3")).toEqual([["Three", "0.13"]]);
    },
  );
});

deepTest("a run waits until a time in its payload, across a restart, and not longer", async () => {
  await using receiver = startReceiver();
  await using installation = await startInstallation();
  let server = await installation.serve();
  const step = {
    key: "tell",
    delay: { until: "{{input.at}}" },
    kind: "http_request",
    definition: { method: "POST", url: receiver.url, body: { for: "{{input.at}}" } },
  };
  const flow = await makeAutomation(server.owner, { steps: [step] });
  const at = new Date(Date.now() + 5_000).toISOString();
  const { id } = created(await server.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input: { at } }));
  await until(server.owner, `${AUTOMATION_RUNS}/${id}`, ({ status }) => status === "waiting");
  await server.end("SIGKILL");
  server = await installation.serve();
  expect((await server.owner("GET", `${AUTOMATION_RUNS}/${id}`)).body).toMatchObject({
    status: "waiting",
    steps: [{ status: "waiting", delayUntil: at }],
  });
  const run = await automationRunEnd(server.owner, id);
  expect([run.status, receiver.got.length]).toEqual(["completed", 1]);
  expect(Date.parse(run.completedAt)).toBeGreaterThanOrEqual(Date.parse(at));
});
