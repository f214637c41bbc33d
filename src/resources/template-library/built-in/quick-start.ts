import type { JsonObject } from "../../../base/json.ts";
import { type BuiltIn, folder, inputs, webhookPath, webhookSecret } from "./contract.ts";
import customers from "./shop/customers.csv" with { type: "text" };
import orders from "./shop/orders.jsonl" with { type: "text" };
import products from "./shop/products.csv" with { type: "text" };

/** Orders that count, joined with their related rows. The lines are a table of their own in the lake. */
const DAILY_REVENUE = `
WITH sold AS (
  SELECT CAST(o.ordered_at AS DATE) AS day, o.id, c.country, p.category, l.quantity, l.quantity * l.unit_price AS amount
  FROM raw.shop__orders o
  JOIN raw.shop__orders__lines l ON l._dlt_parent_id = o._dlt_id
  JOIN raw.shop__products p ON p.sku = l.sku
  JOIN raw.shop__customers c ON c.id = o.customer_id
  WHERE o.status NOT IN ('cancelled', 'refunded')
)
SELECT
  day,
  count(DISTINCT id) AS orders,
  count(DISTINCT country) AS countries,
  CAST(sum(quantity) AS BIGINT) AS items,
  round(sum(amount), 2) AS revenue,
  round(coalesce(sum(amount) FILTER (category = 'tea'), 0), 2) AS tea
FROM sold
GROUP BY day
ORDER BY day`.trim();

/** Returns a row if the newest day was busy, otherwise none. */
const BUSY_DAY = `
SELECT day, revenue
FROM marts.daily_revenue
WHERE day = (SELECT max(day) FROM marts.daily_revenue) AND revenue >= {{inputs.busyFrom}}`.trim();

const BY_COUNTRY = `
SELECT c.country, round(sum(l.quantity * l.unit_price), 2) AS revenue
FROM raw.shop__orders o
JOIN raw.shop__orders__lines l ON l._dlt_parent_id = o._dlt_id
JOIN raw.shop__customers c ON c.id = o.customer_id
WHERE o.status NOT IN ('cancelled', 'refunded')
GROUP BY c.country
ORDER BY revenue DESC`.trim();

const PANELS: JsonObject[] = [
  {
    title: "Revenue by day",
    sql: "SELECT day, revenue FROM marts.daily_revenue ORDER BY day",
    chart: {
      mark: { type: "area", line: true, opacity: 0.25 },
      encoding: {
        x: { field: "day", type: "temporal", title: null },
        y: { field: "revenue", type: "quantitative", title: "Revenue" },
      },
    },
  },
  {
    title: "Revenue by country",
    width: "half",
    sql: BY_COUNTRY,
    chart: {
      mark: "bar",
      encoding: {
        x: { field: "revenue", type: "quantitative", title: "Revenue" },
        y: { field: "country", type: "nominal", sort: "-x", title: null },
      },
    },
  },
  {
    title: "The newest days",
    width: "half",
    sql: "SELECT day, orders, items, revenue, tea FROM marts.daily_revenue ORDER BY day DESC LIMIT 14",
  },
];

/** Notifies the receiver, if there is one. */
const tell = (key: string, after: string, path: string, event: string) => ({
  key,
  kind: "http_request",
  dependsOn: [after],
  definition: {
    method: "POST",
    url: `{{inputs.notifyUrl}}${path}`,
    body: {
      event,
      shop: '{{payload.shop ?? "kettle-and-leaf"}}',
      newOrders: "{{steps.extract.result.tables[0].inserted}}",
      changedOrders: "{{steps.extract.result.tables[0].updated}}",
      days: "{{steps.transform.result.rows}}",
    },
  },
});

export const quickStart: BuiltIn = {
  id: "019b76da-a800-7000-8000-000000000001",
  slug: "quick-start",
  version: 2,
  templateType: "bundle",
  displayName: "Quick start",
  description:
    "A sample shop: a signed webhook loads files of orders incrementally and computes revenue by day and a dashboard. A person approves before the team is notified of a busy day.",
  inputJsonSchema: inputs({
    folder: folder("shop", "Folder of the shop's files, in the organization's files."),
    path: webhookPath("shop/exported"),
    secret: webhookSecret,
    busyFrom: {
      type: "number",
      title: "Busy from",
      description: "Revenue from which the latest day counts as busy.",
      minimum: 0,
      default: 2000,
    },
    notifyUrl: {
      type: "string",
      title: "Receiver",
      description: "Base URL that is notified of each run, at /alerts or /reports. Empty: none.",
      maxLength: 2048,
      default: "",
    },
  }),
  files: [
    { component: "files", name: "orders.jsonl", text: orders },
    { component: "files", name: "customers.csv", text: customers },
    { component: "files", name: "products.csv", text: products },
  ],
  definition: {
    components: [
      {
        key: "files",
        type: "connection",
        name: "Shop files",
        definition: { provider: "local_files", config: { root: "{{inputs.folder}}" }, credentials: {} },
      },
      {
        key: "exported",
        type: "automation",
        name: "Shop exported",
        definition: {
          triggerType: "webhook",
          description: "Loads new rows from the shop's files and reports on the latest day.",
          config: {
            path: "{{inputs.path}}",
            secret: "{{inputs.secret}}",
            waitSeconds: 30,
            steps: [
              {
                key: "extract",
                kind: "dlt_extract",
                connectionId: "{{components.files.id}}",
                definition: {
                  dataset: "shop",
                  resources: [
                    {
                      name: "orders",
                      spec: "orders*.jsonl",
                      primaryKey: ["id"],
                      writeDisposition: "merge",
                      incremental: { cursorField: "updated_at" },
                    },
                    { name: "customers", spec: "customers.csv", writeDisposition: "replace" },
                    { name: "products", spec: "products.csv", writeDisposition: "replace" },
                  ],
                },
              },
              {
                key: "transform",
                kind: "duckdb_transform",
                dependsOn: ["extract"],
                definition: { sql: DAILY_REVENUE, output: { layer: "marts", dataset: "daily_revenue" } },
              },
              {
                key: "check",
                kind: "duckdb_transform",
                dependsOn: ["transform"],
                definition: { sql: BUSY_DAY },
              },
              {
                key: "route",
                kind: "conditional_branch",
                dependsOn: ["check"],
                definition: {
                  branches: [{ key: "big", when: "steps.check.result.rows > 0" }],
                  else: "quiet",
                },
              },
              {
                key: "board",
                kind: "create_flashboard",
                dependsOn: ["transform"],
                definition: { title: "Kettle and Leaf", panels: PANELS },
              },
              {
                key: "approve",
                kind: "approval_gate",
                dependsOn: ["route:big"],
                when: "{{inputs.notifyUrl}} != ''",
                definition: {
                  title: "A busy day: tell the team?",
                  description: "The latest day's sales would alert the receiver.",
                  context: {
                    newOrders: "{{steps.extract.result.tables[0].inserted}}",
                    busyFrom: "{{inputs.busyFrom}}",
                  },
                  expiresInSeconds: 604_800,
                  onReject: "continue",
                },
              },
              {
                ...tell("alert", "approve", "/alerts", "busy_day"),
                when: "steps.approve.result.decisionValue == 'approved'",
              },
              {
                ...tell("report", "route:quiet", "/reports", "quiet_day"),
                when: "{{inputs.notifyUrl}} != ''",
              },
            ],
          },
        },
      },
    ],
  },
};
