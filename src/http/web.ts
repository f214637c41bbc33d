import type { App } from "../context.ts";
import { openManualFiles } from "./manual.embed.ts";
import type { Visit } from "./operation.ts";
import { headersFor } from "./serve.ts";
import { openWebFiles } from "./web.embed.ts";
import { fileBelow } from "./web-base.ts";
import type { WebFile } from "./web-file.ts";

/** CSP of the admin page: its own files and the API, nothing inline and nothing external. */
const WEB_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Paths for programs. Not found is JSON there. */
const NOT_PAGES = /^\/(api|webhooks\/[^/]+\/.)(\/|$)/;

type Files = ReadonlyMap<string, WebFile>;

/** Opened on first use. */
function filesOf(open: () => Promise<WebFile[]>): () => Promise<Files> {
  let opened: Promise<Files> | null = null;
  return () => {
    opened ??= open().then((files) => new Map(files.map((file) => [file.path, file])));
    return opened;
  };
}

const webFiles = filesOf(openWebFiles);
const manualFiles = filesOf(openManualFiles);

/**
 * Returns the admin page or a document for a URL without an operation:
 * `/`, a form, a file of either, or any page that a browser navigates to (it requests HTML), since the page has its own
 * routes.
 * Null for anything else, which is not found.
 */
export async function webReply(app: App, visit: Visit): Promise<Response | null> {
  const { request, url } = visit;
  if (request.method !== "GET" && request.method !== "HEAD") return null;
  const path = url.pathname.slice(1);
  if (path.startsWith("docs/")) {
    const document = (await manualFiles()).get(path);
    if (document) return send(app, visit, await fileBelow(document, visit.base));
  }
  const isPage =
    path === "" ||
    path.startsWith("f/") ||
    (!NOT_PAGES.test(url.pathname) &&
      !path.startsWith("assets/") &&
      (request.headers.get("accept") ?? "").includes("text/html"));
  if (!isPage && !path.startsWith("assets/")) return null;
  const file = (await webFiles()).get(isPage ? "index.html" : path);
  return file ? send(app, visit, await fileBelow(file, visit.base)) : null;
}

function send(app: App, visit: Visit, file: WebFile): Response {
  const { headers: requestHeaders } = visit.request;
  const headers: Record<string, string> = {
    ...headersFor(app, visit),
    "cache-control": file.isHashed ? "public, max-age=31536000, immutable" : "no-cache",
    "content-security-policy": WEB_POLICY,
    "cross-origin-opener-policy": "same-origin",
    "content-type": file.type,
    etag: file.etag,
    vary: "accept-encoding",
  };
  if (requestHeaders.get("if-none-match")?.includes(file.etag))
    return new Response(null, { status: 304, headers });
  if (file.brotli && /\bbr\b/.test(requestHeaders.get("accept-encoding") ?? "")) {
    return new Response(file.brotli, { headers: { ...headers, "content-encoding": "br" } });
  }
  return new Response(file.body, { headers });
}
