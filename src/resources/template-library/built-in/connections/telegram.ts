import type { Service } from "./contract.ts";

/**
 * Updates aren't a list: requesting more of them deletes the previous ones.
 * They arrive by a webhook with Telegram's preset.
 */
export const telegram: Service = {
  number: 67,
  slug: "telegram",
  name: "Telegram",
  description:
    "Sends messages as a Telegram bot, with HTTP requests such as POST /sendMessage. Lists its commands and a chat's administrators.",
  docs: "https://core.telegram.org/bots/api",
  baseUrl: "https://api.telegram.org",
  auth: { type: "path", prefix: "bot" },
  verify: { path: "/getMe" },
  config: {
    chatId: {
      title: "Chat",
      description:
        "Number of the chat, or @name of a public one. Required for the list of its administrators.",
      isOptional: true,
    },
  },
  credentials: {
    token: {
      title: "Bot token",
      description: "Telegram → @BotFather → /newbot, or /token for an existing bot.",
    },
  },
  resources: [
    {
      name: "commands",
      title: "Commands of the bot",
      spec: "/getMyCommands",
      primaryKey: ["command"],
      endpoint: { dataPath: "result" },
    },
    {
      name: "chat_administrators",
      title: "Administrators of the chat",
      spec: "/getChatAdministrators",
      endpoint: { dataPath: "result", params: { chat_id: "{{config.chatId}}" } },
    },
  ],
};
