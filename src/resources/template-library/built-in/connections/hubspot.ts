import type { Resource, Service } from "./contract.ts";

const list = (name: string, title: string, spec: string): Resource => ({
  name,
  title,
  spec,
  primaryKey: ["id"],
  endpoint: {
    dataPath: "results",
    paginator: {
      type: "cursor",
      cursorPath: "paging.next.after",
      cursorParam: "after",
      sizeParam: "limit",
      pageSize: 100,
    },
  },
});

export const hubspot: Service = {
  number: 13,
  slug: "hubspot",
  name: "HubSpot",
  description:
    "Contacts, companies, deals, tickets and owners of a HubSpot account, with a private app's token.",
  docs: "https://developers.hubspot.com/docs/api-reference/overview",
  baseUrl: "https://api.hubapi.com",
  auth: { type: "bearer" },
  verify: { path: "/crm/v3/owners?limit=1" },
  requestsPerMinute: 600,
  credentials: {
    token: {
      title: "Access token of a private app",
      description:
        "HubSpot → Settings → Integrations → Private Apps → Create a private app, with the read scopes of crm.objects and crm.objects.owners: copy its access token.",
    },
  },
  resources: [
    list("contacts", "Contacts", "/crm/v3/objects/contacts"),
    list("companies", "Companies", "/crm/v3/objects/companies"),
    list("deals", "Deals", "/crm/v3/objects/deals"),
    list("tickets", "Tickets", "/crm/v3/objects/tickets"),
    list("products", "Products", "/crm/v3/objects/products"),
    list("line_items", "Line items", "/crm/v3/objects/line_items"),
    list("quotes", "Quotes", "/crm/v3/objects/quotes"),
    list("owners", "Owners", "/crm/v3/owners"),
  ],
};

export const hubspotSignIn: Service = {
  ...hubspot,
  number: 14,
  slug: "hubspot-sign-in",
  name: "HubSpot (sign-in)",
  description:
    "Contacts, companies, deals, tickets and owners of a HubSpot account, by signing in with an app of your own.",
  auth: {
    type: "oauth2_authorization_code",
    authorizeUrl: "https://app.hubspot.com/oauth/authorize",
    tokenUrl: "https://api.hubapi.com/oauth/v1/token",
    scopes: [
      "oauth",
      "crm.objects.contacts.read",
      "crm.objects.companies.read",
      "crm.objects.deals.read",
      "crm.objects.owners.read",
      "crm.objects.quotes.read",
      "tickets",
      "e-commerce",
    ],
    tokenAuth: "body",
  },
  credentials: {
    clientId: {
      title: "Client ID",
      description:
        "HubSpot developer account → Apps → Create app → Auth. Use the redirect URI that the connection shows, and the scopes that it requests.",
    },
    clientSecret: { title: "Client secret", description: "On the same page as the client ID." },
  },
};
