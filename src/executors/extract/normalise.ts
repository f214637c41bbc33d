import { AppError } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { digitsOf, exactJson, NumberText } from "../../base/json-numbers.ts";
import type { OddValues } from "../../base/odd-values.ts";
import { type Choice, chosen } from "./chosen.ts";
import { type Field, Lines, type Node } from "./lines.ts";
import { asciiName, joinNames, type Names, normaliseName, PATH_SEPARATOR } from "./naming.ts";
import { FINGERPRINT, PRESENT, SEQUENCE, Sheet, type SheetColumn, type Slot } from "./sheet.ts";
import { textType } from "./types.ts";

/** More columns in one table, or more tables of one resource, mean that data is used as names. */
const MAX_COLUMNS = 20_000;
const MAX_TABLES = 500;

interface NormaliserOptions {
  /** Maximum depth to which lists and objects are unnested. Deeper ones stay JSON. */
  maxNesting: number;
  /** Prefix of each row's `_dlt_id`. */
  idPrefix: string;
  /** Whether each row gets a fingerprint of all of its values. */
  fingerprint: boolean;
  /** Fields to keep, or null for all. */
  only: Choice | null;
  /** Names of used tables. */
  tables: Names;
  namesOf(table: string): Names;
  /** Values that were changed when they were loaded. */
  odd: OddValues;
  warn(text: string): void;
}

/**
 * Turns JSON rows into flat lines of a root table and its child tables, as dlt does: objects become `a__b`, lists
 * become tables `parent__field`, scalars of lists are in `value`, lists of lists in `list`. IDs of child rows are
 * derived from the parent's ID, the table and the position.
 */
export class Normaliser {
  readonly lines: Lines[];
  readonly #options: NormaliserOptions;
  readonly #root: Lines;
  /** State of the current root row. */
  #sequence = 0;
  /** Position of the cell for `PRESENT`, or -1. */
  readonly #presentAt: number;
  #present = "";

  constructor(root: Sheet, options: NormaliserOptions) {
    this.#options = options;
    this.#root = new Lines(root);
    this.#presentAt = root.slots.indexOf(PRESENT);
    this.lines = [this.#root];
  }

  add(row: JsonObject): void {
    const { cells, sheet, top } = this.#root;
    const sequence = String(++this.#sequence);
    this.#present = "";
    cells[0] = sequence;
    const { only } = this.#options;
    const wanted = only ? chosen(row, only) : row;
    if (this.#options.fingerprint) cells[1] = hash(exactJson(wanted, true));
    this.#spread(this.#root, top, wanted, 0, this.#options.idPrefix + sequence);
    if (this.#present !== "") cells[this.#presentAt] = quote(`,${this.#present}`);
    this.#root.endRow();
    if (sheet.slots.length > MAX_COLUMNS) throw tooWide(sheet.table);
  }

  /** The number of the last row. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Continues numbering after rows that were added to the root table by other means. */
  skip(rows: number): void {
    this.#sequence += rows;
  }

  #spread(lines: Lines, node: Node, value: JsonObject, level: number, id: string): void {
    const { order } = node;
    let at = 0;
    for (const key in value) {
      const item: unknown = value[key];
      let field = order[at];
      if (field === undefined || field.key !== key) {
        field = node.fields.get(key) ?? this.#field(lines, node, key, value);
        order[at] = field;
      }
      at++;
      if (item === null || item === undefined) {
        this.#sawNoValue(lines, field);
        continue;
      }
      switch (typeof item) {
        case "string":
          this.#text(lines, field, item);
          break;
        case "number":
          this.#number(lines, field, item);
          break;
        case "boolean":
          put(lines, column(lines, field), "boolean", "BOOLEAN", item ? "true" : "false");
          break;
        case "bigint":
          this.#integer(lines, field, item);
          break;
        default:
          if (item instanceof NumberText) this.#numberText(lines, field, item.text);
          else this.#nested(lines, field, item, level, id);
      }
    }
  }

  /** Records that the row has a field although there is no value for its column. */
  #sawNoValue(lines: Lines, { name }: Pick<Field, "name">): void {
    if (this.#presentAt >= 0 && lines === this.#root) this.#present += `${name},`;
  }

  #nested(lines: Lines, field: Field, item: unknown, level: number, id: string): void {
    if (level >= this.#options.maxNesting) {
      put(lines, column(lines, field), "json", "JSON", quote(exactJson(item)));
    } else if (Array.isArray(item)) {
      this.#sawNoValue(lines, field);
      if (item.length === 0) return;
      field.list ??= this.#child(lines, field);
      for (let index = 0; index < item.length; index++)
        this.#element(field.list, item[index], index, level + 1, id);
    } else if (isObject(item)) {
      if (this.#presentAt >= 0 && Object.keys(item).length === 0)
        this.#sawNoValue(lines, { name: `${field.name}${PATH_SEPARATOR}` }); // it has no fields, but replaces a value
      field.object ??= { path: field.path, source: field.source, fields: new Map(), order: [] };
      this.#spread(lines, field.object, item, level + 1, id);
    }
  }

  #element(child: Lines, item: unknown, index: number, level: number, parentId: string): void {
    const id = `${parentId}.${child.number}.${index}`;
    child.cells[0] = String(this.#sequence);
    child.cells[1] = id;
    child.cells[2] = parentId;
    child.cells[3] = String(index);
    const row = isObject(item) ? item : Array.isArray(item) ? { list: item } : { value: item as string };
    this.#spread(child, child.top, row, level, id);
    child.endRow();
    if (child.sheet.slots.length > MAX_COLUMNS) throw tooWide(child.sheet.table);
  }

  #field(lines: Lines, node: Node, key: string, value: JsonObject): Field {
    const wanted = normaliseName(key);
    const full = joinNames([...node.path, wanted]);
    const owner = lines.sheet.names.ownerOf(full);
    if (owner !== null && Object.hasOwn(value, owner.slice(node.source === "" ? 0 : node.source.length + 1)))
      lines.sheet.names.expect([owner]);
    // a key that is already normalized comes first, whatever the order of the keys
    if (wanted !== key && !node.fields.has(wanted) && Object.hasOwn(value, wanted)) {
      this.#field(lines, node, wanted, value);
    }
    const source = node.source === "" ? key : `${node.source}.${key}`;
    const made = lines.sheet.columnFrom(source, full) ?? null; // from a file of another format
    const name = made?.name ?? lines.sheet.takeName(full, source, this.#options.warn);
    const last = name === full ? wanted : wanted + name.slice(full.length);
    const field: Field = {
      key,
      bytes: encoder.encode(JSON.stringify(key)),
      seen: 0,
      path: [...node.path, last],
      name,
      source,
      column: made,
      object: null,
      list: null,
    };
    node.fields.set(key, field);
    return field;
  }

  #child(parent: Lines, field: Field): Lines {
    if (this.lines.length >= MAX_TABLES) throw tooWide(parent.sheet.table);
    const wanted = asciiName(joinNames([parent.sheet.table, ...field.path]));
    const table = this.#options.tables.take(wanted, field.source);
    if (table !== wanted)
      this.#options.warn(`The table of "${field.source}" is called ${table}, because ${wanted} is taken.`);
    const names = this.#options.namesOf(table);
    const sheet = new Sheet(table, parent.sheet, CHILD_SLOTS, names, field.source);
    const child = new Lines(sheet, this.lines.length);
    this.lines.push(child);
    return child;
  }

  #text(lines: Lines, field: Field, item: string): void {
    const target = column(lines, field);
    if (!item.isWellFormed()) {
      const name = lines === this.#root ? field.name : `${lines.sheet.table}.${field.name}`;
      this.#options.odd.add(name, HALF_A_PAIR, item.toWellFormed());
    }
    if (target.texts !== "VARCHAR") target.sawText(textType(item));
    put(lines, target, "text", "VARCHAR", quote(item));
  }

  #number(lines: Lines, field: Field, item: number): void {
    const target = column(lines, field);
    const text = Object.is(item, -0) ? "-0.0" : String(item);
    if (Number.isSafeInteger(item) && text !== "-0.0") return put(lines, target, "integer", "BIGINT", text);
    sawDigits(target, text);
    put(lines, target, "double", "DOUBLE", text);
  }

