import type { Resource, Service } from "./contract.ts";

const list = (name: string, title: string, spec: string): Resource => ({
  name,
  title,
  spec,
  primaryKey: ["id"],
  endpoint: {
    dataPath: "data",
    paginator: {
      type: "cursor",
      cursorPath: "data[-1].id",
      hasNextPath: "has_more",
      cursorParam: "after",
      sizeParam: "limit",
      pageSize: 100,
    },
  },
});

export const openai: Service = {
  number: 33,
  slug: "openai",
  name: "OpenAI",
  description: "Calls OpenAI's models, and reads models, files, batches and fine-tuning jobs.",
  docs: "https://platform.openai.com/docs/api-reference",
  baseUrl: "https://api.openai.com",
  root: "/v1",
  auth: { type: "bearer", token: "{{credentials.apiKey}}" },
  verify: { path: "/models" },
  credentials: {
    apiKey: {
      title: "API key",
      description: "platform.openai.com → API keys → Create new secret key. It starts with sk-.",
    },
  },
  resources: [
    list("files", "Files", "/files"),
    list("batches", "Batches", "/batches"),
    list("fine_tuning_jobs", "Fine-tuning jobs", "/fine_tuning/jobs"),
    list("vector_stores", "Vector stores", "/vector_stores"),
    {
      name: "models",
      title: "Models",
      spec: "/models",
      primaryKey: ["id"],
      endpoint: { dataPath: "data", paginator: { type: "none" } },
    },
  ],
};
