import type { Letter } from "./contract.ts";
import { encoded, escaped, oneLine, plain } from "./escape.ts";
import { type Section, sectionHtml, sectionText } from "./sections.ts";

export { oneLine } from "./escape.ts";

/** Content of one mail. `letterOf` renders it as plain text and as HTML. Texts can come from anyone. */
export interface LetterContent {
  subject: string;
  /** Paragraphs, each on one line. */
  lines: readonly string[];
  /** Names and values, shown as a table. */
  facts?: readonly (readonly [name: string, value: string])[];
  /** Tables and numbers, above the link. */
  sections?: readonly Section[];
  /** The only link, to a URL of this server. */
  link: { label: string; url: string };
  /** Paragraphs below the link. */
  foot: readonly string[];
  /** Unsubscribes from mails of this kind. Absent for one-time mails. */
  unsubscribe?: { label: string; url: string };
}

const MAX_SUBJECT_CHARACTERS = 150;

/** Renders a mail. It loads no remote content, and its only links are `link` and `unsubscribe`. */
export function letterOf(to: string, content: LetterContent): Letter {
  return {
    to,
    subject: oneLine(content.subject, MAX_SUBJECT_CHARACTERS),
    text: textOf(content),
    html: htmlOf(content),
    ...(content.unsubscribe === undefined ? {} : { unsubscribeUrl: content.unsubscribe.url }),
  };
}

function textOf({ lines, facts = [], sections = [], link, foot, unsubscribe }: LetterContent): string {
  const table = facts.map(([name, value]) => `${plain(name)}: ${plain(value)}`).join("\n");
  const parts = [
    ...lines.map(plain),
    ...(table === "" ? [] : [table]),
    ...sections.map(sectionText),
    `${link.label}:\n${link.url}`,
    ...foot.map(plain),
    ...(unsubscribe === undefined ? [] : [`${unsubscribe.label}:\n${unsubscribe.url}`]),
  ];
  return `${parts.join("\n\n")}\n`;
}

const FONT = "font-family:Helvetica,Arial,sans-serif;font-size:15px;line-height:1.5;color:#1c1c1c";
const SMALL = "font-size:13px;color:#666";
const CELL = "padding:2px 16px 2px 0;vertical-align:top";

function htmlOf({ lines, facts = [], sections = [], link, foot, unsubscribe }: LetterContent): string {
  const rows = facts.map(
    ([name, value]) =>
      `<tr><td style="${CELL};color:#666">${escaped(name)}</td><td style="${CELL}">${escaped(value)}</td></tr>`,
  );
  return [
    `<!doctype html><html><head><meta charset="utf-8"></head><body style="${FONT}">`,
    ...lines.map((line) => `<p>${escaped(line)}</p>`),
    ...(rows.length === 0 ? [] : [`<table style="${FONT};border-collapse:collapse">`, ...rows, "</table>"]),
    ...sections.map(sectionHtml),
    `<p><a href="${encoded(link.url)}">${encoded(link.label)}</a></p>`,
    ...foot.map((line) => `<p style="${SMALL}">${escaped(line)}</p>`),
    ...(unsubscribe === undefined
      ? []
      : [`<p style="${SMALL}"><a href="${encoded(unsubscribe.url)}">${escaped(unsubscribe.label)}</a></p>`]),
    "</body></html>",
  ].join("\n");
}