  /** A number that a double can't hold exactly. */
  #numberText(lines: Lines, field: Field, text: string): void {
    const target = column(lines, field);
    sawDigits(target, text);
    put(lines, target, "number", "VARCHAR", text);
  }

  /** Integers too large for a double. Up to 38 digits they stay numbers. */
  #integer(lines: Lines, field: Field, item: bigint): void {
    column(lines, field).jsonNumbers = false;
    if (item === BigInt.asIntN(64, item)) put(lines, column(lines, field), "integer", "BIGINT", String(item));
    else if (item < DECIMAL_LIMIT && item > -DECIMAL_LIMIT) {
      put(lines, column(lines, field), "big", "DECIMAL(38,0)", String(item));
      column(lines, field).sawDigits(String(item).replace("-", "").length, 0);
    } else this.#numberText(lines, field, String(item));
  }
}

const HALF_A_PAIR = "lost half of a surrogate pair, which is not a character";

/** More digits than a decimal can hold. */
export const TOO_MANY_DIGITS = 1000;

function sawDigits(column: SheetColumn, text: string): void {
  // Decimals have no negative zero.
  const digits = text === "-0.0" ? null : digitsOf(text);
  column.sawDigits(digits?.whole ?? TOO_MANY_DIGITS, digits?.scale ?? 0);
}

const encoder = new TextEncoder();

export const rootSlots = ({ fingerprint = false, isPresenceKept = false }): Slot[] => [
  SEQUENCE,
  ...(fingerprint ? [FINGERPRINT] : []),
  ...(isPresenceKept ? [PRESENT] : []),
];
const CHILD_SLOTS = [
  SEQUENCE,
  { name: "_dlt_id", type: "VARCHAR" },
  { name: "_dlt_parent_id", type: "VARCHAR" },
  { name: "_dlt_list_idx", type: "BIGINT" },
];

const DECIMAL_LIMIT = 10n ** 38n;

const tooWide = (table: string) =>
  new AppError(
    "upstream",
    `The rows of ${table} have more than ${MAX_COLUMNS} columns or ${MAX_TABLES} child tables: its field names seem to be data. Choose columns, or lower maxTableNesting.`,
  );

/** A column is created by its first value, so one that is always null is never created. */
function column(lines: Lines, field: Field): SheetColumn {
  if (field.column === null) {
    field.column = lines.sheet.addColumn(field.name, field.source);
    field.column.jsonNumbers = true;
  }
  return field.column;
}

function put(
  lines: Lines,
  target: SheetColumn,
  kind: keyof SheetColumn["at"],
  type: string,
  cell: string,
): void {
  let position = target.at[kind];
  if (position < 0) {
    const { sheet, cells } = lines;
    position = sheet.slots.indexOf(sheet.slotOf(target, type, kind === "number" ? { number: "json" } : {}));
    target.at[kind] = position;
    while (cells.length <= position) cells.push("");
  }
  lines.cells[position] = cell;
}

const quote = (text: string): string => `"${text.includes('"') ? text.replaceAll('"', '""') : text}"`;

const hash = (text: string): string => Bun.CryptoHasher.hash("md5", text, "base64url");
