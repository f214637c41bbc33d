import type { Resource, Service } from "./contract.ts";

const list = (name: string, title: string, fields: string): Resource => ({
  name,
  title,
  spec: "/graphql",
  primaryKey: ["id"],
  endpoint: {
    method: "POST",
    body: {
      query: `query ($first: Int, $after: String) { ${name}(first: $first, after: $after, includeArchived: true) { nodes { ${fields} archivedAt } pageInfo { hasNextPage endCursor } } }`,
      variables: {},
    },
    dataPath: `data.${name}.nodes`,
    paginator: {
      type: "cursor",
      in: "body",
      cursorPath: `data.${name}.pageInfo.endCursor`,
      hasNextPath: `data.${name}.pageInfo.hasNextPage`,
      cursorParam: "variables.after",
      sizeParam: "variables.first",
      pageSize: 50,
    },
  },
});

export const linear: Service = {
  number: 4,
  slug: "linear",
  name: "Linear",
  description: "Issues, projects, teams and users of a Linear workspace, through its GraphQL API.",
  docs: "https://linear.app/developers/graphql",
  baseUrl: "https://api.linear.app",
  auth: { type: "header", name: "Authorization", value: "{{credentials.apiKey}}" },
  verify: { method: "POST", path: "/graphql", body: { query: "query { viewer { id name } }" } },
  credentials: {
    apiKey: {
      title: "API key",
      description:
        "Linear → Settings → Security & access → Personal API keys → New API key, with read access.",
    },
  },
  resources: [
    list(
      "issues",
      "Issues",
      "id identifier title description priority estimate createdAt updatedAt completedAt canceledAt dueDate url state { id name type } assignee { id name email } team { id key name } project { id name }",
    ),
    list(
      "projects",
      "Projects",
      "id name description createdAt updatedAt startDate targetDate progress url lead { id name email }",
    ),
    list("teams", "Teams", "id key name description createdAt updatedAt"),
    list("users", "People", "id name displayName email active admin createdAt updatedAt"),
    list(
      "cycles",
      "Cycles",
      "id number name startsAt endsAt completedAt createdAt updatedAt team { id key name }",
    ),
    list("issueLabels", "Labels", "id name color createdAt updatedAt"),
    list("comments", "Comments", "id body createdAt updatedAt url issue { id identifier } user { id name }"),
  ].map((resource) => ({
    ...resource,
    name: resource.name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  })),
};
