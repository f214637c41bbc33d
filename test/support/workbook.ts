import { type ZipPart, zipOf } from "./zip.ts";

export interface WorkbookParts {
  /** Content of `<sheetData>`, by the sheet's name. */
  sheets: Readonly<Record<string, string>>;
  /** `<si>` elements. */
  shared?: readonly string[];
  /** Format codes, or numbers of built-in ones: style 1 is the first. */
  formats?: readonly (string | number)[];
  is1904?: boolean;
  /** Parts that are added, or replace those with the same name. */
  parts?: readonly ZipPart[];
}

const MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

export const escapeXml = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;").replaceAll("]]>", "]]&gt;");

export const relations = (...targets: readonly [id: string, type: string, target: string][]) =>
  `<Relationships>${targets
    .map(([id, type, target]) => `<Relationship Id="${id}" Type="${RELATIONS}/${type}" Target="${target}"/>`)
    .join("")}</Relationships>`;

export const sheetXml = (data: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<worksheet xmlns="${MAIN}"><sheetData>${data}</sheetData></worksheet>`;

/** A workbook, written by hand. */
export function workbookOf({ sheets, shared, formats = [], is1904, parts = [] }: WorkbookParts): Buffer {
  const names = Object.keys(sheets);
  const codes = formats.map((format, at) =>
    typeof format === "string" ? { id: 164 + at, code: format } : { id: format, code: null },
  );
  const styles = `<styleSheet xmlns="${MAIN}"><numFmts>${codes
    .flatMap(({ id, code }) =>
      code === null ? [] : [`<numFmt numFmtId="${id}" formatCode="${escapeXml(code)}"/>`],
    )
    .join("")}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>${codes
    .map(({ id }) => `<xf numFmtId="${id}" applyNumberFormat="1"/>`)
    .join("")}</cellXfs></styleSheet>`;
  const list = names.map(
    (name, at) => `<sheet name="${escapeXml(name)}" sheetId="${at + 1}" r:id="s${at}"/>`,
  );
  const own: ZipPart[] = [
    { name: "_rels/.rels", data: relations(["b", "officeDocument", "xl/workbook.xml"]) },
    {
      name: "xl/workbook.xml",
      data: `<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><workbookPr${is1904 ? ' date1904="1"' : ""}/><sheets>${list.join("")}</sheets></workbook>`,
    },
    {
      name: "xl/_rels/workbook.xml.rels",
      data: relations(
        ...names
          .map((_, at) => [`s${at}`, "worksheet", `worksheets/sheet${at + 1}.xml`] as const)
          .map(([id, type, target]): [string, string, string] => [id, type, target]),
        ["t", "sharedStrings", "sharedStrings.xml"],
        ["y", "styles", "styles.xml"],
      ),
    },
    { name: "xl/styles.xml", data: styles },
    { name: "xl/sharedStrings.xml", data: `<sst xmlns="${MAIN}">${(shared ?? []).join("")}</sst>` },
    ...names.map((name, at) => ({
      name: `xl/worksheets/sheet${at + 1}.xml`,
      data: sheetXml(sheets[name] ?? ""),
    })),
  ];
  const replaced = new Set(parts.map(({ name }) => name));
  return zipOf([...own.filter(({ name }) => !replaced.has(name)), ...parts]);
}
