import { damaged } from "../fault.ts";
import type { FormatKind } from "./formats.ts";
import { isoCell } from "./iso.ts";
import { decimalText } from "./numbers.ts";
import { dated } from "./serial.ts";
import type { SharedTexts } from "./shared-texts.ts";

/** Kinds of values; `day` has no time, `instant` no zone. The order is that of the numbers in files of raw rows. */
export const KINDS = ["text", "number", "boolean", "day", "instant", "zoned", "clock"] as const;
export type Kind = (typeof KINDS)[number];

/** A value, with why it is not quite that of the cell; or what a cell has in place of one. */
export type Cell =
  | { kind: Kind; text: string | Uint8Array; why?: string }
  | { kind: "nothing"; text: string; why: string };

/** A cell as the sheet writes it. */
export interface CellSource {
  /** Its attribute `t`. */
  type: string;
  style: number;
  /** What `<v>` or `<is>` holds; null where there is neither. */
  value: string | null;
  /** What `<f>` holds; null where the cell has no formula. */
  formula: string | null;
}

export interface CellRules {
  styles: readonly FormatKind[];
  is1904: boolean;
  shared: SharedTexts;
}

/** Reads a cell; null for one without a value. Throws `FileFault`. */
export function cellOf({ type, style, value, formula }: CellSource, rules: CellRules): Cell | null {
  const isText = type === "str" || type === "inlineStr";
  if (value === null || (value === "" && !isText)) {
    if (formula === null) return null;
    return { kind: "nothing", text: `=${formula}`, why: "formulas without a stored value became NULL" };
  }
  if (isText) return { kind: "text", text: unescaped(value) };
  switch (type) {
    case "s":
      return { kind: "text", text: rules.shared.at(value.trim()) };
    case "b":
      return booleanCell(value);
    case "e":
      return { kind: "nothing", text: value, why: "error values became NULL" };
    case "d":
      return isoCell(value.trim());
    case "n":
      return numberCell(value.trim(), rules.styles[style] ?? "number", rules.is1904);
    default:
      throw damaged(`it has a cell of type ${type}`);
  }
}

function booleanCell(value: string): Cell {
  const text = value.trim();
  if (text === "1" || text === "true") return { kind: "boolean", text: "true" };
  if (text === "0" || text === "false") return { kind: "boolean", text: "false" };
  return { kind: "text", text: value };
}

function numberCell(value: string, format: FormatKind, is1904: boolean): Cell {
  const text = decimalText(value);
  if (text === null) return { kind: "text", text: value };
  const date = format === "number" ? null : dated(Number(value), format, is1904);
  return date ?? { kind: "number", text };
}

/** Undoes `_x000D_`, by which a workbook writes what XML can't hold; halves of pairs stay so, since UTF-8 has none. */
export function unescaped(text: string): string {
  if (!text.includes("_x")) return text;
  return text
    .replaceAll(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll(/\p{Surrogate}/gu, (half) => `_x${half.charCodeAt(0).toString(16).toUpperCase()}_`);
}
