import { unlink } from "node:fs/promises";
import { OddValues } from "../../base/odd-values.ts";
import { type CsvSource, sampleRows, withCsv } from "../../lake/csv-source.ts";
import type { CsvStyle } from "../../lake/csv-style.ts";
import { type ParquetColumn, parquetColumns } from "../../lake/parquet-source.ts";
import { type Reading, readingOf } from "../../lake/readings.ts";
import { typeName } from "../../lake/stored-types.ts";
import { provenReadings, readingsOf, SAMPLE_ROWS } from "../../lake/text-types.ts";
import type { SheetTable } from "../../sheets/contract.ts";
import type { Column } from "../../sql/contract.ts";
import { parquet, quoteName, quoteText } from "../../sql/text.ts";
import type { Choice } from "./chosen.ts";
import { type FileOptions, textStyleOf } from "./file-options.ts";
import { fingerprintOf, fingerprintPair } from "./fingerprint.ts";
import type { CopiedFile } from "./prepared.ts";
import {
  addRejects,
  forgetRejects,
  REJECTING,
  type Reject,
  rejectedSentence,
  takeRejects,
} from "./rejects.ts";
import { selectOf, type Target } from "./resolve.ts";
import { PRESENT, SEQUENCE, type Sheet, type SheetColumn, type Slot } from "./sheet.ts";
import { readCsv, type Staging } from "./staging.ts";
import { refuse } from "./typed.ts";

/** Smaller files are staged, so that they share the table's files. */
const LARGE_BYTES = 8 * 1024 * 1024;

export interface TabularOptions {
  file: FileOptions;
  /** The table's current columns, or null if it doesn't exist. */
  known: readonly Column[] | null;
  fixed: ReadonlyMap<string, string>;
  /** Columns to read, or null for all. */
  only: Choice | null;
  fingerprint: boolean;
  /** Whether the first rows may decide types. A later row of another type then causes a refusal. */
  isTrusting: boolean;
  warn(text: string): void;
}

/** Numbers the rows of a large file on all threads, in any order. A window function would take a single thread. */
const NUMBERS = "weir_numbers";

const UNTYPED = { isUntyped: true };

/** SQL of one slot over the rows of a file. */
interface Value {
  slot: Slot;
  sql: string;
  /** A subexpression that the SQL uses more than once, as an additional column of its rows. */
  attempt?: string;
  /** True if only NULL is accepted. */
  isBlank?: boolean;
}

/** Stages files that DuckDB reads itself. */
export class Tabular {
  readonly #readings = new Map<SheetColumn, Reading>();
  /** Slots of columns without values so far, and so without a type. */
  readonly #empty = new Map<SheetColumn, Slot>();
  /** Columns whose staged texts have no type yet. */
  readonly #texts = new Set<SheetColumn>();
  /** Whether the current file is large enough for table files of its own. */
  #isLarge = false;
  readonly rejects: Reject[] = [];
  readonly odd = new OddValues();

  constructor(
    readonly sheet: Sheet,
    readonly staging: Staging,
    readonly options: TabularOptions,
  ) {}

  /** Stages at most `limit` rows of a CSV file. Returns their number. */
  async csv({ path, name, bytes }: CopiedFile, limit: number | null, style: CsvStyle): Promise<number> {
    this.#isLarge = bytes >= LARGE_BYTES;
    const slots = this.sheet.slots.length;
    const rows = await withCsv(path, style, async (source) => {
      this.sheet.forgetSlots(slots); // left over from an earlier attempt
      this.#tell(name, source);
      if (!this.#isRejecting) return this.#typed(source, limit);
      await forgetRejects(this.staging.session);
      return this.#typed(
        { ...source, relation: (more = "") => source.relation(`${REJECTING}${more}`) },
        limit,
      );
    });
    if (rows !== null && this.#isRejecting) await this.#takeRejects(name);
    return rows ?? 0;
  }

  get #isRejecting(): boolean {
    return this.options.file.onBadRow === "reject";
  }

