import type { Resource, Service } from "./contract.ts";

const list = (name: string, title: string, spec: string, key = "id"): Resource => ({
  name,
  title,
  spec,
  primaryKey: [key],
  endpoint: {
    dataPath: name,
    paginator: {
      type: "cursor",
      cursorPath: "next_page_token",
      cursorParam: "next_page_token",
      sizeParam: "page_size",
      pageSize: 300,
    },
  },
});

export const zoom: Service = {
  number: 57,
  slug: "zoom",
  name: "Zoom",
  description: "Meetings and users of Zoom, by signing in with Zoom.",
  docs: "https://developers.zoom.us/docs/api/",
  baseUrl: "https://api.zoom.us",
  root: "/v2",
  auth: {
    type: "oauth2_authorization_code",
    authorizeUrl: "https://zoom.us/oauth/authorize",
    tokenUrl: "https://zoom.us/oauth/token",
  },
  verify: { path: "/users/me" },
  credentials: {
    clientId: {
      title: "Client id",
      description:
        "marketplace.zoom.us → Develop → Build App → General App. Add the scopes to read users and meetings, and the redirect URI that the connection shows as OAuth Redirect URL.",
    },
    clientSecret: { title: "Client secret", description: "On the app's page: App Credentials." },
  },
  resources: [
    list("meetings", "One's meetings", "/users/me/meetings", "uuid"),
    list("users", "People of the account", "/users"),
  ],
};
