import { systemClock } from "../base/clock.ts";
import { isObject, type Json } from "../base/json.ts";
import { plain } from "./client.ts";
import type { Host } from "./host.ts";

/** A column of a table. */
export interface Column<T> {
  title: string;
  of(row: T): unknown;
  /** A shorter form for a narrow terminal, tried before columns are left out. */
  short?(row: T): unknown;
  /** True if it is useless when truncated, such as an ID. */
  isWhole?: boolean;
  /** True if it identifies the rows. It is truncated last. */
  isName?: boolean;
  /** A column that a narrow terminal omits, the lowest number first. */
  extra?: number;
}

const GAP = "  ";
const LEAST_WIDTH = 6;
/** Without truncation, longer cells aren't aligned, so that one of them doesn't pad every row. */
const MOST_PADDING = 120;

/**
 * Prints rows below their titles, each on one line.
 * On a terminal they fit its width, without some columns if necessary. `isWide` prints everything.
 */
export function printTable<T>(
  host: Host,
  rows: readonly T[],
  all: readonly Column<T>[],
  { isWide = false }: { isWide?: boolean } = {},
): void {
  const fitted = (column: Column<T>, of: Column<T>["of"]) => {
    const cells = [column.title, ...rows.map(of)].map(cellText);
    return { ...column, cells, width: Math.max(...cells.map((cell) => Bun.stringWidth(cell))) };
  };
  const width = isWide ? null : host.width;
  const long = all.map((column) => fitted(column, column.of));
  const found =
    width === null || totalOf(long) <= width
      ? long
      : all.map((column) => fitted(column, column.short ?? column.of));
  const columns = width === null ? found : narrowed(found, width);
  for (let line = 0; line <= rows.length; line++) {
    const text = columns
      .map(({ cells, width: most }) => {
        const cell = cells[line] ?? "";
        return width === null ? padded(cell, Math.min(most, MOST_PADDING)) : padded(cut(cell, most), most);
      })
      .join(GAP)
      .trimEnd();
    host.out(width === null ? text : cut(text, width));
  }
}

type Fitted = Pick<Column<never>, "isWhole" | "isName" | "extra"> & { cells: string[]; width: number };

const totalOf = (columns: readonly Fitted[]) =>
  columns.reduce((sum, { width }) => sum + width, GAP.length * (columns.length - 1));

/** Leaves out extra columns, then narrows the widest ones until all fit, those with names last. */
function narrowed(found: readonly Fitted[], width: number): Fitted[] {
  let columns = found.map((column) => ({ ...column }));
  const extras = columns.filter(({ extra }) => extra !== undefined);
  for (const out of extras.toSorted((a, b) => (a.extra ?? 0) - (b.extra ?? 0))) {
    if (totalOf(columns) <= width) break;
    columns = columns.filter((column) => column !== out);
  }
  for (const isName of [false, true]) {
    const soft = columns.filter((column) => column.isWhole !== true && (column.isName === true) === isName);
    for (;;) {
      const [widest] = soft.filter((one) => one.width > LEAST_WIDTH).toSorted((a, b) => b.width - a.width);
      if (totalOf(columns) <= width || widest === undefined) break;
      widest.width--;
    }
  }
  return columns;
}

const padded = (text: string, width: number) => text + " ".repeat(Math.max(0, width - Bun.stringWidth(text)));

/** Truncates text to `width` columns, with an ellipsis. */
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

/** Formats a value on one line. */
function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return plain(text.replace(/\s+/g, " ")).trim();
}

/** Prints the fields of a resource one below the other, without empty ones. */
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

/** Prints JSON as the server sent it. On a terminal, control characters are escaped. */
export const printJson = (host: Host, text: string): void =>
  host.out(host.width === null ? text : escaped(text));

const escaped = (text: string) =>
  text.replace(/(?![\n\t])[\p{Cc}\p{Cf}]/gu, (letter) =>
    Array.from(
      { length: letter.length },
      (_, at) => `\\u${letter.charCodeAt(at).toString(16).padStart(4, "0")}`,
    ).join(""),
  );

/** A column with a time: to the second, or relative to now on a narrow terminal. */
export const timeColumn = <T>(title: string, of: (row: T) => unknown, extra?: number): Column<T> => ({
  title,
  of: (row) => instantText(of(row)),
  short: (row) => distanceText(of(row), systemClock.now()),
  ...(extra === undefined ? {} : { extra }),
});

const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
] as const;

/** A time relative to now, such as `3 min ago` or `in 2 h`. */
function distanceText(instant: unknown, now: Date): string {
  if (typeof instant !== "string") return "";
  const seconds = Math.round((now.getTime() - Date.parse(instant)) / 1_000);
  const far = Math.abs(seconds);
  const [unit, size] = UNITS.find(([, each]) => far >= each) ?? ["s", 1];
  const text = `${Math.floor(far / size)} ${unit}`;
  return seconds < 0 ? `in ${text}` : `${text} ago`;
}

/** A time without milliseconds. */
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
