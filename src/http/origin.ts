import type { App } from "../context.ts";
import type { Visit } from "./operation.ts";

/** Returns whether the browser reports that the request comes from Weir's own pages or was entered by the user. */
export function isSameOrigin(app: App, visit: Visit): boolean {
  const site = visit.request.headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin" || site === "none";
  const origin = visit.request.headers.get("origin");
  return origin !== null && (origin === new URL(app.baseUrl()).origin || origin === visit.url.origin);
}

/** Returns whether the browser reports that the request comes from another site's page. Programs report neither. */
export function isForeign(app: App, visit: Visit): boolean {
  const { headers } = visit.request;
  return (headers.has("sec-fetch-site") || headers.has("origin")) && !isSameOrigin(app, visit);
}
