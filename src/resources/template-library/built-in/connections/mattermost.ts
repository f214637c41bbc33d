import type { Pages, Service } from "./contract.ts";

const PAGES: Pages = { type: "page", startPage: 0, sizeParam: "per_page", pageSize: 200 };

export const mattermost: Service = {
  number: 38,
  slug: "mattermost",
  name: "Mattermost",
  description: "Reads teams, channels and users of a Mattermost server, and sends messages.",
  docs: "https://api.mattermost.com/",
  baseUrl: null,
  baseUrlHint: "URL of the server, such as https://chat.example.com.",
  root: "/api/v4",
  auth: { type: "bearer" },
  verify: { path: "/users/me" },
  config: {
    teamId: {
      title: "Team",
      description: "ID of the team, from the list teams. Required for its channels.",
      isOptional: true,
    },
  },
  credentials: {
    token: {
      title: "Access token",
      description:
        "For a bot: Mattermost → Integrations → Bot accounts → Add bot account. For a user: Profile → Security → Personal access tokens.",
    },
  },
  resources: [
    { name: "users", title: "People", spec: "/users", primaryKey: ["id"], endpoint: { paginator: PAGES } },
    { name: "teams", title: "Teams", spec: "/teams", primaryKey: ["id"], endpoint: { paginator: PAGES } },
    {
      name: "channels",
      title: "Public channels of the team",
      spec: "/teams/{{config.teamId}}/channels",
      primaryKey: ["id"],
      endpoint: { paginator: PAGES },
    },
  ],
};
