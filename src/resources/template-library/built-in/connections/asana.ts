import type { Pages, Service } from "./contract.ts";

const PAGES: Pages = {
  type: "cursor",
  cursorPath: "next_page.offset",
  cursorParam: "offset",
  sizeParam: "limit",
  pageSize: 100,
};

export const asana: Service = {
  number: 19,
  slug: "asana",
  name: "Asana",
  description: "Tasks, projects, teams and users of Asana.",
  docs: "https://developers.asana.com/reference/rest-api-reference",
  baseUrl: "https://app.asana.com",
  root: "/api/1.0",
  auth: { type: "bearer" },
  verify: { path: "/users/me" },
  requestsPerMinute: 150,
  config: {
    workspaceId: {
      title: "Workspace",
      description: "Number of the workspace, from the list workspaces.",
      isOptional: true,
    },
    projectId: {
      title: "Project",
      description: "The first long number in the project's URL.",
      isOptional: true,
    },
  },
  credentials: {
    token: {
      title: "Personal access token",
      description: "app.asana.com/0/my-apps → Create new token.",
    },
  },
  resources: [
    {
      name: "tasks",
      title: "Tasks of the project",
      spec: "/tasks",
      primaryKey: ["gid"],
      incremental: { cursorField: "modified_at" },
      endpoint: {
        params: {
          project: "{{config.projectId}}",
          opt_fields:
            "name,notes,completed,completed_at,created_at,modified_at,due_on,due_at,assignee.name,parent.name,tags.name,custom_fields.name,custom_fields.display_value,permalink_url",
        },
        dataPath: "data",
        paginator: PAGES,
        incremental: { startParam: "modified_since", format: "iso" },
      },
    },
    {
      name: "projects",
      title: "Projects of the workspace",
      spec: "/workspaces/{{config.workspaceId}}/projects",
      primaryKey: ["gid"],
      endpoint: {
        params: {
          opt_fields: "name,archived,created_at,modified_at,due_on,owner.name,team.name,permalink_url",
        },
        dataPath: "data",
        paginator: PAGES,
      },
    },
    {
      name: "users",
      title: "People of the workspace",
      spec: "/workspaces/{{config.workspaceId}}/users",
      primaryKey: ["gid"],
      endpoint: { params: { opt_fields: "name,email" }, dataPath: "data", paginator: PAGES },
    },
    {
      name: "workspaces",
      title: "Workspaces",
      spec: "/workspaces",
      primaryKey: ["gid"],
      endpoint: { dataPath: "data", paginator: PAGES },
    },
  ],
};
