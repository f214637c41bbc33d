import type { App } from "../context.ts";
import type { Visit } from "./operation.ts";

/** True where a browser says that the request comes from Weir's own pages, or was typed by its user. */
export function isSameOrigin(app: App, visit: Visit): boolean {
  const site = visit.request.headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin" || site === "none";
  const origin = visit.request.headers.get("origin");
  return origin !== null && (origin === new URL(app.baseUrl()).origin || origin === visit.url.origin);
}

/** True where a browser says that another site's page sent the request; a program says neither. */
export function isForeign(app: App, visit: Visit): boolean {
  const { headers } = visit.request;
  return (headers.has("sec-fetch-site") || headers.has("origin")) && !isSameOrigin(app, visit);
}
