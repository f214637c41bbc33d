import type { Json, JsonObject } from "./json.ts";

/** Values up to this long stand in the summary of a result that is kept as an artifact. */
const MAX_SUMMARY_CHARACTERS = 1000;

/** What is known of a large result without reading it. */
export interface Summary {
  /** Small values as they are; large ones by their kind and size. */
  fields: JsonObject;
  /** The names of the large ones. */
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
