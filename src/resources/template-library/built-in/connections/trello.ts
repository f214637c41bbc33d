import type { Service } from "./contract.ts";

export const trello: Service = {
  number: 18,
  slug: "trello",
  name: "Trello",
  description: "Boards, lists, cards and their actions in Trello.",
  docs: "https://developer.atlassian.com/cloud/trello/rest/",
  baseUrl: "https://api.trello.com",
  root: "/1",
  auth: {
    type: "header",
    name: "Authorization",
    value: 'OAuth oauth_consumer_key="{{credentials.apiKey}}", oauth_token="{{credentials.token}}"',
  },
  verify: { path: "/members/me" },
  requestsPerMinute: 600,
  config: {
    boardId: {
      title: "Board",
      description: "The letters after /b/ in the board's URL. Required for the lists of one board.",
      isOptional: true,
    },
  },
  credentials: {
    apiKey: {
      title: "API key",
      description: "trello.com/power-ups/admin → New → API key → Generate a new API key.",
    },
    token: {
      title: "Token",
      description: "On the same page, select Token next to the key and allow access.",
    },
  },
  resources: [
    {
      name: "cards",
      title: "Cards of the board, archived ones too",
      spec: "/boards/{{config.boardId}}/cards/all",
      primaryKey: ["id"],
      endpoint: {
        params: { sort: "-id" },
        paginator: {
          type: "cursor",
          cursorPath: "[-1].id",
          cursorParam: "before",
          sizeParam: "limit",
          pageSize: 1000,
        },
      },
    },
    {
      name: "lists",
      title: "Lists of the board",
      spec: "/boards/{{config.boardId}}/lists",
      primaryKey: ["id"],
      endpoint: { params: { filter: "all" }, paginator: { type: "none" } },
    },
    {
      name: "actions",
      title: "Activity on the board",
      spec: "/boards/{{config.boardId}}/actions",
      primaryKey: ["id"],
      incremental: { cursorField: "date" },
      endpoint: {
        paginator: {
          type: "cursor",
          cursorPath: "[-1].id",
          cursorParam: "before",
          sizeParam: "limit",
          pageSize: 1000,
        },
        incremental: { startParam: "since", format: "iso" },
      },
    },
    {
      name: "members",
      title: "Members of the board",
      spec: "/boards/{{config.boardId}}/members",
      primaryKey: ["id"],
      endpoint: { paginator: { type: "none" } },
    },
    {
      name: "boards",
      title: "Boards",
      spec: "/members/me/boards",
      primaryKey: ["id"],
      endpoint: { paginator: { type: "none" } },
    },
  ],
};
