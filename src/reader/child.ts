import { parseInstant } from "../base/clock.ts";
import type { PageLink, PageSource, ReadPage } from "./contract.ts";

const MAX_LINKS = 500;
const MAX_TITLE_CHARACTERS = 500;
const MAX_ADDRESS_CHARACTERS = 8192;

/** The child process: reads a page from standard input, writes its content and returns the exit code. */
export async function readChild(): Promise<number> {
  const source: PageSource = await Bun.stdin.json();
  await Bun.write(Bun.stdout, JSON.stringify(await readPage(source)));
  return 0;
}

/** Invisible elements, and elements without text. */
const UNSEEN = [
  ...[
    "script",
    "style",
    "noscript",
    "template",
    "iframe",
    "object",
    "embed",
    "svg",
    "canvas",
    "form",
    "dialog",
  ],
  ...["[hidden]", "[aria-hidden=true]", "[style*='display:none']", "[style*='display: none']"],
  ...[
    "[style*='visibility:hidden']",
    "[style*='visibility: hidden']",
    "[style*='font-size:0']",
    "[style*='opacity:0']",
  ],
].join(",");

const DOCTYPE = /^\s*<!doctype[^>]*>/i;
const OF_HEAD = ["TITLE", "META", "LINK", "BASE", "STYLE", "SCRIPT"];

/** Moves what is outside head and body into them: pages may omit these tags, and the parser doesn't add them. */
function arrange(document: Document): void {
  const root = document.documentElement;
  const [head, body] = [document.createElement("head"), document.createElement("body")];
  for (const node of [...root.childNodes]) {
    const inner = node.nodeName === "HEAD" || node.nodeName === "BODY" ? [...node.childNodes] : [node];
    const isHead = node.nodeName === "HEAD" || (OF_HEAD.includes(node.nodeName) && !body.hasChildNodes());
    const isBlank = node.nodeType === node.TEXT_NODE && node.textContent?.trim() === "";
    if (!isBlank) (isHead ? head : body).append(...inner);
  }
  root.replaceChildren(head, body);
}

/** Zero-width characters: they hide words from people but not from programs. */
const INVISIBLE = /[\u{200B}-\u{200F}\u{202A}-\u{202E}\u{2060}-\u{206F}\u{FEFF}\u{E0000}-\u{E007F}\p{Cc}]/gu;
const visible = (text: string) => text.replace(INVISIBLE, (sign) => (/[\n\t]/.test(sign) ? sign : ""));

async function readPage({ html, url, format }: PageSource): Promise<ReadPage> {
  const [{ parseHTML }, { Readability }] = await Promise.all([
    import("linkedom"),
    import("@mozilla/readability"),
  ]);
  const { document } = parseHTML(
    /<html[\s>]/i.test(html) ? html : `<html>${html.replace(DOCTYPE, "")}</html>`,
  );
  arrange(document as unknown as Document);
  const publishedAt = publishedOf(document as unknown as Document);
  const base = absolute(document.querySelector("base[href]")?.getAttribute("href") ?? "", url) ?? url;
  for (const element of document.querySelectorAll(UNSEEN)) element.remove();
  for (const [selector, name] of [
    ["[href]", "href"],
    ["[src]", "src"],
  ] as const) {
    for (const element of document.querySelectorAll(selector)) {
      const address = absolute(element.getAttribute(name) ?? "", base);
      if (address === null) element.removeAttribute(name);
      else element.setAttribute(name, address);
    }
  }
  const links = linksOf(document as unknown as Document);
  const ownTitle = document.title || document.querySelector("title")?.textContent;
  const article = new Readability(document.cloneNode(true) as never).parse();
  const content = article?.content ?? document.body?.innerHTML ?? "";
  const title = visible(article?.title || ownTitle || "")
    .trim()
    .slice(0, MAX_TITLE_CHARACTERS);
  return {
    title: title === "" ? null : title,
    content: visible(await formatted(content, format)),
    links,
    publishedAt,
  };
}

async function formatted(content: string, format: PageSource["format"]): Promise<string> {
  if (format === "html") return content;
  const [{ default: Turndown }, { gfm }] = await Promise.all([
    import("turndown"),
    import("@joplin/turndown-plugin-gfm"),
  ]);
  const turndown = new Turndown({ headingStyle: "atx", codeBlockStyle: "fenced", bulletListMarker: "-" });
  turndown.use(gfm);
  if (format === "text") {
    const { parseHTML } = await import("linkedom");
    const { document } = parseHTML(`<html><body>${content}</body></html>`);
    for (const element of document.querySelectorAll("p,div,li,tr,h1,h2,h3,h4,h5,h6,br,pre,blockquote"))
      element.append("\n");
    for (const element of document.querySelectorAll("td,th")) element.append("\t");
    return (document.body.textContent ?? "")
      .replace(/[ \t]+/g, " ")
      .replace(/ ?\n ?/g, "\n")
      .replace(/\n{3,}/g, "\n\n")
      .trim();
  }
  return turndown.turndown(content).trim();
}

function linksOf(document: Document): PageLink[] {
  const links = new Map<string, string>();
  for (const element of document.querySelectorAll("a[href]")) {
    const url = element.getAttribute("href") ?? "";
    const text = visible(element.textContent ?? "")
      .replace(/\s+/g, " ")
      .trim()
      .slice(0, 200);
    if (/^https?:/.test(url) && !links.get(url)) links.set(url, text);
    if (links.size >= MAX_LINKS) break;
  }
  return [...links].map(([url, text]) => ({ text, url }));
}

/** Null if it isn't a web URL, or is too long: a long base would be repeated in each of a page's links. */
function absolute(address: string, base: string): string | null {
  if (!URL.canParse(address, base)) return null;
  const url = new URL(address, base);
  if (url.href.length > MAX_ADDRESS_CHARACTERS) return null;
  return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
}

const DATES = [
  ["meta[property='article:published_time']", "content"],
  ["meta[itemprop='datePublished']", "content"],
  ["meta[name='date'],meta[name='dc.date'],meta[name='DC.date.issued'],meta[name='pubdate']", "content"],
  ["time[datetime]", "datetime"],
] as const;

function publishedOf(document: Document): string | null {
  const dates = DATES.map(([selector, name]) => document.querySelector(selector)?.getAttribute(name));
  const data = [...document.querySelectorAll("script[type='application/ld+json']")].map(
    (script) => /"datePublished"\s*:\s*"([^"]{4,40})"/.exec(script.textContent ?? "")?.[1],
  );
  for (const text of [...data, ...dates]) {
    const instant = parseInstant(text ?? "");
    if (instant !== null) return instant;
  }
  return null;
}
