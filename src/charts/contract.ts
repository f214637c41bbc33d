import type { Json, JsonObject } from "../base/json.ts";

/** One chart to be: a Vega-Lite specification without data, and the rows that it shows. */
export interface Chart {
  spec: JsonObject;
  rows: readonly Record<string, Json>[];
  /** Pixels; the height follows from the specification. */
  width: number;
}

/** An SVG document, or what is wrong with the specification, as a sentence. */
export type Drawn = { svg: string } | { fault: string };

/** Draws charts in a process of their own: nothing that a specification says is run as code, or fetched. */
export interface Charts {
  /**
   * In the order in which they were given. Throws `cancelled`, `rate_limited`, and `definition_invalid` where drawing took too long
   * or too much memory.
   */
  draw(charts: readonly Chart[], signal: AbortSignal, organizationId?: string): Promise<Drawn[]>;
}
