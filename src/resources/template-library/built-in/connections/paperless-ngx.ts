import type { Pages, Resource, Service } from "./contract.ts";

/** The last page has no next page. */
const PAGES: Pages = { type: "page", sizeParam: "page_size", pageSize: 100, stopOnStatus: [404] };

const list = (name: string, title: string): Resource => ({
  name,
  title,
  spec: `/${name}/`,
  primaryKey: ["id"],
  endpoint: { dataPath: "results", totalPath: "count", paginator: PAGES },
});

export const paperlessNgx: Service = {
  number: 51,
  slug: "paperless-ngx",
  name: "Paperless-ngx",
  description: "Documents with their text, correspondents, types and tags of Paperless-ngx.",
  docs: "https://docs.paperless-ngx.com/api/",
  baseUrl: null,
  baseUrlHint: "URL of the server, such as https://paperless.example.com.",
  root: "/api",
  auth: { type: "header", name: "Authorization", value: "Token {{credentials.token}}" },
  headers: { Accept: "application/json; version=5" },
  verify: { path: "/ui_settings/" },
  credentials: {
    token: { title: "API token", description: "Paperless-ngx → your name → My Profile → API Auth Token." },
  },
  resources: [
    {
      name: "documents",
      title: "Documents",
      spec: "/documents/",
      primaryKey: ["id"],
      incremental: { cursorField: "modified", lagSeconds: 1 },
      endpoint: {
        params: { ordering: "modified" },
        dataPath: "results",
        totalPath: "count",
        paginator: PAGES,
        incremental: { startParam: "modified__gt", endParam: "modified__lt", format: "iso" },
      },
    },
    list("correspondents", "Correspondents"),
    list("document_types", "Types of documents"),
    list("tags", "Tags"),
    list("storage_paths", "Storage paths"),
    list("custom_fields", "Custom fields"),
  ],
};
