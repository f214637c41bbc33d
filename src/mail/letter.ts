import type { Letter } from "./contract.ts";

/** What one mail says; `letterOf` writes it as plain text and as HTML. Texts may come from anybody. */
export interface LetterContent {
  subject: string;
  /** Paragraphs; each takes one line. */
  lines: readonly string[];
  /** Names and values, as a table. */
  facts?: readonly (readonly [name: string, value: string])[];
  /** The one link; an address of our own. */
  link: { label: string; url: string };
  /** Paragraphs below the link. */
  foot: readonly string[];
}

const MAX_SUBJECT_CHARACTERS = 150;

/** Writes a mail. Nothing in it is fetched from anywhere, and nothing but `link` leads anywhere. */
export function letterOf(to: string, content: LetterContent): Letter {
  return {
    to,
    subject: oneLine(content.subject, MAX_SUBJECT_CHARACTERS),
    text: textOf(content),
    html: htmlOf(content),
  };
}

/** What others chose as a name or a message takes one line, and no link in it works. */
export function oneLine(text: string, maxCharacters = 100): string {
  const line = text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
    .replaceAll("://", ": //")
    .trim();
  const characters = Array.from(line);
  return characters.length <= maxCharacters ? line : `${characters.slice(0, maxCharacters - 1).join("")}…`;
}

const MAX_LINE_CHARACTERS = 1_000;

const plain = (text: string) => oneLine(text, MAX_LINE_CHARACTERS);

function textOf({ lines, facts = [], link, foot }: LetterContent): string {
  const table = facts.map(([name, value]) => `${plain(name)}: ${plain(value)}`).join("\n");
  const parts = [
    ...lines.map(plain),
    ...(table === "" ? [] : [table]),
    `${link.label}:\n${link.url}`,
    ...foot.map(plain),
  ];
  return `${parts.join("\n\n")}\n`;
}

const FONT = "font-family:Helvetica,Arial,sans-serif;font-size:15px;line-height:1.5;color:#1c1c1c";
const CELL = "padding:2px 16px 2px 0;vertical-align:top";

function htmlOf({ lines, facts = [], link, foot }: LetterContent): string {
  const rows = facts.map(
    ([name, value]) =>
      `<tr><td style="${CELL};color:#666">${escaped(name)}</td><td style="${CELL}">${escaped(value)}</td></tr>`,
  );
  return [
    `<!doctype html><html><head><meta charset="utf-8"></head><body style="${FONT}">`,
    ...lines.map((line) => `<p>${escaped(line)}</p>`),
    ...(rows.length === 0 ? [] : [`<table style="${FONT};border-collapse:collapse">`, ...rows, "</table>"]),
    `<p><a href="${encoded(link.url)}">${encoded(link.label)}</a></p>`,
    ...foot.map((line) => `<p style="font-size:13px;color:#666">${escaped(line)}</p>`),
    "</body></html>",
  ].join("\n");
}

const escaped = (text: string) => encoded(plain(text));

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const encoded = (text: string) => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
