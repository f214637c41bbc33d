import style from "./docs.css" with { type: "text" };
import script from "./docs.js" with { type: "text" };

/** What a page that shows the document may load: its own two files and the document, nothing from elsewhere. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Weir API</title>
<link rel="stylesheet" href="/docs/docs.css">
<script src="/docs/docs.js" defer></script>
</head>
<body>
<header>
<h1>Weir API <small id="version"></small></h1>
<label>Search <input id="search" type="search" placeholder="path, summary, role or operation id" autocomplete="off"></label>
<a href="/openapi.json">openapi.json</a>
</header>
<nav id="tags" aria-label="Sections"></nav>
<main id="operations"><p>Loading the document …</p><noscript><p>This page needs scripts; the document itself is at <a href="/openapi.json">/openapi.json</a>.</p></noscript></main>
</body>
</html>
`;

export interface Asset {
  text: string;
  headers: Record<string, string>;
}

const asset = (text: string, type: string): Asset => ({
  text,
  headers: { "content-type": `${type}; charset=utf-8`, "content-security-policy": POLICY },
});

export const page = asset(html, "text/html");
export const pageScript = asset(script, "text/javascript");
export const pageStyle = asset(style, "text/css");
