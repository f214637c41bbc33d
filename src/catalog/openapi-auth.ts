import { isObject, type Json, type JsonObject } from "../base/json.ts";
import type { AuthHint } from "./contract.ts";
import type { References } from "./openapi-refs.ts";

/** The authentication methods in a description, and whether any of its operations requires one. */
export function readAuth(
  document: JsonObject,
  refs: References,
): { authRequired: boolean; authHints: AuthHint[] } {
  const components = isObject(document.components) ? document.components : {};
  const schemes = components.securitySchemes ?? document.securityDefinitions;
  const hints = new Map<string, AuthHint>();
  for (const [key, raw] of Object.entries(isObject(schemes) ? schemes : {})) {
    const scheme =
      isObject(raw) && typeof raw.$ref === "string" ? refs.follow(raw.$ref, refs.root.base)?.value : raw;
    const hint = isObject(scheme) ? hintOf(key, scheme) : null;
    if (hint) hints.set(key, hint);
  }
  const requirements = requirementsIn(document);
  const used = requirements.flatMap((list) => list.flatMap((one) => Object.keys(one)));
  const authRequired = requirements.some(
    (list) => list.length > 0 && list.every((one) => Object.keys(one).length > 0),
  );
  const named = [...new Set(used)].filter((key) => hints.has(key));
  const keys = named.length > 0 ? named : [...hints.keys()];
  return { authRequired, authHints: keys.map((key) => hints.get(key) as AuthHint) };
}

/** Alternative requirements of the document and of each operation. */
function requirementsIn(document: JsonObject): JsonObject[][] {
  const listOf = (value: Json | undefined) => (Array.isArray(value) ? value.filter(isObject) : null);
  const common = listOf(document.security);
  const found: JsonObject[][] = [];
  let isCommonUsed = false;
  for (const item of Object.values(isObject(document.paths) ? document.paths : {})) {
    for (const [key, operation] of Object.entries(isObject(item) ? item : {})) {
      if (!/^(get|post|put|patch|delete|head|options)$/.test(key) || !isObject(operation)) continue;
      const own = listOf(operation.security);
      if (own) found.push(own);
      else isCommonUsed = true;
    }
  }
  return common && isCommonUsed ? [common, ...found] : found;
}

function hintOf(key: string, scheme: JsonObject): AuthHint | null {
  const label = labelOf(key, scheme);
  const { type, in: location, name } = scheme;
  const header = { label, name: "Authorization", location: "header" } as const;
  switch (type) {
    case "apiKey": {
      if (
        typeof name !== "string" ||
        (location !== "header" && location !== "query" && location !== "cookie")
      )
        return null;
      return { label, name, location, type: `api_key_${location}` };
    }
    case "basic":
      return { ...header, type: "basic" };
    case "http": {
      const way = typeof scheme.scheme === "string" ? scheme.scheme.toLowerCase() : "";
      return { ...header, type: way === "basic" ? "basic" : "bearer" };
    }
    case "oauth2": {
      const flow = flowOf(scheme);
      return { ...header, type: "oauth2", ...(flow ? { flow } : {}) };
    }
    case "openIdConnect":
      return { ...header, type: "openid" };
    default:
      return null;
  }
}

/** Token source of a scheme: an interactive flow if there is one, else client credentials. */
function flowOf(scheme: JsonObject): AuthHint["flow"] | null {
  const { flows, flow: old } = scheme;
  const named = isObject(flows)
    ? flows
    : { [{ accessCode: "authorizationCode", application: "clientCredentials" }[String(old)] ?? ""]: scheme };
  const code = named.authorizationCode;
  const flow = isObject(code) ? code : named.clientCredentials;
  if (!isObject(flow) || typeof flow.tokenUrl !== "string") return null;
  const authorizeUrl = flow === code ? flow.authorizationUrl : null;
  if (authorizeUrl !== null && typeof authorizeUrl !== "string") return null;
  const scopes = Object.keys(isObject(flow.scopes) ? flow.scopes : {});
  return { authorizeUrl, tokenUrl: flow.tokenUrl, scopes: scopes.slice(0, 100) };
}

function labelOf(key: string, { description }: JsonObject): string {
  const [line = ""] = typeof description === "string" ? description.split("\n") : [];
  return line !== "" && line.length <= 100 ? line : key;
}

/** Authentication methods in a `WWW-Authenticate` header (RFC 9110, section 11.6.1). */
export function hintsOfChallenge(challenge: string | null): AuthHint[] {
  const header = { name: "Authorization", location: "header" } as const;
  const text = (challenge ?? "").slice(0, 8_192);
  const hints: AuthHint[] = [];
  if (/(^|,)\s*basic\b/i.test(text)) hints.push({ ...header, label: "Basic", type: "basic" });
  if (/(^|,)\s*bearer\b/i.test(text)) {
    const isOAuth = /resource_metadata|authorization_uri/i.test(text);
    hints.push({
      ...header,
      label: isOAuth ? "OAuth 2.0" : "Bearer token",
      type: isOAuth ? "oauth2" : "bearer",
    });
  }
  return hints;
}
