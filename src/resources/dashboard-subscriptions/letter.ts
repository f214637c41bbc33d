import { type ChartNote, numberOf, shapeChart } from "../../base/chart-shape.ts";
import { type ChartSpec, isNumeric, specOf } from "../../base/chart-spec.ts";
import { sizeText } from "../../base/size.ts";
import type { LetterContent } from "../../mail/letter.ts";
import type { Section } from "../../mail/sections.ts";
import { type Translate, textsFor } from "../../mail/texts.ts";
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
  /** Null for an email that a member sends now. */
  unsubscribeUrl: string | null;
  /** The recipient's locale, such as `de-CH`. Null for English. */
  locale: string | null;
}

/** Formats texts and numbers for a reader. */
interface Reader {
  translate: Translate;
  locale: string;
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
  const translate = textsFor(about.locale);
  const reader = { translate, locale: about.locale ?? "en" };
  const any = translate("any");
  const search = new URLSearchParams({ organization: about.organization.id, ...about.filters });
  const used = filters.flatMap(({ key, label, type }): (readonly [string, string])[] => {
    const names = type === "date_range" ? [`${key}_from`, `${key}_to`] : [key];
    const values = names.map((each) => data.filters[each] ?? null);
    if (values.every((value) => value === null)) return [];
    const [from = any, to] = values.map((value) => (value === null ? any : String(value)));
    return [[label, to === undefined ? from : translate("{from} to {to}", { from, to })]];
  });
  return {
    subject: name,
    lines: [name, ...(description ? [description] : [])],
    facts: [
      [translate("Organization"), about.organization.name],
      [translate("As of"), `${about.at.slice(0, 16).replace("T", " ")} UTC`],
      ...used,
    ],
    sections: panels
      .toSorted((a, b) => a.y - b.y || a.x - b.x)
      .map((panel) => sectionOf(panel, data.panels[panel.key], reader)),
    link: { label: translate("Open the dashboard"), url: `${about.baseUrl}/dashboards/${id}?${search}` },
    foot: [
      translate(
        "A member of the organization chose you as a recipient, on the dashboard's page under Email.",
      ),
    ],
    ...(about.unsubscribeUrl === null
      ? {}
      : { unsubscribe: { label: translate("Unsubscribe"), url: about.unsubscribeUrl } }),
  };
}

const namedRows = ({ columns, rows }: PanelData) =>
  rows.map((row) => Object.fromEntries(columns.map(({ name }, at) => [name, row[at] ?? null])));

function sectionOf({ title, chart }: Panel, data: PanelData | undefined, reader: Reader): Section {
  const { translate } = reader;
  if (!data || data.error) return { title, note: data?.error?.message ?? translate("No data") };
  if (data.rows.length === 0) return { title, note: translate("No rows") };
  const spec = chart && specOf(chart);
  if (spec?.kind === "number") {
    const { goal } = spec;
    return {
      title,
      number: numberText(numberOf(spec, data.columns, namedRows(data)), spec, reader),
      ...(goal === undefined
        ? {}
        : { note: translate("Goal: {goal}", { goal: numberText(goal, spec, reader) }) }),
    };
  }
  const drawn = spec && spec.kind !== "table" ? chartSection(title, spec, data, reader) : null;
  return drawn ?? rowsSection(title, data, reader);
}

function rowsSection(
  title: string,
  { columns, rows, rowCount, truncated }: PanelData,
  { translate }: Reader,
): Section {
  const shown = columns.slice(0, MAX_COLUMNS);
  const counts = { shown: MAX_ROWS, total: rowCount };
  const rowsNote = truncated
    ? translate("Shows the first {shown} of over {total} rows.", counts)
    : translate("Shows the first {shown} of {total} rows.", counts);
  const left = [
    ...(rowCount > MAX_ROWS ? [rowsNote] : []),
    ...(columns.length > MAX_COLUMNS
      ? [
          translate("Shows the first {shown} of {total} columns.", {
            shown: MAX_COLUMNS,
            total: columns.length,
          }),
        ]
      : []),
  ];
  return {
    title,
    table: {
      columns: shown.map((column) => ({ name: column.name, isNumber: isNumeric(column) })),
      rows: rows.slice(0, MAX_ROWS).map((row) => shown.map((_, at) => cellText(row[at]))),
    },
    ...(left.length === 0 ? {} : { note: left.join(" ") }),
  };
}

/** The points of a chart. With only one series, also bars. */
function chartSection(title: string, spec: ChartSpec, data: PanelData, reader: Reader): Section | null {
  const shaped = shapeChart(spec, data.columns, namedRows(data));
  if (!shaped) return null;
  const { x, labels, series } = shaped;
  const shown = series.slice(0, MAX_COLUMNS);
  const first = shown[0]?.values ?? [];
  const points = labels.slice(0, MAX_POINTS);
  const most = Math.max(0, ...first.slice(0, MAX_POINTS).map((value) => value ?? 0));
  const notes = [
    ...(labels.length > MAX_POINTS
      ? [{ of: "points", shown: MAX_POINTS, total: labels.length } as const]
      : []),
    ...shaped.notes,
  ];
  return {
    title,
    table: {
      columns: [{ name: x, isNumber: false }, ...shown.map(({ name }) => ({ name, isNumber: true }))],
      rows: points.map((label, at) => [
        cellText(label),
        ...shown.map(({ values }) => numberText(values[at] ?? null, spec, reader)),
      ]),
      ...(shown.length === 1 && most > 0 ? { bars: points.map((_, at) => (first[at] ?? 0) / most) } : {}),
    },
    ...(notes.length === 0 ? {} : { note: notes.map((note) => noteText(note, reader)).join(" ") }),
  };
}

const noteText = ({ of, ...counts }: ChartNote, { translate }: Reader): string =>
  of === "points"
    ? translate("Shows the first {shown} of {total} points.", { ...counts })
    : translate("Shows the first {shown} of {total} series.", { ...counts });

function cellText(value: unknown): string {
  if (value === null || value === undefined) return "–";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return text.length > MAX_CELL ? `${text.slice(0, MAX_CELL - 1)}…` : text;
}

function numberText(
  value: number | null,
  { format = "number", unit }: ChartSpec,
  { locale }: Reader,
): string {
  if (value === null) return "–";
  const formatted = (options: Intl.NumberFormatOptions) =>
    new Intl.NumberFormat(locale, options).format(value);
  const text = {
    number: () => formatted({ maximumFractionDigits: 2 }),
    compact: () => formatted({ notation: "compact", maximumFractionDigits: 1 }),
    percent: () => formatted({ style: "percent", maximumFractionDigits: 1 }),
    bytes: () => sizeText(value),
    duration: () => `${formatted({ maximumFractionDigits: 2 })} s`,
  }[format]();
  return unit ? `${text} ${unit}` : text;
}
