import type { Service } from "./contract.ts";

export const clickup: Service = {
  number: 31,
  slug: "clickup",
  name: "ClickUp",
  description: "Tasks, lists, folders and spaces of a ClickUp workspace.",
  docs: "https://developer.clickup.com/reference",
  baseUrl: "https://api.clickup.com",
  root: "/api/v2",
  auth: { type: "header", name: "Authorization", value: "{{credentials.token}}" },
  verify: { path: "/user" },
  requestsPerMinute: 100,
  config: {
    workspaceId: {
      title: "Workspace",
      description: "The first number in the path of the workspace's URL.",
      isOptional: true,
    },
    spaceId: {
      title: "Space",
      description: "Number of the space, from the list spaces.",
      isOptional: true,
    },
  },
  credentials: {
    token: {
      title: "Personal API token",
      description: "ClickUp → Settings → Apps → API Token → Generate. It starts with pk_.",
    },
  },
  resources: [
    {
      name: "tasks",
      title: "Tasks of the workspace",
      spec: "/team/{{config.workspaceId}}/task",
      primaryKey: ["id"],
      incremental: { cursorField: "date_updated", lagSeconds: 1 },
      endpoint: {
        params: { include_closed: "true", subtasks: "true", order_by: "updated", reverse: "true" },
        dataPath: "tasks",
        paginator: { type: "page", startPage: 0 },
        incremental: { startParam: "date_updated_gt", endParam: "date_updated_lt", format: "epoch_ms" },
      },
    },
    {
      name: "spaces",
      title: "Spaces of the workspace",
      spec: "/team/{{config.workspaceId}}/space",
      primaryKey: ["id"],
      endpoint: { dataPath: "spaces", paginator: { type: "none" } },
    },
    {
      name: "folders",
      title: "Folders of the space",
      spec: "/space/{{config.spaceId}}/folder",
      primaryKey: ["id"],
      endpoint: { dataPath: "folders", paginator: { type: "none" } },
    },
    {
      name: "lists",
      title: "Lists of the space that are in no folder",
      spec: "/space/{{config.spaceId}}/list",
      primaryKey: ["id"],
      endpoint: { dataPath: "lists", paginator: { type: "none" } },
    },
    {
      name: "workspaces",
      title: "Workspaces",
      spec: "/team",
      primaryKey: ["id"],
      endpoint: { dataPath: "teams", paginator: { type: "none" } },
    },
  ],
};
