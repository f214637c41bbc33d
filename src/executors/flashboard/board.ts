import type { Json, JsonObject } from "../../base/json.ts";
import type { Column } from "../../sql/contract.ts";

/** A table that a panel's SQL may have read, in its state at that time or as of a load. */
export interface Origin {
  layer: string;
  dataset: string;
  table: string;
  /** Increases with each load; null for a past state. */
  version: number | null;
  rows: number;
  /** The load that `AS OF` named. Omitted for the current table. */
  asOf?: string;
}

/** A drawn panel, and the origin of its numbers. */
export interface BoardPanel {
  title: string;
  sql: string;
  /** Values for `$name` in it. Omitted if there are none. */
  parameters?: JsonObject;
  /** The Vega-Lite specification, without data. Null if the panel shows its rows as a table. */
  chart: JsonObject | null;
  /** In columns, of twelve. */
  width: number;
  columns: Column[];
  rows: Record<string, Json>[];
  truncated: boolean;
  /** Why there is nothing to show. Null if there is. */
  note: string | null;
  /** An SVG document. Null for a table, and if there is nothing to show. */
  svg: string | null;
  provenance: { runId: string; queriedAt: string; durationSeconds: number; tables: Origin[] };
}

/** Content of a flashboard's artifact. */
export interface Board {
  type: "flashboard";
  version: 1;
  title: string;
  createdAt: string;
  panels: BoardPanel[];
}
