import type { Service } from "./contract.ts";

export const airtable: Service = {
  number: 11,
  slug: "airtable",
  name: "Airtable",
  description: "Bases, tables and records of Airtable, read and written.",
  docs: "https://airtable.com/developers/web/api/introduction",
  baseUrl: "https://api.airtable.com",
  root: "/v0",
  auth: { type: "bearer" },
  verify: { path: "/meta/whoami" },
  requestsPerMinute: 300,
  config: {
    baseId: {
      title: "Base",
      description: "ID of the base: the part of its URL that starts with app.",
      isOptional: true,
    },
    table: {
      title: "Table",
      description: "Name of the table, or its ID, which starts with tbl.",
      isOptional: true,
    },
  },
  credentials: {
    token: {
      title: "Personal access token",
      description:
        "airtable.com/create/tokens → Create new token, with the scopes data.records:read and schema.bases:read (data.records:write to write), and access to the bases.",
    },
  },
  resources: [
    {
      name: "records",
      title: "Records of the table",
      spec: "/{{config.baseId}}/{{config.table}}",
      primaryKey: ["id"],
      endpoint: {
        dataPath: "records",
        paginator: {
          type: "cursor",
          cursorPath: "offset",
          cursorParam: "offset",
          sizeParam: "pageSize",
          pageSize: 100,
        },
      },
    },
    {
      name: "tables",
      title: "Tables of the base",
      spec: "/meta/bases/{{config.baseId}}/tables",
      primaryKey: ["id"],
      endpoint: { dataPath: "tables", paginator: { type: "none" } },
    },
    {
      name: "bases",
      title: "Bases",
      spec: "/meta/bases",
      primaryKey: ["id"],
      endpoint: {
        dataPath: "bases",
        paginator: { type: "cursor", cursorPath: "offset", cursorParam: "offset" },
      },
    },
  ],
};
