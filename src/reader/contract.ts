export const PAGE_FORMATS = ["markdown", "text", "html"] as const;
export type PageFormat = (typeof PAGE_FORMATS)[number];

export interface PageSource {
  html: string;
  /** Where it came from, against which its links are read. */
  url: string;
  format: PageFormat;
}

export interface PageLink {
  text: string;
  url: string;
}

/** What a person would read of a page. */
export interface ReadPage {
  title: string | null;
  content: string;
  /** Of the whole page, each address once, http and https only. */
  links: PageLink[];
  /** ISO 8601; null where the page does not tell. */
  publishedAt: string | null;
}

/** Reads pages of the web in a process of its own: no script of theirs runs, and nothing that they name is fetched. */
export interface Reader {
  /** Throws `upstream` for a page that can't be read, and `rate_limited`. */
  read(source: PageSource, signal: AbortSignal, organizationId?: string): Promise<ReadPage>;
}
