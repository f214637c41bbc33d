import { type BuiltIn, dataset, inputs } from "./contract.ts";

const FIELDS = {
  type: "object",
  properties: {
    what: { type: "string", title: "What do you need?", minLength: 1, maxLength: 2000 },
    amount: { type: "number", title: "Amount", minimum: 0 },
    neededBy: { type: "string", title: "Needed by", format: "date" },
  },
  required: ["what", "amount"],
  additionalProperties: false,
};

const KEEP = `
SELECT
  CAST({{run.id}} AS VARCHAR) AS id,
  CAST({{now}} AS TIMESTAMPTZ) AS decided_at,
  CAST({{headers.x-weir-user ?? null}} AS VARCHAR) AS asked_by,
  CAST({{payload.what}} AS VARCHAR) AS what,
  CAST({{payload.amount}} AS DOUBLE) AS amount,
  CAST({{payload.neededBy ?? null}} AS DATE) AS needed_by,
  CAST({{steps.approve.result.decisionValue}} AS VARCHAR) AS decision,
  CAST({{steps.approve.result.decidedBy}} AS VARCHAR) AS decided_by`.trim();

export const formApproval: BuiltIn = {
  id: "019b76da-a800-7000-8000-00000000000b",
  slug: "form-approval",
  version: 1,
  templateType: "bundle",
  displayName: "Requests by form",
  description: "Publishes a request form, asks a person to approve each request, and stores the decisions.",
  inputJsonSchema: inputs({
    title: {
      type: "string",
      title: "Title of the form",
      minLength: 1,
      maxLength: 200,
      default: "Ask for something",
    },
    dataset: dataset("requests", "Dataset for requests, in the layer raw."),
  }),
  definition: {
    components: [
      {
        key: "requests",
        type: "automation",
        name: "Requests by form",
        definition: {
          triggerType: "form",
          description: "Asks for approval of each request and stores the decision.",
          config: {
            form: { title: "{{inputs.title}}", schema: FIELDS, submitLabel: "Ask", access: "signed_in" },
            steps: [
              {
                key: "approve",
                kind: "approval_gate",
                definition: {
                  title: "{{payload.what}}",
                  context: { request: "{{payload}}", by: "{{headers.x-weir-user ?? null}}" },
                  onReject: "continue",
                },
              },
              {
                key: "keep",
                kind: "duckdb_transform",
                dependsOn: ["approve"],
                definition: {
                  sql: KEEP,
                  output: { layer: "raw", dataset: "{{inputs.dataset}}", writeDisposition: "append" },
                },
              },
            ],
          },
        },
      },
    ],
  },
};
