import { Type } from "@sinclair/typebox";
import { AppError } from "../../base/errors.ts";
import { headersOf, withCredentials } from "../../base/http-message.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { jsonObject, map } from "../../base/shape.ts";
import { resolveTemplates, type TemplateOptions } from "../../base/template.ts";
import type { SignInTerms } from "../../oauth/contract.ts";
import { accessToken, type IssuedToken } from "../api/access-token.ts";
import { postForToken } from "../api/oauth-token.ts";
import type { Grant, HttpAccess, Link, Provider } from "../contract.ts";
import { credentialsSchemaOf } from "./credentials.ts";
import {
  addressFault,
  authTexts,
  destinationsOf,
  type HttpAuth,
  type HttpTemplate,
  withSchemaDefaults,
} from "./definition.ts";
import { extractHttp } from "./extract.ts";
import { errorIn } from "./rows.ts";
import { httpTables, namedResources } from "./tables.ts";

/** Provider of connections created from a template. */
export const HTTP_PROVIDER = "http";

/** Maximum bytes to read of a verification response. */
const MAX_VERIFY_BYTES = 64 * 1024;
/** For tokens that are valid for about a minute: they are used until 30 seconds before they expire. */
const SHORTER_MARGIN_SECONDS = 30;

/**
 * Creates the provider for a connection template: an HTTP API with its own authentication. The caller validates config
 * and credentials by the template's JSON Schemas.
 */
export function httpTemplateProvider(definition: HttpTemplate): Provider {
  const { requestsPerMinute, resources } = definition.http;
  const http: HttpAccess = {
    ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
    baseUrl: (link) => baseUrlOf(definition, link.config),
    authorize: (link, options) => grantFor(definition, link, options?.isFresh ?? false),
  };
  return {
    id: HTTP_PROVIDER,
    title: "HTTP API",
    description: "An HTTP API that a connection template describes.",
    config: jsonObject(),
    credentials: map(Type.String()),
    destination: destinationsOf(definition),
    ...(definition.http.auth.type === "oauth2_authorization_code"
      ? { signIn: (settings: Settings) => termsOf(definition, settings) }
      : {}),
    verify: (link) => verify(definition, link),
    http,
    extract: (link, request) => extractHttp(http, link, request),
    ...(resources && resources.length > 0
      ? {
          tables: httpTables(definition, http),
          resources: (config: JsonObject | null) => namedResources(definition, config),
        }
      : {}),
  };
}

/** Base of paths, without a trailing slash. Throws `template_error`, or `definition_invalid` for a bad address. */
export function baseUrlOf(definition: HttpTemplate, config: JsonObject): string {
  return addressOf(definition, definition.http.baseUrl, config, "base address").replace(/\/+$/, "");
}

function addressOf(definition: HttpTemplate, template: string, config: JsonObject, what: string): string {
  const address = textOf(template, { config: withSchemaDefaults(definition.configSchema, config) });
  const fault = addressFault(address);
  if (fault)
    throw new AppError("definition_invalid", `The ${what} of this connection can't be used: ${fault}`);
  return address;
}

function textOf(template: string, scope: JsonObject, options?: TemplateOptions): string {
  const value = resolveTemplates(template, scope, options);
  return typeof value === "string" ? value : JSON.stringify(value);
}

