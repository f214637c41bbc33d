import type { Json, JsonObject } from "../base/json.ts";

/** A chart to draw: a Vega-Lite specification without data, and its rows. */
export interface Chart {
  spec: JsonObject;
  rows: readonly Record<string, Json>[];
  /** Pixels; the specification determines the height. */
  width: number;
}

/** An SVG document, or the error in the specification, as a sentence. */
export type Drawn = { svg: string } | { fault: string };

/** Draws charts in a child process. Nothing in a specification is run as code or fetched. */
export interface Charts {
  /** In order. Throws `cancelled`, `rate_limited`, and `definition_invalid` if it takes too long or too much memory. */
  draw(charts: readonly Chart[], signal: AbortSignal, organizationId?: string): Promise<Drawn[]>;
}
