import type { Resource, Service } from "./contract.ts";

const list = (name: string, title: string): Resource => ({
  name,
  title,
  spec: `/${name}`,
  primaryKey: ["uri"],
  endpoint: {
    params: { organization: "{{config.organization}}" },
    dataPath: "collection",
    paginator: {
      type: "cursor",
      cursorPath: "pagination.next_page_token",
      cursorParam: "page_token",
      sizeParam: "count",
      pageSize: 100,
    },
  },
});

export const calendly: Service = {
  number: 30,
  slug: "calendly",
  name: "Calendly",
  description: "Scheduled events, event types and users of a Calendly organization.",
  docs: "https://developer.calendly.com/api-docs",
  baseUrl: "https://api.calendly.com",
  auth: { type: "bearer" },
  verify: { path: "/users/me" },
  config: {
    organization: {
      title: "Organization",
      description:
        "URI of the organization, such as https://api.calendly.com/organizations/…: current_organization in the response of /users/me.",
    },
  },
  credentials: {
    token: {
      title: "Personal access token",
      description:
        "Calendly → Integrations & apps → API and webhooks → Personal access tokens → Generate new token.",
    },
  },
  resources: [
    list("scheduled_events", "Meetings"),
    list("event_types", "Kinds of meetings"),
    list("organization_memberships", "People"),
  ],
};
