import { type Static, Type } from "@sinclair/typebox";
import { described, object, oneOf, optional } from "../../base/shape.ts";
import type { CsvStyle } from "../../lake/csv-style.ts";
import { dateFormatFault, strptimeFormat, type TextStyle } from "../../lake/text-types.ts";
import { FILE_FORMATS, type FileFormat } from "../../providers/contract.ts";

/** How to read a resource's files, if their names and content don't show it. */
export const FileOptions = object(
  {
    format: optional(
      oneOf(FILE_FORMATS, { description: "Format of all files. Default: by each file's name." }),
    ),
    encoding: optional(
      described(
        "Character encoding of CSV and JSON, such as windows-1252, utf-16le or shift_jis. Default: that of the byte order mark, otherwise utf-8",
        Type.String({ minLength: 1, maxLength: 40 }),
      ),
    ),
    delimiter: optional(
      described(
        "Delimiter of CSV fields. Default: comma, semicolon, tab or |, whichever the first record contains most often",
        Type.String({ minLength: 1, maxLength: 4 }),
      ),
    ),
    quote: optional(
      described('Quote character of CSV fields. Empty for none. Default: "', Type.String({ maxLength: 1 })),
    ),
    header: optional(
      Type.Boolean({
        default: true,
        description: "Whether the first row of a CSV file or sheet has the column names.",
      }),
    ),
    skipRows: optional(
      Type.Integer({
        minimum: 0,
        maximum: 1_000_000,
        default: 0,
        description: "Number of lines or rows to skip at the beginning.",
      }),
    ),
    comment: optional(
      described(
        "First character of CSV lines to skip, such as #",
        Type.String({ minLength: 1, maxLength: 1 }),
      ),
    ),
    nullText: optional(
      described(
        'Text in CSV that means NULL, or several, in addition to an empty field. If set, "" is an empty text. Otherwise "" is NULL too',
        Type.Union([
          Type.String({ maxLength: 100 }),
          Type.Array(Type.String({ maxLength: 100 }), { maxItems: 20 }),
        ]),
      ),
    ),
    decimal: optional(oneOf([".", ","], { default: ".", description: "Decimal separator in CSV." })),
    dateFormat: optional(
      described(
        "Format of dates in CSV, such as dd.MM.yyyy or %d.%m.%Y. ISO 8601 is always recognized. Without it, other dates are text",
        Type.String({ minLength: 1, maxLength: 100 }),
      ),
    ),
    sheet: optional(
      described(
        "Name of the only sheet to read from a workbook. Default: every sheet, each as a table",
        Type.String({ minLength: 1, maxLength: 100 }),
      ),
    ),
    onBadRow: optional(
      oneOf(["fail", "reject"], {
        default: "fail",
        description:
          "What to do with records of CSV and JSON Lines that can't be read: fail the run, or reject them. Rejected records are counted and stored as an artifact.",
      }),
    ),
  },
  { description: "How to read the files" },
);
export type FileOptions = Static<typeof FileOptions>;

/** Whether records of this format can be read without the others. */
const hasRecords = (format: FileFormat): boolean => ["csv", "tsv", "jsonl"].includes(format);

/** Warns of a file of which single records can't be rejected, although the options ask for it. */
export function warnOfRejecting(
  name: string,
  format: FileFormat,
  { onBadRow }: FileOptions,
  warn: (text: string) => void,
): void {
  if (onBadRow !== "reject" || hasRecords(format)) return;
  warn(
    `file.onBadRow "reject" has no effect on ${name}: in ${format}, single records can't be rejected. A file that can't be read fails the run.`,
  );
}

/** Returns the options of CSV. */
export const csvStyleOf = ({
  delimiter,
  quote,
  header,
  skipRows,
  comment,
  nullText,
}: FileOptions): CsvStyle => ({
  ...(delimiter === undefined ? {} : { delimiter }),
  ...(quote === undefined ? {} : { quote }),
  ...(header === undefined ? {} : { header }),
  ...(skipRows === undefined ? {} : { skipRows }),
  ...(comment === undefined ? {} : { comment }),
  ...(nullText === undefined ? {} : { nullText: typeof nullText === "string" ? [nullText] : nullText }),
});

export function textStyleOf({ decimal, dateFormat }: FileOptions): TextStyle {
  const format = dateFormat === undefined ? null : strptimeFormat(dateFormat);
  return { ...(decimal ? { decimal } : {}), ...(format === null ? {} : { dateFormat: format }) };
}

/** Errors that the schema can't express. */
export function fileFaults({
  format: fileFormat,
  encoding,
  dateFormat,
  quote,
  delimiter,
  onBadRow,
}: FileOptions): { path: string[]; message: string }[] {
  const faults: { path: string[]; message: string }[] = [];
  if (encoding !== undefined && !isEncoding(encoding))
    faults.push({
      path: ["encoding"],
      message: `Unknown encoding ${encoding}. Use a name such as utf-8, windows-1252 or shift_jis.`,
    });
  const format = dateFormat === undefined ? null : dateFormatFault(dateFormat);
  if (format !== null) faults.push({ path: ["dateFormat"], message: format });
  if (delimiter !== undefined && quote !== undefined && quote !== "" && delimiter.includes(quote))
    faults.push({ path: ["delimiter"], message: "The delimiter and the quote have to differ." });
  if (onBadRow === "reject" && FILE_FORMATS.some((known) => known === fileFormat && !hasRecords(known)))
    faults.push({
      path: ["onBadRow"],
      message: `Records can be rejected in csv, tsv and jsonl, and not in ${fileFormat}. Remove onBadRow.`,
    });
  return faults;
}

function isEncoding(name: string): boolean {
  try {
    return new TextDecoder(name).encoding !== "";
  } catch {
    return false; // a RangeError is the only way to find out
  }
}
