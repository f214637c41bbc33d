import type { Service } from "./contract.ts";

export const supabase: Service = {
  number: 35,
  slug: "supabase",
  name: "Supabase",
  description:
    "Rows of a Supabase project, through its REST API (PostgREST). The provider postgres is faster, if you have the database's host name.",
  docs: "https://supabase.com/docs/guides/api",
  baseUrl: null,
  baseUrlHint: "URL of the project, such as https://abcdefgh.supabase.co.",
  root: "/rest/v1",
  auth: { type: "header", name: "apikey", value: "{{credentials.secretKey}}" },
  verify: { path: "/{{config.table}}?limit=1" },
  config: {
    table: { title: "Table", description: "Table or view of the schema public." },
    orderBy: {
      title: "Order",
      description: "Unique column to sort by, so that pages have a stable order.",
      default: "id",
    },
  },
  credentials: {
    secretKey: {
      title: "Secret key",
      description: "Supabase → Project Settings → API Keys → Secret keys. It starts with sb_secret_.",
    },
  },
  resources: [
    {
      name: "rows",
      title: "Rows of the table",
      spec: "/{{config.table}}",
      endpoint: {
        params: { order: "{{config.orderBy}}" },
        paginator: { type: "offset", sizeParam: "limit", pageSize: 1000 },
      },
    },
  ],
};
