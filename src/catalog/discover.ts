import type { Egress } from "../base/egress.ts";
import { AppError } from "../base/errors.ts";
import { withCredentials } from "../base/http-message.ts";
import type { Grant } from "../providers/contract.ts";
import { joinPath } from "./addresses.ts";
import type { AuthHint, ReadApi } from "./contract.ts";
import { MAX_DOCUMENT_BYTES } from "./document.ts";
import { hintsOfChallenge } from "./openapi-auth.ts";
import type { ApiReader } from "./reader.ts";

/** Usual paths of descriptions, relative to the base URL. */
const WELL_KNOWN_PATHS = [
  "/openapi.json",
  "/openapi.yaml",
  "/swagger.json",
  "/v3/api-docs",
  "/api/openapi.json",
  "/.well-known/openapi.json",
] as const;
const MAX_REQUESTS = 10;

/** One URL that was tried. */
export interface Attempt {
  url: string;
  /** Null if there was no response. */
  status: number | null;
  /** Why it isn't a description; null for the one that is. */
  error: string | null;
}

export interface Reach {
  egress: Egress;
  signal: AbortSignal;
  /** Adds credentials to requests to one origin; null for none. */
  authorize: ((url: string) => Promise<Grant | null>) | null;
  reader: ApiReader;
}

export interface Discovery {
  /** URL of the description. */
  specUrl: string | null;
  api: ReadApi | null;
  attempts: Attempt[];
  /** Authentication methods named by the server when it refused a request. */
  challengeHints: AuthHint[];
}

/**
 * Looks for a description of an API: at `specUrl`, at the usual paths below `baseUrl`, and where the server links to
 * (RFC 8631, RFC 9727). An unreachable server ends the search, which is reported and not thrown. Throws
 * `egress_blocked` if the first address is blocked.
 */
export async function discoverHttp(
  reach: Reach,
  { baseUrl, specUrl }: { baseUrl: string | null; specUrl: string | null },
): Promise<Discovery> {
  const search = new Search(reach);
  if (specUrl !== null && (await search.read(specUrl))) return search.discovery();
  if (baseUrl === null || search.isDead(baseUrl)) return search.discovery();
  for (const path of WELL_KNOWN_PATHS) {
    if (await search.read(joinPath(baseUrl, path))) return search.discovery();
    if (search.isDead(baseUrl)) return search.discovery();
  }
  const linked = await search.links(baseUrl);
  for (const url of linked) if (await search.read(url)) return search.discovery();
  for (const url of await search.catalog(new URL("/.well-known/api-catalog", baseUrl).href)) {
    if (await search.read(url)) break;
  }
  return search.discovery();
}

interface Fetched {
  status: number;
  text: string;
  link: string;
  url: string;
}

class Search {
  readonly #reach: Reach;
  readonly #attempts: Attempt[] = [];
  readonly #dead = new Set<string>();
  readonly #seen = new Set<string>();
  #specUrl: string | null = null;
  #api: ReadApi | null = null;
  #hints: AuthHint[] = [];

  constructor(reach: Reach) {
    this.#reach = reach;
  }

  discovery = (): Discovery => ({
    specUrl: this.#specUrl,
    api: this.#api,
    attempts: this.#attempts,
    challengeHints: this.#hints,
  });

  isDead = (url: string) => this.#dead.has(new URL(url).origin) || this.#reach.signal.aborted;

