import { lexer, type Token, type Tokens } from "marked";
import { Fragment, memo, type ReactNode } from "react";
import { t } from "../../texts/text.ts";
import { CopyButton } from "../base/copy.tsx";

/** Longer text is shown as plain text. No answer of a model needs more. */
const MAX_CHARACTERS = 100_000;
/** Deeper nesting is shown as plain text. */
const MAX_DEPTH = 12;

const NAMED: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
};

/** Decodes HTML character references. */
const plain = (text: string): string =>
  text.replace(/&(?:(\w{2,6})|#(\d{1,7})|#x([0-9a-f]{1,6}));/gi, (whole, name, decimal, hex) => {
    if (name) return NAMED[name] ?? whole;
    const code = decimal ? Number(decimal) : Number.parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });

/** Null for anything but a web URL: nothing else ever becomes a link. */
function webAddress(href: string): URL | null {
  try {
    const url = new URL(plain(href));
    return url.protocol === "https:" || url.protocol === "http:" ? url : null;
  } catch {
    return null;
  }
}

/** Returns whether the text of a link is its URL. */
const says = (words: string, { host, origin }: URL): boolean =>
  words === host || words === origin || words.startsWith(`${origin}/`);

/** An external link shows where it leads, whatever its text says. */
function Out({ href, words, children }: { href: string; words: string; children: ReactNode }) {
  const url = webAddress(href);
  if (!url) return <>{children}</>;
  return (
    <a
      href={url.href}
      target="_blank"
      rel="noopener noreferrer nofollow"
      className="text-accent underline decoration-accent/40 hover:decoration-accent"
    >
      <span dir="auto">{children}</span>
      {!says(words, url) && (
        <span dir="ltr" className="ml-1 text-xs text-soft">
          ({url.host})
        </span>
      )}
    </a>
  );
}

const inline = (tokens: readonly Token[] | undefined, depth: number): ReactNode =>
  (tokens ?? []).map((token, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text have no IDs
    <Fragment key={at}>{drawInline(token, depth + 1)}</Fragment>
  ));

function drawInline(token: Token, depth: number): ReactNode {
  if (depth > MAX_DEPTH) return token.raw;
  switch (token.type) {
    case "strong":
      return <strong>{inline(token.tokens, depth)}</strong>;
    case "em":
      return <em>{inline(token.tokens, depth)}</em>;
    case "del":
      return <del>{inline(token.tokens, depth)}</del>;
    case "codespan":
      return <code className="rounded bg-sunken px-1 py-px font-mono text-[0.9em]">{token.text}</code>;
    case "br":
      return <br />;
    case "link":
      return (
        <Out href={token.href} words={plain(token.text)}>
          {token.autolink ? token.text : inline(token.tokens, depth)}
        </Out>
      );
    case "image": // never loaded: its URL could reveal that it was shown, or the content of the chat
      return (
        <Out href={token.href} words="">
          {token.text ? t("[Image: {text}]", { text: plain(token.text) }) : t("[Image]")}
        </Out>
      );
    case "text":
      return token.tokens ? inline(token.tokens, depth) : plain(token.text);
    case "escape":
      return token.text;
    case "checkbox":
      return token.checked ? "☑ " : "☐ ";
    default:
      return token.raw;
  }
}

const blocks = (tokens: readonly Token[] | undefined, depth: number): ReactNode =>
  (tokens ?? []).map((token, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text have no IDs
    <Fragment key={at}>{drawBlock(token, depth + 1)}</Fragment>
  ));

function drawBlock(token: Token, depth: number): ReactNode {
  if (depth > MAX_DEPTH) return token.raw;
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      return (
        <h3 className={`font-semibold ${token.depth <= 2 ? "text-lg" : ""}`}>
          {inline(token.tokens, depth)}
        </h3>
      );
    case "paragraph":
      return <p>{inline(token.tokens, depth)}</p>;
    case "code":
      return <CodeBlock text={token.text} language={token.lang ?? ""} />;
    case "blockquote":
      return (
        <div className="space-y-2 border-l-2 border-strong-line pl-3 text-soft">
          {blocks(token.tokens, depth)}
        </div>
      );
    case "list":
      return <List of={token as Tokens.List} depth={depth} />;
    case "table":
      return <MarkdownTable of={token as Tokens.Table} depth={depth} />;
    case "hr":
      return <hr className="border-line" />;
    case "html":
      return <p className="whitespace-pre-wrap">{token.raw}</p>;
    default:
      return drawInline(token, depth);
  }
}

function List({ of, depth }: { of: Tokens.List; depth: number }) {
  const items = of.items.map(({ tokens }, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: items of a list have no IDs
    <li key={at} className="space-y-1">
      {blocks(tokens, depth)}
    </li>
  ));
  return of.ordered ? (
    <ol start={of.start === "" ? 1 : of.start} className="list-decimal space-y-1 pl-6">
      {items}
    </ol>
  ) : (
    <ul className="list-disc space-y-1 pl-6">{items}</ul>
  );
}

function CodeBlock({ text, language }: { text: string; language: string }) {
  return (
    <div className="relative rounded-md border border-line bg-ground">
      <div className="absolute top-1 right-1">
        <CopyButton text={text} label={t("Copy code")} />
      </div>
      <section
        aria-label={language ? t("Code in {language}", { language }) : t("Code")}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable by keyboard
        tabIndex={0}
        className="overflow-x-auto py-2 pr-10 pl-3"
      >
        <pre className="font-mono text-xs leading-5">{text}</pre>
      </section>
    </div>
  );
}

function MarkdownTable({ of: { header, rows }, depth }: { of: Tokens.Table; depth: number }) {
  const side = (align: string | null) => (align === "right" ? "text-right tabular-nums" : "text-left");
  return (
    <section
      aria-label={t("Table")}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable by keyboard
      tabIndex={0}
      className="overflow-x-auto rounded-md border border-line"
    >
      <table className="w-full border-collapse text-sm">
        <thead>
          <tr className="bg-ground text-xs text-soft">
            {header.map(({ tokens, align }, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: columns have no IDs
              <th key={at} scope="col" className={`px-3 py-1.5 font-medium ${side(align)}`}>
                {inline(tokens, depth)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no IDs
            <tr key={at} className="border-t border-line">
              {row.map(({ tokens, align }, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: cells have no IDs
                <td key={column} className={`px-3 py-1.5 ${side(align)}`}>
                  {inline(tokens, depth)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Null for text that the parser can't handle, such as ten thousand nested quotations. */
function read(text: string): Token[] | null {
  if (text.length > MAX_CHARACTERS) return null;
  try {
    return lexer(text, { gfm: true });
  } catch {
    return null;
  }
}

/**
 * Markdown as elements of the page. HTML in it is shown as text, links only lead to the web and show their target,
 * and nothing is loaded.
 */
function Markdown({ text }: { text: string }) {
  const tokens = read(text);
  return (
    <div dir="auto" className="space-y-3 [overflow-wrap:anywhere]">
      {tokens ? blocks(tokens, 0) : <p className="whitespace-pre-wrap">{text}</p>}
    </div>
  );
}

export default memo(Markdown);
