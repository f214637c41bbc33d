import type { JsonObject } from "../../base/json.ts";

/** A newest day with at least so much revenue is a busy one. */
export const BUSY_FROM = 2000;
export const WEBHOOK_PATH = "shop/exported";

/** Orders that count, joined with what hangs from them; the lines are a table of their own in the lake. */
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

/** A row when the newest day was busy, none when it was not. */
const BUSY_DAY = `
SELECT day, revenue
FROM marts.daily_revenue
WHERE day = (SELECT max(day) FROM marts.daily_revenue) AND revenue >= $busy_from`.trim();

/** The automation's work: from files to a call of the system that is told, all in one place. */
export function automationSteps(connectionId: string, receiver: string): JsonObject[] {
  const tell = (key: string, branch: string, path: string, event: string): JsonObject => ({
    key,
    kind: "http_request",
    dependsOn: [`route:${branch}`],
    definition: {
      method: "POST",
      url: `${receiver}${path}`,
      body: {
        event,
        shop: "{{payload.shop}}",
        newOrders: "{{steps.extract.result.tables[0].inserted}}",
        changedOrders: "{{steps.extract.result.tables[0].updated}}",
        days: "{{steps.transform.result.rows}}",
      },
    },
  });
  return [
    {
      key: "extract",
      kind: "dlt_extract",
      connectionId,
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
      definition: { sql: BUSY_DAY, parameters: { busy_from: BUSY_FROM } },
    },
    {
      key: "route",
      kind: "conditional_branch",
      dependsOn: ["check"],
      definition: { branches: [{ key: "big", when: "steps.check.result.rows > 0" }], else: "quiet" },
    },
    tell("alert", "big", "/alerts", "busy_day"),
    tell("report", "quiet", "/reports", "quiet_day"),
  ];
}
