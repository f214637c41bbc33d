import type { Service } from "./contract.ts";

export const mistral: Service = {
  number: 34,
  slug: "mistral",
  name: "Mistral AI",
  description: "Calls Mistral's models, and reads models, files and batch jobs.",
  docs: "https://docs.mistral.ai/api/",
  baseUrl: "https://api.mistral.ai",
  root: "/v1",
  auth: { type: "bearer", token: "{{credentials.apiKey}}" },
  verify: { path: "/models" },
  credentials: {
    apiKey: { title: "API key", description: "Mistral AI Studio → API Keys → Create new key." },
  },
  resources: [
    {
      name: "models",
      title: "Models",
      spec: "/models",
      primaryKey: ["id"],
      endpoint: { dataPath: "data", paginator: { type: "none" } },
    },
    {
      name: "files",
      title: "Files",
      spec: "/files",
      primaryKey: ["id"],
      endpoint: {
        dataPath: "data",
        totalPath: "total",
        paginator: { type: "page", startPage: 0, sizeParam: "page_size", pageSize: 100 },
      },
    },
    {
      name: "batch_jobs",
      title: "Batch jobs",
      spec: "/batch/jobs",
      primaryKey: ["id"],
      endpoint: {
        dataPath: "data",
        totalPath: "total",
        paginator: { type: "page", startPage: 0, sizeParam: "page_size", pageSize: 100 },
      },
    },
  ],
};
