import { type Fault, InvalidInput, invalid } from "../../base/errors.ts";
import { EVENT_TYPES, type EventType } from "./table.ts";

/**
 * The event types that `pattern` stands for: one exact type, all that begin like a trailing wildcard
 * (`action.*`), or all (`*`). Throws `invalid` at `loc` for one that no event can have.
 */
export function typesMatching(pattern: string, loc: readonly string[]): readonly EventType[] {
  const types = pattern.endsWith("*")
    ? EVENT_TYPES.filter((type) => type.startsWith(pattern.slice(0, -1)))
    : EVENT_TYPES.filter((type) => type === pattern);
  if (types.length > 0) return types;
  throw invalid(loc, `Unknown event type '${pattern}'. GET /api/v1/meta lists all types`, "enum");
}

/** The faults of a pattern, for where all faults of an input are told together. */
export function faultsOfTypes(pattern: string, loc: readonly string[]): readonly Fault[] {
  try {
    typesMatching(pattern, loc);
    return [];
  } catch (error) {
    if (error instanceof InvalidInput) return error.faults;
    throw error;
  }
}
