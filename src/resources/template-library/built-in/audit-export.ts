import { type BuiltIn, inputs, token } from "./contract.ts";

export const auditExport: BuiltIn = {
  id: "019b76da-a800-7000-8000-000000000006",
  slug: "audit-export",
  version: 1,
  templateType: "bundle",
  displayName: "Audit export",
  description: "Sends each event of the audit log to your collector as it happens.",
  inputJsonSchema: inputs(
    {
      collectorUrl: {
        type: "string",
        title: "Collector",
        description: "URL that events are sent to, as JSON in a POST request.",
        format: "uri",
        maxLength: 2048,
      },
      token,
      types: {
        type: "array",
        title: "Events",
        description: "Types of events to send. A trailing * matches all types with that prefix.",
        items: { type: "string", minLength: 1, maxLength: 100 },
        minItems: 1,
        maxItems: 100,
        default: ["*"],
      },
    },
    ["collectorUrl", "token"],
  ),
  definition: {
    components: [
      {
        key: "collector",
        type: "connection",
        name: "Audit collector",
        templateSlug: "http-api",
        inputs: { baseUrl: "{{inputs.collectorUrl}}", token: "{{inputs.token}}" },
      },
      {
        key: "export",
        type: "automation",
        name: "Audit export",
        definition: {
          triggerType: "event",
          description: "Sends each event to the collector, and retries if it is unreachable.",
          config: {
            event: { types: "{{inputs.types}}" },
            action: {
              kind: "http_request",
              connectionId: "{{components.collector.id}}",
              definition: {
                method: "POST",
                url: "{{inputs.collectorUrl}}",
                body: "{{payload}}",
                bodyType: "json",
                retry: { maxAttempts: 6, backoffSeconds: [1, 5, 30, 120, 600] },
              },
            },
          },
        },
      },
    ],
  },
};
