import type { Service } from "./contract.ts";

export const directus: Service = {
  number: 60,
  slug: "directus",
  name: "Directus",
  description: "Items of any collection, files and users of Directus.",
  docs: "https://directus.io/docs/api",
  baseUrl: null,
  baseUrlHint: "URL of your Directus, such as https://directus.example.com.",
  auth: { type: "bearer" },
  verify: { path: "/users/me" },
  config: {
    collection: {
      title: "Collection",
      description: "Key of the collection, for the list items.",
      isOptional: true,
    },
    sort: { title: "Order", description: "Unique field to sort items by.", default: "id" },
  },
  credentials: {
    token: { title: "Static token", description: "Directus → User Directory → the user → Token → Generate." },
  },
  resources: [
    {
      name: "items",
      title: "Items of the collection",
      spec: "/items/{{config.collection}}",
      endpoint: {
        params: { sort: "{{config.sort}}", meta: "filter_count" },
        dataPath: "data",
        totalPath: "meta.filter_count",
        paginator: { type: "offset", sizeParam: "limit", pageSize: 100 },
      },
    },
    {
      name: "files",
      title: "Files",
      spec: "/files",
      primaryKey: ["id"],
      endpoint: {
        params: { sort: "id" },
        dataPath: "data",
        paginator: { type: "offset", sizeParam: "limit", pageSize: 100 },
      },
    },
    {
      name: "users",
      title: "People",
      spec: "/users",
      primaryKey: ["id"],
      endpoint: {
        params: { sort: "id" },
        dataPath: "data",
        paginator: { type: "offset", sizeParam: "limit", pageSize: 100 },
      },
    },
    {
      name: "collections",
      title: "Collections",
      spec: "/collections",
      primaryKey: ["collection"],
      endpoint: { dataPath: "data", paginator: { type: "none" } },
    },
  ],
};
