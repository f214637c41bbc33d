import type { Service } from "./contract.ts";

export const grafana: Service = {
  number: 42,
  slug: "grafana",
  name: "Grafana",
  description: "Dashboards, alert rules, data sources and annotations of Grafana.",
  docs: "https://grafana.com/docs/grafana/latest/developers/http_api/",
  baseUrl: null,
  baseUrlHint: "URL of your Grafana, such as https://grafana.example.com.",
  root: "/api",
  auth: { type: "bearer" },
  verify: { path: "/org" },
  credentials: {
    token: {
      title: "Service account token",
      description:
        "Grafana → Administration → Users and access → Service accounts → Add service account (Viewer) → Add token.",
    },
  },
  resources: [
    {
      name: "dashboards",
      title: "Dashboards",
      spec: "/search",
      primaryKey: ["uid"],
      endpoint: {
        params: { type: "dash-db" },
        paginator: { type: "page", sizeParam: "limit", pageSize: 1000 },
      },
    },
    {
      name: "folders",
      title: "Folders",
      spec: "/search",
      primaryKey: ["uid"],
      endpoint: {
        params: { type: "dash-folder" },
        paginator: { type: "page", sizeParam: "limit", pageSize: 1000 },
      },
    },
    {
      name: "alert_rules",
      title: "Alert rules",
      spec: "/v1/provisioning/alert-rules",
      primaryKey: ["uid"],
      endpoint: { paginator: { type: "none" } },
    },
    {
      name: "data_sources",
      title: "Data sources",
      spec: "/datasources",
      primaryKey: ["uid"],
      endpoint: { paginator: { type: "none" } },
    },
    {
      name: "users",
      title: "People",
      spec: "/org/users",
      primaryKey: ["userId"],
      endpoint: { paginator: { type: "none" } },
    },
    {
      name: "teams",
      title: "Teams",
      spec: "/teams/search",
      primaryKey: ["id"],
      endpoint: {
        dataPath: "teams",
        totalPath: "totalCount",
        paginator: { type: "page", sizeParam: "perpage", pageSize: 500 },
      },
    },
  ],
};
