import { AppError } from "./errors.ts";
import type { Json } from "./json.ts";
import { type SchemaFault, schemaAt, shapeFaults } from "./json-schema-shape.ts";
import { checkValue, type ValueFault } from "./json-schema-value.ts";

/**
 * JSON Schemas that people write: a form to fill in, the inputs of a template. Draft 2020-12, and what draft 7
 * says otherwise for `items`, `additionalItems` and `dependencies`; `$ref` only within the schema itself.
 *
 * A schema and a value are both hostile here. So schemas are walked and never turned into code, patterns run
 * in linear time, and one check takes a bounded number of steps: a schema of a few lines that visits each
 * level of a value twice would take 2^60 of them.
 */

export type { SchemaFault, ValueFault };
export { schemaAt };

/** All that is wrong with the schema itself, each with its path in it; empty where it may be used. */
export const schemaFaults = (schema: unknown): SchemaFault[] => shapeFaults(schema);

/**
 * All that is wrong with `value`, each with its path in it; at most `MAX_FAULTS`. A check that takes too long
 * is one fault, of type `too_complex`. Throws `definition_invalid` where `schema` itself has faults.
 */
export function valueFaults(schema: Json, value: Json): ValueFault[] {
  const fault = shapeFaults(schema)[0];
  if (fault) {
    const where = fault.path.length > 0 ? ` at ${fault.path.join(".")}` : "";
    throw new AppError("definition_invalid", `The JSON Schema is not valid${where}: ${fault.message}`);
  }
  return checkValue(schema, value);
}
