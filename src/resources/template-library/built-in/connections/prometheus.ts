import type { Resource, Service } from "./contract.ts";

const list = (
  name: string,
  title: string,
  path: string,
  dataPath: string,
  params: Record<string, string> = {},
): Resource => ({
  name,
  title,
  spec: path,
  endpoint: { params, dataPath, paginator: { type: "none" } },
});

export const prometheus: Service = {
  number: 43,
  slug: "prometheus",
  name: "Prometheus",
  description:
    "Values, alerts, rules and targets of Prometheus, or of a server with its API, such as VictoriaMetrics or Mimir.",
  docs: "https://prometheus.io/docs/prometheus/latest/querying/api/",
  baseUrl: null,
  baseUrlHint: "URL of the server, such as http://prometheus.example.com:9090.",
  root: "/api/v1",
  auth: { type: "basic" },
  verify: { path: "/query?query=1" },
  config: {
    query: {
      title: "Query",
      description: "PromQL query. The list values reads its current values.",
      default: "up",
    },
  },
  credentials: {
    username: { title: "User name", description: "Any value if the server requires none." },
    password: { title: "Password", description: "Any value if the server requires none." },
  },
  resources: [
    list("values", "Values of the query, as they are now", "/query", "data.result", {
      query: "{{config.query}}",
    }),
    list("alerts", "Alerts that fire or are about to", "/alerts", "data.alerts"),
    list("rules", "Groups of rules", "/rules", "data.groups"),
    list("targets", "Targets that are scraped", "/targets", "data.activeTargets", { state: "active" }),
    list("metric_names", "Names of metrics", "/label/__name__/values", "data"),
  ],
};
