import type { Pages, Service } from "./contract.ts";

const PAGES: Pages = {
  type: "cursor",
  cursorPath: "response_metadata.next_cursor",
  cursorParam: "cursor",
  sizeParam: "limit",
  pageSize: 200,
};

export const slack: Service = {
  number: 9,
  slug: "slack",
  name: "Slack",
  description:
    "Reads channels, users and messages of a Slack workspace, and sends messages, with a bot token.",
  docs: "https://docs.slack.dev/reference/methods",
  baseUrl: "https://slack.com",
  root: "/api",
  auth: { type: "bearer" },
  verify: { method: "POST", path: "/auth.test" },
  config: {
    channel: {
      title: "Channel",
      description:
        "ID of the channel to read messages from, such as C024BE91L: at the end of the channel's About tab.",
      isOptional: true,
    },
  },
  credentials: {
    token: {
      title: "Bot token",
      description:
        "api.slack.com/apps → Create New App → OAuth & Permissions: add the bot scopes channels:read, channels:history, users:read and chat:write, Install to Workspace, and copy the Bot User OAuth Token (xoxb-…). Invite the bot to the channel.",
    },
  },
  resources: [
    {
      name: "messages",
      title: "Messages of the channel",
      spec: "/conversations.history",
      primaryKey: ["ts"],
      incremental: { cursorField: "ts" },
      endpoint: {
        params: { channel: "{{config.channel}}", inclusive: "true" },
        dataPath: "messages",
        paginator: PAGES,
        incremental: { startParam: "oldest" },
      },
    },
    {
      name: "channels",
      title: "Channels",
      spec: "/conversations.list",
      primaryKey: ["id"],
      endpoint: { params: { types: "public_channel" }, dataPath: "channels", paginator: PAGES },
    },
    {
      name: "users",
      title: "People",
      spec: "/users.list",
      primaryKey: ["id"],
      endpoint: { dataPath: "members", paginator: PAGES },
    },
  ],
};

export const slackSignIn: Service = {
  ...slack,
  number: 10,
  slug: "slack-sign-in",
  name: "Slack (sign-in)",
  description:
    "Reads channels, users and messages of a Slack workspace, and sends messages, by signing in with your own Slack app.",
  auth: {
    type: "oauth2_authorization_code",
    authorizeUrl: "https://slack.com/oauth/v2/authorize",
    tokenUrl: "https://slack.com/api/oauth.v2.access",
    scopes: ["channels:read", "channels:history", "users:read", "chat:write"],
    pkce: false,
  },
  credentials: {
    clientId: {
      title: "Client id",
      description:
        "api.slack.com/apps → Create New App → Basic Information → App Credentials. Add the redirect URI that the connection shows under OAuth & Permissions → Redirect URLs.",
    },
    clientSecret: { title: "Client secret", description: "On the same page as the client ID." },
  },
};
