import type { Fault } from "../../base/errors.ts";
import { Budget, SMALL } from "../../base/expression/budget.ts";
import { type Evaluation, noUuid } from "../../base/expression/expression.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { schemaAt, schemaFaults, valueFaults } from "../../base/json-schema.ts";
import type { Template } from "../../base/template-grammar.ts";
import { lookUp } from "../../base/template-lookup.ts";
import { withSchemaDefaults } from "../../providers/http-template/definition.ts";
import type { TemplateRow } from "../templates/table.ts";

type Inputs = Pick<TemplateRow, "inputDefaults" | "inputJsonSchema">;

/** Returns what is wrong with a schema of inputs, and with the defaults if the schema is valid. */
export function inputSchemaFaults({ inputJsonSchema, inputDefaults }: Inputs): Fault[] {
  const loc = ["body", "inputJsonSchema"];
  const faults = schemaFaults(inputJsonSchema).map(
    ({ path, message, type }): Fault => ({ loc: [...loc, ...path], msg: message, type }),
  );
  const { type } = inputJsonSchema;
  if (faults.length === 0 && type !== undefined && type !== "object")
    faults.push({
      loc: [...loc, "type"],
      msg: "Inputs are an object, so its schema is one",
      type: "value_error",
    });
  return faults.length > 0 ? faults : defaultsFaults({ inputJsonSchema, inputDefaults });
}

/** Missing values in the defaults aren't faults, since an installation can set them. */
const defaultsFaults = ({ inputJsonSchema, inputDefaults }: Inputs): Fault[] =>
  valueFaults({ ...inputJsonSchema, required: [] }, inputDefaults).map(({ path, message, type }) => ({
    loc: ["body", "inputDefaults", ...path],
    msg: message,
    type,
  }));

/** Merges the inputs over the defaults, and those over the defaults in the schema. */
export const withDefaults = ({ inputJsonSchema, inputDefaults }: Inputs, values: JsonObject): JsonObject => ({
  ...withSchemaDefaults(inputJsonSchema, inputDefaults),
  ...values,
});

/** Returns what is wrong with inputs, including defaults. */
export const inputFaults = (of: Inputs, inputs: JsonObject, loc: readonly string[]): Fault[] =>
  valueFaults(of.inputJsonSchema, inputs).map(({ path, message, type }) => ({
    loc: [...loc, ...path],
    msg: message,
    type,
  }));

/** Returns the names of the inputs. Null if the schema doesn't restrict them. */
export function inputNames({ inputJsonSchema, inputDefaults }: Inputs): readonly string[] | null {
  const { properties, additionalProperties, patternProperties } = inputJsonSchema;
  const isOpen = !isObject(properties) || patternProperties !== undefined || isObject(additionalProperties);
  if (isOpen || additionalProperties === true) return null;
  return [...Object.keys(properties), ...Object.keys(inputDefaults)];
}

/** Returns why a template that begins with `inputs` refers to an undeclared input. */
export function inputNameFault(of: Inputs, { source, path, fallback }: Template): string | null {
  const [, name] = path;
  const names = inputNames(of);
  if (name === undefined || fallback !== undefined || names === null || names.includes(name)) return null;
  return `The template ${source} names an input that inputJsonSchema doesn't have`;
}

/**
 * Returns the names of secret inputs: marked `writeOnly`, with the format `password`,
 * or containing or referring to such a value, at any place in the schema.
 */
export function secretInputs(schema: JsonObject): string[] {
  const names = new Set<string>();
  for (const part of applied(schema, schema, new Set())) {
    for (const [name, property] of Object.entries(isObject(part.properties) ? part.properties : {})) {
      if (isMarked(property, schema, new Set())) names.add(name);
    }
  }
  return [...names];
}

const APPLICATORS = ["allOf", "anyOf", "oneOf", "if", "then", "else"];

/** Returns a schema and its subschemas for the same value. */
function applied(schema: Json, root: JsonObject, seen: Set<Json>): JsonObject[] {
  if (!isObject(schema) || seen.has(schema)) return [];
  seen.add(schema);
  const { $ref: ref, dependentSchemas } = schema;
  const parts = [
    ...APPLICATORS.flatMap((keyword) => schema[keyword] ?? []),
    ...(isObject(dependentSchemas) ? Object.values(dependentSchemas) : []),
    ...(typeof ref === "string" ? [schemaAt(root, ref)] : []),
  ];
  return [schema, ...parts.flatMap((part) => applied(part, root, seen))];
}

function isMarked(schema: Json, root: JsonObject, seen: Set<string>): boolean {
  if (Array.isArray(schema)) return schema.some((part) => isMarked(part, root, seen));
  if (!isObject(schema)) return false;
  if (schema.writeOnly === true || schema.format === "password") return true;
  const { $ref: ref } = schema;
  if (typeof ref === "string" && !seen.has(ref)) {
    seen.add(ref);
    if (isMarked(schemaAt(root, ref), root, seen)) return true;
  }
  return Object.values(schema).some((part) => isMarked(part, root, seen));
}

const installing = (): Evaluation => ({ budget: new Budget(SMALL), nextUuid: noUuid });

/** Resolves values of `inputs`, and of `scope`. A missing input has no value. */
export const valueIn =
  (scope: Readonly<Record<string, Json>>) =>
  (template: Template): Json | undefined => {
    const [root, name] = template.path;
    const { inputs } = scope;
    const isAbsent =
      root === "inputs" && name !== undefined && isObject(inputs) && !Object.hasOwn(inputs, name);
    return isAbsent && template.fallback === undefined ? undefined : lookUp(template, scope, installing());
  };
