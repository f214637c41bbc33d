import type { Service } from "./contract.ts";

export const typeform: Service = {
  number: 29,
  slug: "typeform",
  name: "Typeform",
  description: "Forms and their responses.",
  docs: "https://www.typeform.com/developers/",
  baseUrl: "https://api.typeform.com",
  baseUrlHint: "For EU accounts: https://api.eu.typeform.com.",
  auth: { type: "bearer" },
  verify: { path: "/forms?page_size=1" },
  requestsPerMinute: 120,
  config: {
    formId: {
      title: "Form",
      description: "The last part of the form's URL. Required for its responses.",
      isOptional: true,
    },
  },
  credentials: {
    token: {
      title: "Personal token",
      description:
        "Typeform → Your settings → Personal tokens → Generate a new token, with forms:read and responses:read.",
    },
  },
  resources: [
    {
      name: "responses",
      title: "Responses to the form",
      spec: "/forms/{{config.formId}}/responses",
      primaryKey: ["token"],
      endpoint: {
        dataPath: "items",
        paginator: {
          type: "cursor",
          cursorPath: "items[-1].token",
          cursorParam: "before",
          sizeParam: "page_size",
          pageSize: 1000,
        },
      },
    },
    {
      name: "forms",
      title: "Forms",
      spec: "/forms",
      primaryKey: ["id"],
      endpoint: {
        dataPath: "items",
        totalPath: "total_items",
        paginator: { type: "page", sizeParam: "page_size", pageSize: 200 },
      },
    },
    {
      name: "workspaces",
      title: "Workspaces",
      spec: "/workspaces",
      primaryKey: ["id"],
      endpoint: {
        dataPath: "items",
        totalPath: "total_items",
        paginator: { type: "page", sizeParam: "page_size", pageSize: 200 },
      },
    },
  ],
};
