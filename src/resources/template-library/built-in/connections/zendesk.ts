import type { Resource, Service } from "./contract.ts";

const list = (name: string, title: string): Resource => ({
  name,
  title,
  spec: `/${name}.json`,
  primaryKey: ["id"],
  endpoint: {
    dataPath: name,
    paginator: {
      type: "json_link",
      nextPath: "links.next",
      hasNextPath: "meta.has_more",
      sizeParam: "page[size]",
      pageSize: 100,
    },
  },
});

export const zendesk: Service = {
  number: 26,
  slug: "zendesk",
  name: "Zendesk",
  description: "Tickets, users and organizations of Zendesk Support.",
  docs: "https://developer.zendesk.com/api-reference/",
  baseUrl: null,
  baseUrlHint: "https://SUBDOMAIN.zendesk.com",
  root: "/api/v2",
  auth: { type: "basic", username: "{{credentials.email}}/token", password: "{{credentials.apiToken}}" },
  verify: { path: "/users/me.json" },
  requestsPerMinute: 200,
  credentials: {
    email: { title: "Mail address", description: "Email address of an agent who can see what you load." },
    apiToken: {
      title: "API token",
      description: "Admin Center → Apps and integrations → APIs → API tokens → Add API token.",
    },
  },
  resources: [
    list("tickets", "Tickets that are not archived"),
    {
      name: "all_tickets",
      title: "Tickets, archived ones too; only admins may read them",
      spec: "/incremental/tickets/cursor.json",
      primaryKey: ["id"],
      incremental: { cursorField: "generated_timestamp", initialValue: 0 },
      endpoint: {
        dataPath: "tickets",
        paginator: { type: "json_link", nextPath: "after_url", hasNextPath: "!end_of_stream" },
        incremental: { startParam: "start_time", format: "epoch_s" },
        requestsPerMinute: 10,
      },
    },
    list("users", "People"),
    list("organizations", "Organizations"),
    list("groups", "Groups"),
    list("ticket_metrics", "Metrics of tickets"),
    list("satisfaction_ratings", "Ratings"),
    list("ticket_fields", "Fields of tickets"),
    list("macros", "Macros"),
  ],
};
