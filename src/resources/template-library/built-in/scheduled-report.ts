import { type BuiltIn, cron, folder, inputs, timezone } from "./contract.ts";
import sales from "./shop/sales.csv" with { type: "text" };

const TOTALS = `
SELECT
  CAST(sold_on AS DATE) AS day,
  count(*) AS sales,
  CAST(sum(quantity) AS BIGINT) AS items,
  round(sum(quantity * unit_price), 2) AS revenue,
  arg_max(product, quantity * unit_price) AS best_product
FROM raw.sales
GROUP BY 1
ORDER BY 1`.trim();

export const scheduledReport: BuiltIn = {
  id: "019b76da-a800-7000-8000-000000000003",
  slug: "scheduled-report",
  version: 1,
  templateType: "bundle",
  displayName: "Scheduled report",
  description: "Reads files of sales at set times and keeps a report by day, ready to be queried.",
  inputJsonSchema: inputs({
    folder: folder("sales", "Where the files of sales lie, below the organization's own folder."),
    cron: cron("0 7 * * *"),
    timezone,
  }),
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
        key: "load",
        type: "action",
        name: "Load sales",
        definition: {
          kind: "dlt_extract",
          connectionId: "{{components.files.id}}",
          definition: {
            dataset: "sales",
            resources: [{ name: "sales", spec: "*.csv", writeDisposition: "replace" }],
          },
        },
      },
      {
        key: "report",
        type: "automation",
        name: "Sales report",
        definition: {
          triggerType: "schedule",
          description: "Loads the sales and sums them up by day.",
          config: {
            schedule: { cron: "{{inputs.cron}}", timezone: "{{inputs.timezone}}", catchUp: "last" },
            steps: [
              { key: "load", actionId: "{{components.load.id}}" },
              {
                key: "totals",
                kind: "duckdb_transform",
                dependsOn: ["load"],
                definition: { sql: TOTALS, output: { layer: "marts", dataset: "sales_report" } },
              },
            ],
          },
        },
      },
    ],
  },
};
