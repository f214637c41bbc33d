import type { Service } from "./contract.ts";

export const discord: Service = {
  number: 20,
  slug: "discord",
  name: "Discord",
  description: "Reads servers, channels and messages of Discord, and sends messages, as a bot.",
  docs: "https://discord.com/developers/docs/reference",
  baseUrl: "https://discord.com",
  root: "/api/v10",
  auth: { type: "header", name: "Authorization", value: "Bot {{credentials.botToken}}" },
  verify: { path: "/users/@me" },
  config: {
    guildId: {
      title: "Server",
      description: "Settings → Advanced → Developer Mode; then right-click the server → Copy Server ID.",
      isOptional: true,
    },
    channelId: {
      title: "Channel",
      description: "Right-click the channel → Copy Channel ID.",
      isOptional: true,
    },
  },
  credentials: {
    botToken: {
      title: "Bot token",
      description:
        "discord.com/developers/applications → New Application → Bot → Reset Token. Invite the bot by OAuth2 → URL Generator with the scope bot and the permissions View Channels and Read Message History.",
    },
  },
  resources: [
    {
      name: "messages",
      title: "Messages of the channel",
      spec: "/channels/{{config.channelId}}/messages",
      primaryKey: ["id"],
      endpoint: {
        paginator: {
          type: "cursor",
          cursorPath: "[-1].id",
          cursorParam: "before",
          sizeParam: "limit",
          pageSize: 100,
        },
      },
    },
    {
      name: "channels",
      title: "Channels of the server",
      spec: "/guilds/{{config.guildId}}/channels",
      primaryKey: ["id"],
      endpoint: { paginator: { type: "none" } },
    },
    {
      name: "roles",
      title: "Roles of the server",
      spec: "/guilds/{{config.guildId}}/roles",
      primaryKey: ["id"],
      endpoint: { paginator: { type: "none" } },
    },
    {
      name: "guilds",
      title: "Servers that the bot is in",
      spec: "/users/@me/guilds",
      primaryKey: ["id"],
      endpoint: {
        paginator: {
          type: "cursor",
          cursorPath: "[-1].id",
          cursorParam: "after",
          sizeParam: "limit",
          pageSize: 200,
        },
      },
    },
  ],
};
