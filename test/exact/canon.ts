import { clockFrom, dayFrom, instantFrom } from "./civil.ts";
import type { Exact } from "./parquet.ts";
import { parseRaw, type Raw, rawText } from "./raw-json.ts";

/**
 * How a source's values are distinguished. `written` is a text that stands for whatever it is parsed as (CSV),
 * `raw` is JSON, `tree` a struct or map as JSON with all its values as texts; `timetz` and `interval` are Parquet's.
 * `cell` is one of a sheet, with its kind before its value: `n 0.1`, `s text`, `b true`, `d 2026-01-02 03:04:05`,
 * `c 03:04:05`, `z 2026-01-02 03:04:05Z`; any other kind, such as `e #N/A`, has no value for the lake.
 */
export type Kind =
  | "number"
  | "bool"
  | "text"
  | "date"
  | "time"
  | "timestamp"
  | "timestamptz"
  | "bytes"
  | "uuid"
  | "json"
  | "timetz"
  | "interval"
  | "tree"
  | "written"
  | "raw"
  | "cell";

/** A value in the source's own text; a list has the texts of its elements. */
export type Cell = string | null | Cell[];

/** Normalizes a number: `-1.50e3` and `-1500` become `-15e2`. Null if it isn't a number; -0 isn't 0. */
export function numberFrom(text: string): string | null {
  const word = /^([+-]?)(?:(nan)|inf(?:inity)?)$/i.exec(text);
  if (word) return word[2] ? "NaN" : word[1] === "-" ? "-inf" : "inf";
  const [, sign, whole = "", fraction = "", power = "0"] =
    /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  if (sign === undefined || whole + fraction === "") return null;
  const digits = (whole + fraction).replace(/^0+/, "");
  const minus = sign === "-" ? "-" : "";
  if (digits === "") return `${minus}0`;
  const bare = digits.replace(/0+$/, "");
  return `${minus}${bare}e${BigInt(power) - BigInt(fraction.length) + BigInt(digits.length - bare.length)}`;
}

const NUMBERS = new Set(["int", "bigint", "uint", "decimal", "float", "double"]);

const sameBy = <T>(read: (text: string) => T | null, one: string, other: string): boolean => {
  const value = read(one);
  return value !== null && value === read(other);
};

const nanosOf = (text: string, hasZone: boolean): bigint | null => {
  const found = instantFrom(text);
  return found?.hasZone === hasZone ? found.nanos : null;
};

/** Returns whether two texts of a float are equally close to it: writers differ in which one they choose. */
function isTie(one: number, other: number): boolean {
  const float = Math.fround(one);
  return Object.is(Math.fround(other), float) && Math.abs(one - float) === Math.abs(other - float);
}

/** Returns whether the lake has the source's value: in a type of its own, as text, or as JSON. */
export function isSame(kind: Kind, cell: Cell, type: string, value: Exact): boolean {
  if (kind === "raw") return isSameRaw(typeof cell === "string" ? parseRaw(cell) : null, type, value);
  if (cell === null || value === null) return cell === value;
  if (
    type === "json" &&
    kind !== "tree" &&
    (kind !== "json" || Array.isArray(cell)) &&
    typeof value === "string"
  )
    return isInJson(kind, cell, parseRaw(value));
  if (Array.isArray(cell)) {
    if (!Array.isArray(value) || cell.length !== value.length) return false;
    return cell.every((item, at) => isSame(kind, item, type.replace("[]", ""), value[at] ?? null));
  }
  return typeof value === "string" && isSameText(kind, cell, type, value);
}

const BOOLS: Readonly<Record<string, string>> = { t: "true", true: "true", f: "false", false: "false" };

