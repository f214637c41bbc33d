import { AppError } from "../../base/errors.ts";
import { storedType } from "../../lake/stored-types.ts";
import type { KeyField } from "../../providers/contract.ts";
import type { SqlFile } from "../../sql/contract.ts";
import { scanOf } from "../../sql/text.ts";
import { columnPath, isNumbered, type Names, normaliseName } from "./naming.ts";
import type { Target } from "./resolve.ts";
import type { TextType } from "./types.ts";

/** One column of the staged files: the values of one type in one column of the table. */
export interface Slot {
  name: string;
  type: string;
  /** For texts that are numbers: JSON syntax, plain digits as from a database, or numbers that stay text. */
  number?: "json" | "plain" | "text";
  /** For JSON lists: the list's type, as long as all values match it. */
  list?: string;
  /** True for texts of files without types, which may get one once all are known. Texts of JSON never do. */
  isUntyped?: boolean;
}

/** A source column: a slot for each type of its values, in order of appearance. */
export class SheetColumn {
  slots: Slot[] = [];
  /** The type that all texts so far match. Null before the first. */
  texts: TextType | null = null;
  /**
   * While true, all numbers came from JSON and were doubles: a BIGINT is below 2^53, and a DOUBLE isn't such an
   * integer.
   */
  jsonNumbers = false;
  /** Maximum number of digits before and after the point of any JSON number that isn't a 64-bit integer. */
  wholeDigits = 0;
  scale = 0;
  /** Positions in the staged line by kind of JSON value, or -1 if there was none yet. */
  readonly at = { text: -1, integer: -1, double: -1, boolean: -1, json: -1, big: -1, number: -1 };

  constructor(
    readonly name: string,
    readonly source: string,
  ) {}

  /** Records the type of a text. If it differs from earlier ones, all are plain text. */
  sawText(type: TextType): void {
    this.texts = this.texts === null || this.texts === type ? type : "VARCHAR";
  }

  /** Records a number's digits before and after the point. */
  sawDigits(whole: number, scale: number): void {
    if (whole > this.wholeDigits) this.wholeDigits = whole;
    if (scale > this.scale) this.scale = scale;
  }
}

/** Lines of a sheet as text on disk. */
export interface Text {
  csv: string;
  /** Upper bound for the longest line, in bytes. */
  longest: number;
  slots: readonly Slot[];
}

/** Rows of a sheet that were written optimistically as the table's own Parquet files. */
export interface Chunk {
  /** Null if the files are all there is: the source would have to be read again. */
  text: Text | null;
  /** The table's columns that the files have. */
  targets: readonly Target[];
  /** Names of those that have no value in the files. */
  blank: ReadonlySet<string>;
  files: readonly SqlFile[] | null;
}

/** Holds the rows of one table until the load has seen all of them. */
export class Sheet {
  readonly columns: SheetColumn[] = [];
  readonly slots: Slot[] = [];
  /** Parquet files in the work folder, in row order. */
  readonly files: string[] = [];
  /** Only in a load that guesses its tables' columns while it reads. */
  readonly chunks: Chunk[] = [];
  /** Number of rows from the source so far. */
  rows = 0;
  /** Number of records that couldn't be read. */
  rejected = 0;
  /** The stand-in for part of the key, in the slot `KEY`. Null if the key's bytes identify rows. */
  keyField: KeyField | null = null;
  readonly #bySource = new Map<string, SheetColumn>();

  constructor(
    readonly table: string,
    readonly parent: Sheet | null,
    slots: readonly Slot[],
    readonly names: Names,
    /** The list of the parent's rows that these are from. */
    readonly list?: string,
  ) {
    this.slots.push(...slots);
  }

  /**
   * The existing column for `source`, with `wanted` only one that is named after it: `a.b` is the name of both a field
   * and a field in an object.
   */
  columnFrom(source: string, wanted: string | null = null): SheetColumn | undefined {
    const first = this.#bySource.get(source);
    if (first === undefined || wanted === null || isNumbered(first.name, wanted)) return first;
    return this.columns.find((column) => column.source === source && isNumbered(column.name, wanted));
  }

