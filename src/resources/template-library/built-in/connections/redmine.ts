import type { Resource, Service } from "./contract.ts";

const list = (name: string, title: string, params: Record<string, string> = {}): Resource => ({
  name,
  title,
  spec: `/${name}.json`,
  primaryKey: ["id"],
  endpoint: {
    params,
    dataPath: name,
    totalPath: "total_count",
    paginator: { type: "offset", sizeParam: "limit", pageSize: 100 },
  },
});

export const redmine: Service = {
  number: 63,
  slug: "redmine",
  name: "Redmine",
  description: "Issues, projects, time entries and users of Redmine.",
  docs: "https://www.redmine.org/projects/redmine/wiki/Rest_api",
  baseUrl: null,
  baseUrlHint: "URL of your Redmine, such as https://redmine.example.com.",
  auth: { type: "header", name: "X-Redmine-API-Key" },
  verify: { path: "/users/current.json" },
  credentials: {
    apiKey: {
      title: "API access key",
      description:
        "Redmine → My account → API access key → Show. An administrator must enable the REST API under Settings → API.",
    },
  },
  resources: [
    list("issues", "Issues", { status_id: "*", sort: "id" }),
    list("projects", "Projects"),
    list("time_entries", "Time entries"),
    list("users", "People"),
  ],
};
