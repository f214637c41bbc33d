export const FRESHNESS = ["day", "week", "month", "year"] as const;
type Freshness = (typeof FRESHNESS)[number];

interface SearchQuery {
  query: string;
  maxResults: number;
  /** Only what is at most so old, as far as the engine knows; null for all. */
  freshness: Freshness | null;
}

export interface Hit {
  title: string;
  url: string;
  snippet: string;
  /** ISO 8601; null where the engine does not tell. */
  publishedAt: string | null;
}

/** The operator's search engine. */
export interface Search {
  /** Null where none is configured. */
  readonly provider: string | null;
  /**
   * Best first, addresses of the web only. Throws `search_not_configured`, and `upstream`, retryable where it may
   * pass, such as a limit that is reached.
   */
  find(query: SearchQuery, signal: AbortSignal): Promise<Hit[]>;
}

/** One engine's protocol. */
export interface Engine {
  readonly provider: string;
  find(query: SearchQuery, signal: AbortSignal): Promise<Hit[]>;
}
