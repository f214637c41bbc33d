import type { Service } from "./contract.ts";

export const supabase: Service = {
  number: 35,
  slug: "supabase",
  name: "Supabase",
  description:
    "Rows of a Supabase project by its REST API (PostgREST). With the database's own address the provider postgres reads it faster.",
  docs: "https://supabase.com/docs/guides/api",
  baseUrl: null,
  baseUrlHint: "The project's address, such as https://abcdefgh.supabase.co.",
  root: "/rest/v1",
  auth: { type: "header", name: "apikey", value: "{{credentials.secretKey}}" },
  verify: { path: "/{{config.table}}?limit=1" },
  config: {
    table: { title: "Table", description: "A table or view of the schema public." },
    orderBy: {
      title: "Order",
      description: "A column that tells rows apart, so that pages keep their order.",
      default: "id",
    },
  },
  credentials: {
    secretKey: {
      title: "Secret key",
      description: "Supabase → Project Settings → API Keys → Secret keys. It begins with sb_secret_.",
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
