import { pageBelow } from "../base/base-path.ts";
import type { App } from "../context.ts";
import { type Operation, openOperation, Reply } from "./operation.ts";

/** CSP of small pages such as sign-in: their own files and the API only. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The logo as inline elements, since the CSP of these pages allows no images. */
const logo = `<svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" fill="#2a59c8"/><path d="M6 11c3.3 0 3.3 3 6.6 3s3.4-3 6.7-3 3.3 3 6.7 3M6 18c3.3 0 3.3 3 6.6 3s3.4-3 6.7-3 3.3 3 6.7 3" fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round"/></svg>`;

/** A small page in the style of sign-in. `script` is the URL of its module, `content` goes below the title. */
export const smallPage = (title: string, script: string, content: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<link rel="stylesheet" href="/sign-in/page.css">
<script type="module" src="${script}"></script>
</head>
<body>
<main data-untranslated>
${logo}
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`;

/** Serves an embedded text, or one that depends on the settings, without credentials. */
export const fileOperation = (
  path: string,
  summary: string,
  page: string | ((app: App) => string),
  type: "text/html" | "text/javascript" | "text/css",
): Operation =>
  openOperation({
    method: "GET",
    path,
    audience: "public",
    tag: "Docs",
    summary,
    produces: type,
    handle: async ({ app, visit: { base } }) => {
      const text = typeof page === "string" ? page : page(app);
      return new Reply(
        200,
        new Blob([type === "text/html" ? pageBelow(text, base) : importsBelow(text, base)]),
        {
          "content-type": `${type}; charset=utf-8`,
          "content-security-policy": PAGE_POLICY,
        },
      );
    },
  });

const importsBelow = (text: string, base: string) =>
  base === "" ? text : text.replace(/^(import .* from ")\//gm, `$1${base}/`);
