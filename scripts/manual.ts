import { readdirSync, readFileSync } from "node:fs";
import { dirname, extname, join, posix } from "node:path";
import { Marked, type Tokens } from "marked";
import type { BuiltFile } from "./web.ts";

const root = join(import.meta.dir, "..");

/** Folders in docs/ whose pages list each other in the sidebar. */
const GROUPS: Readonly<Record<string, string>> = {
  "": "Documentation",
  kinds: "Kinds of actions",
  providers: "Providers",
  connections: "Services",
  reference: "Reference",
  "how-to": "How-to guides",
  decisions: "Decisions",
};

interface Source {
  /** Relative to docs/, without the extension: `kinds/http_request`. `index` is the table of contents. */
  name: string;
  markdown: string;
  title: string;
}

/** A searchable section, one per heading. */
interface Passage {
  page: string;
  anchor: string;
  title: string;
  heading: string;
  text: string;
}

/** Builds the documents as pages of /docs/, with their search: static files without external dependencies. */
export function buildManual(): BuiltFile[] {
  const sources = readSources();
  const passages: Passage[] = [];
  const pages = sources.map((source) =>
    file(source.name, "text/html;charset=utf-8", page(source, sources, passages)),
  );
  return [
    ...pages,
    file("search.json", "application/json", JSON.stringify(passages)),
    file("manual.css", "text/css;charset=utf-8", readFileSync(join(import.meta.dir, "manual/manual.css"))),
    file(
      "manual.js",
      "text/javascript;charset=utf-8",
      readFileSync(join(import.meta.dir, "manual/manual.js")),
    ),
    ...names("docs", ".png").map((name) => file(name, "image/png", readFileSync(join(root, "docs", name)))),
    ...names("examples", ".yaml").map((name) =>
      file(`examples/${name}`, "text/plain;charset=utf-8", readFileSync(join(root, "examples", name))),
    ),
  ];
}

const names = (folder: string, ending: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(ending))
    .sort();

function readSources(): Source[] {
  const docs = names("docs", ".md").map((path) => ({
    name: path === "README.md" ? "index" : path.replace(/README\.md$/, "index.md").slice(0, -".md".length),
    markdown: readFileSync(join(root, "docs", path), "utf8"),
  }));
  const examples = {
    name: "examples/index",
    markdown: readFileSync(join(root, "examples/README.md"), "utf8"),
  };
  return [...docs, examples].map((each) => ({
    ...each,
    title: /^# (.*)$/m.exec(each.markdown)?.[1]?.replaceAll("`", "") ?? each.name,
  }));
}

function file(name: string, type: string, content: string | Uint8Array): BuiltFile {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : new Uint8Array(content);
  return { path: `docs/${name}`, type, isHashed: false, bytes };
}

/** Returns an HTML page, and adds its passages to the search. */
function page(source: Source, sources: readonly Source[], passages: Passage[]): string {
  const { name, title } = source;
  const to = (target: string) => posix.relative(posix.dirname(`docs/${name}`), target) || ".";
  const group = folderOf(name);
  const siblings = sources.filter((each) => folderOf(each.name) === group);
  const links = siblings.map((each) => {
    const here = each.name === name ? ' aria-current="page"' : "";
    return `<li><a href="${to(`docs/${each.name}`)}"${here}>${escapeHtml(each.title)}</a></li>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Weir</title>
<link rel="stylesheet" href="${to("docs/manual.css")}">
<script src="${to("docs/manual.js")}" data-docs="${to("docs")}" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to main content</a>
<header>
<a class="home" href="${to("docs/index")}">Weir documentation</a>
<search><label>Search <input id="search" type="search" autocomplete="off" aria-controls="results"></label><div id="results" role="status" hidden></div></search>
<a href="${"../".repeat(name.split("/").length)}docs">API reference</a>
</header>
<nav aria-label="${escapeHtml(GROUPS[group] ?? "Documentation")}">
${group === "" ? "" : `<p><a href="${to("docs/index")}">All documents</a></p>`}
<h2>${escapeHtml(GROUPS[group] ?? "Documentation")}</h2>
<ul>${links.join("\n")}</ul>
</nav>
<main id="content">
${contentOf(source, passages)}
</main>
</body>
</html>
`;
}

const folderOf = (name: string): string => (name.includes("/") ? dirname(name) : "");

function contentOf({ name, title, markdown }: Source, passages: Passage[]): string {
  let passage: Passage = { page: name, anchor: "", title, heading: "", text: "" };
  const keep = (text: string) => {
    passage.text = `${passage.text} ${text}`.trim();
  };
  passages.push(passage);
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }: Tokens.Heading) {
        const anchor = anchorOf(text);
        if (depth > 1) {
          passage = { page: name, anchor, title, heading: plain(text), text: "" };
          passages.push(passage);
        }
        return `<h${depth} id="${anchor}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link) {
        const text = this.parser.parseInline(tokens);
        const target = targetOf(name, href);
        return target === null ? text : `<a href="${escapeHtml(target)}">${text}</a>`;
      },
    },
  });
  const tokens = marked.lexer(markdown.replace(/<!-- \/?made.*-->\n?/g, ""));
  const html = tokens.map((token) => {
    const made = marked.parser([token]);
    if (token.type !== "heading" && token.type !== "space") keep(plain(textOf(made)));
    return made;
  });
  // Scrollable elements must be reachable by keyboard.
  return html
    .join("")
    .replaceAll("<pre>", '<pre tabindex="0">')
    .replaceAll("<table>", '<div class="wide" tabindex="0"><table>')
    .replaceAll("</table>", "</table></div>");
}

/** Resolves a link relative to the page. Null if it leads to something that isn't served. */
function targetOf(from: string, href: string): string | null {
  if (/^(https?:|#|mailto:)/.test(href)) return href;
  const [path = "", anchor] = href.split("#");
  const folder = from === "examples/index" ? "examples" : posix.join("docs", posix.dirname(from));
  const source = posix.normalize(posix.join(folder, path));
  const served = servedAs(source);
  if (served === null) return null;
  const relative = posix.relative(posix.dirname(`docs/${from}`), served);
  return anchor === undefined ? relative : `${relative}#${anchor}`;
}

function servedAs(source: string): string | null {
  const isExample = source.startsWith("examples/");
  if (!source.startsWith("docs/") && !isExample) return source === "README.md" ? "docs/index" : null;
  const below = isExample ? `docs/${source}` : source;
  if (extname(below) !== ".md") return below;
  return below.replace(/README\.md$/, "index.md").slice(0, -".md".length);
}

/** Makes anchors of headings as GitHub does. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, "")
    .trim()
    .replace(/\s/g, "-");

const plain = (text: string): string => text.replace(/[`*]/g, "").replace(/\s+/g, " ").trim();

const textOf = (html: string): string =>
  html
    .replace(/<[^>]+>/g, " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");

const escapeHtml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
