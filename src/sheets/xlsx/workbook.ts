import { posix } from "node:path";
import { damaged, FileFault } from "../fault.ts";
import { type FormatKind, formatKindOf } from "./formats.ts";
import { parsePart, prefixed } from "./xml.ts";
import type { Zip } from "./zip.ts";

/** Maximum number of sheets; Excel's limit is its memory. */
const MAX_SHEETS = 1000;

export interface Workbook {
  /** Worksheets in order, including hidden ones, without chart sheets. */
  sheets: { name: string; part: string }[];
  /** Whether day 0 is 1904-01-01. */
  is1904: boolean;
  /** Kind of number, by cell style. */
  styles: FormatKind[];
  /** The part with shared strings; null if there is none. */
  sharedPart: string | null;
}

/** Reads everything that the sheets depend on. Throws `FileFault`. */
export async function openWorkbook(zip: Zip): Promise<Workbook> {
  const part = await workbookPart(zip);
  const targets = await relationsOf(zip, part);
  const sheets: { name: string; id: string }[] = [];
  let is1904 = false;
  await parsePart(zip, part, {
    open(name, attributes, depth) {
      if (name === "workbookPr" && depth === 2) is1904 = ["1", "true"].includes(attributes.date1904 ?? "");
      if (name !== "sheet" || depth !== 3) return;
      sheets.push({ name: attributes.name ?? "", id: prefixed(attributes, "id") ?? "" });
      if (sheets.length > MAX_SHEETS) {
        throw new FileFault(`The workbook has more than ${MAX_SHEETS} sheets. Split it.`);
      }
    },
  });
  const byType = (type: string) => [...targets.values()].find((target) => target.type === type)?.part ?? null;
  const stylesPart = byType("styles");
  return {
    is1904,
    sharedPart: byType("sharedStrings"),
    styles: stylesPart === null ? [] : await stylesOf(zip, stylesPart),
    sheets: sheets.flatMap(({ name, id }) => {
      const target = targets.get(id);
      if (target === undefined) throw damaged(`its sheet ${name} leads nowhere`);
      return target.type === "worksheet" ? [{ name, part: target.part }] : [];
    }),
  };
}

async function workbookPart(zip: Zip): Promise<string> {
  const targets = zip.has("_rels/.rels") ? await relationsOf(zip, "") : new Map<string, Target>();
  const part = [...targets.values()].find(({ type }) => type === "officeDocument")?.part ?? "xl/workbook.xml";
  if (part.endsWith(".bin")) {
    throw new FileFault("The file is a binary workbook (.xlsb). Save it as .xlsx and try again.");
  }
  const isSheets = zip.has(part) && !/^(?:word|ppt)\//.test(part);
  if (!isSheets) throw new FileFault("The file isn't an Excel workbook (.xlsx).");
  return part;
}

interface Target {
  /** The last word of the relationship's type: strict and transitional workbooks differ before it. */
  type: string;
  part: string;
}

/** The targets of a part's relationships, by relationship ID. */
async function relationsOf(zip: Zip, part: string): Promise<Map<string, Target>> {
  const folder = posix.dirname(part);
  const targets = new Map<string, Target>();
  await parsePart(zip, posix.join(folder, "_rels", `${posix.basename(part)}.rels`), {
    open(name, { Id = "", Type = "", Target = "", TargetMode }) {
      if (name !== "Relationship" || TargetMode === "External") return;
      const path = Target.startsWith("/") ? posix.normalize(Target) : posix.join("/", folder, Target);
      targets.set(Id, { type: posix.basename(Type), part: path.slice(1) });
    },
  });
  return targets;
}

async function stylesOf(zip: Zip, part: string): Promise<FormatKind[]> {
  const codes = new Map<number, string>();
  const styles: FormatKind[] = [];
  let isInCells = false;
  await parsePart(zip, part, {
    open(name, attributes, depth) {
      if (depth === 2) isInCells = name === "cellXfs";
      if (name === "numFmt" && depth === 3)
        codes.set(Number(attributes.numFmtId), attributes.formatCode ?? "");
      if (name === "xf" && depth === 3 && isInCells) {
        const id = Number(attributes.numFmtId ?? 0);
        styles.push(formatKindOf(id, codes.get(id)));
      }
    },
  });
  return styles;
}
