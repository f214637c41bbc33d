import type { Pages, Service } from "./contract.ts";

const PAGES: Pages = { type: "offset", offsetParam: "startAt", sizeParam: "maxResults", pageSize: 50 };

export const jira: Service = {
  number: 17,
  slug: "jira",
  name: "Jira",
  description: "Issues, projects, boards and users of Jira Cloud.",
  docs: "https://developer.atlassian.com/cloud/jira/platform/rest/v3/",
  baseUrl: null,
  baseUrlHint: "URL of your site, such as https://example.atlassian.net.",
  root: "/rest",
  auth: { type: "basic", username: "{{credentials.email}}", password: "{{credentials.apiToken}}" },
  verify: { path: "/api/3/myself" },
  config: {
    jql: {
      title: "Issues",
      description: "Issues to read, in JQL. Jira requires a condition.",
      default: 'created >= "2000-01-01" ORDER BY created ASC',
    },
    boardId: {
      title: "Board",
      description: "The number in the board's URL. Required for its sprints.",
      isOptional: true,
    },
  },
  credentials: {
    email: { title: "Email address", description: "Email address of the token's account." },
    apiToken: {
      title: "API token",
      description: "id.atlassian.com → Security → Create and manage API tokens → Create API token.",
    },
  },
  resources: [
    {
      name: "issues",
      title: "Issues",
      spec: "/api/3/search/jql",
      primaryKey: ["id"],
      endpoint: {
        params: { jql: "{{config.jql}}", fields: "*all" },
        dataPath: "issues",
        paginator: {
          type: "cursor",
          cursorPath: "nextPageToken",
          cursorParam: "nextPageToken",
          sizeParam: "maxResults",
          pageSize: 100,
        },
      },
    },
    {
      name: "projects",
      title: "Projects",
      spec: "/api/3/project/search",
      primaryKey: ["id"],
      endpoint: { dataPath: "values", totalPath: "total", paginator: PAGES },
    },
    {
      name: "users",
      title: "People",
      spec: "/api/3/users/search",
      primaryKey: ["accountId"],
      endpoint: { paginator: PAGES },
    },
    {
      name: "fields",
      title: "Fields",
      spec: "/api/3/field",
      primaryKey: ["id"],
      endpoint: { paginator: { type: "none" } },
    },
    {
      name: "boards",
      title: "Boards",
      spec: "/agile/1.0/board",
      primaryKey: ["id"],
      endpoint: { dataPath: "values", paginator: PAGES },
    },
    {
      name: "sprints",
      title: "Sprints of the board",
      spec: "/agile/1.0/board/{{config.boardId}}/sprint",
      primaryKey: ["id"],
      endpoint: { dataPath: "values", paginator: PAGES },
    },
  ],
};
