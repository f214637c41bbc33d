import fc from "fast-check";
import type { Kind } from "./canon.ts";
import { SEED } from "./scale.ts";
import type { SourceColumn, SourceTable } from "./table.ts";

/** A type of a source: values that have caused bugs somewhere, and a generator for others. */
export interface Sort {
  type: string;
  kind: Kind;
  hostile: readonly string[];
  any?: fc.Arbitrary<string>;
}

const MOST_COLUMNS = 5;
const MOST_ROWS = 12;

/** This many tables of all types: first each type's hostile values in their own table, then random ones. */
export function makeTables(sorts: readonly Sort[], count: number, prefix = "t"): SourceTable[] {
  const own = sorts.map((sort) => ({ columns: [sort], rows: sort.hostile.map((value) => [value]) }));
  const more = fc.sample(mixed(sorts), { numRuns: Math.max(count - own.length, 1), seed: SEED });
  return [...own, ...more].slice(0, Math.max(count, own.length)).map(({ columns, rows }, at) => ({
    name: `${prefix}${at + 1}`,
    columns: columns.map(columnOf),
    rows,
  }));
}

const columnOf = ({ type, kind }: Sort, at: number): SourceColumn => ({ name: `c${at + 1}`, type, kind });

const mixed = (sorts: readonly Sort[]) =>
  fc.array(fc.constantFrom(...sorts), { minLength: 1, maxLength: MOST_COLUMNS }).chain((columns) =>
    fc.record({
      columns: fc.constant(columns),
      rows: fc.array(fc.tuple(...columns.map(valueOrNull)), { maxLength: MOST_ROWS }),
    }),
  );

/** NULL, a hostile value, or any; few hostile ones, so that ties are common. */
const valueOrNull = ({ hostile, any }: Sort): fc.Arbitrary<string | null> =>
  fc.oneof(
    { weight: 1, arbitrary: fc.constant(null) },
    { weight: 5, arbitrary: fc.constantFrom(...hostile) },
    ...(any ? [{ weight: 4, arbitrary: any }] : []),
  );

/** A table whose last row is the first that differs from the others. */
export const lateTable = (
  name: string,
  columns: { column: Sort; usual: (row: number) => string; last: string }[],
  before: number,
): SourceTable => ({
  name,
  columns: columns.map(({ column }, at) => columnOf(column, at)),
  rows: Array.from({ length: before + 1 }, (_, row) =>
    columns.map(({ usual, last }) => (row === before ? last : usual(row))),
  ),
});

/** Digits in plain notation: `-12.0340`. */
export const digits = (whole: number, fraction: number): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.boolean(),
      fc.stringMatching(new RegExp(`^(0|[1-9][0-9]{0,${Math.max(whole - 1, 0)}})$`)),
      fraction === 0 ? fc.constant("") : fc.stringMatching(new RegExp(`^([.][0-9]{1,${fraction}})?$`)),
    )
    .map(([minus, before, after]) => {
      const text = `${whole === 0 ? "0" : before}${after}`;
      return minus && /[1-9]/.test(text) ? `-${text}` : text;
    });

export const wholes = (min: bigint, max: bigint): fc.Arbitrary<string> => fc.bigInt({ min, max }).map(String);

/** Letters of many scripts, quotes, separators, line ends; nothing that a source can't hold. */
export const texts: fc.Arbitrary<string> = fc
  .array(
    fc.constantFrom(..."aZ09 ,;|'\"\\\n\t\r.-_%{}[]äßИ漢🙂\u00a0\u200b", "NULL", "null", "\\N", "e\u0301"),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(""));

export const doubles: fc.Arbitrary<string> = fc
  .double({ noNaN: true, noDefaultInfinity: true })
  .map((value) => (Object.is(value, -0) ? "-0" : String(value)));

export const floats: fc.Arbitrary<string> = fc
  .float({ noNaN: true, noDefaultInfinity: true })
  .map((value) => (Object.is(value, -0) ? "-0" : String(value)));

const two = (n: number) => String(n).padStart(2, "0");
export const days: fc.Arbitrary<string> = fc
  .date({ min: new Date("0001-01-01T00:00:00Z"), max: new Date("9999-12-31T00:00:00Z"), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10));
export const clocks: fc.Arbitrary<string> = fc
  .tuple(fc.nat(23), fc.nat(59), fc.nat(59), fc.nat(999_999))
  .map(([h, m, s, f]) => `${two(h)}:${two(m)}:${two(s)}${f === 0 ? "" : `.${String(f).padStart(6, "0")}`}`);
export const instants: fc.Arbitrary<string> = fc.tuple(days, clocks).map(([day, clock]) => `${day} ${clock}`);
