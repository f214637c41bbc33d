import { isObject, type Json, type JsonObject } from "../base/json.ts";

/**
 * Base URL of a description's paths, without a trailing slash: its first server, with the defaults of its variables,
 * or the host of Swagger 2. A relative URL is resolved against the document's URL.
 */
export function baseOf(
  document: JsonObject,
  url: string | null,
  warn: (text: string) => void,
): string | null {
  const text = document.swagger === undefined ? serverOf(document.servers) : hostOf(document, url);
  const full = url === null ? URL.parse(text) : URL.parse(text, url);
  if (!full || !/^https?:$/.test(full.protocol)) {
    warn("It doesn't name the API's server. Set baseUrl.");
    return null;
  }
  full.username = "";
  full.password = "";
  full.search = "";
  full.hash = "";
  return full.href.replace(/\/+$/, "");
}

function serverOf(servers: Json | undefined): string {
  const [first] = Array.isArray(servers) ? servers : [];
  if (!isObject(first) || typeof first.url !== "string") return "/";
  const variables = isObject(first.variables) ? first.variables : {};
  return first.url.replace(/\{([^{}]+)\}/g, (whole, name: string) => {
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined;
    const fallback = isObject(variable) ? variable.default : undefined;
    return typeof fallback === "string" || typeof fallback === "number" ? String(fallback) : whole;
  });
}

function hostOf({ host, basePath, schemes }: JsonObject, url: string | null): string {
  const path = typeof basePath === "string" ? `/${basePath.replace(/^\/+/, "")}` : "/";
  if (typeof host !== "string" || host === "") return path;
  const named = Array.isArray(schemes)
    ? schemes.filter((scheme) => scheme === "https" || scheme === "http")
    : [];
  const here = url === null ? undefined : URL.parse(url)?.protocol.replace(":", "");
  const scheme = named.includes("https") ? "https" : (named[0] ?? here ?? "https");
  return `${String(scheme)}://${host}${path}`;
}
