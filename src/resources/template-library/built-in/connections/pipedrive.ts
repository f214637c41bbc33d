import type { Pages, Resource, Service } from "./contract.ts";

const PAGES: Pages = {
  type: "cursor",
  cursorPath: "additional_data.next_cursor",
  cursorParam: "cursor",
  sizeParam: "limit",
  pageSize: 500,
};

const changed = (name: string, title: string): Resource => ({
  name,
  title,
  spec: `/api/v2/${name}`,
  primaryKey: ["id"],
  incremental: { cursorField: "update_time" },
  endpoint: {
    params: { sort_by: "update_time", sort_direction: "asc" },
    dataPath: "data",
    paginator: PAGES,
    incremental: { startParam: "updated_since", endParam: "updated_until" },
  },
});

const list = (name: string, title: string): Resource => ({
  name,
  title,
  spec: `/api/v2/${name}`,
  primaryKey: ["id"],
  endpoint: { dataPath: "data", paginator: PAGES },
});

export const pipedrive: Service = {
  number: 28,
  slug: "pipedrive",
  name: "Pipedrive",
  description: "Deals, people, organizations and activities of Pipedrive.",
  docs: "https://developers.pipedrive.com/docs/api/v1",
  baseUrl: "https://api.pipedrive.com",
  auth: { type: "header", name: "x-api-token", value: "{{credentials.apiToken}}" },
  verify: { path: "/v1/users/me" },
  credentials: {
    apiToken: { title: "API token", description: "Pipedrive → Personal preferences → API." },
  },
  resources: [
    changed("deals", "Deals"),
    changed("persons", "People"),
    changed("organizations", "Organizations"),
    changed("activities", "Activities"),
    list("products", "Products"),
    list("pipelines", "Pipelines"),
    list("stages", "Stages"),
    {
      name: "users",
      title: "Users",
      spec: "/v1/users",
      primaryKey: ["id"],
      endpoint: { dataPath: "data", paginator: { type: "none" } },
    },
  ],
};
