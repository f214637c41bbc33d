import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Script, says, startModel } from "../peers/model.ts";
import { startApp } from "../support/app.ts";
import { startPostgres } from "../support/postgres.ts";
import { created, makeAction, runToEnd } from "../support/work.ts";

let script: Script[] = [];
let model: Awaited<ReturnType<typeof startModel>>;
let database: Awaited<ReturnType<typeof startPostgres>>;
let weir: Awaited<ReturnType<typeof startApp>>;
let connectionId = "";

beforeAll(async () => {
  model = await startModel(() => script.shift() ?? { status: 500 });
  database = await startPostgres();
  await database.sql`CREATE TABLE customers (id int PRIMARY KEY, "Full Name" text)`;
  await database.sql`CREATE TABLE orders (id int PRIMARY KEY, customer_id int, amount numeric(9,2))`;
  await database.sql`INSERT INTO customers VALUES (1, 'Ada'), (2, 'Bo')`;
  await database.sql`INSERT INTO orders SELECT i, i % 2 + 1, i FROM generate_series(1, 5) i`;
  weir = await startApp({ env: model.env });
  const { host, port, user, password, database: name } = database;
  connectionId = created(
    await weir.owner("POST", "/api/v1/connections", {
      name: "Shop",
      provider: "postgres",
      config: { host, port, database: name },
      credentials: { user, password },
    }),
  ).id;
}, 120_000);
afterAll(async () => {
  await weir[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});

async function run(kind: string, definition: object, replies: unknown[] = []) {
  script = replies.map((reply) => says(JSON.stringify(reply)));
  const action = await makeAction(weir.owner, {
    kind,
    name: kind,
    definition: { connectionId, ...definition },
  });
  return await runToEnd(weir.owner, action.id);
}

test("a database's own tables are explained, with samples", async () => {
  const { result } = await run("explain_schema", { includeSamples: true });
  expect(result.tables).toEqual([
    {
      name: "public.customers",
      description: null,
      rows: null,
      columns: [
        { name: "id", dataType: "integer", nullable: false, description: null },
        { name: "Full Name", dataType: "text", nullable: true, description: null },
      ],
      samples: [
        { id: 1, "Full Name": "Ada" },
        { id: 2, "Full Name": "Bo" },
      ],
    },
    expect.objectContaining({ name: "public.orders" }),
  ]);
  expect(result.relationships).toEqual([
    {
      from: { table: "public.orders", column: "customer_id" },
      to: { table: "public.customers", column: "id" },
      kind: "inferred",
    },
  ]);
});

test("SQL is written in its dialect, resolved by it, and run there, read-only", async () => {
  const sql = "SELECT customer_id, sum(amount)::int AS total FROM orders GROUP BY 1 ORDER BY 1;";
  const done = await run("generate_query", { question: "?", execute: true, maxRows: 1 }, [
    { sql, explanation: "" },
  ]);
  expect(done.result).toMatchObject({
    rows: [{ customer_id: 1, total: 6 }],
    truncated: true,
    tables: ["public.orders"],
  });
  expect(model.heard.at(-1)?.body.messages[0].content).toContain("Dialect: postgres");
});

test.each([
  ["SELECT 'sent' AS en FROM orders -- customers", ["public.orders"]],
  ["SELECT customers.id FROM public.orders AS customers", ["public.orders"]],
  [
    'SELECT o.id FROM orders o, "customers" c JOIN ONLY (public.en) ON true',
    ["public.customers", "public.en", "public.orders"],
  ],
  ["SELECT extract(year FROM now()) FROM (SELECT 1 FROM Customers) AS x", ["public.customers"]],
])("only the tables that a statement refers to are named: %s", async (sql, tables) => {
  await database.sql`CREATE TABLE en (id int)`;
  try {
    const { result } = await run("generate_query", { question: "?" }, [{ sql, explanation: "" }]);
    expect(result.tables).toEqual(tables);
  } finally {
    await database.sql`DROP TABLE en`;
  }
});

test("a database's rows keep all digits of their numbers", async () => {
  const sql = `SELECT 9007199254740993::bigint AS id, 12345678901234567.89::numeric AS price, ARRAY[-9007199254740993] AS ids,
    '{"a": 0.12345678901234567891}'::json AS doc, 1.5::float8 AS share, 7 AS count`;
  const { result } = await run("generate_query", { question: "?", execute: true }, [
    { sql, explanation: "" },
  ]);
  expect(result.rows).toEqual([
    {
      id: "9007199254740993",
      price: "12345678901234567.89",
      ids: ["-9007199254740993"],
      doc: { a: "0.12345678901234567891" },
      share: 1.5,
      count: 7,
    },
  ]);
});

test.each([
  ["SELECT nope FROM orders", 'column "nope" does not exist'],
  ["DELETE FROM orders RETURNING *", "syntax error"],
  ["SELECT 1) x; DELETE FROM orders; --", "syntax error"],
  ["WITH d AS (DELETE FROM orders RETURNING *) SELECT * FROM d", "must be at the top level"],
])("%s is rejected, and changes nothing", async (sql, message) => {
  const reply = { sql, explanation: "" };
  const failed = await run("generate_query", { question: "?", execute: true }, [reply, reply]);
  expect(failed.error).toMatchObject({
    code: "unknown_identifier",
    message: expect.stringContaining(message),
  });
  expect(await database.sql`SELECT count(*)::int AS n FROM orders`).toMatchObject([{ n: 5 }]);
});
