import { type BuiltIn, connectionId, cron, folder, inputIsSet, inputs, timezone } from "./contract.ts";
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
  description:
    "Loads files of sales on a schedule, maintains a daily report that you can query, and emails it as a workbook.",
  inputJsonSchema: inputs({
    folder: folder("sales", "Folder of the sales files, in the organization's files."),
    cron: cron("0 7 * * *"),
    timezone,
    addresses: {
      type: "array",
      title: "Email addresses",
      description: "Recipients of the report as a workbook (xlsx). If empty, it isn't sent.",
      items: { type: "string", format: "email", maxLength: 320 },
      minItems: 1,
      maxItems: 100,
    },
    smtp: connectionId("SMTP connection that sends the email. Default: the installation's mail server."),
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
          description: "Loads the sales and aggregates them by day.",
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
              {
                key: "workbook",
                kind: "duckdb_transform",
                dependsOn: ["totals"],
                definition: {
                  sql: "SELECT day, sales, items, revenue, best_product FROM marts.sales_report ORDER BY day",
                  output: { connectionId: "artifact", title: "Sales report", format: "xlsx" },
                },
              },
              {
                key: "mail",
                kind: "send_message",
                connectionId: "{{inputs.smtp}}",
                dependsOn: ["workbook"],
                when: inputIsSet("addresses"),
                definition: {
                  // A skipped step is validated like any other, and an email needs a recipient.
                  to: `{{inputs.addresses ?? ["nobody@example.invalid"]}}`,
                  subject: "Sales report",
                  text: "Sales of {{steps.workbook.result.rows}} days are in the attached workbook.",
                  attachments: [{ artifactId: "{{steps.workbook.result.output.artifactId}}" }],
                },
              },
            ],
          },
        },
      },
    ],
  },
};