function isSameText(kind: Kind, cell: string, type: string, value: string): boolean {
  switch (kind) {
    case "number":
      if (type === "float" && isTie(Number(cell), Number(value))) return true;
      return (NUMBERS.has(type) || type === "text") && sameBy(numberFrom, cell, value);
    case "bool":
      return (type === "bool" || type === "text") && BOOLS[cell] === BOOLS[value];
    case "date":
      return type === "date" ? sameBy(dayFrom, cell, value) : type === "text" && cell === value;
    case "time":
      return type === "time" ? sameBy(clockFrom, cell, value) : type === "text" && cell === value;
    case "timestamp":
    case "timestamptz": {
      const read = (text: string) => nanosOf(text, kind === "timestamptz");
      if (type !== kind && type !== `${kind}_ns` && type !== "text") return false;
      return (type === "text" && cell === value) || sameBy(read, cell, value);
    }
    case "json":
      return (type === "json" || type === "text") && rawText(parseRaw(cell)) === rawText(parseRaw(value));
    case "timetz":
      return (
        type === "text" && /[+-]00(:00)?$/.test(value) && sameBy(clockFrom, cell, value.replace(/[+-].*/, ""))
      );
    case "interval":
      return type === "text" && sameBy(intervalFrom, cell, value);
    case "tree":
      return (type === "json" || type === "text") && isSameTree(JSON.parse(cell) as Exact, parseRaw(value));
    case "written":
      return isWritten(cell, type, value);
    case "cell":
      return isSameCell(cell.slice(0, 1), cell.slice(2), type, value);
    case "uuid":
      return (type === "uuid" || type === "text") && cell === value;
    default:
      return type === kind && cell === value;
  }
}

/** A day of a sheet is its midnight; whether it is shown with a time is up to the lake. */
function isSameCell(sort: string, cell: string, type: string, value: string): boolean {
  switch (sort) {
    case "n":
      return isSameText("number", cell, type, value);
    case "s":
      return isSameText("text", cell, type, value);
    case "b":
      return isSameText("bool", cell, type, value);
    case "c":
      return isSameText("time", cell, type, value);
    case "z":
      return isSameText("timestamptz", cell, type, value);
    case "d": {
      const isDay = (type === "date" || type === "text") && dayFrom(value) !== null;
      return isDay
        ? sameBy((text) => nanosOf(text, false), cell, `${value} 00:00:00`)
        : type !== "date" && isSameText("timestamp", cell, type, value);
    }
    default:
      return false;
  }
}

const UNITS: Readonly<Record<string, bigint>> = { year: 12n, month: 1n, mon: 1n, day: 1n, ms: 1_000_000n };

/** Months, days and nanoseconds, from Parquet's three numbers or a database's words. */
function intervalFrom(text: string): string | null {
  let [months, days, nanos] = [0n, 0n, 0n];
  for (const [, count = "0", unit = ""] of text.matchAll(/(-?\d+) ([a-z]+?)s?(?= |$)/g)) {
    const amount = BigInt(count) * (UNITS[unit] ?? 1n);
    if (unit === "day") days += amount;
    else if (unit === "m" || unit === "ms") nanos += BigInt(count) * 1_000_000n;
    else months += amount;
  }
  const [, clock] = /(\d\d:\S+)$/.exec(text) ?? [];
  nanos += clock === undefined ? 0n : (clockFrom(clock) ?? 0n);
  return `${months} ${days} ${nanos}`;
}

function isSameTree(tree: Exact, value: Raw): boolean {
  if (tree === null || value === null) return tree === value;
  if (typeof tree === "string") {
    if (typeof value === "string" || typeof value === "boolean") return tree === String(value);
    return !Array.isArray(value) && "number" in value && sameBy(numberFrom, tree, value.number);
  }
  if (Array.isArray(tree))
    return (
      Array.isArray(value) &&
      tree.length === value.length &&
      tree.every((item, at) => isSameTree(item, value[at] ?? null))
    );
  if (typeof value !== "object" || !("fields" in value)) return false;
  const fields = new Map(value.fields);
  const names = Object.keys(tree);
  return (
    names.length === fields.size &&
    names.every((name) => fields.has(name) && isSameTree(tree[name] ?? null, fields.get(name) ?? null))
  );
}

