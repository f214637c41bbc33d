import type { Service } from "./contract.ts";

export const brevo: Service = {
  number: 49,
  slug: "brevo",
  name: "Brevo",
  description: "Reads contacts, lists and campaigns of Brevo, and sends email.",
  docs: "https://developers.brevo.com/reference",
  baseUrl: "https://api.brevo.com",
  root: "/v3",
  auth: { type: "header", name: "api-key", value: "{{credentials.apiKey}}" },
  verify: { path: "/account" },
  credentials: {
    apiKey: {
      title: "API key",
      description: "Brevo → Settings → SMTP & API → API keys → Generate a new API key.",
    },
  },
  resources: [
    {
      name: "contacts",
      title: "Contacts",
      spec: "/contacts",
      primaryKey: ["id"],
      incremental: { cursorField: "modifiedAt", lagSeconds: 1 },
      endpoint: {
        params: { sort: "asc" },
        dataPath: "contacts || `[]`",
        totalPath: "count",
        paginator: { type: "offset", sizeParam: "limit", pageSize: 1000 },
        incremental: { startParam: "modifiedSince", format: "iso" },
      },
    },
    {
      name: "campaigns",
      title: "Mail campaigns",
      spec: "/emailCampaigns",
      primaryKey: ["id"],
      endpoint: {
        dataPath: "campaigns || `[]`",
        totalPath: "count",
        paginator: { type: "offset", sizeParam: "limit", pageSize: 100 },
      },
    },
    {
      name: "lists",
      title: "Lists",
      spec: "/contacts/lists",
      primaryKey: ["id"],
      endpoint: {
        dataPath: "lists || `[]`",
        totalPath: "count",
        paginator: { type: "offset", sizeParam: "limit", pageSize: 50 },
      },
    },
    {
      name: "senders",
      title: "Senders",
      spec: "/senders",
      primaryKey: ["id"],
      endpoint: { dataPath: "senders", paginator: { type: "none" } },
    },
  ],
};
