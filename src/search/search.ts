import { type EgressOptions, openEgress } from "../base/egress.ts";
import { toOwn } from "../base/egress-gate.ts";
import { AppError } from "../base/errors.ts";
import type { Engine, Search } from "./contract.ts";
import { brave, searxng, tavily } from "./engines.ts";

const BRAVE_URL = "https://api.search.brave.com";
const TAVILY_URL = "https://api.tavily.com";

export interface SearchSettings {
  searxngUrl: string | null;
  braveKey: string | null;
  braveUrl: string | null;
  tavilyKey: string | null;
  tavilyUrl: string | null;
  egress: EgressOptions;
}

/** The first of these search engines that the operator has configured. A configured URL may be a private address. */
export function openSearch(settings: SearchSettings): Search {
  const engine = engineOf(settings);
  return {
    provider: engine?.provider ?? null,
    async find(query, signal) {
      if (engine) return engine.find(query, signal);
      throw new AppError(
        "search_not_configured",
        "No search engine is configured. Set WEIR_SEARCH_URL, BRAVE_API_KEY or TAVILY_API_KEY, and restart the server.",
      );
    },
  };
}

function engineOf({
  searxngUrl,
  braveKey,
  braveUrl,
  tavilyKey,
  tavilyUrl,
  egress,
}: SearchSettings): Engine | null {
  const through = (url: string | null) => openEgress(toOwn(egress, url));
  if (searxngUrl !== null) return searxng({ egress: through(searxngUrl), baseUrl: searxngUrl });
  if (braveKey !== null)
    return brave({ egress: through(braveUrl), baseUrl: braveUrl ?? BRAVE_URL, key: braveKey });
  if (tavilyKey !== null)
    return tavily({ egress: through(tavilyUrl), baseUrl: tavilyUrl ?? TAVILY_URL, key: tavilyKey });
  return null;
}
