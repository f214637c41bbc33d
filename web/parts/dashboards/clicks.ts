import type { DashboardData } from "../../calls.ts";
import type { Cell } from "../table/picks.ts";
import { type Filter, namesOf, type Values } from "./values.ts";

type Clicks = Readonly<Record<string, string | null>>;

export interface Clicked {
  filters: readonly Filter[];
  choices: DashboardData["choices"];
  /** Which filter a click on a column's value sets. */
  clickFilters: Clicks;
  /** Returns all values of a column in the panel. */
  valuesIn: (column: string) => readonly unknown[];
}

/** Filter values that clicks on these cells set, by name. Empty if no filter accepts any of them. */
export function filtersFor(cells: readonly Cell[], clicked: Clicked): Record<string, string> {
  return Object.assign({}, ...cells.map((cell) => filterFor(cell, clicked)));
}

function filterFor(
  { column, value }: Cell,
  { filters, choices, clickFilters, valuesIn }: Clicked,
): Record<string, string> {
  const key = clickFilters[column] === undefined ? column : clickFilters[column];
  const filter = filters.find((each) => each.key === key);
  if (!filter || value === null || value === undefined || value === "" || typeof value === "object")
    return {};
  const text = String(value);
  if (filter.type === "date" || filter.type === "date_range") return dates(filter, text, valuesIn(column));
  if (filter.type === "number" && !Number.isFinite(Number(text))) return {};
  if (filter.type === "boolean" && text !== "true" && text !== "false") return {};
  const known = filter.options ?? choices[filter.key]?.values;
  if (filter.type === "choice" && !known?.some((each) => String(each) === text)) return {};
  return { [filter.key]: text };
}

const DAY = /^(\d{4}-\d\d-\d\d)(?:[T ]|$)/;
const dayOf = (value: unknown) => DAY.exec(String(value))?.[1];

function dates(filter: Filter, text: string, all: readonly unknown[]): Record<string, string> {
  const from = dayOf(text);
  const [first = "", last] = namesOf(filter);
  if (from === undefined) return {};
  return last === undefined ? { [first]: from } : { [first]: from, [last]: lastDay(from, all) };
}

const MS_PER_DAY = 86_400_000;

/** The last day of a date's period: the day itself, or the week, month or year if all dates start one. */
function lastDay(from: string, all: readonly unknown[]): string {
  const days = [...new Set(all.flatMap((each) => dayOf(each) ?? []))].toSorted();
  const times = days.map((day) => Date.parse(day));
  const gaps = times.slice(1).map((time, at) => (time - (times[at] ?? 0)) / MS_PER_DAY);
  if (gaps.length === 0) return from;
  const end = new Date(from);
  if (days.every((day) => day.endsWith("-01-01"))) end.setUTCFullYear(end.getUTCFullYear() + 1);
  else if (days.every((day) => day.endsWith("-01"))) end.setUTCMonth(end.getUTCMonth() + 1);
  else if (gaps.every((gap) => gap % 7 === 0)) end.setUTCDate(end.getUTCDate() + 7);
  else return from;
  return new Date(end.getTime() - MS_PER_DAY).toISOString().slice(0, 10);
}

/** Sets what was clicked, or removes it if it is already set. */
export function toggle(values: Values, changes: Readonly<Record<string, string>>): void {
  const isSet = Object.entries(changes).every(([name, value]) => values.given[name] === value);
  if (isSet) values.remove(Object.keys(changes));
  else values.set(changes, true);
}
