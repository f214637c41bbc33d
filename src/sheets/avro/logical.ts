import { clockText, dayText, END_OF_DAYS, END_OF_INSTANTS, FIRST_DAY } from "../calendar.ts";
import type { Tap } from "./tap.ts";
import { type Reading, reading } from "./types.ts";

/** A logical type in a schema. */
export interface LogicalType {
  logicalType: string;
  precision?: unknown;
  scale?: unknown;
  /** Size of a `fixed` type in bytes. */
  size: number | null;
}

const MAX_DECIMAL_DIGITS = 38;
const SECONDS_PER_DAY = 86_400;
const LOST_DAY = "dates outside the years 1 to 5874897 became NULL";
const LOST_INSTANT = "timestamps outside the years 1 to 294246 became NULL";
const LOST_TIME = "times beyond a day became NULL";
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** How to read logical types, by base type and name; null for invalid ones. */
export const LOGICAL: ReadonlyMap<string, (logical: LogicalType) => Reading | null> = new Map([
  ["bytes decimal", decimal],
  ["fixed decimal", decimal],
  ["int date", date],
  ["int time-millis", () => time(1000, 3)],
  ["long time-micros", () => time(1_000_000, 6)],
  ["long timestamp-millis", () => timestamp("Z", 1000, 3)],
  ["long timestamp-micros", () => timestamp("Z", 1_000_000, 6)],
  ["long timestamp-nanos", () => timestamp("Z", 1_000_000_000, 9)],
  ["long local-timestamp-millis", () => timestamp("", 1000, 3)],
  ["long local-timestamp-micros", () => timestamp("", 1_000_000, 6)],
  ["long local-timestamp-nanos", () => timestamp("", 1_000_000_000, 9)],
  ["string uuid", uuidText],
  ["fixed uuid", uuidBytes],
  ["fixed duration", duration],
]);

/** Returns how to read a logical type; null if it is unknown or invalid, so that its base type applies. */
export const logicalReading = (base: string, logical: LogicalType): Reading | null =>
  LOGICAL.get(`${base} ${logical.logicalType}`)?.(logical) ?? null;

function decimal({ precision, scale = 0, size }: LogicalType): Reading | null {
  if (!isCount(precision) || !isCount(scale) || precision === 0 || scale > precision) return null;
  const type = precision > MAX_DECIMAL_DIGITS ? "VARCHAR" : `DECIMAL(${precision},${scale})`;
  const limit = 10n ** BigInt(precision);
  return reading(type, (tap) => {
    const bytes = size === null ? tap.blob() : tap.take(size);
    const hex = bytes.toString("hex");
    const unscaled = hex === "" ? 0n : BigInt.asIntN(bytes.length * 8, BigInt(`0x${hex}`));
    const text = scaled(unscaled, scale);
    if (unscaled < limit && unscaled > -limit) return text;
    tap.odd.add(`decimals of more than ${precision} digits became NULL`, () => text);
    return null;
  });
}

const isCount = (value: unknown): value is number => Number.isInteger(value) && Number(value) >= 0;

function scaled(unscaled: bigint, scale: number): string {
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, "0");
  const point = digits.length - scale;
  const sign = unscaled < 0n ? "-" : "";
  return `${sign}${digits.slice(0, point)}${scale === 0 ? "" : `.${digits.slice(point)}`}`;
}

function date(): Reading {
  return reading("DATE", (tap) => {
    const days = tap.int();
    return days >= FIRST_DAY && days < END_OF_DAYS ? dayText(days) : lost(tap, LOST_DAY, days);
  });
}

function time(perSecond: number, digits: number): Reading {
  return reading("TIME", (tap) => {
    const { whole, rest } = divided(tap.long(), perSecond);
    const isTime = whole >= 0 && whole < SECONDS_PER_DAY;
    return isTime ? clockText(whole, rest, digits) : lost(tap, LOST_TIME, whole);
  });
}

/** A value with nanoseconds makes the column text: not every Parquet reader reads timestamps with them exactly. */
function timestamp(zone: "Z" | "", perSecond: number, digits: number): Reading {
  const self = reading(zone === "Z" ? "TIMESTAMPTZ" : "TIMESTAMP", (tap) => {
    const value = tap.long();
    const { whole, rest } = divided(value, perSecond);
    const days = Math.floor(whole / SECONDS_PER_DAY);
    if (days < FIRST_DAY || days >= END_OF_INSTANTS) return lost(tap, LOST_INSTANT, value);
    const isWholeMicros = digits < 9 || rest % 1000 === 0;
    if (!isWholeMicros) self.type = "VARCHAR";
    const clock = isWholeMicros
      ? clockText(whole - days * SECONDS_PER_DAY, digits < 9 ? rest : rest / 1000, Math.min(digits, 6))
      : clockText(whole - days * SECONDS_PER_DAY, rest, digits);
    return `${dayText(days)}T${clock}${zone}`;
  });
  return self;
}

/** Seconds, rounded down, and the remainder. */
function divided(value: number | bigint, perSecond: number): { whole: number; rest: number } {
  if (typeof value === "number") {
    const whole = Math.floor(value / perSecond);
    return { whole, rest: value - whole * perSecond };
  }
  const divisor = BigInt(perSecond);
  const rest = ((value % divisor) + divisor) % divisor;
  return { whole: Number((value - rest) / divisor), rest: Number(rest) };
}

function lost(tap: Tap, reason: string, value: number | bigint): null {
  tap.odd.add(reason, () => String(value));
  return null;
}

function uuidText(): Reading {
  return reading("UUID", (tap) => {
    const text = tap.string();
    if (text === null || UUID.test(text)) return text;
    tap.odd.add("texts that aren't UUIDs became NULL", () => text);
    return null;
  });
}

function uuidBytes({ size }: LogicalType): Reading | null {
  return size === 16 ? reading("UUID", (tap) => dashed(tap.take(16).toString("hex"))) : null;
}

function duration({ size }: LogicalType): Reading | null {
  return size === 12 ? reading("VARCHAR", (tap) => durationText(tap.take(12))) : null;
}

const dashed = (hex: string) => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");

/** Months, days and milliseconds, which can't be combined, as an ISO 8601 duration. */
function durationText(bytes: Buffer): string {
  const [months, days, ms] = [bytes.readUInt32LE(0), bytes.readUInt32LE(4), bytes.readUInt32LE(8)];
  const fraction = ms % 1000 === 0 ? "" : `.${String(ms % 1000).padStart(3, "0")}`;
  return `P${months}M${days}DT${Math.floor(ms / 1000)}${fraction}S`;
}
