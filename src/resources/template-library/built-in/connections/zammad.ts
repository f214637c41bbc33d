import type { Resource, Service } from "./contract.ts";

const list = (name: string, title: string): Resource => ({
  name,
  title,
  spec: `/${name}`,
  primaryKey: ["id"],
  endpoint: { paginator: { type: "page", sizeParam: "per_page", pageSize: 100 } },
});

export const zammad: Service = {
  number: 62,
  slug: "zammad",
  name: "Zammad",
  description: "Tickets, users, organizations and groups of Zammad.",
  docs: "https://docs.zammad.org/en/latest/api/intro.html",
  baseUrl: null,
  baseUrlHint: "URL of your Zammad, such as https://desk.example.com.",
  root: "/api/v1",
  auth: { type: "header", name: "Authorization", value: "Token token={{credentials.token}}" },
  verify: { path: "/users/me" },
  credentials: {
    token: {
      title: "Access token",
      description:
        "Zammad → your profile picture → Profile → Token Access → Create, with ticket.agent (and admin.user for users).",
    },
  },
  resources: [
    list("tickets", "Tickets"),
    list("users", "People"),
    list("organizations", "Organizations"),
    list("groups", "Groups"),
  ],
};
