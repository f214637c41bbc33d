import type { Service } from "./contract.ts";

export const nocodb: Service = {
  number: 37,
  slug: "nocodb",
  name: "NocoDB",
  description: "Reads and writes records of a NocoDB table, in the cloud or self-hosted.",
  docs: "https://nocodb.com/apis/v2/data",
  baseUrl: "https://app.nocodb.com",
  baseUrlHint: "For your own NocoDB: its URL.",
  root: "/api/v2",
  auth: { type: "header", name: "xc-token", value: "{{credentials.token}}" },
  verify: { path: "/tables/{{config.tableId}}/records?limit=1" },
  config: {
    tableId: { title: "Table", description: "ID of the table: the part of its URL that starts with m." },
  },
  credentials: {
    token: { title: "API token", description: "NocoDB → Account settings → Tokens → Add new token." },
  },
  resources: [
    {
      name: "records",
      title: "Records of the table",
      spec: "/tables/{{config.tableId}}/records",
      endpoint: {
        dataPath: "list",
        totalPath: "pageInfo.totalRows",
        paginator: { type: "offset", sizeParam: "limit", pageSize: 100 },
      },
    },
    {
      name: "columns",
      title: "Columns of the table",
      spec: "/meta/tables/{{config.tableId}}",
      primaryKey: ["id"],
      endpoint: { dataPath: "columns", paginator: { type: "none" } },
    },
  ],
};
