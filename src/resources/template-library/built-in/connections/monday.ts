import type { Resource, Service } from "./contract.ts";

const list = (name: string, title: string, fields: string): Resource => ({
  name,
  title,
  spec: "/v2",
  primaryKey: ["id"],
  endpoint: {
    method: "POST",
    body: {
      query: `query ($limit: Int, $page: Int) { ${name}(limit: $limit, page: $page) { ${fields} } }`,
      variables: {},
    },
    dataPath: `data.${name}`,
    paginator: {
      type: "page",
      in: "body",
      pageParam: "variables.page",
      sizeParam: "variables.limit",
      pageSize: 50,
    },
  },
});

export const monday: Service = {
  number: 32,
  slug: "monday",
  name: "monday.com",
  description: "Boards, items and users of monday.com, through its GraphQL API.",
  docs: "https://developer.monday.com/api-reference/",
  baseUrl: "https://api.monday.com",
  auth: { type: "header", name: "Authorization", value: "{{credentials.token}}" },
  verify: { method: "POST", path: "/v2", body: { query: "query { me { id name } }" } },
  config: {
    boardId: {
      title: "Board",
      description: "The number in the board's URL. Required for its items.",
      isOptional: true,
    },
  },
  credentials: {
    token: {
      title: "API token",
      description: "monday.com → your profile picture → Developers → API token → Show.",
    },
  },
  resources: [
    {
      name: "items",
      title: "Items of the board",
      spec: "/v2",
      primaryKey: ["id"],
      endpoint: {
        method: "POST",
        body: {
          query:
            "query ($ids: [ID!], $limit: Int!, $cursor: String) { boards(ids: $ids) { items_page(limit: $limit, cursor: $cursor) { cursor items { id name state created_at updated_at group { id title } column_values { id text value type } } } } }",
          variables: { ids: ["{{config.boardId}}"] },
        },
        dataPath: "data.boards[0].items_page.items",
        paginator: {
          type: "cursor",
          in: "body",
          cursorPath: "data.boards[0].items_page.cursor",
          cursorParam: "variables.cursor",
          sizeParam: "variables.limit",
          pageSize: 100,
        },
      },
    },
    list("boards", "Boards", "id name description state board_kind updated_at workspace_id items_count"),
    list("users", "People", "id name email enabled is_admin is_guest created_at"),
    list("workspaces", "Workspaces", "id name kind description created_at"),
  ],
};
