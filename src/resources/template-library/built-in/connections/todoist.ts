import type { Resource, Service } from "./contract.ts";

const list = (name: string, title: string): Resource => ({
  name,
  title,
  spec: `/${name}`,
  primaryKey: ["id"],
  endpoint: {
    dataPath: "results",
    paginator: {
      type: "cursor",
      cursorPath: "next_cursor",
      cursorParam: "cursor",
      sizeParam: "limit",
      pageSize: 200,
    },
  },
});

export const todoist: Service = {
  number: 50,
  slug: "todoist",
  name: "Todoist",
  description: "Reads and writes tasks, projects, sections and labels of Todoist.",
  docs: "https://developer.todoist.com/api/v1/",
  baseUrl: "https://api.todoist.com",
  root: "/api/v1",
  auth: { type: "bearer" },
  verify: { path: "/projects?limit=1" },
  credentials: {
    token: { title: "API token", description: "Todoist → Settings → Integrations → Developer → API token." },
  },
  resources: [
    list("tasks", "Open tasks"),
    list("projects", "Projects"),
    list("sections", "Sections"),
    list("labels", "Labels"),
  ],
};