  /** The column for `source`, created if new. */
  columnOf(source: string, warn: (text: string) => void): SheetColumn {
    const wanted = normaliseName(source);
    return this.columnFrom(source, wanted) ?? this.addColumn(this.takeName(wanted, source, warn), source);
  }

  addColumn(name: string, source: string): SheetColumn {
    const column = new SheetColumn(name, source);
    this.columns.push(column);
    if (!this.#bySource.has(source)) this.#bySource.set(source, column);
    return column;
  }

  takeName(wanted: string, source: string, warn: (text: string) => void): string {
    const before = this.names.recorded(wanted, source);
    const holder = before === null ? null : this.names.holderOf(before);
    if (before !== null && holder !== null && !this.names.isReplaced)
      throw new AppError(
        "schema_contract_violation",
        `Column ${before} of ${this.table} holds "${source}", and this load also has "${holder}", whose column has the same name. Rename one of them at the source, or load into another table.`,
        { details: { table: this.table, column: before, sources: [source, holder] } },
      );
    const name = this.names.take(wanted, source);
    if (name !== wanted) {
      warn(`"${source.slice(0, 100)}" of ${this.table} is called ${name}, because ${wanted} is taken.`);
    }
    return name;
  }

  /** The slot of `column` for values of `type`, created if new. */
  slotOf(column: SheetColumn, type: string, more: Pick<Slot, "number" | "list" | "isUntyped"> = {}): Slot {
    const stored = storedType(type);
    const known = column.slots.find(
      (slot) => slot.type === stored && slot.number === more.number && slot.isUntyped === more.isUntyped,
    );
    if (known) return known;
    const slot: Slot = { name: `c${this.slots.length}`, type: stored, ...more };
    this.slots.push(slot);
    column.slots.push(slot);
    return slot;
  }

  /** A SELECT of all staged rows with all slots. */
  scan(): string {
    const slots = this.slots.includes(SEQUENCE) ? this.slots : [SEQUENCE, ...this.slots];
    return scanOf(
      this.files,
      slots.map(({ name, type }) => ({ name, dataType: type, nullable: true })),
    );
  }

  /** Removes a slot without values. */
  dropSlot(column: SheetColumn, slot: Slot): void {
    column.slots = column.slots.filter((each) => each !== slot);
    const at = this.slots.indexOf(slot);
    if (at >= 0) this.slots.splice(at, 1); // else it belonged to a file that was then read in another way
  }

  /** Removes the slots after the first `count`, for a file that is read again in another way. */
  forgetSlots(count: number): void {
    const gone = new Set(this.slots.splice(count));
    for (const column of this.columns) column.slots = column.slots.filter((slot) => !gone.has(slot));
  }

  /** The column that a definition means by `name`: the source's name, a path with dots, or the table's name. */
  find(name: string): SheetColumn | undefined {
    const path = columnPath(name);
    const exact = this.columnFrom(name, normaliseName(name)) ?? this.columnFrom(name);
    if (exact) return exact;
    return [name, normaliseName(name), path]
      .map((wanted) => this.columns.find((column) => column.name === wanted))
      .find((column) => column !== undefined);
  }
}

/** The number of a row within its load, in staged files only. */
export const SEQUENCE: Slot = { name: "__seq", type: "BIGINT" };
/** Stand-in for the parts of a row's key that the source doesn't compare by their bytes, in staged files only. */
export const KEY: Slot = { name: "__key", type: "VARCHAR" };
/**
 * Names of columns that a row has even without a value in them, each between commas, in staged files only: those that
 * are null or a list in JSON, and all columns of other files. NULL for none.
 */
export const PRESENT: Slot = { name: "__present", type: "VARCHAR" };
/** Distinguishes rows with the same cursor, in staged files only. */
export const FINGERPRINT: Slot = { name: "__fp", type: "VARCHAR" };
