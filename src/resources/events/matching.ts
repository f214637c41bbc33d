import { type Fault, InvalidInput, invalid } from "../../base/errors.ts";
import { EVENT_TYPES, type EventType } from "./table.ts";

const WILDCARD = /^(?:[a-z_]+\.)?\*$/;

/**
 * Returns the event types that a stored pattern matches: an exact type, or all with the same beginning for a trailing
 * wildcard. Earlier versions stored wildcards without a dot, such as `acti*`. Empty if it matches none.
 */
export const typesStored = (pattern: string): readonly EventType[] =>
  pattern.endsWith("*")
    ? EVENT_TYPES.filter((type) => type.startsWith(pattern.slice(0, -1)))
    : EVENT_TYPES.filter((type) => type === pattern);

/**
 * Returns the event types that `pattern` matches: an exact type, all of a group (`action.*`), or all (`*`). Throws
 * `invalid` at `loc` if it matches none.
 */
export function typesMatching(pattern: string, loc: readonly string[]): readonly EventType[] {
  const types = pattern.endsWith("*") && !WILDCARD.test(pattern) ? [] : typesStored(pattern);
  if (types.length > 0) return types;
  throw invalid(loc, `Unknown event type '${pattern}'. GET /api/v1/meta lists all types`, "enum");
}

/** Returns the faults of a pattern, if all faults of an input are reported together. */
export function faultsOfTypes(pattern: string, loc: readonly string[]): Fault[] {
  try {
    typesMatching(pattern, loc);
    return [];
  } catch (error) {
    if (error instanceof InvalidInput) return [...error.faults];
    throw error;
  }
}