  /** True if `url` is a description. */
  async read(url: string): Promise<boolean> {
    const fetched = await this.#fetch(url);
    if (fetched === null) return false;
    const attempt = this.#attempts.at(-1) as Attempt;
    try {
      const fetchText = (other: string) => fetchOther(this.#reach, other);
      const api = await this.#reach.reader.description(fetched.text, fetched.url, fetchText);
      if (api === null) {
        attempt.error = "Not an OpenAPI or Swagger document.";
        return false;
      }
      this.#api = api;
      this.#specUrl = fetched.url;
      return true;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      attempt.error = error.message;
      return false;
    }
  }

  /** Descriptions that the server links to. */
  async links(url: string): Promise<string[]> {
    const fetched = await this.#fetch(url);
    if (fetched === null) return [];
    const attempt = this.#attempts.at(-1) as Attempt;
    attempt.error = "Not an API description.";
    const found: string[] = [];
    for (const [, target = "", rest = ""] of fetched.link.slice(0, 16_384).matchAll(/<([^<>]*)>([^<]*)/g)) {
      if (/;\s*rel\s*=\s*"?[^";,]*\bservice-desc\b/i.test(rest) && URL.canParse(target, fetched.url))
        found.push(new URL(target, fetched.url).href);
    }
    return found.slice(0, 3);
  }

  /** Descriptions named in the server's API catalog. */
  async catalog(url: string): Promise<string[]> {
    const fetched = await this.#fetch(url);
    if (fetched === null) return [];
    const attempt = this.#attempts.at(-1) as Attempt;
    const links = await this.#reach.reader.links(fetched.text).catch(() => null);
    attempt.error = links === null ? "Not an API catalog." : null;
    return (links ?? [])
      .filter((href) => URL.canParse(href, fetched.url))
      .map((href) => new URL(href, fetched.url).href)
      .slice(0, 3);
  }

  /** Null if the URL was tried before, if no attempts are left, or if the request didn't succeed. */
  async #fetch(url: string): Promise<Fetched | null> {
    if (this.#seen.has(url) || this.#attempts.length >= MAX_REQUESTS || this.isDead(url)) return null;
    this.#seen.add(url);
    const attempt: Attempt = { url, status: null, error: null };
    const isFirst = this.#attempts.length === 0;
    this.#attempts.push(attempt);
    try {
      const { response, requestedUrl } = await ask(this.#reach, url);
      attempt.status = response.status;
      if (response.status !== 200) {
        await response.body.cancel();
        attempt.error = `The server returned ${response.status}.`;
        const challenge = response.headers.get("www-authenticate");
        if (response.status === 401 && this.#hints.length === 0) this.#hints = hintsOfChallenge(challenge);
        return null;
      }
      const { bytes, truncated } = await response.bytes(MAX_DOCUMENT_BYTES);
      if (truncated) {
        attempt.error = `It is longer than ${MAX_DOCUMENT_BYTES / 1024 / 1024} MiB.`;
        return null;
      }
      const text = new TextDecoder().decode(bytes);
      return { status: 200, text, link: response.headers.get("link") ?? "", url: requestedUrl };
    } catch (error) {
      if (!(error instanceof AppError) || (isFirst && error.code === "egress_blocked")) throw error;
      attempt.error = error.message;
      if (attempt.status === null && error.code !== "egress_blocked") this.#dead.add(new URL(url).origin);
      return null;
    }
  }
}

async function ask({ egress, signal, authorize }: Reach, url: string) {
  const grant = (await authorize?.(url)) ?? null;
  const target = withCredentials(url, grant ?? { query: {} });
  const response = await egress.fetch(target.href, {
    headers: { accept: "application/json, application/yaml;q=0.9, */*;q=0.5", ...grant?.headers },
    signal,
    credentialHeaders: Object.keys(grant?.headers ?? {}),
  });
  // `asked` has no credentials, which could be in the query.
  return { response, requestedUrl: response.url === target.href ? url : response.url };
}

/** Fetches another document that a description refers to. Throws `upstream`. */
async function fetchOther(reach: Reach, url: string): Promise<string> {
  const { response } = await ask(reach, url);
  if (response.status !== 200) {
    await response.body.cancel();
    throw new AppError("upstream", `The server returned ${response.status}.`);
  }
  const { bytes, truncated } = await response.bytes(MAX_DOCUMENT_BYTES);
  if (truncated) throw new AppError("upstream", `It is longer than ${MAX_DOCUMENT_BYTES / 1024 / 1024} MiB.`);
  return new TextDecoder().decode(bytes);
}
