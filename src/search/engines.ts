import { parseInstant } from "../base/clock.ts";
import type { Egress, EgressRequest } from "../base/egress.ts";
import { AppError } from "../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import type { Engine, Hit } from "./contract.ts";

const TIMEOUT_MS = 20_000;
const MAX_BYTES = 5 * 1024 * 1024;
const MAX_SNIPPET_CHARACTERS = 2_000;

export interface EngineSettings {
  egress: Egress;
  /** Without a trailing slash. */
  baseUrl: string;
  key: string;
}

/** SearXNG's JSON format (docs.searxng.org, Search API), which its operator has to enable. */
export const searxng = ({ egress, baseUrl }: Omit<EngineSettings, "key">): Engine => ({
  provider: "searxng",
  async find({ query, freshness, maxResults }, signal) {
    const url = new URL(`${baseUrl}/search`);
    url.searchParams.set("q", query);
    url.searchParams.set("format", "json");
    if (freshness) url.searchParams.set("time_range", freshness);
    const { results } = await ask(egress, "SearXNG", url.href, { signal });
    return hits(results, { snippet: "content", date: "publishedDate" }, maxResults);
  },
});

const BRAVE_FRESHNESS = { day: "pd", week: "pw", month: "pm", year: "py" } as const;
/** Brave's maximum per request. */
const BRAVE_MAX = 20;

/** Brave's web search (api-dashboard.search.brave.com, Web Search). */
export const brave = ({ egress, baseUrl, key }: EngineSettings): Engine => ({
  provider: "brave",
  async find({ query, freshness, maxResults }, signal) {
    const url = new URL(`${baseUrl}/res/v1/web/search`);
    url.searchParams.set("q", query);
    url.searchParams.set("count", String(Math.min(maxResults, BRAVE_MAX)));
    if (freshness) url.searchParams.set("freshness", BRAVE_FRESHNESS[freshness]);
    const headers = { "x-subscription-token": key };
    const { web } = await ask(egress, "Brave", url.href, { headers, signal });
    const found = hits(
      isObject(web) ? web.results : [],
      { snippet: "description", date: "page_age" },
      maxResults,
    );
    return found.map((hit) => ({ ...hit, title: plain(hit.title), snippet: plain(hit.snippet) }));
  },
});

/** Tavily's search (docs.tavily.com, POST /search). */
export const tavily = ({ egress, baseUrl, key }: EngineSettings): Engine => ({
  provider: "tavily",
  async find({ query, freshness, maxResults }, signal) {
    const body = {
      query,
      max_results: Math.min(maxResults, 20),
      ...(freshness ? { time_range: freshness } : {}),
    };
    const { results } = await ask(egress, "Tavily", `${baseUrl}/search`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal,
    });
    return hits(results, { snippet: "content", date: "published_date" }, maxResults);
  },
});

async function ask(egress: Egress, name: string, url: string, request: EgressRequest): Promise<JsonObject> {
  const response = await egress.fetch(url, {
    ...request,
    headers: { accept: "application/json", ...request.headers },
    timeoutMs: TIMEOUT_MS,
    maxRedirects: 0,
  });
  const { bytes, truncated } = await response.bytes(MAX_BYTES);
  const { status } = response;
  if (status === 200 && !truncated) {
    const reply = parsed(new TextDecoder().decode(bytes));
    if (isObject(reply)) return reply;
    throw new AppError(
      "upstream",
      `${name} didn't return JSON. For SearXNG, enable the json format in its settings.`,
    );
  }
  const retryable = status >= 500 || status === 429 || status === 408;
  const why =
    status === 401 || (status === 403 && name !== "SearXNG")
      ? "it rejected the key"
      : status === 403
        ? "its settings must enable the json format"
        : status === 429
          ? "its rate limit is exceeded"
          : `it answered ${status}`;
  throw new AppError("upstream", `${name} returned no results: ${why}.`, { retryable, details: { status } });
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return null; // the caller reports a better error
  }
}

function hits(results: Json | undefined, names: { snippet: string; date: string }, most: number): Hit[] {
  const text = (value: Json | undefined) => (typeof value === "string" ? value : "");
  return (Array.isArray(results) ? results : [])
    .filter(isObject)
    .filter(({ url }) => /^https?:\/\//.test(text(url)))
    .slice(0, most)
    .map((item) => ({
      title: text(item.title).slice(0, 500),
      url: text(item.url),
      snippet: text(item[names.snippet]).slice(0, MAX_SNIPPET_CHARACTERS),
      publishedAt: parseInstant(text(item[names.date])),
    }));
}

/** Brave highlights the search terms, and writes some characters as entities. */
const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  "#x27": "'",
  "#39": "'",
};
const plain = (text: string): string =>
  text
    .replace(/<\/?strong>/g, "")
    .replace(/&(amp|lt|gt|quot|#x27|#39);/g, (whole, name) => ENTITIES[name] ?? whole);
