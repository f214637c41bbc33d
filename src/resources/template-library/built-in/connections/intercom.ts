import type { Pages, Service } from "./contract.ts";

const PAGES: Pages = {
  type: "cursor",
  cursorPath: "pages.next.starting_after",
  cursorParam: "starting_after",
  sizeParam: "per_page",
  pageSize: 150,
};

export const intercom: Service = {
  number: 27,
  slug: "intercom",
  name: "Intercom",
  description: "Contacts, conversations and teams of Intercom.",
  docs: "https://developers.intercom.com/docs/references/rest-api/api.intercom.io/",
  baseUrl: "https://api.intercom.io",
  baseUrlHint:
    "For workspaces in Europe: https://api.eu.intercom.io. In Australia: https://api.au.intercom.io.",
  auth: { type: "bearer" },
  headers: { "Intercom-Version": "2.11" },
  verify: { path: "/me" },
  credentials: {
    token: {
      title: "Access token",
      description: "Intercom Developer Hub → Your apps → New app → Authentication: the access token.",
    },
  },
  resources: [
    {
      name: "contacts",
      title: "Contacts",
      spec: "/contacts",
      primaryKey: ["id"],
      endpoint: { dataPath: "data", paginator: PAGES },
    },
    {
      name: "conversations",
      title: "Conversations",
      spec: "/conversations",
      primaryKey: ["id"],
      endpoint: { dataPath: "conversations", paginator: PAGES },
    },
    {
      name: "admins",
      title: "Admins",
      spec: "/admins",
      primaryKey: ["id"],
      endpoint: { dataPath: "admins", paginator: { type: "none" } },
    },
    {
      name: "teams",
      title: "Teams",
      spec: "/teams",
      primaryKey: ["id"],
      endpoint: { dataPath: "teams", paginator: { type: "none" } },
    },
    {
      name: "tags",
      title: "Tags",
      spec: "/tags",
      primaryKey: ["id"],
      endpoint: { dataPath: "data", paginator: { type: "none" } },
    },
    {
      name: "segments",
      title: "Segments",
      spec: "/segments",
      primaryKey: ["id"],
      endpoint: { dataPath: "segments", paginator: { type: "none" } },
    },
  ],
};