/** Elements of a list that the lake has as JSON, where a number can be a JSON number or a text. */
function isInJson(kind: Kind, cell: Cell, value: Raw): boolean {
  if (cell === null || value === null) return cell === value;
  if (Array.isArray(cell))
    return (
      Array.isArray(value) &&
      cell.length === value.length &&
      cell.every((item, at) => isInJson(kind, item, value[at] ?? null))
    );
  if (kind === "json") return rawText(parseRaw(cell)) === rawText(value);
  if (typeof value === "string") return cell === value || isSameText(kind, cell, "text", value);
  if (typeof value === "boolean") return kind === "bool" && BOOLS[cell] === String(value);
  if (Array.isArray(value) || "fields" in value) return kind === "text" && cell === rawText(value);
  return kind === "number" && sameBy(numberFrom, cell, value.number);
}

const PLAIN = /^-?(0|[1-9]\d*)(\.\d+)?$/;
const POWER = /^-?\d(\.\d+)?e[+-]?\d+$/i;
const ISO_DAY = /^\d{4,}-\d\d-\d\d$/;
const ISO_CLOCK = /^\d\d:\d\d(:\d\d(\.\d{1,6})?)?$/;

/** A written text that became a value: the value must be written as this same text. */
function isWritten(cell: string, type: string, value: string): boolean {
  if (type === "text") return cell === value;
  if (type === "bool") return cell === value;
  if (type === "date") return ISO_DAY.test(cell) && sameBy(dayFrom, cell, value);
  if (type === "time") return ISO_CLOCK.test(cell) && sameBy(clockFrom, cell, value);
  if (type === "timestamp" || type === "timestamptz")
    return sameBy((text) => nanosOf(text, type === "timestamptz"), cell, value);
  if (!NUMBERS.has(type) || !sameBy(numberFrom, cell, value)) return false;
  return PLAIN.test(cell) || ((type === "double" || type === "float") && isShortest(cell, value));
}

/** A double is written as `1e300` and `1e+300`, but not as `1e5`, since that is 100000.0. */
const isShortest = (cell: string, value: string): boolean =>
  POWER.test(cell) && cell.toLowerCase().replace("e+", "e") === value.replace("e+", "e");

/** Compares JSON: `1e5` and `100000` are the same number, `0` and `-0` aren't. */
function isEqualRaw(one: Raw, other: Raw): boolean {
  if (one === null || other === null || typeof one !== "object" || typeof other !== "object")
    return one === other;
  if (Array.isArray(one) || Array.isArray(other))
    return (
      Array.isArray(one) &&
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item, at) => isEqualRaw(item, other[at] ?? null))
    );
  if ("number" in one || "number" in other)
    return "number" in one && "number" in other && sameBy(numberFrom, one.number, other.number);
  return (
    one.fields.length === other.fields.length &&
    one.fields.every(([key, item], at) => {
      const [name, value] = other.fields[at] ?? ["", null];
      return key === name && isEqualRaw(item, value);
    })
  );
}

/** Returns whether the lake has the JSON: as a value, as text, or as JSON. */
function isSameRaw(cell: Raw, type: string, value: Exact): boolean {
  if (cell === null || value === null) return cell === value || (cell === null && value === "null");
  if (typeof value !== "string") return false;
  if (type === "json") return isEqualRaw(cell, parseRaw(value));
  if (typeof cell === "boolean") return (type === "bool" || type === "text") && String(cell) === value;
  if (typeof cell === "string") {
    if (type === "text") return cell === value;
    return !NUMBERS.has(type) && type !== "bool" && isWritten(cell, type, value);
  }
  if (Array.isArray(cell) || "fields" in cell) return type === "text" && isEqualRaw(cell, parseRaw(value));
  return (type === "text" || NUMBERS.has(type)) && sameBy(numberFrom, cell.number, value);
}
