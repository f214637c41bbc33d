import type { Resource, Service } from "./contract.ts";

const list = (name: string, title: string): Resource => ({
  name,
  title,
  spec: `/${name}`,
  primaryKey: ["id"],
  endpoint: {
    dataPath: "data",
    paginator: {
      type: "cursor",
      cursorPath: "nextCursor",
      cursorParam: "cursor",
      sizeParam: "limit",
      pageSize: 100,
    },
  },
});

export const n8n: Service = {
  number: 53,
  slug: "n8n",
  name: "n8n",
  description: "Workflows, executions and users of n8n, in the cloud or self-hosted.",
  docs: "https://docs.n8n.io/api/",
  baseUrl: null,
  baseUrlHint: "URL of your n8n, such as https://n8n.example.com.",
  root: "/api/v1",
  auth: { type: "header", name: "X-N8N-API-KEY" },
  verify: { path: "/workflows?limit=1" },
  credentials: { apiKey: { title: "API key", description: "n8n → Settings → n8n API → Create an API key." } },
  resources: [
    list("workflows", "Workflows"),
    list("executions", "Executions"),
    list("tags", "Tags"),
    list("users", "People"),
  ],
};
