import type { Pages, Service } from "./contract.ts";

const PAGES: Pages = { type: "page", startPage: 0, sizeParam: "per_page", pageSize: 200 };

export const mattermost: Service = {
  number: 38,
  slug: "mattermost",
  name: "Mattermost",
  description: "Teams, channels and people of a Mattermost server, and messages sent to it.",
  docs: "https://api.mattermost.com/",
  baseUrl: null,
  baseUrlHint: "The server's address, such as https://chat.example.com.",
  root: "/api/v4",
  auth: { type: "bearer" },
  verify: { path: "/users/me" },
  config: {
    teamId: {
      title: "Team",
      description: "Its id, as the list teams has it, for its channels.",
      isOptional: true,
    },
  },
  credentials: {
    token: {
      title: "Access token",
      description:
        "Of a bot: Mattermost → Integrations → Bot accounts → Add bot account. Of a person: Profile → Security → Personal access tokens.",
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
