import type { Resource, Service } from "./contract.ts";

const list = (name: string, title: string, params: Record<string, string> = {}): Resource => ({
  name,
  title,
  spec: `/${name}`,
  primaryKey: ["id"],
  endpoint: {
    params,
    dataPath: name,
    paginator: { type: "offset", sizeParam: "limit", pageSize: 100, hasNextPath: "more" },
  },
});

export const pagerduty: Service = {
  number: 54,
  slug: "pagerduty",
  name: "PagerDuty",
  description: "Incidents, services, schedules and users of PagerDuty.",
  docs: "https://developer.pagerduty.com/api-reference/",
  baseUrl: "https://api.pagerduty.com",
  baseUrlHint: "For EU accounts: https://api.eu.pagerduty.com.",
  auth: { type: "header", name: "Authorization", value: "Token token={{credentials.apiKey}}" },
  headers: { Accept: "application/vnd.pagerduty+json;version=2" },
  verify: { path: "/abilities" },
  requestsPerMinute: 900,
  credentials: {
    apiKey: {
      title: "API key",
      description: "PagerDuty → Integrations → API Access Keys → Create New API Key, read-only.",
    },
  },
  resources: [
    list("incidents", "Incidents of the last 30 days"),
    list("services", "Services"),
    list("users", "People"),
    list("teams", "Teams"),
    list("schedules", "Schedules"),
    list("escalation_policies", "Escalation policies"),
  ],
};
