import { decimalReading } from "../../lake/readings.ts";
import { typeName } from "../../lake/stored-types.ts";
import type { CsvColumn, Extraction } from "../../providers/contract.ts";
import type { Column, SqlSession } from "../../sql/contract.ts";
import type { Intake, IntakeOptions } from "./intake-options.ts";
import { isListOf } from "./parts.ts";
import { cutRecords, type RecordFile } from "./records.ts";
import { KEY, Sheet, type SheetColumn, type Slot } from "./sheet.ts";
import { numbered, readCsv, type Staging } from "./staging.ts";
import { decimalOf, isDecimal } from "./types.ts";

type Typed = Extraction & { kind: "csv" };

/** Marker in the error message of a statement that found a value of another type than assumed. */
const REFUSAL = "weir: another type";

/** True if a load ended because a value was not of the type that was assumed from the first ones. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof Error && error.message.includes(REFUSAL);

/** Ends a load whose files were written for columns that later rows have changed. */
export const refusal = (): Error => new Error(REFUSAL);

/** SQL that fails at a value of another type. */
export const refuse = `error('${REFUSAL}')`;

/** A sheet with the columns of a typed source. */
export function typedSheet(
  extraction: Typed,
  options: Pick<IntakeOptions, "table" | "namesOf" | "warn">,
): Sheet {
  const sheet = new Sheet(options.table, null, [], options.namesOf(options.table));
  sheet.names.expect(extraction.columns.map(({ name }) => name));
  for (const { name, dataType, text } of extraction.columns) {
    const column = sheet.columnOf(name, options.warn);
    column.texts = "VARCHAR";
    if (text === "number") sheet.slotOf(column, "VARCHAR", { number: "plain" });
    else if (text === "digits") sheet.slotOf(column, "VARCHAR", { number: "text" });
    else if (text === "list") sheet.slotOf(column, "JSON", { list: typeName(dataType) });
    else sheet.slotOf(column, dataType);
  }
  if (extraction.key) {
    sheet.keyField = extraction.key;
    sheet.slots.push(KEY);
  }
  return sheet;
}

/** The columns of the CSV text for `read_csv`, followed by the fields for the key and for odd values. */
function rawColumns(extraction: Typed, sheet: Sheet): Pick<Slot, "name" | "type">[] {
  const columns = sheet.slots.map((slot, at) => {
    if (slot === KEY) return slot;
    const { name } = slot;
    const { dataType, text } = extraction.columns[at] as CsvColumn;
    const isRead = text === undefined && !isLongDecimal(typeName(dataType));
    return { name, type: isRead ? typeName(dataType) : "VARCHAR" };
  });
  return extraction.oddField ? [...columns, { name: "__odd", type: "VARCHAR" }] : columns;
}

const isLongDecimal = (type: string) => isDecimal(type) && decimalOf(type)[0] > 18;

/**
 * SQL for the slots of a typed sheet and the row numbers from one CSV file of the source. With `isTrusting` it fails
 * with a refusal at a number or list that doesn't have its column's type so far.
 */
export function typedSource(
  extraction: Typed,
  sheet: Sheet,
  file: { path: string; longest: number },
  options: { before: number; isTrusting: boolean },
): string {
  const values = sheet.columns.map((column, at) => {
    const [slot] = column.slots as [Slot];
    const value = slotValue(extraction.columns[at] as CsvColumn, slot, column, options.isTrusting);
    return `${value} AS ${slot.name}`;
  });
  if (sheet.keyField) values.push(KEY.name);
  return `SELECT ${[...values, "__seq"].join(", ")} FROM (${numbered(readCsv(file, rawColumns(extraction, sheet)), options.before)})`;
}

function slotValue(
  { dataType, text }: CsvColumn,
  slot: Slot,
  column: SheetColumn,
  isTrusting: boolean,
): string {
  const { name, type, list } = slot;
  if (text === "hex") return `unhex(${name})`;
  if (text === "list") {
    if (!isTrusting || !list) return `CAST(${name} AS JSON)`;
    return `CASE WHEN ${name} IS NULL OR ${isListOf(`CAST(${name} AS JSON)`, list)} THEN CAST(${name} AS JSON) ELSE ${refuse} END`;
  }
  if (text === "number") {
    const isText = column.wholeDigits + column.scale > 38;
    if (!isTrusting || isText) return name;
    return `CASE WHEN ${name} IS NULL OR ${decimalReading(38, column.scale).guard(name)} THEN ${name} ELSE ${refuse} END`;
  }
  const declaredType = typeName(dataType);
  if (isLongDecimal(declaredType)) {
    const [precision, scale] = decimalOf(declaredType);
    return decimalReading(precision, scale).cast(name);
  }
  return declaredType === type ? name : `CAST(${name} AS ${type})`;
}

