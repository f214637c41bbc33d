import type { Fault } from "../base/errors.ts";
import type { Json, JsonObject } from "../base/json.ts";

/** Takes the place of a value with the wrong shape. As with any whole template, rules accept it as unknown. */
const UNKNOWN = "{{payload}}";

/**
 * Returns a definition without what `faults` report, so that rules can check the rest: unknown fields are removed, other
 * values are unknown. Null if the definition as a whole is wrong. `loc` is where it is.
 */
export function soundPart(
  definition: JsonObject,
  faults: readonly Fault[],
  loc: readonly string[],
): JsonObject | null {
  if (faults.length === 0) return definition;
  const part = structuredClone(definition);
  for (const fault of faults) {
    const path = fault.loc.slice(loc.length);
    const name = path.pop();
    if (name === undefined) return null;
    let parent: Json | undefined = part;
    for (const key of path) parent = fieldsOf(parent)?.[key];
    const fields = fieldsOf(parent);
    if (!fields) continue; // Unknown as a whole.
    if (fault.type === "extra_forbidden") delete fields[name];
    else
      Object.defineProperty(fields, name, {
        value: UNKNOWN,
        enumerable: true,
        writable: true,
        configurable: true,
      });
  }
  return part;
}

const fieldsOf = (value: Json | undefined): Record<string, Json> | null =>
  typeof value === "object" && value !== null ? (value as Record<string, Json>) : null;

/** Returns whether one of `faults` is at this location, or above it. */
export const isReported = (faults: readonly Fault[], loc: readonly string[]): boolean =>
  faults.some((fault) => fault.loc.every((name, index) => loc[index] === name));
