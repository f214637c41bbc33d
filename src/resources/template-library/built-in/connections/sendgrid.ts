import type { Resource, Service } from "./contract.ts";

const suppression = (name: string, title: string, path: string): Resource => ({
  name,
  title,
  spec: `/suppression/${path}`,
  primaryKey: ["email"],
  incremental: { cursorField: "created" },
  endpoint: {
    paginator: { type: "offset", sizeParam: "limit", pageSize: 500 },
    incremental: { startParam: "start_time", endParam: "end_time", format: "epoch_s" },
  },
});

export const sendgrid: Service = {
  number: 22,
  slug: "sendgrid",
  name: "SendGrid",
  description:
    "Sends email with Twilio SendGrid, and reads bounces, blocks, unsubscribes, lists and templates.",
  docs: "https://www.twilio.com/docs/sendgrid/api-reference",
  baseUrl: "https://api.sendgrid.com",
  baseUrlHint: "For EU accounts: https://api.eu.sendgrid.com.",
  root: "/v3",
  auth: { type: "bearer", token: "{{credentials.apiKey}}" },
  verify: { path: "/scopes" },
  credentials: {
    apiKey: {
      title: "API key",
      description: "SendGrid → Settings → API Keys → Create API Key. It starts with SG.",
    },
  },
  resources: [
    suppression("bounces", "Bounces", "bounces"),
    suppression("blocks", "Blocks", "blocks"),
    suppression("invalid_emails", "Invalid addresses", "invalid_emails"),
    suppression("spam_reports", "Spam reports", "spam_reports"),
    suppression("unsubscribes", "Unsubscribes", "unsubscribes"),
    {
      name: "lists",
      title: "Lists of contacts",
      spec: "/marketing/lists",
      primaryKey: ["id"],
      endpoint: {
        dataPath: "result",
        paginator: { type: "json_link", nextPath: "_metadata.next", sizeParam: "page_size", pageSize: 100 },
      },
    },
    {
      name: "templates",
      title: "Templates",
      spec: "/templates",
      primaryKey: ["id"],
      endpoint: {
        params: { generations: "legacy,dynamic" },
        dataPath: "result",
        paginator: { type: "json_link", nextPath: "_metadata.next", sizeParam: "page_size", pageSize: 200 },
      },
    },
  ],
};
