import type { Resource, Service } from "./contract.ts";

const list = (name: string, title: string, params: Record<string, string> = {}): Resource => ({
  name,
  title,
  spec: `/${name}`,
  primaryKey: ["id"],
  endpoint: { params, paginator: { type: "link_header", sizeParam: "per_page", pageSize: 100 } },
});

export const wordpress: Service = {
  number: 25,
  slug: "wordpress",
  name: "WordPress",
  description: "Reads and writes posts, pages, media, comments and users of a WordPress site.",
  docs: "https://developer.wordpress.org/rest-api/reference/",
  baseUrl: null,
  baseUrlHint: "URL of the site, such as https://www.example.com.",
  root: "/wp-json/wp/v2",
  auth: { type: "basic", password: "{{credentials.applicationPassword}}" },
  verify: { path: "/users/me" },
  credentials: {
    username: { title: "User name", description: "User name of the application password's account." },
    applicationPassword: {
      title: "Application password",
      description: "WordPress → Users → Profile → Application Passwords → Add.",
    },
  },
  resources: [
    list("posts", "Posts", { orderby: "id", order: "asc" }),
    list("pages", "Pages", { orderby: "id", order: "asc" }),
    list("media", "Media", { orderby: "id", order: "asc" }),
    list("comments", "Comments", { orderby: "id", order: "asc" }),
    list("users", "People", { orderby: "id", order: "asc" }),
    list("categories", "Categories", { orderby: "id", order: "asc" }),
    list("tags", "Tags", { orderby: "id", order: "asc" }),
  ],
};
