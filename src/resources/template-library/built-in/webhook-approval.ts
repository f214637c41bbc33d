import { type BuiltIn, dataset, inputs, webhookPath, webhookSecret } from "./contract.ts";

const KEEP = `
SELECT
  CAST({{run.id}} AS VARCHAR) AS id,
  CAST({{now}} AS TIMESTAMPTZ) AS approved_at,
  CAST({{steps.approve.result.decidedBy}} AS VARCHAR) AS approved_by,
  CAST({{payload}} AS VARCHAR) AS payload`.trim();

export const webhookApproval: BuiltIn = {
  id: "019b76da-a800-7000-8000-000000000002",
  slug: "webhook-approval",
  version: 1,
  templateType: "bundle",
  displayName: "Webhook intake with approval",
  description:
    "Accepts signed webhooks, asks a person to approve each, and stores approved ones as rows of a dataset.",
  inputJsonSchema: inputs({
    path: webhookPath("requests"),
    secret: webhookSecret,
    dataset: dataset("approved_requests", "Dataset for approved requests, in the layer raw."),
    title: {
      type: "string",
      title: "Question",
      description: "Question to the person.",
      minLength: 1,
      maxLength: 255,
      default: "Approve this request?",
    },
    expiresInSeconds: {
      type: "integer",
      title: "Time to answer",
      description: "Seconds without a decision after which the request counts as rejected.",
      minimum: 60,
      maximum: 31_536_000,
      default: 604_800,
    },
  }),
  definition: {
    components: [
      {
        key: "intake",
        type: "automation",
        name: "Request intake",
        definition: {
          triggerType: "webhook",
          description: "Asks for approval of each request and stores the approved ones.",
          config: {
            path: "{{inputs.path}}",
            secret: "{{inputs.secret}}",
            waitSeconds: 0,
            steps: [
              {
                key: "approve",
                kind: "approval_gate",
                definition: {
                  title: "{{inputs.title}}",
                  context: { request: "{{payload ?? {}}}" },
                  expiresInSeconds: "{{inputs.expiresInSeconds}}",
                  onReject: "continue",
                },
              },
              {
                key: "keep",
                kind: "duckdb_transform",
                dependsOn: ["approve"],
                when: "steps.approve.result.decisionValue == 'approved'",
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
