import type { Pages, Service } from "./contract.ts";

const PAGES: Pages = { type: "offset", sizeParam: "count", pageSize: 1000 };

export const mailchimp: Service = {
  number: 21,
  slug: "mailchimp",
  name: "Mailchimp",
  description: "Audiences, their members, campaigns and reports of Mailchimp Marketing.",
  docs: "https://mailchimp.com/developer/marketing/api/",
  baseUrl: null,
  baseUrlHint:
    "https://DC.api.mailchimp.com, where DC is the part of the API key after the hyphen, such as us21.",
  root: "/3.0",
  auth: { type: "basic", username: "weir", password: "{{credentials.apiKey}}" },
  verify: { path: "/ping" },
  config: {
    listId: {
      title: "Audience",
      description:
        "Audience → Settings → Audience name and defaults → Audience ID. Required for the list members.",
      isOptional: true,
    },
  },
  credentials: {
    apiKey: { title: "API key", description: "Mailchimp → Profile → Extras → API keys → Create A Key." },
  },
  resources: [
    {
      name: "members",
      title: "Members of the audience",
      spec: "/lists/{{config.listId}}/members",
      primaryKey: ["id"],
      incremental: { cursorField: "last_changed", lagSeconds: 1 },
      endpoint: {
        dataPath: "members",
        totalPath: "total_items",
        paginator: PAGES,
        incremental: { startParam: "since_last_changed", endParam: "before_last_changed" },
      },
    },
    {
      name: "campaigns",
      title: "Campaigns",
      spec: "/campaigns",
      primaryKey: ["id"],
      endpoint: { dataPath: "campaigns", totalPath: "total_items", paginator: PAGES },
    },
    {
      name: "reports",
      title: "Reports of campaigns",
      spec: "/reports",
      primaryKey: ["id"],
      endpoint: { dataPath: "reports", totalPath: "total_items", paginator: PAGES },
    },
    {
      name: "lists",
      title: "Audiences",
      spec: "/lists",
      primaryKey: ["id"],
      endpoint: { dataPath: "lists", totalPath: "total_items", paginator: PAGES },
    },
  ],
};
