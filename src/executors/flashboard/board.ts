import type { Json, JsonObject } from "../../base/json.ts";
import type { Column } from "../../sql/contract.ts";

/** One table that a panel's SQL may have read, as it was then or as a load had left it. */
export interface Origin {
  layer: string;
  dataset: string;
  table: string;
  /** Grows with each load; null of a past state. */
  version: number | null;
  rows: number;
  /** The load that left it so; absent for the table as it was then. */
  asOf?: string;
}

/** One drawn panel, and where its numbers come from. */
export interface BoardPanel {
  title: string;
  sql: string;
  /** Values for `$name` in it; absent where there are none. */
  parameters?: JsonObject;
  /** The Vega-Lite specification, without data; null where the panel shows its rows as a table. */
  chart: JsonObject | null;
  /** Of twelve columns. */
  width: number;
  columns: Column[];
  rows: Record<string, Json>[];
  truncated: boolean;
  /** Why there is nothing to see; null where there is something. */
  note: string | null;
  /** An SVG document; null for a table, and where there is nothing to see. */
  svg: string | null;
  provenance: { runId: string; queriedAt: string; durationSeconds: number; tables: Origin[] };
}

/** What the artifact of a flashboard holds. */
export interface Board {
  type: "flashboard";
  version: 1;
  title: string;
  createdAt: string;
  panels: BoardPanel[];
}
