import { numberOf, shapeChart } from "../../base/chart-shape.ts";
import { type ChartSpec, isNumeric, specOf } from "../../base/chart-spec.ts";
import { sizeText } from "../../base/size.ts";
import type { LetterContent } from "../../mail/letter.ts";
import type { Section } from "../../mail/sections.ts";
import type { DashboardRow, Panel } from "../dashboards/table.ts";
import type { DashboardData } from "../dashboards/wire.ts";

type PanelData = DashboardData["panels"][string];

const MAX_ROWS = 20;
const MAX_POINTS = 60;
const MAX_COLUMNS = 12;
const MAX_CELL = 200;

interface About {
  organization: { id: string; name: string };
  baseUrl: string;
  filters: Readonly<Record<string, string>>;
  /** Now, ISO 8601. */
  at: string;
  /** Null for a mail that a member sends now. */
  unsubscribeUrl: string | null;
}

/**
 * Renders a dashboard as an email: its panels from top to bottom, with numbers, tables, and bars next to the values of
 * charts.
 */
export function letterOfDashboard(
  { id, name, description, filters, panels }: DashboardRow,
  data: DashboardData,
  about: About,
): LetterContent {
  const search = new URLSearchParams({ organization: about.organization.id, ...about.filters });
  const used = filters.flatMap(({ key, label, type }): (readonly [string, string])[] => {
    const names = type === "date_range" ? [`${key}_from`, `${key}_to`] : [key];
    const values = names.map((each) => data.filters[each] ?? null);
    if (values.every((value) => value === null)) return [];
    return [[label, values.map((value) => (value === null ? "any" : String(value))).join(" to ")]];
  });
  return {
    subject: name,
    lines: [name, ...(description ? [description] : [])],
    facts: [
      ["Organization", about.organization.name],
      ["As of", `${about.at.slice(0, 16).replace("T", " ")} UTC`],
      ...used,
    ],
    sections: panels
      .toSorted((a, b) => a.y - b.y || a.x - b.x)
      .map((panel) => sectionOf(panel, data.panels[panel.key])),
    link: { label: "Open the dashboard", url: `${about.baseUrl}/dashboards/${id}?${search}` },
    foot: ["A member of the organization chose you as a recipient, on the dashboard's page under Email."],
    ...(about.unsubscribeUrl === null ? {} : { unsubscribeUrl: about.unsubscribeUrl }),
  };
}

const namedRows = ({ columns, rows }: PanelData) =>
  rows.map((row) => Object.fromEntries(columns.map(({ name }, at) => [name, row[at] ?? null])));

function sectionOf({ title, chart }: Panel, data: PanelData | undefined): Section {
  if (!data || data.error) return { title, note: data?.error?.message ?? "No data" };
  if (data.rows.length === 0) return { title, note: "No rows" };
  const spec = chart && specOf(chart);
  if (spec?.kind === "number") {
    const { goal } = spec;
    return {
      title,
      number: numberText(numberOf(spec, data.columns, namedRows(data)), spec),
      ...(goal === undefined ? {} : { note: `Goal: ${numberText(goal, spec)}` }),
    };
  }
  return (spec && spec.kind !== "table" ? chartSection(title, spec, data) : null) ?? rowsSection(title, data);
}

function rowsSection(title: string, { columns, rows, rowCount, truncated }: PanelData): Section {
  const shown = columns.slice(0, MAX_COLUMNS);
  const left = [
    ...(rowCount > MAX_ROWS ? [`the first ${MAX_ROWS} of ${truncated ? "over " : ""}${rowCount} rows`] : []),
    ...(columns.length > MAX_COLUMNS ? [`the first ${MAX_COLUMNS} of ${columns.length} columns`] : []),
  ];
  return {
    title,
    table: {
      columns: shown.map((column) => ({ name: column.name, isNumber: isNumeric(column) })),
      rows: rows.slice(0, MAX_ROWS).map((row) => shown.map((_, at) => cellText(row[at]))),
    },
    ...(left.length === 0 ? {} : { note: `Shows ${left.join(" and ")}.` }),
  };
}

/** The points of a chart; one series also has bars. */
function chartSection(title: string, spec: ChartSpec, data: PanelData): Section | null {
  const shaped = shapeChart(spec, data.columns, namedRows(data));
  if (!shaped) return null;
  const { x, labels, series } = shaped;
  const shown = series.slice(0, MAX_COLUMNS);
  const first = shown[0]?.values ?? [];
  const points = labels.slice(0, MAX_POINTS);
  const most = Math.max(0, ...first.slice(0, MAX_POINTS).map((value) => value ?? 0));
  const notes = [
    ...(labels.length > MAX_POINTS ? [`Shows the first ${MAX_POINTS} of ${labels.length} points.`] : []),
    ...shaped.notes,
  ];
  return {
    title,
    table: {
      columns: [{ name: x, isNumber: false }, ...shown.map(({ name }) => ({ name, isNumber: true }))],
      rows: points.map((label, at) => [
        cellText(label),
        ...shown.map(({ values }) => numberText(values[at] ?? null, spec)),
      ]),
      ...(shown.length === 1 && most > 0 ? { bars: points.map((_, at) => (first[at] ?? 0) / most) } : {}),
    },
    ...(notes.length === 0 ? {} : { note: notes.join(" ") }),
  };
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return "–";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return text.length > MAX_CELL ? `${text.slice(0, MAX_CELL - 1)}…` : text;
}

const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const PERCENT = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });

function numberText(value: number | null, { format = "number", unit }: ChartSpec): string {
  if (value === null) return "–";
  const text = {
    number: () => NUMBER.format(value),
    compact: () => COMPACT.format(value),
    percent: () => PERCENT.format(value),
    bytes: () => sizeText(value),
    duration: () => `${NUMBER.format(value)} s`,
  }[format]();
  return unit ? `${text} ${unit}` : text;
}
