import { AppError, OAuthError } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { App } from "../../context.ts";

/** An OAuth client, from its registration or its metadata document. */
export interface Client {
  id: string;
  name: string;
  redirectUris: string[];
  /** The host of its metadata document. Null for a client that registered itself. */
  host: string | null;
}

/** The client ID contains the signed registration, so that nothing has to be stored. */
const PURPOSE = "oauth-client";
const PREFIX = "weir.";
const MAX_NAME = 100;
const MAX_REDIRECTS = 10;
const MAX_REDIRECT = 500;
const DOCUMENT_BYTES = 64 * 1024;
const DOCUMENT_MS = 10_000;
/** Schemes that a browser would execute or display instead of leaving the page. */
const NEVER = new Set([
  "javascript:",
  "data:",
  "vbscript:",
  "file:",
  "blob:",
  "about:",
  "ws:",
  "wss:",
  "ftp:",
]);
const LOOPBACK = new Set(["127.0.0.1", "[::1]", "localhost"]);

/**
 * Registers a client (RFC 7591) without storing it: the ID contains the signed metadata.
 * Throws `OAuthError` for invalid metadata.
 */
export function registerClient(app: App, metadata: JsonObject): Client {
  const { name, redirectUris } = readMetadata(metadata);
  const facts = Buffer.from(JSON.stringify({ n: name, r: redirectUris })).toString("base64url");
  return { id: `${PREFIX}${facts}.${app.secrets.sign(facts, PURPOSE)}`, name, redirectUris, host: null };
}

/**
 * Returns the client with an ID that was registered here, or that is the URL of its metadata document.
 * Throws `OAuthError` (`invalid_client`) for any other.
 */
export async function findClient(app: App, id: string): Promise<Client> {
  if (id.startsWith("https://")) return fetchClient(app, id);
  const [facts = "", signature = "", ...more] = id.startsWith(PREFIX)
    ? id.slice(PREFIX.length).split(".")
    : [];
  if (more.length > 0 || !app.secrets.verify(facts, PURPOSE, signature))
    throw new OAuthError("invalid_client", "Unknown client. Register it again.");
  const { n: name, r: redirectUris } = JSON.parse(Buffer.from(facts, "base64url").toString("utf8"));
  return { id, name, redirectUris, host: null };
}

/** Fetches a client whose ID is the URL of its metadata document. */
async function fetchClient(app: App, id: string): Promise<Client> {
  const refuse = (why: string) => new OAuthError("invalid_client", `The document of the client ${why}.`);
  const url = URL.parse(id);
  if (url?.hash !== "" || url.username !== "" || url.pathname === "/") throw refuse("has no valid address");
  const response = await app.egress
    .fetch(id, { timeoutMs: DOCUMENT_MS, maxRedirects: 0, headers: { accept: "application/json" } })
    .catch((error: unknown) => {
      if (error instanceof AppError) throw refuse(`can't be read: ${error.message.replace(/["\\]/g, "'")}`);
      throw error;
    });
  const { bytes, truncated } = await response.bytes(DOCUMENT_BYTES);
  if (response.status !== 200 || truncated)
    throw refuse(`can't be read: its server returned ${response.status}`);
  const document = parse(bytes);
  if (!isObject(document)) throw refuse("is not a JSON object");
  if (document.client_id !== id) throw refuse("names another client");
  return { id, ...readMetadata(document), host: url.host };
}

function parse(bytes: Uint8Array): Json {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as Json;
  } catch {
    return null; // Reported below: the document isn't an object.
  }
}

function readMetadata(metadata: JsonObject): Pick<Client, "name" | "redirectUris"> {
  const uris = Array.isArray(metadata.redirect_uris) ? metadata.redirect_uris : [];
  if (uris.length === 0 || uris.length > MAX_REDIRECTS)
    throw new OAuthError("invalid_redirect_uri", `redirect_uris: Provide 1 to ${MAX_REDIRECTS} addresses.`);
  for (const uri of uris) {
    if (typeof uri !== "string" || !isUsable(uri))
      throw new OAuthError(
        "invalid_redirect_uri",
        "redirect_uris: Use https, http on this computer (127.0.0.1, localhost), or the application's own scheme, without a fragment.",
      );
  }
  const method = metadata.token_endpoint_auth_method ?? "none";
  if (method !== "none")
    throw new OAuthError(
      "invalid_client_metadata",
      "token_endpoint_auth_method: Only public clients with PKCE are supported. Use none.",
    );
  const name = typeof metadata.client_name === "string" ? visible(metadata.client_name) : "";
  return { name: name || "Unnamed client", redirectUris: uris as string[] };
}

/** Makes a client's text safe to show: no line breaks, no direction marks, limited length. */
const visible = (text: string) =>
  text
    .replace(/[\p{C}\s]+/gu, " ")
    .trim()
    .slice(0, MAX_NAME);

function isUsable(uri: string): boolean {
  const url = URL.parse(uri);
  if (!url || uri.length > MAX_REDIRECT || url.hash !== "" || uri.includes("#")) return false;
  if (url.username !== "" || url.password !== "" || NEVER.has(url.protocol)) return false;
  if (url.protocol === "http:") return LOOPBACK.has(url.hostname);
  return url.protocol === "https:" || /^[a-z][a-z0-9+.-]*:$/.test(url.protocol);
}

/** The URI must be registered exactly, except for the port on this computer (RFC 8252, section 7.3). */
export function isRegistered({ redirectUris }: Client, uri: string): boolean {
  if (redirectUris.includes(uri)) return true;
  const url = URL.parse(uri);
  if (url?.protocol !== "http:" || !LOOPBACK.has(url.hostname)) return false;
  return redirectUris.some((each) => {
    const known = URL.parse(each);
    return (
      known?.protocol === "http:" &&
      known.hostname === url.hostname &&
      known.pathname === url.pathname &&
      known.search === url.search &&
      isUsable(uri)
    );
  });
}
