import { AppError } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { authTexts, type HttpTemplate, readsIn } from "./definition.ts";

/**
 * Returns the JSON Schema of a connection's credentials: the template's own, or one of those that `auth` reads, of
 * which all without a default are required. Undefined if `auth` can't be read, as in a bundle's component.
 */
export const credentialsSchemaOf = (definition: HttpTemplate): JsonObject | undefined =>
  definition.credentialsSchema ?? schemaOfAuth(definition);

/** Operators and `has` in an expression, which may do without some of what it reads. */
const MAY_DO_WITHOUT = /\?|&&|\|\||\bhas\(/;

function schemaOfAuth(definition: HttpTemplate): JsonObject | undefined {
  const reads = readsOf(definition);
  if (reads === null) return undefined;
  const names = [...new Set(reads.map(({ path }) => path[1] ?? ""))];
  const needed = reads.filter(
    ({ fallback, expression }) => fallback === undefined && !MAY_DO_WITHOUT.test(expression ?? ""),
  );
  const required = new Set(needed.map(({ path }) => path[1] ?? ""));
  return {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
    required: [...required],
    additionalProperties: false,
  };
}

/** Null also for an `auth` that reads credentials as a whole. */
function readsOf(definition: HttpTemplate) {
  if (!isObject(definition.http) || !isObject(definition.http.auth)) return null;
  try {
    const reads = Object.values(authTexts(definition)).flatMap(readsIn);
    const read = reads.filter(({ path }) => path[0] === "credentials");
    return read.every(({ path }) => path.length > 1) ? read : null;
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}
