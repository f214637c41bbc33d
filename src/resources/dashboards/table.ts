import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Json, JsonObject } from "../../base/json.ts";
import { json, owned } from "../../store/columns.ts";

export const FILTER_TYPES = ["text", "number", "boolean", "date", "date_range", "choice"] as const;
type FilterType = (typeof FILTER_TYPES)[number];

export interface Filter {
  key: string;
  label: string;
  type: FilterType;
  /** For a range, `{from, to}`. */
  default: Json;
  /** Values of a choice. Null if `sql` returns them. */
  options: (string | number)[] | null;
  /** For a choice: SQL whose first column has the values. */
  sql: string | null;
}

/** Either `sql` or `queryId` is null. Positions and sizes are cells of a grid of twelve columns. */
export interface Panel {
  key: string;
  title: string;
  sql: string | null;
  queryId: string | null;
  /** Fixed values for `$name`, in addition to the filters'. */
  parameters: JsonObject;
  chart: JsonObject | null;
  /**
   * By column: the key of the filter that a click on a value sets, null for none.
   * Missing in panels stored by older versions.
   */
  clickFilters?: Record<string, string | null>;
  x: number;
  y: number;
  width: number;
  height: number;
}

export const dashboards = sqliteTable("dashboards", {
  ...owned(),
  name: text().notNull(),
  slug: text().notNull(),
  description: text(),
  filters: json<Filter[]>().notNull(),
  panels: json<Panel[]>().notNull(),
  /** Seconds between reloads of the page, and how long results are cached. Null: never. */
  refreshSeconds: integer(),
  /** SHA-256 of the link's token. Null while only the organization can see it. */
  shareHash: text(),
  /** The token, encrypted with the label `dashboard:<id>:<organization>`, so that members can copy the link again. */
  sealedShareToken: text(),
  /** When the link expires. Null: never. */
  shareExpiresAt: text(),
});
export type DashboardRow = typeof dashboards.$inferSelect;

/** Label for encrypting a link's token. */
export const shareLabel = (row: { id: string; organizationId: string }) =>
  `dashboard:${row.id}:${row.organizationId}`;
