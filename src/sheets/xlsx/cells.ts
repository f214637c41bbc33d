import { damaged } from "../fault.ts";
import type { FormatKind } from "./formats.ts";
import { isoCell } from "./iso.ts";
import { decimalText } from "./numbers.ts";
import { dated } from "./serial.ts";
import type { SharedTexts } from "./shared-texts.ts";

/** Kinds of values; `day` has no time, `instant` no zone. Files of raw rows store their index. */
export const KINDS = ["text", "number", "boolean", "day", "instant", "zoned", "clock"] as const;
export type Kind = (typeof KINDS)[number];

/** A value, with the reason if it differs from the cell's; or an error instead of a value. */
export type Cell =
  | { kind: Kind; text: string | Uint8Array; why?: string }
  | { kind: "nothing"; text: string; why: string };

/** A cell as in the sheet's XML. */
export interface CellSource {
  /** Its attribute `t`. */
  type: string;
  style: number;
  /** Content of `<v>` or `<is>`; null if it has neither. */
  value: string | null;
  /** Content of `<f>`; null if the cell has no formula. */
  formula: string | null;
}

export interface CellRules {
  styles: readonly FormatKind[];
  is1904: boolean;
  shared: SharedTexts;
}

/** Reads a cell; null if it has no value. Throws `FileFault`. */
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

/**
 * Decodes `_x000D_`, by which a workbook escapes characters that XML can't contain; lone surrogates stay escaped,
 * because UTF-8 can't contain them.
 */
export function unescaped(text: string): string {
  if (!text.includes("_x")) return text;
  return text
    .replaceAll(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll(/\p{Surrogate}/gu, (half) => `_x${half.charCodeAt(0).toString(16).toUpperCase()}_`);
}
