import type { Cell } from "./cells.ts";

const CLOCK = "((?:[01]\\d|2[0-3]):[0-5]\\d)(?::([0-5]\\d(?:\\.\\d{1,6})?))?";
const TIME = new RegExp(`^T?${CLOCK}$`);
const DATE = new RegExp(`^(\\d{4}-\\d\\d-\\d\\d)(?:[T ]${CLOCK}(Z|[+-]\\d\\d:\\d\\d)?)?$`);

/** Reads a date or time in ISO 8601, which few programs write; anything else is text. */
export function isoCell(value: string): Cell {
  const [, onlyMinutes, onlySeconds = "00"] = TIME.exec(value) ?? [];
  if (onlyMinutes !== undefined) return { kind: "clock", text: `${onlyMinutes}:${onlySeconds}` };
  const [, date, minutes = "00:00", seconds = "00", zone] = DATE.exec(value) ?? [];
  if (date === undefined || !isDay(date)) return { kind: "text", text: value };
  const instant = `${date}T${minutes}:${seconds}`;
  if (zone !== undefined) return { kind: "zoned", text: instant + zone };
  return /T00:00:00(?:\.0+)?$/.test(instant)
    ? { kind: "day", text: date }
    : { kind: "instant", text: instant };
}

function isDay(date: string): boolean {
  const ms = Date.parse(`${date}T00:00:00Z`);
  return date >= "0001" && !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(date);
}
