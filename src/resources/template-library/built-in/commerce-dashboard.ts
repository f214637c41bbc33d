import type { JsonObject } from "../../../base/json.ts";
import {
  type BuiltIn,
  connectionId,
  cron,
  folder,
  inputIsSet,
  inputIsUnset,
  inputs,
  timezone,
} from "./contract.ts";
import orders from "./shop/shopify-orders.jsonl" with { type: "text" };

/** Revenue of an order is what is left after refunds and cancellations. Test orders have none. */
const BY_DAY = `
SELECT
  CAST(created_at AS DATE) AS day,
  count(*) AS orders,
  round(sum(CAST(current_total_price_set__shop_money__amount AS DOUBLE)), 2) AS revenue
FROM raw.commerce__orders
WHERE NOT test
GROUP BY 1
ORDER BY 1`.trim();

const BY_PRODUCT = `
SELECT title AS product, CAST(sum(quantity) AS BIGINT) AS sold
FROM raw.commerce__orders__line_items
GROUP BY 1
ORDER BY sold DESC
LIMIT 20`.trim();

const PANELS: JsonObject[] = [
  {
    title: "Revenue by day",
    sql: "SELECT day, revenue FROM marts.commerce_daily ORDER BY day",
    chart: {
      mark: { type: "area", line: true, opacity: 0.25 },
      encoding: {
        x: { field: "day", type: "temporal", title: null },
        y: { field: "revenue", type: "quantitative", title: "Revenue" },
      },
    },
  },
  {
    title: "Best sellers",
    width: "half",
    sql: BY_PRODUCT,
    chart: {
      mark: "bar",
      encoding: {
        x: { field: "sold", type: "quantitative", title: "Sold" },
        y: { field: "product", type: "nominal", sort: "-x", title: null },
      },
    },
  },
  {
    title: "The newest days",
    width: "half",
    sql: "SELECT day, orders, revenue FROM marts.commerce_daily ORDER BY day DESC LIMIT 14",
  },
];

const load = (spec: string): JsonObject => ({
  dataset: "commerce",
  resources: [
    {
      name: "orders",
      spec,
      primaryKey: ["id"],
      writeDisposition: "merge",
      incremental: { cursorField: "updated_at" },
    },
  ],
});

export const commerceDashboard: BuiltIn = {
  id: "019b76da-a800-7000-8000-000000000007",
  slug: "commerce-dashboard",
  version: 1,
  templateType: "bundle",
  displayName: "Commerce orders to a dashboard",
  description:
    "Loads new and changed orders of a Shopify shop and creates a dashboard from them. Uses sample orders until you select a connection.",
  inputJsonSchema: inputs({
    connectionId: connectionId("Shopify connection to load orders from. Default: sample orders."),
    folder: folder("commerce", "Folder of the sample orders, in the organization's files."),
    cron: cron("0 6 * * *"),
    timezone,
  }),
  files: [{ component: "samples", name: "orders.jsonl", text: orders }],
  definition: {
    components: [
      {
        key: "samples",
        type: "connection",
        name: "Sample orders",
        definition: { provider: "local_files", config: { root: "{{inputs.folder}}" }, credentials: {} },
      },
      {
        key: "dashboard",
        type: "automation",
        name: "Commerce dashboard",
        definition: {
          triggerType: "schedule",
          description: "Loads new and changed orders and updates the dashboard.",
          config: {
            schedule: { cron: "{{inputs.cron}}", timezone: "{{inputs.timezone}}", catchUp: "last" },
            steps: [
              {
                key: "samples",
                kind: "dlt_extract",
                connectionId: "{{components.samples.id}}",
                when: inputIsUnset("connectionId"),
                definition: load("orders*.jsonl"),
              },
              {
                key: "orders",
                kind: "dlt_extract",
                connectionId: "{{inputs.connectionId}}",
                when: inputIsSet("connectionId"),
                definition: load("orders"),
              },
              {
                key: "daily",
                kind: "duckdb_transform",
                dependsOn: ["samples", "orders"],
                definition: { sql: BY_DAY, output: { layer: "marts", dataset: "commerce_daily" } },
              },
              {
                key: "board",
                kind: "create_flashboard",
                dependsOn: ["daily"],
                definition: { title: "Orders", panels: PANELS },
              },
            ],
          },
        },
      },
    ],
  },
};
