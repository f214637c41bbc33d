import { encoded, escaped, plain } from "./escape.ts";

interface Column {
  name: string;
  /** Right-aligned. */
  isNumber: boolean;
}

/** A titled part of a mail: a number, a table, or why there is neither. Its texts can come from anyone. */
export interface Section {
  title: string;
  /** Shown large, on a line of its own. */
  number?: string;
  table?: {
    columns: readonly Column[];
    rows: readonly (readonly string[])[];
    /** Bars next to the rows, from 0 to 1. Mail programs show no charts, but all of them show a colored box. */
    bars?: readonly number[];
  };
  note?: string;
}

export function sectionText({ title, number, table, note }: Section): string {
  const rows = table?.rows.map((row) => row.map(plain).join(" | ")) ?? [];
  return [
    plain(title).toUpperCase(),
    ...(number === undefined ? [] : [plain(number)]),
    ...(table ? [table.columns.map(({ name }) => plain(name)).join(" | "), ...rows] : []),
    ...(note === undefined ? [] : [plain(note)]),
  ].join("\n");
}

const FONT = "font-family:Helvetica,Arial,sans-serif;line-height:1.4;color:#1c1c1c";
const CELL = "padding:4px 12px 4px 0;border-bottom:1px solid #e3e6eb;vertical-align:top";
const BAR_PIXELS = 160;
const BAR = "height:12px;line-height:12px;font-size:1px;background:#2858c5";

export function sectionHtml({ title, number, table, note }: Section): string {
  return [
    `<h2 style="${FONT};font-size:16px;margin:24px 0 8px">${escaped(title)}</h2>`,
    ...(number === undefined
      ? []
      : [`<p style="${FONT};font-size:30px;font-weight:bold;margin:0">${escaped(number)}</p>`]),
    ...(table ? [tableHtml(table)] : []),
    ...(note === undefined
      ? []
      : [`<p style="${FONT};font-size:13px;color:#666;margin:4px 0">${escaped(note)}</p>`]),
  ].join("\n");
}

function tableHtml({ columns, rows, bars }: NonNullable<Section["table"]>): string {
  const align = (at: number) => (columns[at]?.isNumber ? ";text-align:right" : ";text-align:left");
  const heads = columns.map(
    ({ name }, at) => `<th style="${CELL}${align(at)};color:#666">${escaped(name)}</th>`,
  );
  const lines = rows.map((row, at) => {
    const cells = row.map((cell, place) => `<td style="${CELL}${align(place)}">${escaped(cell)}</td>`);
    return `<tr>${cells.join("")}${bars ? barHtml(bars[at] ?? 0) : ""}</tr>`;
  });
  return [
    `<table style="${FONT};font-size:14px;border-collapse:collapse">`,
    `<tr>${heads.join("")}${bars ? `<th style="${CELL}"></th>` : ""}</tr>`,
    ...lines,
    "</table>",
  ].join("\n");
}

function barHtml(part: number): string {
  const width = Math.round(Math.min(Math.max(part, 0), 1) * BAR_PIXELS);
  const bar =
    width === 0
      ? ""
      : `<table cellpadding="0" cellspacing="0"><tr><td width="${width}" style="${BAR}">${encoded("\u00a0")}</td></tr></table>`;
  return `<td width="${BAR_PIXELS}" style="${CELL};padding-right:0">${bar}</td>`;
}
