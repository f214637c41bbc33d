import { type BuiltIn, connectionId, cron, folder, inputs, timezone } from "./contract.ts";
import sales from "./shop/sales.csv" with { type: "text" };

const REVENUE = `
SELECT
  CAST(sold_on AS DATE) AS day,
  product,
  CAST(sum(quantity) AS BIGINT) AS items,
  CAST(sum(quantity * unit_price) AS DECIMAL(18,2)) AS revenue
FROM raw.mart_sales
GROUP BY 1, 2`.trim();

export const martToPostgres: BuiltIn = {
  id: "019b76da-a800-7000-8000-00000000000c",
  slug: "mart-to-postgres",
  version: 1,
  templateType: "bundle",
  displayName: "Mart into PostgreSQL",
  description:
    "Loads files of sales, aggregates them, and merges the result into a PostgreSQL table, on a schedule.",
  inputJsonSchema: inputs(
    {
      postgres: connectionId("PostgreSQL connection. Its user needs permission to write to the table."),
      table: {
        type: "string",
        title: "Table",
        description: "Table as schema.table. Created if it doesn't exist.",
        minLength: 1,
        maxLength: 200,
        default: "public.weir_revenue",
      },
      folder: folder("sales", "Folder of the sales files, in the organization's files."),
      cron: cron("0 6 * * *"),
      timezone,
    },
    ["postgres"],
  ),
  files: [{ component: "files", name: "sales.csv", text: sales }],
  definition: {
    components: [
      {
        key: "files",
        type: "connection",
        name: "Sales files",
        definition: { provider: "local_files", config: { root: "{{inputs.folder}}" }, credentials: {} },
      },
      {
        key: "mart",
        type: "automation",
        name: "Revenue into PostgreSQL",
        definition: {
          triggerType: "schedule",
          description: "Loads the sales, and merges revenue by day and product into PostgreSQL.",
          config: {
            schedule: { cron: "{{inputs.cron}}", timezone: "{{inputs.timezone}}", catchUp: "last" },
            steps: [
              {
                key: "load",
                kind: "dlt_extract",
                connectionId: "{{components.files.id}}",
                definition: {
                  dataset: "mart_sales",
                  resources: [{ name: "mart_sales", spec: "*.csv", writeDisposition: "replace" }],
                },
              },
              {
                key: "write",
                kind: "duckdb_transform",
                dependsOn: ["load"],
                definition: {
                  sql: REVENUE,
                  output: {
                    connectionId: "{{inputs.postgres}}",
                    table: "{{inputs.table}}",
                    writeDisposition: "merge",
                    primaryKey: ["day", "product"],
                  },
                },
              },
            ],
          },
        },
      },
    ],
  },
};