async function verify(definition: HttpTemplate, link: Link): Promise<void> {
  const { method = "GET", path = "/", expectStatus, body } = definition.http.verify ?? {};
  const config = withSchemaDefaults(definition.configSchema, link.config);
  const below = textOf(path, { config }, { url: [[]] }).replace(/^\/+/, "");
  const url = new URL(`${baseUrlOf(definition, link.config)}/${below}`);
  const ask = async (isFresh: boolean): Promise<{ status: number; errorText: string | null }> => {
    const grant = await grantFor(definition, link, isFresh);
    const response = await link.egress.fetch(withCredentials(url, grant).href, {
      method,
      headers: {
        ...(body ? { "content-type": "application/json" } : {}),
        accept: "application/json",
        "user-agent": "Weir",
        ...grant.headers,
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: link.signal,
      credentialHeaders: Object.keys(grant.headers),
    });
    const reply = await response.bytes(MAX_VERIFY_BYTES);
    return {
      status: response.status,
      errorText: reply.truncated ? null : saidIn(reply.bytes, grant.secrets),
    };
  };
  const isSignedIn = definition.http.auth.type === "oauth2_authorization_code";
  let { status, errorText } = await ask(!isSignedIn);
  if (status === 401 && isSignedIn) ({ status, errorText } = await ask(true));
  const expected = expectStatus === undefined ? null : [expectStatus].flat();
  if (expected ? expected.includes(status) : status >= 200 && status < 300) {
    if (errorText === null || status >= 300) return;
    throw new AppError(
      "upstream",
      `${url.host} returned an error for ${method} ${url.pathname}: ${errorText}`,
    );
  }
  const wanted = expected ? expected.join(", ") : "2xx";
  throw new AppError(
    "upstream",
    `${url.host} answered ${method} ${url.pathname} with ${status}, not ${wanted}.`,
    {
      retryable: status >= 500 || status === 429,
      ...(status === 401 ? settingOf(definition) : {}),
    },
  );
}

/** Names the credential that was rejected, if the template takes only one. */
function settingOf(definition: HttpTemplate): { details?: Record<string, unknown> } {
  const { properties } = credentialsSchemaOf(definition) ?? {};
  const names = isObject(properties) ? Object.keys(properties) : [];
  return names.length === 1 ? { details: { setting: `credentials.${names[0]}` } } : {};
}

/** Error in a response with a successful status, as in Slack and GraphQL; null if there is none. */
function saidIn(bytes: Uint8Array, secrets: readonly string[]): string | null {
  try {
    return errorIn(JSON.parse(Buffer.from(bytes).toString()), "", secrets);
  } catch (error) {
    if (error instanceof SyntaxError) return null; // with this status any content is fine
    throw error;
  }
}

/** Headers of every request: the template's own, and those with the credentials. */
async function grantFor(definition: HttpTemplate, link: Link, isFresh: boolean): Promise<Grant> {
  const config = withSchemaDefaults(definition.configSchema, link.config);
  const headerTemplates = Object.entries(definition.http.headers ?? {});
  const headers = headersOf(
    Object.fromEntries(headerTemplates.map(([name, value]) => [name, textOf(value, { config })])),
  );
  const grant = await authorize(definition, link, isFresh);
  return { ...grant, headers: { ...headers, ...grant.headers } };
}

async function authorize(definition: HttpTemplate, link: Link, isFresh: boolean): Promise<Grant> {
  const auth = definition.http.auth;
  const texts = authTexts(definition);
  const scope = {
    config: withSchemaDefaults(definition.configSchema, link.config),
    credentials: link.credentials as Record<string, Json>,
  };
  const filled = (field: string) => textOf(texts[field] ?? "", scope);
  switch (auth.type) {
    case "none":
      return { headers: {}, query: {}, secrets: [] };
    case "bearer":
      return bearer(filled("token"));
    case "basic": {
      const password = filled("password");
      const pair = Buffer.from(`${filled("username")}:${password}`).toString("base64");
      return { headers: { authorization: `Basic ${pair}` }, query: {}, secrets: [password, pair] };
    }
    case "header": {
      const value = filled("value");
      return { headers: { [filled("name").toLowerCase()]: value }, query: {}, secrets: spelt(value) };
    }
    case "query": {
      const value = filled("value");
      return { headers: {}, query: { [filled("name")]: value }, secrets: spelt(value) };
    }
    case "path": {
      const value = filled("value");
      const base = new URL(baseUrlOf(definition, link.config)).pathname.replace(/\/+$/, "");
      const segment = segmentOf((auth.prefix ?? "") + value);
      return {
        headers: {},
        query: {},
        path: { base, segment: `/${segment}` },
        secrets: [...spelt(value), segment],
      };
    }
    case "oauth2_authorization_code": {
      if (!link.signIn)
        throw new AppError("definition_invalid", "Requires a stored connection to sign in with.");
      const token = await link.signIn.token({ isRefused: isFresh });
      const { headers, query, secrets } = bearer(token);
      return {
        headers,
        query,
        secrets: [...secrets, ...spelt(filled("clientSecret"))],
        isRenewable: !isFresh,
      };
    }
    case "oauth2_client_credentials": {
      let isNew = false;
      const issue = () => {
        isNew = true;
        return fetchToken(definition, link, auth, filled);
      };
      const token = await accessToken(link, issue, { isFresh });
      const { headers, query, secrets } = bearer(token);
      return {
        headers,
        query,
        secrets: [...secrets, ...spelt(filled("clientSecret"))],
        isRenewable: !isNew,
      };
    }
  }
}

/** Config and credentials of a link or of an unsaved connection. */
type Settings = Pick<Link, "config" | "credentials">;

/** How a user signs in for a connection with these settings. Throws `definition_invalid`, `template_error`. */
function termsOf(definition: HttpTemplate, { config, credentials }: Settings): SignInTerms | null {
  const { auth } = definition.http;
  if (auth.type !== "oauth2_authorization_code") return null;
  const values = withSchemaDefaults(definition.configSchema, config);
  const texts = authTexts(definition);
  const filled = (field: string) => textOf(texts[field] ?? "", { config: values, credentials });
  const extra = Object.entries(auth.extraParams ?? {});
  return {
    authorizeUrl: addressOf(definition, auth.authorizeUrl, config, "address of the sign-in"),
    tokenUrl: addressOf(definition, auth.tokenUrl, config, "token address"),
    clientId: filled("clientId"),
    clientSecret: filled("clientSecret") || null,
    tokenAuth: auth.tokenAuth ?? "basic",
    scopes: auth.scopes ?? [],
    pkce: auth.pkce ?? true,
    extraParams: Object.fromEntries(extra.map(([name, text]) => [name, textOf(text, { config: values })])),
  };
}

const bearer = (token: string): Grant => ({
  headers: { authorization: `Bearer ${token}` },
  query: {},
  secrets: [token],
});

/** Encodes a string as one path segment. Colons remain: they are allowed, and some servers require them. */
function segmentOf(text: string): string {
  if (/^\.{0,2}$/.test(text))
    throw new AppError("definition_invalid", "The credentials can't be empty or dots: a path carries them.");
  return encodeURIComponent(text).replaceAll("%3A", ":");
}

/** Forms in which a secret may be echoed: unchanged and URL-encoded. */
const spelt = (secret: string): string[] => [
  secret,
  encodeURIComponent(secret),
  new URLSearchParams({ s: secret }).toString().slice(2),
];

/** Requests a token by client credentials (RFC 6749, section 4.4). */
async function fetchToken(
  definition: HttpTemplate,
  link: Link,
  auth: Extract<HttpAuth, { type: "oauth2_client_credentials" }>,
  filled: (field: string) => string,
): Promise<IssuedToken> {
  const address = addressOf(definition, auth.tokenUrl, link.config, "token address");
  const [id, secret] = [filled("clientId"), filled("clientSecret")];
  const isInBody = auth.clientAuth === "body";
  // Section 2.3.1: both are form-encoded before they are joined.
  const encoded = (text: string) => new URLSearchParams({ t: text }).toString().slice(2);
  const pair = Buffer.from(`${encoded(id)}:${encoded(secret)}`).toString("base64");
  const issued = await postForToken(link, {
    url: address,
    form: {
      grant_type: "client_credentials",
      ...(auth.scope === undefined ? {} : { scope: filled("scope") }),
      ...(auth.audience === undefined ? {} : { audience: filled("audience") }),
      ...(isInBody ? { client_id: id, client_secret: secret } : {}),
    },
    headers: isInBody ? {} : { authorization: `Basic ${pair}` },
  });
  return { token: issued.token, lifetimeSeconds: issued.lifetimeSeconds + SHORTER_MARGIN_SECONDS };
}