/**
 * Finds, from the rows of `relation`, the digits of a typed sheet's numbers, and whether its lists match their
 * types.
 */
async function measure(session: SqlSession, sheet: Sheet, relation: string): Promise<void> {
  const pairs = sheet.columns.flatMap((column) => column.slots.map((slot) => ({ column, slot })));
  const numbers = pairs.filter(({ slot }) => slot.number === "plain");
  const lists = pairs.filter(({ slot }) => slot.list !== undefined);
  if (numbers.length + lists.length === 0) return;
  const fraction = (name: string) => `split_part(${name}, '.', 2)`;
  const [row = {}] = await session.run(
    `SELECT ${[
      ...numbers.flatMap(({ slot: { name } }, at) => [
        `max(length(ltrim(split_part(${name}, '.', 1), '-'))) AS w${at}`,
        `max(length(${fraction(name)})) AS s${at}`,
        `max(length(rtrim(${fraction(name)}, '0'))) AS t${at}`,
      ]),
      ...lists.map(
        ({ slot: { name, list = "" } }, at) =>
          `bool_and(${isListOf(`CAST(${name} AS JSON)`, list)}) FILTER (${name} IS NOT NULL) AS l${at}`,
      ),
    ].join(", ")} FROM ${relation}`,
  );
  for (const [at, { column }] of numbers.entries()) {
    const [whole, scale, trimmed] = [`w${at}`, `s${at}`, `t${at}`].map((name) => Number(row[name] ?? 0)) as [
      number,
      number,
      number,
    ];
    column.sawDigits(whole, whole + scale <= 38 ? scale : trimmed);
  }
  for (const [at, { slot }] of lists.entries()) if (row[`l${at}`] === false) delete slot.list;
}

/** Reads a typed source into staged files. */
export async function takeTyped(
  extraction: Typed,
  records: AsyncIterable<RecordFile>,
  sheet: Sheet,
  staging: Staging,
): Promise<Intake> {
  const { pool, conveyor } = staging;
  for await (const file of records) {
    const source = typedSource(extraction, sheet, file, { before: sheet.rows, isTrusting: false });
    const parquet = staging.path("parquet");
    sheet.rows += file.records;
    sheet.files.push(parquet);
    await conveyor.put(async () => {
      await staging.write(source, parquet);
      pool.give(file.path);
    });
  }
  await conveyor.drain();
  await pool.remove();
  if (sheet.files.length > 0) await measure(staging.session, sheet, `(${sheet.scan()})`);
  return { sheets: [sheet], areNamed: true, rejects: [], fingerprinted: false };
}

/** The text of a typed source in files of complete records. Counts reported odd values. */
export const recordFiles = (
  { bytes, odd, oddField }: Typed,
  { pool }: Staging,
  { signal, progress, limit }: Pick<IntakeOptions, "signal" | "progress" | "limit">,
): AsyncGenerator<RecordFile> =>
  cutRecords(bytes, pool, {
    maxRecords: limit,
    signal,
    onRecords: progress,
    ...(oddField && odd
      ? {
          onLastField(text: string) {
            for (const [name, value] of Object.entries(JSON.parse(text) as Record<string, string | null>)) {
              if (value !== null) odd.add(name, oddField.get(name) ?? "became NULL", value);
            }
          },
        }
      : {}),
  });

/**
 * The files of `records`, once the types of numbers and lists are known from the first one, or from the table if it
 * can hold them.
 */
export async function* measured(
  records: AsyncIterable<RecordFile>,
  {
    extraction,
    sheet,
    staging,
    known,
  }: { extraction: Typed; sheet: Sheet; staging: Staging; known: readonly Column[] | null },
): AsyncGenerator<RecordFile> {
  let isFirst = sheet.slots.some(({ number, list }) => number !== undefined || list !== undefined);
  for await (const file of records) {
    if (isFirst) {
      await measure(
        staging.session,
        sheet,
        `(${typedSource(extraction, sheet, file, { before: 0, isTrusting: false })})`,
      );
      for (const column of sheet.columns) {
        const type = known?.find(({ name }) => name === column.name)?.dataType ?? "";
        if (!column.slots[0]?.number || !isDecimal(type)) continue;
        const [precision, scale] = decimalOf(type);
        if (precision === 38 && column.scale <= scale && column.wholeDigits <= 38 - scale)
          column.sawDigits(38 - scale, scale);
      }
    }
    isFirst = false;
    yield file;
  }
}
