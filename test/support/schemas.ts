import Ajv2020 from "ajv/dist/2020";
import addFormats from "ajv-formats";
import { schemaDocument, schemaUrn } from "../../src/resources/openapi/schemas.ts";

/** Errors of an independent validator. Empty if the value matches. */
type Check = (value: unknown) => string[];

/** A validator of a JSON Schema 2020-12. Throws for an invalid one. */
export function validatorOf(schema: object, { allErrors = false } = {}): Check {
  // Compiles fastest this way.
  const ajv = new Ajv2020({ strict: false, allErrors, inlineRefs: false, code: { optimize: false } });
  addFormats(ajv);
  ajv.addFormat("password", true);
  ajv.addFormat("new-password", true);
  const validate = ajv.compile(schema);
  return (value) =>
    validate(value)
      ? []
      : (validate.errors ?? []).map(({ instancePath, message, params }) =>
          [instancePath || "/", message, JSON.stringify(params)].join(" "),
        );
}

const made = new Map<string, Check>();

/** Errors of a value by one of the schemas of `weir schema`. */
export function schemaMisfits(name: string, value: unknown): string[] {
  const check = made.get(name) ?? validatorOf(schemaDocument(name, schemaUrn(name)));
  made.set(name, check);
  return check(value);
}
