import type { Lists, Pages, Service } from "./contract.ts";

const PAGES: Pages = { type: "link_header", sizeParam: "per_page", pageSize: 100 };
/** Lists that can return only what has changed. */
const CHANGED: Lists = {
  primaryKey: ["id"],
  incremental: { cursorField: "updated_at" },
  endpoint: {
    params: { scope: "all", order_by: "updated_at", sort: "asc" },
    paginator: PAGES,
    incremental: { startParam: "updated_after", endParam: "updated_before", format: "iso" },
  },
};

export const gitlab: Service = {
  number: 15,
  slug: "gitlab",
  name: "GitLab",
  description:
    "Projects, issues, merge requests and pipelines of gitlab.com or your own GitLab, with a token.",
  docs: "https://docs.gitlab.com/api/rest/",
  baseUrl: "https://gitlab.com",
  baseUrlHint: "For your own GitLab: its URL.",
  root: "/api/v4",
  auth: { type: "header", name: "PRIVATE-TOKEN", value: "{{credentials.token}}" },
  verify: { path: "/user" },
  config: {
    projectId: {
      title: "Project",
      description:
        "Number of the project, or its full path such as group/project. Required for the lists of one project.",
      isOptional: true,
    },
  },
  credentials: {
    token: {
      title: "Personal access token",
      description: "GitLab → Preferences → Access tokens → Add new token, with the scope read_api.",
    },
  },
  resources: [
    { name: "issues", title: "Issues", spec: "/issues", ...CHANGED },
    { name: "merge_requests", title: "Merge requests", spec: "/merge_requests", ...CHANGED },
    {
      name: "projects",
      title: "Projects that one is a member of",
      spec: "/projects",
      primaryKey: ["id"],
      endpoint: { params: { membership: "true" }, paginator: PAGES },
    },
    { name: "groups", title: "Groups", spec: "/groups", primaryKey: ["id"], endpoint: { paginator: PAGES } },
    {
      name: "pipelines",
      title: "Pipelines of the project",
      spec: "/projects/{{config.projectId}}/pipelines",
      primaryKey: ["id"],
      incremental: { cursorField: "updated_at" },
      endpoint: {
        params: { order_by: "updated_at", sort: "asc" },
        paginator: PAGES,
        incremental: { startParam: "updated_after", endParam: "updated_before", format: "iso" },
      },
    },
    {
      name: "commits",
      title: "Commits of the project",
      spec: "/projects/{{config.projectId}}/repository/commits",
      primaryKey: ["id"],
      endpoint: { paginator: PAGES },
    },
    {
      name: "releases",
      title: "Releases of the project",
      spec: "/projects/{{config.projectId}}/releases",
      primaryKey: ["tag_name"],
      endpoint: { paginator: PAGES },
    },
    {
      name: "members",
      title: "Members of the project",
      spec: "/projects/{{config.projectId}}/members/all",
      primaryKey: ["id"],
      endpoint: { paginator: PAGES },
    },
  ],
};

export const gitlabSignIn: Service = {
  ...gitlab,
  number: 16,
  slug: "gitlab-sign-in",
  name: "GitLab (sign-in)",
  description:
    "Projects, issues, merge requests and pipelines of gitlab.com or your own GitLab, by signing in with your application.",
  auth: {
    type: "oauth2_authorization_code",
    authorizeUrl: "{{config.baseUrl}}/oauth/authorize",
    tokenUrl: "{{config.baseUrl}}/oauth/token",
    scopes: ["read_api"],
    tokenAuth: "body",
  },
  credentials: {
    clientId: {
      title: "Application ID",
      description:
        "GitLab → Preferences → Applications → Add new application, with the scope read_api. Use the redirect URI that the connection shows.",
    },
    clientSecret: { title: "Secret", description: "Shown once the application is saved." },
  },
};
