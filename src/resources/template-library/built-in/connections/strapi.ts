import type { Service } from "./contract.ts";

export const strapi: Service = {
  number: 61,
  slug: "strapi",
  name: "Strapi",
  description: "Entries of a collection type of Strapi 5.",
  docs: "https://docs.strapi.io/cms/api/rest",
  baseUrl: null,
  baseUrlHint: "URL of your Strapi, such as https://cms.example.com.",
  root: "/api",
  auth: { type: "bearer" },
  verify: { path: "/{{config.collection}}?pagination[pageSize]=1" },
  config: {
    collection: {
      title: "Collection",
      description: "The plural API ID of the collection type, such as articles.",
    },
  },
  credentials: {
    token: {
      title: "API token",
      description: "Strapi → Settings → API Tokens → Create new API Token, read-only.",
    },
  },
  resources: [
    {
      name: "entries",
      title: "Entries of the collection",
      spec: "/{{config.collection}}",
      primaryKey: ["documentId"],
      endpoint: {
        params: { sort: "documentId" },
        dataPath: "data",
        totalPath: "meta.pagination.total",
        paginator: {
          type: "page",
          pageParam: "pagination[page]",
          sizeParam: "pagination[pageSize]",
          pageSize: 100,
        },
      },
    },
  ],
};
