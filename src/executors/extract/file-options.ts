import { type Static, Type } from "@sinclair/typebox";
import { described, object, oneOf, optional } from "../../base/shape.ts";
import type { CsvStyle } from "../../lake/csv-style.ts";
import { dateFormatFault, strptimeFormat, type TextStyle } from "../../lake/text-types.ts";
import { FILE_FORMATS } from "../../providers/contract.ts";

/** How the files of a resource are read, where their names and bytes do not tell. */
export const FileOptions = object(
  {
    format: optional(
      oneOf(FILE_FORMATS, { description: "The format of all files. Default: by each file's name." }),
    ),
    encoding: optional(
      described(
        "The character encoding of CSV and JSON, such as windows-1252, utf-16le or shift_jis. Default: utf-8, or as a byte order mark says",
        Type.String({ minLength: 1, maxLength: 40 }),
      ),
    ),
    delimiter: optional(
      described(
        "What separates the fields of CSV. Default: the one of comma, semicolon, tab and | that the first record has most often",
        Type.String({ minLength: 1, maxLength: 4 }),
      ),
    ),
    quote: optional(
      described(
        'The character around fields of CSV that hold a delimiter. Empty for none. Default: "',
        Type.String({ maxLength: 1 }),
      ),
    ),
    header: optional(
      Type.Boolean({
        default: true,
        description: "Whether the first record of CSV or of a sheet has the names of the columns.",
      }),
    ),
    skipRows: optional(
      Type.Integer({
        minimum: 0,
        maximum: 1_000_000,
        default: 0,
        description: "Lines or rows to pass over first.",
      }),
    ),
    comment: optional(
      described(
        "What lines of CSV begin with that are passed over, such as #",
        Type.String({ minLength: 1, maxLength: 1 }),
      ),
    ),
    nullText: optional(
      described(
        'Text of CSV that means NULL, or a list of such, in addition to an empty field. With it, "" is an empty text; without it, "" is NULL too',
        Type.Union([
          Type.String({ maxLength: 100 }),
          Type.Array(Type.String({ maxLength: 100 }), { maxItems: 20 }),
        ]),
      ),
    ),
    decimal: optional(
      oneOf([".", ","], { default: ".", description: "What stands before a fraction in CSV." }),
    ),
    dateFormat: optional(
      described(
        "The format of dates in CSV, such as dd.MM.yyyy or %d.%m.%Y. ISO 8601 is always known; other dates are text without it",
        Type.String({ minLength: 1, maxLength: 100 }),
      ),
    ),
    sheet: optional(
      described(
        "The name of the only sheet of a workbook to read. Default: every sheet is a table",
        Type.String({ minLength: 1, maxLength: 100 }),
      ),
    ),
    onBadRow: optional(
      oneOf(["fail", "reject"], {
        default: "fail",
        description:
          "What happens to records of CSV that can't be read: the run fails, or they are counted and kept as an artifact.",
      }),
    ),
  },
  { description: "How files are read" },
);
export type FileOptions = Static<typeof FileOptions>;

/** What of the options is about CSV. */
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

/** Faults that the shape can't say. */
export function fileFaults({
  encoding,
  dateFormat,
  quote,
  delimiter,
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
  return faults;
}

function isEncoding(name: string): boolean {
  try {
    return new TextDecoder(name).encoding !== "";
  } catch {
    return false; // a RangeError is the only answer that there is
  }
}
