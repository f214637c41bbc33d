export const PAGE_FORMATS = ["markdown", "text", "html"] as const;
export type PageFormat = (typeof PAGE_FORMATS)[number];

export interface PageSource {
  html: string;
  /** URL of the page, which its links are relative to. */
  url: string;
  format: PageFormat;
}

export interface PageLink {
  text: string;
  url: string;
}

/** The content of a page that a person would read. */
export interface ReadPage {
  title: string | null;
  content: string;
  /** All links of the page, without duplicates, http and https only. */
  links: PageLink[];
  /** ISO 8601; null if the page doesn't say. */
  publishedAt: string | null;
}

/** Reads web pages in child processes: their scripts don't run, and their resources aren't fetched. */
export interface Reader {
  /** Throws `upstream` for an unreadable page, and `rate_limited`. */
  read(source: PageSource, signal: AbortSignal, organizationId?: string): Promise<ReadPage>;
}
