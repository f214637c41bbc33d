import type { Json, JsonObject } from "./json.ts";

/** Results beyond this are stored as an artifact (docs/decisions/runs.md). */
export const MAX_RESULT_BYTES = 256 * 1024;
/** Maximum length of a result that expressions read. */
export const MAX_READABLE_BYTES = 64 * 1024 * 1024;
/** Larger values aren't in the summary of a result that is stored as an artifact. */
const MAX_SUMMARY_CHARACTERS = 1000;

/** What is known about a large result without reading it. */
export interface Summary {
  /** Small values unchanged, large ones as their type and size. */
  fields: JsonObject;
  /** Names of the large values. */
  large: string[];
}

export function summaryOf(result: { readonly [name: string]: Json }): Summary {
  const fields: JsonObject = {};
  const large: string[] = [];
  for (const [name, value] of Object.entries(result)) {
    const { length } = JSON.stringify(value);
    fields[name] = value;
    if (length <= MAX_SUMMARY_CHARACTERS) continue;
    fields[name] = Array.isArray(value)
      ? `list of ${value.length}`
      : `${typeof value} of ${length} characters`;
    large.push(name);
  }
  return { fields, large };
}
