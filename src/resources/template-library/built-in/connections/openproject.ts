import type { Resource, Service } from "./contract.ts";

const list = (name: string, title: string, params: Record<string, string> = {}): Resource => ({
  name,
  title,
  spec: `/${name}`,
  primaryKey: ["id"],
  endpoint: {
    params,
    dataPath: "_embedded.elements",
    totalPath: "total",
    paginator: { type: "page", pageParam: "offset", sizeParam: "pageSize", pageSize: 100 },
  },
});

export const openproject: Service = {
  number: 65,
  slug: "openproject",
  name: "OpenProject",
  description: "Work packages, projects, time entries and users of OpenProject.",
  docs: "https://www.openproject.org/docs/api/",
  baseUrl: null,
  baseUrlHint: "URL of your OpenProject, such as https://projects.example.com.",
  root: "/api/v3",
  auth: { type: "basic", username: "apikey", password: "{{credentials.apiKey}}" },
  verify: { path: "/users/me" },
  credentials: {
    apiKey: { title: "API key", description: "OpenProject → My account → Access tokens → API → Generate." },
  },
  resources: [
    list("work_packages", "Work packages, closed ones too", { filters: "[]" }),
    list("projects", "Projects"),
    list("time_entries", "Time entries"),
    list("users", "People"),
  ],
};
