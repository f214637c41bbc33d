import type { Pages, Service } from "./contract.ts";

const PAGES: Pages = {
  type: "cursor",
  cursorPath: "nextPageToken",
  cursorParam: "pageToken",
  sizeParam: "maxResults",
  pageSize: 500,
};

export const gmail: Service = {
  number: 6,
  slug: "gmail",
  name: "Gmail",
  description: "Lists messages and threads of a mailbox and sends mail, by signing in with Google.",
  docs: "https://developers.google.com/workspace/gmail/api/reference/rest",
  baseUrl: "https://gmail.googleapis.com",
  root: "/gmail/v1/users/me",
  auth: {
    type: "oauth2_authorization_code",
    authorizeUrl: "https://accounts.google.com/o/oauth2/v2/auth",
    tokenUrl: "https://oauth2.googleapis.com/token",
    scopes: ["https://www.googleapis.com/auth/gmail.readonly", "https://www.googleapis.com/auth/gmail.send"],
    extraParams: { access_type: "offline", prompt: "consent" },
    tokenAuth: "body",
  },
  verify: { path: "/profile" },
  config: {
    query: {
      title: "Search",
      description: "Filter for messages and threads, as in Gmail's search box.",
      default: "newer_than:30d",
    },
  },
  credentials: {
    clientId: {
      title: "Client ID",
      description:
        "Google Cloud console → APIs & Services: enable the API under Library, then Credentials → Create credentials → OAuth client ID → Web application. Use the redirect URI that the connection shows.",
    },
    clientSecret: { title: "Client secret", description: "Shown next to the client ID." },
  },
  resources: [
    {
      name: "messages",
      title: "Ids of messages; http_request reads one at /messages/ID",
      spec: "/messages",
      primaryKey: ["id"],
      endpoint: { params: { q: "{{config.query}}" }, dataPath: "messages || `[]`", paginator: PAGES },
    },
    {
      name: "threads",
      title: "Threads",
      spec: "/threads",
      primaryKey: ["id"],
      endpoint: { params: { q: "{{config.query}}" }, dataPath: "threads || `[]`", paginator: PAGES },
    },
    {
      name: "drafts",
      title: "Drafts",
      spec: "/drafts",
      primaryKey: ["id"],
      endpoint: { dataPath: "drafts || `[]`", paginator: PAGES },
    },
    {
      name: "labels",
      title: "Labels",
      spec: "/labels",
      primaryKey: ["id"],
      endpoint: { dataPath: "labels", paginator: { type: "none" } },
    },
  ],
};
