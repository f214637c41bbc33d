import type { Pages, Resource, Service } from "./contract.ts";

const PAGES: Pages = { type: "page", sizeParam: "limit", pageSize: 50 };

const ofRepository = (
  name: string,
  title: string,
  path: string,
  key = "id",
  params: Record<string, string> = {},
): Resource => ({
  name,
  title,
  spec: `/repos/{{config.owner}}/{{config.repository}}/${path}`,
  primaryKey: [key],
  endpoint: { params, paginator: PAGES },
});

export const gitea: Service = {
  number: 41,
  slug: "gitea",
  name: "Gitea and Forgejo",
  description: "Repositories, issues, pull requests and releases of a Gitea or Forgejo server.",
  docs: "https://docs.gitea.com/api/",
  baseUrl: null,
  baseUrlHint: "URL of the server, such as https://git.example.com.",
  root: "/api/v1",
  auth: { type: "header", name: "Authorization", value: "token {{credentials.token}}" },
  verify: { path: "/user" },
  config: {
    owner: {
      title: "Owner",
      description: "Owner of the repository: the first part of its path.",
      isOptional: true,
    },
    repository: {
      title: "Repository",
      description: "The second part of the repository's path.",
      isOptional: true,
    },
  },
  credentials: {
    token: {
      title: "Access token",
      description:
        "Gitea → Settings → Applications → Generate token, with read access to issues, repositories and the user.",
    },
  },
  resources: [
    {
      name: "repositories",
      title: "Repositories",
      spec: "/user/repos",
      primaryKey: ["id"],
      endpoint: { paginator: PAGES },
    },
    {
      name: "issues",
      title: "Issues and pull requests of the repository",
      spec: "/repos/{{config.owner}}/{{config.repository}}/issues",
      primaryKey: ["id"],
      incremental: { cursorField: "updated_at" },
      endpoint: {
        params: { state: "all" },
        paginator: PAGES,
        incremental: { startParam: "since", endParam: "before", format: "iso" },
      },
    },
    ofRepository("pull_requests", "Pull requests", "pulls", "id", { state: "all" }),
    ofRepository("releases", "Releases", "releases"),
    ofRepository("commits", "Commits", "commits", "sha"),
    {
      name: "organizations",
      title: "Organizations",
      spec: "/user/orgs",
      primaryKey: ["id"],
      endpoint: { paginator: PAGES },
    },
  ],
};
