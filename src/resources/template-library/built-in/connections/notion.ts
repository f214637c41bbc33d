import type { Pages, Resource, Service } from "./contract.ts";

const PAGES: Pages = {
  type: "cursor",
  cursorPath: "next_cursor",
  hasNextPath: "has_more",
  cursorParam: "start_cursor",
  sizeParam: "page_size",
  pageSize: 100,
};

const found = (name: string, title: string, object: string): Resource => ({
  name,
  title,
  spec: "/search",
  primaryKey: ["id"],
  endpoint: {
    method: "POST",
    body: {
      filter: { property: "object", value: object },
      sort: { timestamp: "last_edited_time", direction: "ascending" },
    },
    dataPath: "results",
    paginator: { ...PAGES, in: "body" },
  },
});

export const notion: Service = {
  number: 12,
  slug: "notion",
  name: "Notion",
  description: "Pages, databases and users of a Notion workspace that are shared with your integration.",
  docs: "https://developers.notion.com/reference/intro",
  baseUrl: "https://api.notion.com",
  root: "/v1",
  auth: { type: "bearer" },
  headers: { "Notion-Version": "{{config.version}}" },
  verify: { path: "/users/me" },
  requestsPerMinute: 180,
  config: {
    version: {
      title: "API version",
      description: "API version that the lists use.",
      default: "2022-06-28",
    },
    databaseId: {
      title: "Database",
      description: "ID of the database: the 32 letters and digits in its URL, before ?v=.",
      isOptional: true,
    },
    pageId: { title: "Page", description: "ID of the page to read blocks from.", isOptional: true },
  },
  credentials: {
    token: {
      title: "Integration secret",
      description:
        "notion.so/profile/integrations → New integration → Internal: copy the secret. Then open each page or database, … → Connections, and add the integration.",
    },
  },
  resources: [
    {
      name: "database_rows",
      title: "Rows of the database",
      spec: "/databases/{{config.databaseId}}/query",
      primaryKey: ["id"],
      incremental: { cursorField: "last_edited_time", initialValue: "2000-01-01T00:00:00.000Z" },
      endpoint: {
        method: "POST",
        body: {
          filter: { timestamp: "last_edited_time", last_edited_time: {} },
          sorts: [{ timestamp: "last_edited_time", direction: "ascending" }],
        },
        dataPath: "results",
        paginator: { ...PAGES, in: "body" },
        incremental: { startParam: "filter.last_edited_time.on_or_after", in: "body", format: "iso" },
      },
    },
    found("pages", "Pages", "page"),
    found("databases", "Databases", "database"),
    {
      name: "blocks",
      title: "Blocks of the page",
      spec: "/blocks/{{config.pageId}}/children",
      primaryKey: ["id"],
      endpoint: { dataPath: "results", paginator: PAGES },
    },
    {
      name: "users",
      title: "People",
      spec: "/users",
      primaryKey: ["id"],
      endpoint: { dataPath: "results", paginator: PAGES },
    },
  ],
};
