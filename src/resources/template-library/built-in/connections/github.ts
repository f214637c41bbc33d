import type { Pages, Service } from "./contract.ts";

const PAGES: Pages = { type: "link_header", sizeParam: "per_page", pageSize: 100 };

export const github: Service = {
  number: 1,
  slug: "github",
  name: "GitHub",
  description:
    "Repositories, issues, pull requests and workflow runs of GitHub or GitHub Enterprise, with a token.",
  docs: "https://docs.github.com/en/rest",
  baseUrl: "https://api.github.com",
  baseUrlHint: "For GitHub Enterprise Server: https://HOST/api/v3.",
  auth: { type: "bearer" },
  headers: { Accept: "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28" },
  verify: { path: "/user" },
  config: {
    owner: {
      title: "Owner",
      description: "Owner of the repository: the first part of its path.",
      isOptional: true,
    },
    repository: {
      title: "Repository",
      description: "The second part of its path. Required for the lists of one repository.",
      isOptional: true,
    },
  },
  credentials: {
    token: {
      title: "Personal access token",
      description:
        "GitHub → Settings → Developer settings → Personal access tokens → Fine-grained tokens → Generate new token. Give it read access to Contents, Issues, Pull requests and Actions of the repositories.",
    },
  },
  resources: [
    {
      name: "repositories",
      title: "Repositories",
      spec: "/user/repos",
      primaryKey: ["id"],
      endpoint: { params: { sort: "updated" }, paginator: PAGES },
    },
    {
      name: "issues",
      title: "Issues and pull requests",
      spec: "/repos/{{config.owner}}/{{config.repository}}/issues",
      primaryKey: ["id"],
      incremental: { cursorField: "updated_at" },
      endpoint: {
        params: { state: "all", sort: "updated", direction: "asc" },
        paginator: PAGES,
        incremental: { startParam: "since", format: "iso" },
      },
    },
    {
      name: "issue_comments",
      title: "Comments",
      spec: "/repos/{{config.owner}}/{{config.repository}}/issues/comments",
      primaryKey: ["id"],
      incremental: { cursorField: "updated_at" },
      endpoint: {
        params: { sort: "updated", direction: "asc" },
        paginator: PAGES,
        incremental: { startParam: "since", format: "iso" },
      },
    },
    {
      name: "pull_requests",
      title: "Pull requests",
      spec: "/repos/{{config.owner}}/{{config.repository}}/pulls",
      primaryKey: ["id"],
      endpoint: { params: { state: "all" }, paginator: PAGES },
    },
    {
      name: "commits",
      title: "Commits",
      spec: "/repos/{{config.owner}}/{{config.repository}}/commits",
      primaryKey: ["sha"],
      endpoint: { paginator: PAGES },
    },
    {
      name: "releases",
      title: "Releases",
      spec: "/repos/{{config.owner}}/{{config.repository}}/releases",
      primaryKey: ["id"],
      endpoint: { paginator: PAGES },
    },
    {
      name: "workflow_runs",
      title: "Workflow runs",
      spec: "/repos/{{config.owner}}/{{config.repository}}/actions/runs",
      primaryKey: ["id"],
      endpoint: { dataPath: "workflow_runs", paginator: PAGES },
    },
  ],
};

export const githubSignIn: Service = {
  ...github,
  number: 2,
  slug: "github-sign-in",
  name: "GitHub (sign-in)",
  description:
    "Repositories, issues, pull requests and workflow runs of GitHub, by signing in with an OAuth app of your own.",
  auth: {
    type: "oauth2_authorization_code",
    authorizeUrl: "https://github.com/login/oauth/authorize",
    tokenUrl: "https://github.com/login/oauth/access_token",
    scopes: ["repo", "read:org"],
    tokenAuth: "body",
  },
  credentials: {
    clientId: {
      title: "Client ID",
      description:
        "GitHub → Settings → Developer settings → OAuth Apps → New OAuth App. As callback URL, use the redirect URI that the connection shows.",
    },
    clientSecret: { title: "Client secret", description: "On the same page: Generate a new client secret." },
  },
};
