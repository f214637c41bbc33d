import type { Service } from "./contract.ts";

export const dropbox: Service = {
  number: 45,
  slug: "dropbox",
  name: "Dropbox",
  description:
    "Reads shared links of a Dropbox, and with http_request its files, by signing in with Dropbox.",
  docs: "https://www.dropbox.com/developers/documentation/http/documentation",
  baseUrl: "https://api.dropboxapi.com",
  root: "/2",
  auth: {
    type: "oauth2_authorization_code",
    authorizeUrl: "https://www.dropbox.com/oauth2/authorize",
    tokenUrl: "https://api.dropboxapi.com/oauth2/token",
    scopes: [
      "account_info.read",
      "files.metadata.read",
      "files.content.read",
      "files.content.write",
      "sharing.read",
    ],
    extraParams: { token_access_type: "offline" },
    tokenAuth: "body",
  },
  verify: { method: "POST", path: "/users/get_current_account" },
  credentials: {
    clientId: {
      title: "App key",
      description:
        "dropbox.com/developers/apps → Create app → Scoped access: add the scopes under Permissions, and the redirect URI that the connection shows under Redirect URIs.",
    },
    clientSecret: { title: "App secret", description: "On the app's page: Show." },
  },
  resources: [
    {
      name: "shared_links",
      title: "Links that are shared",
      spec: "/sharing/list_shared_links",
      primaryKey: ["id"],
      endpoint: {
        method: "POST",
        body: {},
        dataPath: "links",
        paginator: {
          type: "cursor",
          in: "body",
          cursorPath: "cursor",
          hasNextPath: "has_more",
          cursorParam: "cursor",
        },
      },
    },
  ],
};
