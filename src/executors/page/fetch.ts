import type { Egress } from "../../base/egress.ts";
import { AppError } from "../../base/errors.ts";
import type { PageFormat, PageLink, Reader } from "../../reader/contract.ts";

/** Timeout of the request. Parsing has its own limit. */
const TIMEOUT_MS = 60_000;
const ACCEPT =
  "text/html,application/xhtml+xml,text/plain;q=0.9,application/json;q=0.8,application/xml;q=0.8,*/*;q=0.1";

export interface Fetched {
  url: string;
  /** URL after redirects. */
  finalUrl: string;
  status: number;
  title: string | null;
  content: string;
  links: PageLink[];
  publishedAt: string | null;
  /** Whether the page is longer than `maxBytes`. */
  truncated: boolean;
}

/**
 * Fetches a page and reads it. Throws `upstream` for a status above 299 (`retryable` for 408, 425, 429 and 5xx) and for
 * binary content, and what `egress` and the reader throw.
 */
export async function readWebPage(
  { egress, reader, signal }: { egress: Egress; reader: Reader; signal: AbortSignal },
  url: string,
  { format, maxBytes }: { format: PageFormat; maxBytes: number },
): Promise<Fetched> {
  const response = await egress.fetch(url, {
    headers: { accept: ACCEPT, "accept-language": "en,*;q=0.5" },
    signal,
    timeoutMs: TIMEOUT_MS,
  });
  const { status } = response;
  if (status < 200 || status > 299) {
    await response.body.cancel();
    const retryable = status >= 500 || [408, 425, 429].includes(status);
    throw new AppError("upstream", `${new URL(response.url).host} answered ${status}.`, {
      retryable,
      details: { status },
    });
  }
  const type = response.headers.get("content-type") ?? "text/html";
  if (!/^(text\/|application\/([\w.+-]*\+)?(json|xml)|application\/xhtml)/i.test(type)) {
    await response.body.cancel();
    throw new AppError("upstream", `The URL leads to ${type.split(";")[0]}, which is not a readable page.`, {
      details: { contentType: type },
    });
  }
  const { bytes, truncated } = await response.bytes(maxBytes);
  const text = decode(bytes, type);
  const summary = { url, finalUrl: response.url, status, truncated };
  if (!/html/i.test(type)) return { ...summary, title: null, content: text, links: [], publishedAt: null };
  return { ...summary, ...(await reader.read({ html: text, url: response.url, format }, signal)) };
}

/** Decodes the text by its byte order mark, the header's charset, the page's own declaration, or UTF-8. */
function decode(bytes: Uint8Array, contentType: string): string {
  const head = () => new TextDecoder("latin1").decode(bytes.subarray(0, 2048));
  const label =
    markedAs(bytes) ??
    charsetIn(contentType) ??
    charsetIn(/<meta[^>]+charset[^>]*>/i.exec(head())?.[0] ?? "") ??
    "utf-8";
  try {
    return new TextDecoder(label as Bun.Encoding).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes); // unknown charset
  }
}

const MARKS = [
  ["utf-8", [0xef, 0xbb, 0xbf]],
  ["utf-16be", [0xfe, 0xff]],
  ["utf-16le", [0xff, 0xfe]],
] as const;

const markedAs = (bytes: Uint8Array): string | undefined =>
  MARKS.find(([, mark]) => mark.every((byte, at) => bytes[at] === byte))?.[0];

const charsetIn = (text: string): string | undefined => /charset\s*=\s*["']?([\w:-]+)/i.exec(text)?.[1];
