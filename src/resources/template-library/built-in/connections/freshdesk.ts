import type { Pages, Service } from "./contract.ts";

const PAGES: Pages = { type: "link_header", sizeParam: "per_page", pageSize: 100 };

export const freshdesk: Service = {
  number: 58,
  slug: "freshdesk",
  name: "Freshdesk",
  description: "Tickets, contacts, companies and agents of Freshdesk.",
  docs: "https://developers.freshdesk.com/api/",
  baseUrl: null,
  baseUrlHint: "https://DOMAIN.freshdesk.com",
  root: "/api/v2",
  auth: { type: "basic", username: "{{credentials.apiKey}}", password: "{{credentials.apiKey}}" },
  verify: { path: "/agents/me" },
  credentials: {
    apiKey: {
      title: "API key",
      description: "Freshdesk → your profile picture → Profile settings → View API Key.",
    },
  },
  resources: [
    {
      name: "tickets",
      title: "Tickets",
      spec: "/tickets",
      primaryKey: ["id"],
      incremental: { cursorField: "updated_at", initialValue: "2000-01-01T00:00:00Z", lagSeconds: 1 },
      endpoint: {
        params: { order_by: "updated_at", order_type: "asc" },
        paginator: PAGES,
        incremental: { startParam: "updated_since" },
      },
    },
    {
      name: "contacts",
      title: "Contacts",
      spec: "/contacts",
      primaryKey: ["id"],
      endpoint: { paginator: PAGES },
    },
    {
      name: "companies",
      title: "Companies",
      spec: "/companies",
      primaryKey: ["id"],
      endpoint: { paginator: PAGES },
    },
    { name: "agents", title: "Agents", spec: "/agents", primaryKey: ["id"], endpoint: { paginator: PAGES } },
    { name: "groups", title: "Groups", spec: "/groups", primaryKey: ["id"], endpoint: { paginator: PAGES } },
  ],
};
