import { instantFrom, instantText } from "./civil.ts";
import type { Written } from "./files-source.ts";
import type { SourceColumn, SourceTable } from "./table.ts";
import { zipOf } from "./zip.ts";

const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE = "http://schemas.openxmlformats.org/package/2006";

/** A carriage return is written by its number, since XML has no other way, and so is a text that looks like one. */
const escaped = (text: string): string =>
  text
    .replace(/_x[0-9A-Fa-f]{4}_/g, (found) => `_x005F${found}`)
    .replaceAll("\r", "_x000D_")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");

/** A = 0, B = 1 … Z, AA. */
const letters = (at: number): string =>
  (at >= 26 ? letters(Math.floor(at / 26) - 1) : "") + String.fromCharCode(65 + (at % 26));

const DAY = 86_400_000_000_000n;
/** Styles of `STYLES`, by the type of the column. */
const STYLE: Readonly<Record<string, number>> = { day: 1, instant: 2, "instant of a code": 3 };
const STYLES = `<numFmts count="1"><numFmt numFmtId="164" formatCode="&quot;at&quot; yyyy\\-mm\\-dd\\ hh:mm:ss.000"/></numFmts><fonts count="1"><font/></fonts><fills count="1"><fill/></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="4"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="164"/></cellXfs>`;

/** Days since the last of December 1899, as spreadsheets count them, or since 1904. */
function serialOf(text: string, is1904: boolean): string {
  const nanos = (instantFrom(text)?.nanos ?? 0n) - (instantFrom("1899-12-30 00:00:00")?.nanos ?? 0n);
  const days = Number(nanos / DAY) + Number(nanos % DAY) / Number(DAY) - (is1904 ? 1462 : 0);
  return String(!is1904 && days < 61 ? days - 1 : days);
}

/** A table as a workbook of one sheet; its number decides whether texts are shared, and when its days begin. */
export function xlsxOf(table: SourceTable): Written {
  const { name, columns, rows } = table;
  const number = Bun.hash.crc32(name);
  const [isShared, is1904] = [number % 2 === 0, number % 5 === 0];
  const shared = new Map<string, number>();
  const textCell = (place: string, text: string): string => {
    const inner = `<t xml:space="preserve">${escaped(text)}</t>`;
    if (!isShared) return `<c r="${place}" t="inlineStr"><is>${inner}</is></c>`;
    if (!shared.has(text)) shared.set(text, shared.size);
    return `<c r="${place}" t="s"><v>${shared.get(text)}</v></c>`;
  };
  const cell = ({ type, kind }: SourceColumn, place: string, text: string): string => {
    if (type === "errors") return `<c r="${place}" t="e"><v>${text}</v></c>`;
    if (kind === "bool") return `<c r="${place}" t="b"><v>${text === "true" ? 1 : 0}</v></c>`;
    if (type in STYLE) return `<c r="${place}" s="${STYLE[type]}"><v>${serialOf(text, is1904)}</v></c>`;
    const isNumber = kind === "number" || (type === "numbers and texts" && /^-?\d/.test(text));
    return isNumber ? `<c r="${place}"><v>${text}</v></c>` : textCell(place, text);
  };
  const lines = rows.map((row, index) => {
    const cells = row.map((text, at) =>
      text === null ? "" : cell(columns[at] as SourceColumn, `${letters(at + 1)}${index + 2}`, text),
    );
    return `<row r="${index + 2}"><c r="A${index + 2}"><v>${index + 1}</v></c>${cells.join("")}</row>`;
  });
  const heads = ["id", ...columns.map((column) => column.name)].map((head, at) =>
    textCell(`${letters(at)}1`, head),
  );
  const content = zipOf({
    "[Content_Types].xml": `${HEAD}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/></Types>`,
    "_rels/.rels": `${HEAD}<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="r1" Type="${RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    "xl/workbook.xml": `${HEAD}<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><workbookPr date1904="${is1904 ? 1 : 0}"/><sheets><sheet name="Rows" sheetId="1" r:id="r1"/></sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": `${HEAD}<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="r1" Type="${RELATIONS}/worksheet" Target="worksheets/odd name.xml"/><Relationship Id="r2" Type="${RELATIONS}/sharedStrings" Target="sharedStrings.xml"/><Relationship Id="r3" Type="${RELATIONS}/styles" Target="styles.xml"/></Relationships>`,
    "xl/worksheets/odd name.xml": `${HEAD}<worksheet xmlns="${MAIN}"><sheetData><row r="1">${heads.join("")}</row>${lines.join("")}</sheetData></worksheet>`,
    "xl/sharedStrings.xml": `${HEAD}<sst xmlns="${MAIN}">${[...shared.keys()].map((text) => `<si><t xml:space="preserve">${escaped(text)}</t></si>`).join("")}</sst>`,
    "xl/styles.xml": `${HEAD}<styleSheet xmlns="${MAIN}">${STYLES}</styleSheet>`,
  });
  return {
    content,
    values: rows.map((row) => row.map((text, at) => sheetValue(columns[at]?.type ?? "", text))),
  };
}

/** An instant of a sheet is a double of days, which holds milliseconds. */
function sheetValue(type: string, text: string | null): string | null {
  if (text === null || !(type in STYLE)) return text;
  const nanos = instantFrom(text)?.nanos ?? 0n;
  return instantText((nanos / 1_000_000n) * 1_000_000n);
}
