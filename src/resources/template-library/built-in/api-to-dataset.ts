import { type BuiltIn, cron, dataset, inputs, timezone, token } from "./contract.ts";

const ITEMS = `
SELECT
  CAST(row_number() OVER () AS BIGINT) AS position,
  CAST({{now}} AS TIMESTAMPTZ) AS fetched_at,
  item
FROM (SELECT unnest(CAST({{steps.fetch.result.extracted}} AS JSON[])) AS item)`.trim();

export const apiToDataset: BuiltIn = {
  id: "019b76da-a800-7000-8000-000000000005",
  slug: "api-to-dataset",
  version: 1,
  templateType: "bundle",
  displayName: "API to dataset",
  description: "Calls an HTTP API on a schedule and loads the items of its response into a dataset.",
  inputJsonSchema: inputs(
    {
      baseUrl: {
        type: "string",
        title: "Base URL",
        description: "Base URL of the API, such as https://api.example.com/v1.",
        format: "uri",
        maxLength: 2048,
      },
      token,
      path: {
        type: "string",
        title: "Path",
        description: "Path below the base URL.",
        pattern: "^/",
        maxLength: 2048,
        default: "/",
      },
      items: {
        type: "string",
        title: "Items",
        description:
          "JMESPath expression for the list of items in the response. @ if the response is the list.",
        minLength: 1,
        maxLength: 1000,
        default: "@",
      },
      dataset: dataset("api_items", "Dataset for the items, in the layer raw."),
      cron: cron("0 * * * *"),
      timezone,
    },
    ["baseUrl", "token"],
  ),
  definition: {
    components: [
      {
        key: "api",
        type: "connection",
        name: "API",
        templateSlug: "http-api",
        inputs: { baseUrl: "{{inputs.baseUrl}}", verifyPath: "{{inputs.path}}", token: "{{inputs.token}}" },
      },
      {
        key: "fetch",
        type: "automation",
        name: "Fetch from the API",
        definition: {
          triggerType: "schedule",
          description: "Calls the API and loads the items of its response.",
          config: {
            schedule: { cron: "{{inputs.cron}}", timezone: "{{inputs.timezone}}" },
            steps: [
              {
                key: "fetch",
                kind: "http_request",
                connectionId: "{{components.api.id}}",
                definition: {
                  url: "{{inputs.path}}",
                  headers: { accept: "application/json" },
                  responseExtract: "{{inputs.items}}",
                  retry: { maxAttempts: 3, backoffSeconds: [5, 30] },
                },
              },
              {
                key: "keep",
                kind: "duckdb_transform",
                dependsOn: ["fetch"],
                definition: { sql: ITEMS, output: { layer: "raw", dataset: "{{inputs.dataset}}" } },
              },
            ],
          },
        },
      },
    ],
  },
};
