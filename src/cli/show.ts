import { isObject, type Json } from "../base/json.ts";
import { plain } from "./client.ts";
import type { Host } from "./host.ts";

/** A column of a table for people. */
export interface Column<T> {
  title: string;
  of(row: T): unknown;
  /** True where it is of no use unless it is whole, such as an id. */
  isWhole?: boolean;
}

const GAP = "  ";
const LEAST_WIDTH = 6;
/** Where nothing is cut, longer cells stand out of line: one of them must not fill up every row. */
const MOST_PADDING = 120;

/** Prints rows below their titles, each on one line, cut to the width of the terminal where there is one. */
export function printTable<T>(host: Host, rows: readonly T[], columns: readonly Column<T>[]): void {
  const titles = columns.map(({ title }) => cellText(title));
  const cells = rows.map((row) => columns.map((column) => cellText(column.of(row))));
  const widths = columns.map((_, at) =>
    Math.max(...[titles, ...cells].map((line) => Bun.stringWidth(line[at] ?? ""))),
  );
  const { width } = host;
  if (width !== null) narrow(widths, columns, width);
  for (const line of [titles, ...cells]) {
    const text = line
      .map((cell, at) => {
        const most = widths[at] ?? 0;
        return width === null ? padded(cell, Math.min(most, MOST_PADDING)) : padded(cut(cell, most), most);
      })
      .join(GAP)
      .trimEnd();
    host.out(width === null ? text : cut(text, width));
  }
}

/** Takes from the widest columns until all fit; those that must be whole keep their width. */
function narrow(widths: number[], columns: readonly Column<never>[], width: number): void {
  const isSoft = (at: number) => columns[at]?.isWhole !== true && (widths[at] ?? 0) > LEAST_WIDTH;
  for (;;) {
    const total = widths.reduce((sum, one) => sum + one, GAP.length * (widths.length - 1));
    const soft = widths.map((_, at) => at).filter(isSoft);
    const widest = soft.toSorted((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0))[0];
    if (total <= width || widest === undefined) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
}

const padded = (text: string, width: number) => text + " ".repeat(Math.max(0, width - Bun.stringWidth(text)));

/** At most `width` columns of the text; what was cut off shows as an ellipsis. */
function cut(text: string, width: number): string {
  if (Bun.stringWidth(text) <= width) return text;
  let short = "";
  let taken = 0;
  for (const letter of text) {
    taken += Bun.stringWidth(letter);
    if (taken > width - 1) break;
    short += letter;
  }
  return `${short}…`;
}

/** A value as one line. */
function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return plain(text.replace(/\s+/g, " ")).trim();
}

/** Prints the fields of a thing one below the other, without those that have no value. */
export function printFields(host: Host, fields: Readonly<Record<string, unknown>>): void {
  const shown = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  for (const [name, value] of shown) {
    const text = typeof value === "object" ? JSON.stringify(value, null, 2) : String(value);
    host.out(
      `${plain(name).padEnd(width)}${GAP}${plain(text).replaceAll("\n", `\n${" ".repeat(width)}${GAP}`)}`,
    );
  }
}

/** Prints JSON as the server sent it. On a terminal, what it would obey is written as JSON writes such things. */
export const printJson = (host: Host, text: string): void =>
  host.out(host.width === null ? text : escaped(text));

const escaped = (text: string) =>
  text.replace(/(?![\n\t])[\p{Cc}\p{Cf}]/gu, (letter) =>
    Array.from(
      { length: letter.length },
      (_, at) => `\\u${letter.charCodeAt(at).toString(16).padStart(4, "0")}`,
    ).join(""),
  );

/** An instant without its milliseconds. */
export const instantText = (instant: unknown): string =>
  typeof instant === "string" ? instant.replace(/\.\d+Z$/, "Z") : "";

export const secondsText = (seconds: unknown): string =>
  typeof seconds === "number" ? `${seconds < 10 ? seconds.toFixed(2) : Math.round(seconds)} s` : "";

/** Returns the message of a run's error. */
export function errorText(error: Json | undefined): string {
  if (!isObject(error)) return "no reason given";
  return plain(typeof error.code === "string" ? `${error.message} (${error.code})` : error.message);
}

/** Reports on a terminal that a list has more pages. */
export function reportMore(
  host: Host,
  page: { hasNext: boolean; offset: number; total: number },
  shown: number,
): void {
  if (page.hasNext && host.isTerminal)
    host.err(
      `Showing ${page.offset + 1}–${page.offset + shown} of ${page.total}. Next page: --offset ${page.offset + shown}`,
    );
}
