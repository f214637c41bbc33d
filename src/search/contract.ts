export const FRESHNESS = ["day", "week", "month", "year"] as const;
type Freshness = (typeof FRESHNESS)[number];

interface SearchQuery {
  query: string;
  maxResults: number;
  /** Maximum age of results, as far as the search engine knows; null for all. */
  freshness: Freshness | null;
}

export interface Hit {
  title: string;
  url: string;
  snippet: string;
  /** ISO 8601; null if the search engine doesn't say. */
  publishedAt: string | null;
}

/** The operator's search engine. */
export interface Search {
  /** Null if none is configured. */
  readonly provider: string | null;
  /**
   * Best first, web URLs only. Throws `search_not_configured`, and `upstream`, retryable for temporary errors such as a
   * rate limit.
   */
  find(query: SearchQuery, signal: AbortSignal): Promise<Hit[]>;
}

/** The protocol of one search engine. */
export interface Engine {
  readonly provider: string;
  find(query: SearchQuery, signal: AbortSignal): Promise<Hit[]>;
}
