import { scaled } from "../support/scale.ts";
import type { Kind } from "./canon.ts";

/** A kind of key, and how the n-th of them is written. */
interface Key {
  columns: readonly (readonly [name: string, type: string, kind: Kind])[];
  values(n: number): string[];
  /** An update after which the key is still equal for the source, but written differently. */
  rewrite?: string;
}

const ICU = 'text collate "und-x-icu"';
const micros = (n: number): string =>
  `timestamptz '2026-01-01 00:00:00+00' + ${n} * interval '1 microsecond'`;
const quoted = (text: string): string => `'${text}'`;

/**
 * Keys that differ in their 20th digit or far behind the decimal point, and one that no decimal of the lake can hold.
 */
function longNumber(n: number): string {
  if (n === 77) return "9".repeat(45);
  const whole = 12_345_678_901_234_567_890n;
  return n % 2 === 0 ? String(whole + BigInt(n)) : `${whole}.${String(n).padStart(6, "0")}1`;
}

/** Pairs and more of texts that a collation may treat as equal. */
function likeText(n: number): string {
  const same = Math.floor(n / 6);
  return [`k${same}`, `K${same}`, `k${same} `, ` k${same}`, `k\u00e9${same}`, `ke\u0301${same}`][n % 6] ?? "";
}

const uuid = (n: number): string => `md5('${n}')::uuid`;

export const KEYS: Readonly<Record<string, Key>> = {
  numeric: {
    columns: [["k", "numeric", "number"]],
    values: (n) => [longNumber(n)],
    rewrite: "k = k + 0.000",
  },
  text: { columns: [["k", ICU, "text"]], values: (n) => [quoted(likeText(n))] },
  ci: {
    columns: [["k", "text collate ci", "text"]],
    values: (n) => [quoted(`key ${n}`)],
    rewrite: 'k = case when k = lower(k) collate "C" then upper(k) else lower(k) end',
  },
  instant: { columns: [["k", "timestamptz", "timestamptz"]], values: (n) => [micros(n)] },
  uuid: { columns: [["k", "uuid", "uuid"]], values: (n) => [uuid(n)] },
  pair: {
    columns: [
      ["k", "numeric", "number"],
      ["k2", ICU, "text"],
    ],
    values: (n) => [longNumber(Math.floor(n / 3) * 2), quoted(likeText(n % 3))],
  },
};

/** Cursors that only increase, in every order that a source may have; `n` may be repeated, as a tie. */
export const CURSORS: Readonly<Record<string, { type: string; kind: Kind; value(n: number): string }>> = {
  numeric: { type: "numeric", kind: "number", value: (n) => `12345678901234567890 + ${n} * 0.000000001` },
  text: {
    type: ICU,
    kind: "text",
    value: (n) => quoted(`${String(n).padStart(8, "0")}${["a", "Z", "\u00e9"][n % 3]}`),
  },
  instant: { type: "timestamptz", kind: "timestamptz", value: micros },
  uuid: { type: "uuid", kind: "uuid", value: (n) => `lpad(to_hex(${n}), 32, '0')::uuid` },
};

export const SET_UP = `
  create collation ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
  ${Object.entries(KEYS)
    .flatMap(([name, { columns }]) => {
      const own = columns.map(([column, type]) => `${column} ${type}`);
      const key = columns.map(([column]) => column).join();
      return ["kept", "dying"].map(
        (way) =>
          `create table ${way}_${name} (${own.join()}, changed timestamptz not null, note text, amount numeric(30,8), primary key (${key}));`,
      );
    })
    .join("\n")}
  ${Object.entries(CURSORS)
    .map(([name, { type }]) => `create table grown_${name} (id int primary key, c ${type} not null);`)
    .join("\n")}`;

/** A lake table, the source table that it must equal, and how its columns are compared. */
export interface Mirror {
  resource: { name: string; [field: string]: unknown };
  /** Tables of one group are loaded by one run, into a separate dataset. */
  group: string;
  select: string;
  kinds: Readonly<Record<string, Kind>>;
}

/** In the gate, only every other way for each key, and the others for the next key. */
const EVERY = scaled(2, 1);
/** Number of runs for keys, and for cursors. */
const [KEY_RUNS, CURSOR_RUNS] = [scaled(2, 6), scaled(1, 4)];

export const MIRRORS: readonly Mirror[] = [
  ...Object.entries(KEYS).flatMap(([name, { columns }], at): Mirror[] => {
    const kinds: Record<string, Kind> = { changed: "timestamptz", note: "text", amount: "number" };
    for (const [column, , kind] of columns) kinds[column] = kind;
    const primaryKey = columns.map(([column]) => column);
    const mirror = (way: string, table: string, more: object): Mirror => ({
      group: `keys_${at % KEY_RUNS}`,
      resource: { name: `${way}_${name}`, spec: `public.${table}_${name}`, ...more },
      select: `${table}_${name}`,
      kinds,
    });
    const merge = { writeDisposition: "merge", primaryKey };
    return [
      mirror("merged", "kept", merge),
      mirror("followed", "kept", { ...merge, incremental: { cursorField: "changed" } }),
      mirror("replaced", "dying", { writeDisposition: "replace" }),
      mirror("hard", "dying", { ...merge, deletes: "hard" }),
      mirror("soft", "dying", { ...merge, deletes: "soft" }),
    ].filter((_, way) => (at + way) % EVERY === 0);
  }),
  ...Object.entries(CURSORS).map(
    ([name, { kind }], at): Mirror => ({
      group: `cursors_${at % CURSOR_RUNS}`,
      resource: { name: `appended_${name}`, spec: `public.grown_${name}`, incremental: { cursorField: "c" } },
      select: `grown_${name}`,
      kinds: { id: "number", c: kind },
    }),
  ),
];
