import { AppError } from "./errors.ts";
import type { Json } from "./json.ts";
import { type SchemaFault, schemaAt, shapeFaults } from "./json-schema-shape.ts";
import { checkValue, type ValueFault } from "./json-schema-value.ts";

/**
 * User-defined JSON Schemas: a form, or the inputs of a template.
 * Draft 2020-12, and `items`, `additionalItems` and `dependencies` of draft 7. `$ref` works only within the schema.
 *
 * Both schemas and values are untrusted. So schemas are interpreted and never compiled to code,
 * patterns run in linear time, and a check has a limited number of steps:
 * a short schema that visits each level of a value twice would take 2^60 of them.
 */

export type { SchemaFault, ValueFault };
export { schemaAt };

/** Returns all errors in the schema itself, with their paths. Empty if it is valid. */
export const schemaFaults = (schema: unknown): SchemaFault[] => shapeFaults(schema);

/**
 * Returns all errors in `value`, with their paths, at most `MAX_FAULTS`. A check that takes too long is one error of
 * type `too_complex`. Throws `definition_invalid` if `schema` itself is invalid.
 */
export function valueFaults(schema: Json, value: Json): ValueFault[] {
  const fault = shapeFaults(schema)[0];
  if (fault) {
    const where = fault.path.length > 0 ? ` at ${fault.path.join(".")}` : "";
    throw new AppError("definition_invalid", `The JSON Schema is not valid${where}: ${fault.message}`);
  }
  return checkValue(schema, value);
}
