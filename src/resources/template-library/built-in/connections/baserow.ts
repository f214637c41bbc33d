import type { Service } from "./contract.ts";

export const baserow: Service = {
  number: 36,
  slug: "baserow",
  name: "Baserow",
  description: "Reads and writes tables and rows of baserow.io or your own Baserow.",
  docs: "https://api.baserow.io/api/redoc/",
  baseUrl: "https://api.baserow.io",
  baseUrlHint: "For your own Baserow: its URL.",
  root: "/api",
  auth: { type: "header", name: "Authorization", value: "Token {{credentials.token}}" },
  verify: { path: "/database/tables/all-tables/" },
  config: {
    tableId: {
      title: "Table",
      description: "Number of the table: after /table/ in its URL.",
      isOptional: true,
    },
  },
  credentials: {
    token: {
      title: "Database token",
      description: "Baserow → My settings → Database tokens → Create token.",
    },
  },
  resources: [
    {
      name: "rows",
      title: "Rows of the table",
      spec: "/database/rows/table/{{config.tableId}}/",
      primaryKey: ["id"],
      endpoint: {
        params: { user_field_names: "true" },
        dataPath: "results",
        totalPath: "count",
        paginator: { type: "page", sizeParam: "size", pageSize: 200, stopOnStatus: [400] },
      },
    },
    {
      name: "fields",
      title: "Fields of the table",
      spec: "/database/fields/table/{{config.tableId}}/",
      primaryKey: ["id"],
      endpoint: { paginator: { type: "none" } },
    },
    {
      name: "tables",
      title: "Tables",
      spec: "/database/tables/all-tables/",
      primaryKey: ["id"],
      endpoint: { paginator: { type: "none" } },
    },
  ],
};
