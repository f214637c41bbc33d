import { fileOperation } from "../../http/page.ts";
import style from "./docs.css" with { type: "text" };
import script from "./docs.js" with { type: "text" };

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
<label>Search <input id="search" type="search" placeholder="Path, summary, role or operation ID" autocomplete="off"></label>
<a href="/docs/index">Documentation</a>
<a href="/openapi.json">openapi.json</a>
</header>
<nav id="tags" aria-label="Sections"></nav>
<main id="operations"><p>Loading…</p><noscript><p>This page requires JavaScript. The OpenAPI document is at <a href="/openapi.json">/openapi.json</a>.</p></noscript></main>
</body>
</html>
`;

export const docsPageOperations = [
  fileOperation("/docs", "Get the API reference page", html, "text/html"),
  fileOperation("/docs/docs.js", "Get the API reference script", script, "text/javascript"),
  fileOperation("/docs/docs.css", "Get the API reference stylesheet", style, "text/css"),
];