  #typed(source: CsvSource, limit: number | null): Promise<number> {
    return this.options.isTrusting ? this.#trusted(source, limit) : this.#untyped(source, limit);
  }

  async #takeRejects(name: string): Promise<void> {
    const { count, kept } = await takeRejects(this.staging.session, name);
    if (count === 0) return;
    this.sheet.rejected += count;
    addRejects(this.rejects, kept);
    this.options.warn(rejectedSentence(name, count, kept[0]));
  }

  /** A first line that looks like a comment most likely is one. */
  #tell(name: string, { names }: CsvSource): void {
    const { comment, header } = this.options.file;
    if (comment === undefined && header !== false && names[0]?.startsWith("#")) {
      this.options.warn(
        `The first line of ${name} begins with # and was read as the column names. Set file.comment to "#" to skip such lines.`,
      );
    }
  }

  /** Selected columns of the file, with their names there and in the staged rows. */
  #wanted(names: readonly string[]): { column: SheetColumn; raw: string; name: string }[] {
    const taken = new Set<string>();
    this.sheet.names.expect(names);
    return names.flatMap((original, at) => {
      let name = original;
      for (let n = 2; taken.has(name); n++) name = `${original}_${n}`;
      taken.add(name);
      if (this.options.only && !this.options.only.has(name)) return [];
      if (name !== original && !this.sheet.columnFrom(name))
        this.options.warn(
          `Several columns of ${this.sheet.table} are called "${original}"; one is ${name} here.`,
        );
      const column = this.sheet.columnOf(name, this.options.warn);
      if (column.slots.length === 0) column.texts = "VARCHAR";
      return [{ column, raw: `c${at}`, name }];
    });
  }

  #knownType(column: SheetColumn): string | null {
    const { known, fixed } = this.options;
    const existing = known?.find(({ name }) => name === column.name)?.dataType;
    return existing === undefined ? (fixed.get(column.name) ?? null) : typeName(existing);
  }

  /** Whether the column is text in the table, or is to be. */
  #isText(column: SheetColumn): boolean {
    return this.options.fixed.get(column.name) === "VARCHAR" || this.#knownType(column) === "VARCHAR";
  }

  async #trusted(source: CsvSource, limit: number | null): Promise<number> {
    const { staging } = this;
    const wanted = this.#wanted(source.names);
    const fresh = wanted.filter(({ column }) => !this.#readings.has(column));
    if (fresh.length > 0) {
      await sampleRows(staging.session, source.relation(), SAMPLE_ROWS);
      if (this.#isRejecting) await forgetRejects(staging.session); // the rows of the sample are read again
      const columns = fresh.map(({ column, raw }) => ({ sql: raw, known: this.#knownType(column) }));
      const found = await readingsOf(staging.session, "weir_sample", columns, textStyleOf(this.options.file));
      for (const [at, { column }] of fresh.entries()) {
        const reading = found[at];
        if (reading) this.#readings.set(column, reading);
      }
    }
    const values = wanted.map(({ column, raw }) => {
      const reading = this.#readings.get(column);
      if (reading?.type === "VARCHAR") column.texts = "VARCHAR";
      const slot = reading
        ? this.sheet.slotOf(column, reading.type)
        : this.sheet.slotOf(column, "VARCHAR", UNTYPED);
      if (!reading) this.#empty.set(column, slot);
      return { slot, ...trusted(raw, reading) };
    });
    return this.#write(source.relation(), wanted, values, { limit, isTyped: true });
  }

  async #untyped(source: CsvSource, limit: number | null): Promise<number> {
    const wanted = this.#wanted(source.names);
    const values = wanted.map(({ column, raw }) => {
      this.#texts.add(column);
      return { slot: this.sheet.slotOf(column, "VARCHAR", UNTYPED), sql: raw };
    });
    return this.#write(source.relation(), wanted, values, { limit, isTyped: false });
  }

  async #write(
    relation: string,
    wanted: readonly { column: SheetColumn; raw: string }[],
    values: readonly Value[],
    reading: { limit: number | null; isTyped: boolean },
  ): Promise<number> {
    const pairs = wanted.map(({ column, raw }) => fingerprintPair(column.name, raw));
    return this.#stage(relation, values, pairs, reading);
  }

  /** With `isTyped` slots have the types of their columns, and rows may be written directly to the table's files. */
  async #stage(
    relation: string,
    values: readonly Value[],
    pairs: readonly string[],
    { limit, isTyped }: { limit: number | null; isTyped: boolean },
  ): Promise<number> {
    const { sheet, staging, options } = this;
    const targets = isTyped && this.#isLarge ? await staging.guess?.(sheet) : null;
    const number = targets ? `nextval('${NUMBERS}')` : `row_number() OVER () + ${sheet.rows}`;
    const picked = [
      `${number} AS ${SEQUENCE.name}`,
      ...values.map(({ slot, sql }) => `${sql} AS ${slot.name}`),
    ];
    if (options.fingerprint) picked.push(`${fingerprintOf(pairs)} AS __fp`);
    if (sheet.slots.includes(PRESENT))
      picked.push(`${quoteText(this.#presentOf(values))} AS ${PRESENT.name}`);
    const room = limit === null ? "" : ` LIMIT ${limit}`;
    const attempts = values.flatMap(({ attempt }) => (attempt === undefined ? [] : [`, ${attempt}`]));
    const from = `FROM (SELECT *${attempts.join("")} FROM ${relation}${room})`;
    if (targets) {
      const presentSlots = new Set([SEQUENCE, ...values.map(({ slot }) => slot)]);
      const missing = sheet.slots.filter((slot) => !presentSlots.has(slot));
      picked.push(...missing.map(({ name, type }) => `CAST(NULL AS ${type}) AS ${name}`));
      return this.#land(`SELECT ${picked.join(", ")} ${from}`, targets, this.#blankOf(values, targets));
    }
    const staged = staging.path("parquet");
    const rows = await staging.write(`SELECT ${picked.join(", ")} ${from}`, staged);
    if (rows === 0) {
      await unlink(staged);
      return 0;
    }
    sheet.files.push(staged);
    sheet.rows += rows;
    return rows;
  }

  /** All columns of a file with these values, as in `PRESENT`. */
  #presentOf(values: readonly Value[]): string {
    const own = new Set(values.map(({ slot }) => slot));
    const columns = this.sheet.columns.filter(({ slots }) => slots.some((slot) => own.has(slot)));
    return `,${columns.map(({ name }) => name).join(",")},`;
  }

  /** Names of the columns that have no value in a file with these values. */
  #blankOf(values: readonly Value[], targets: readonly Target[]): Set<string> {
    const filled = new Set(values.flatMap(({ slot, isBlank }) => (isBlank ? [] : [slot])));
    const blank = this.sheet.columns.filter(({ slots }) => !slots.some((slot) => filled.has(slot)));
    const absent = targets.filter(({ isAbsent }) => isAbsent);
    return new Set([...blank, ...absent].map(({ name }) => name));
  }

  /** Writes rows to the table's files. */
  async #land(select: string, targets: readonly Target[], blank: ReadonlySet<string>): Promise<number> {
    const { sheet, staging } = this;
    await staging.session.run(`CREATE OR REPLACE TEMP SEQUENCE ${NUMBERS} START ${sheet.rows + 1}`);
    const files = await staging.writeLarge(`SELECT ${selectOf(targets)} FROM (${select})`);
    const rows = files.reduce((sum, file) => sum + file.rows, 0);
    if (rows > 0) sheet.chunks.push({ text: null, targets, blank, files });
    sheet.rows += rows;
    return rows;
  }

  /** Stages a Parquet file. Throws `sql_error` for a column that DuckDB would misread. */
  async parquet({ path, bytes }: CopiedFile, limit: number | null): Promise<number> {
    const { staging, options, sheet } = this;
    this.#isLarge = bytes >= LARGE_BYTES;
    const relation = parquet([path]);
    const described = await parquetColumns(staging.session, path);
    const wanted = described.filter(({ name }) => options.only?.has(name) ?? true);
    sheet.names.expect(wanted.map(({ name }) => name));
    const values: Value[] = [];
    const pairs: string[] = [];
    const odd: ParquetColumn[] = [];
    for (const found of wanted) {
      const column = sheet.columnOf(found.name, options.warn);
      const text = this.#isText(column) ? found.odd?.text : undefined;
      const slot = sheet.slotOf(column, text === undefined ? found.type : "VARCHAR");
      if (slot.type === "VARCHAR") column.texts = "VARCHAR";
      values.push({ slot, sql: text ?? found.sql });
      pairs.push(fingerprintPair(column.name, quoteName(found.name)));
      if (text === undefined) odd.push(found);
    }
    await this.#countOdd(relation, odd, limit);
    return this.#stage(relation, values, pairs, { limit, isTyped: true });
  }

  async #countOdd(relation: string, columns: readonly ParquetColumn[], limit: number | null): Promise<void> {
    for (const { name, odd } of columns) {
      if (odd === null) continue;
      const room = limit === null ? "" : ` LIMIT ${limit}`;
      const [row] = await this.staging.session.run(
        `SELECT count(*) AS n, min(DISTINCT left(${odd.text}, 200), 3) AS examples FROM (SELECT * FROM ${relation}${room}) WHERE ${odd.where}`,
      );
      const count = Number(row?.n ?? 0);
      const examples = Array.isArray(row?.examples) ? row.examples.map(String) : [];
      if (count > 0) this.odd.addAll({ column: name, what: odd.what, count, examples });
    }
  }

  /** Stages a table from a workbook or an Avro file, whose numbers have no type yet. */
  async sheetTable({ columns, path, longest, odd }: SheetTable, limit: number | null): Promise<number> {
    const wanted = this.#wanted(columns.map(({ name }) => name));
    const values = wanted.map(({ column, raw }) => {
      const { type } = columns[Number(raw.slice(1))] ?? { type: "VARCHAR" };
      if (type !== "number")
        return { slot: this.sheet.slotOf(column, typeName(type)), sql: castText(typeName(type), raw) };
      this.#texts.add(column);
      return { slot: this.sheet.slotOf(column, "VARCHAR", UNTYPED), sql: raw };
    });
    for (const { column, reason, count, examples } of odd)
      this.odd.addAll({ column, what: reason.replace(/^(.+) (became .+)$/, "$2: $1"), count, examples });
    if (columns.length === 0) return 0;
    const slots = columns.map((_, at) => ({ name: `c${at}`, type: "VARCHAR" }));
    return this.#write(readCsv({ path, longest }, slots), wanted, values, { limit, isTyped: false });
  }

  /** Infers the types of columns staged as text, from all of their values, and stages them with those types. */
  async typeTexts(): Promise<void> {
    const { sheet, staging } = this;
    for (const [column, slot] of this.#empty)
      if (this.#readings.get(column)?.type !== "VARCHAR" && column.slots.length > 1)
        sheet.dropSlot(column, slot);
    const columns = [...this.#texts].flatMap((column) => {
      const slot = column.slots.find(({ isUntyped }) => isUntyped);
      return slot ? [{ column, slot }] : [];
    });
    if (columns.length === 0 || sheet.files.length === 0) return;
    const candidates = columns.map(({ column, slot }) => ({
      sql: slot.name,
      known: this.#knownType(column),
    }));
    const found = await provenReadings(
      staging.session,
      `(${sheet.scan()})`,
      candidates,
      textStyleOf(this.options.file),
    );
    const typed = columns.flatMap(({ column, slot }, at) => {
      const reading = found[at];
      return reading && reading.type !== "VARCHAR" ? [{ column, slot, reading }] : [];
    });
    if (typed.length === 0) return;
    const values = typed.map(({ slot, reading }) => `${reading.cast(slot.name)} AS ${slot.name}`);
    for (const [at, file] of sheet.files.entries()) {
      const typedFile = staging.path("parquet");
      const has = await staging.session.run(`DESCRIBE SELECT * FROM read_parquet(${quoteText(file)})`);
      const present = new Set(has.map((row) => String(row.column_name)));
      const own = values.filter((_, index) => present.has(typed[index]?.slot.name ?? ""));
      if (own.length === 0) continue;
      await staging.write(
        `SELECT * REPLACE (${own.join(", ")}) FROM read_parquet(${quoteText(file)})`,
        typedFile,
      );
      await unlink(file);
      sheet.files[at] = typedFile;
    }
    for (const { slot, reading } of typed) slot.type = reading.type;
  }
}

/** A text converted with `reading`, or a refusal. Without a reading only NULL is accepted. */
function trusted(raw: string, reading: Reading | undefined): Omit<Value, "slot"> {
  if (reading?.type === "VARCHAR") return { sql: raw };
  const name = `as_${raw}`;
  const [value, attempt] = reading?.attempt ? [name, `${reading.attempt(raw)} AS ${name}`] : [];
  const taken = reading ? ` WHEN ${reading.guard(raw, value)} THEN ${reading.cast(raw, value)}` : "";
  return {
    sql: `CASE WHEN ${raw} IS NULL THEN NULL${taken} ELSE ${refuse} END`,
    isBlank: reading === undefined,
    ...(attempt === undefined ? {} : { attempt }),
  };
}

const castText = (type: string, text: string): string =>
  readingOf(type)?.cast(text) ?? `CAST(${text} AS ${type})`;
