import { expect, test } from "bun:test";
import { readTables } from "../support/sheets.ts";
import { relations, sheetXml, workbookOf } from "../support/workbook.ts";
import { zipOf } from "../support/zip.ts";

const cell = '<row><c t="inlineStr"><is><t>a</t></is></c></row>';
const sheet = (data: string) => workbookOf({ sheets: { s: data } });
const withPart = (name: string, data: string | Uint8Array, lies = {}) =>
  workbookOf({ sheets: { s: cell }, parts: [{ name, data, lies }] });
const SHEET = "xl/worksheets/sheet1.xml";
const whole = workbookOf({ sheets: { s: cell } });
const ole = (name: string) =>
  Buffer.concat([
    Buffer.from("d0cf11e0a1b11ae1", "hex"),
    Buffer.alloc(300_000),
    Buffer.from(name, "utf16le"),
  ]);

test.each([
  ["has no bytes", Buffer.alloc(0), "The file is empty: it has 0 bytes."],
  ["is a text", Buffer.from("a,b\n1,2\n"), "The file isn't an Excel workbook (.xlsx)."],
  [
    "is of Excel 97",
    ole("Workbook"),
    "The file is an Excel 97–2003 workbook (.xls). Save it as .xlsx and try again.",
  ],
  [
    "is encrypted as a whole",
    ole("EncryptedPackage"),
    "The workbook is protected by a password. Save it without one and try again.",
  ],
  [
    "is encrypted in its parts",
    withPart(SHEET, sheetXml(cell), { flags: 1 }),
    "The workbook is protected by a password. Save it without one and try again.",
  ],
  [
    "is binary",
    withPart("_rels/.rels", relations(["b", "officeDocument", "xl/workbook.bin"])),
    "The file is a binary workbook (.xlsb). Save it as .xlsx and try again.",
  ],
  [
    "is a document",
    withPart("_rels/.rels", relations(["b", "officeDocument", "word/document.xml"])),
    "The file isn't an Excel workbook (.xlsx).",
  ],
  ["is any zip file", zipOf([{ name: "a.txt", data: "a" }]), "The file isn't an Excel workbook (.xlsx)."],
  [
    "is a zip64 file",
    withPart(SHEET, sheetXml(cell), { bytes: 0xffffffff }),
    "The workbook is a zip64 file, which Weir can't read. Open it in Excel and save it again.",
  ],
  [
    "is compressed by other means",
    withPart(SHEET, sheetXml(cell), { method: 12 }),
    "The workbook is compressed by method 12. Save it again with Excel.",
  ],
  [
    "has lost its end",
    whole.subarray(0, whole.length - 30),
    "The file isn't whole: its end is missing. Try to export it again.",
  ],
  [
    "has bytes that changed",
    withPart(SHEET, sheetXml(cell), { crc: 1 }),
    `The file is damaged: its part ${SHEET} isn't what it was.`,
  ],
  [
    "has more bytes than it tells",
    withPart(SHEET, sheetXml(`${" ".repeat(50_000_000)}${cell}`), { bytes: 1000 }),
    `The file is damaged: its part ${SHEET} isn't what it was.`,
  ],
  [
    "has a part that stops midway",
    withPart(SHEET, sheetXml(cell), { compressedBytes: 40 }),
    `The file is damaged: its part ${SHEET} can't be decompressed.`,
  ],
  [
    "names a part twice",
    zipOf([
      { name: "a", data: "" },
      { name: "A", data: "" },
    ]),
    "The file is damaged: it has two parts a.",
  ],
  [
    "has a part that is no XML",
    withPart(SHEET, `${sheetXml(cell)}<`),
    `The file is damaged: its part ${SHEET} isn't XML: unexpected end.`,
  ],
  [
    "has a part that is no UTF-8",
    withPart(SHEET, Buffer.from(sheetXml(`<row><c t="str"><v>\xff</v></c></row>`), "latin1")),
    `The file is damaged: its part ${SHEET} isn't UTF-8.`,
  ],
  [
    "brings entities",
    withPart("xl/sharedStrings.xml", '<!DOCTYPE sst [<!ENTITY a "aaaa">]><sst><si><t>&a;</t></si></sst>'),
    "The workbook's part xl/sharedStrings.xml has a document type, which a workbook never has.",
  ],
  [
    "uses a shared text that isn't there",
    sheet('<row><c t="s"><v>3</v></c></row>'),
    "The file is damaged: it has no shared text 3.",
  ],
  [
    "has a cell twice",
    sheet('<row><c r="B1"><v>1</v></c><c r="B1"><v>2</v></c></row>'),
    "The file is damaged: its cell B1 is out of order.",
  ],
  ["has a row twice", sheet('<row r="2"/><row r="2"/>'), "The file is damaged: its row 2 isn't after row 2."],
  ["has too many rows", sheet('<row r="1048577"/>'), "The sheet has more rows than Excel allows."],
  [
    "has too many columns",
    sheet('<row><c r="XFE1"/></row>'),
    "The sheet has more columns than Excel allows.",
  ],
  [
    "would unfold to more than fits anywhere",
    sheet(`<row><c r="XFD1"><v>1</v></c></row>${"<row><c><v>1</v></c></row>".repeat(70_000)}`),
    "Sheet s is too large: 70000 rows of 16384 columns.",
  ],
])("a workbook that %s is rejected with a sentence", async (_, bytes, message) => {
  expect(await readTables(bytes).catch((error: unknown) => error)).toMatchObject({
    code: "upstream",
    message,
  });
});

test("a file with another size than the source reports is incomplete", async () => {
  expect((await readTables(whole, { size: whole.length })).length).toBe(1);
  const message = `The file isn't whole: ${whole.length} of ${whole.length + 1} bytes arrived. Try again.`;
  await expect(readTables(whole, { size: whole.length + 1 })).rejects.toMatchObject({
    code: "upstream",
    message,
  });
});

test("a cancelled read ends with the signal's reason", async () => {
  const cancelled = new AbortController();
  const reading = readTables(sheet("<row><c><v>1</v></c></row>".repeat(500_000)), {
    signal: cancelled.signal,
  });
  cancelled.abort(new Error("enough"));
  await expect(reading).rejects.toThrow("enough");
});
