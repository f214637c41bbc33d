import { AppError } from "../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { type ValueFault, valueFaults } from "../base/json-schema.ts";
import { pathsOf, readPieces } from "../base/template-grammar.ts";
import type { EndpointDefinition } from "./contract.ts";

/** Throws `definition_invalid` for arguments that don't match the schema, with every violation. */
export function checkArguments(schema: JsonObject | null, input: JsonObject, what: string): void {
  if (schema !== null) refuse(valueFaults(schema, input), what);
}

/** As above, and also refuses arguments that the request doesn't use: a misspelled one would be dropped silently. */
export function checkEndpointArguments(endpoint: EndpointDefinition, input: JsonObject): void {
  const { inputSchema, name } = endpoint;
  const faults = inputSchema === null ? [] : valueFaults(inputSchema, input);
  const known = namesOf(endpoint);
  const reported = new Set(faults.map(({ path }) => path[0]));
  const unknown = Object.keys(input).filter((each) => known && !known.has(each) && !reported.has(each));
  const message = known?.size
    ? `Unknown argument. Known arguments: ${[...known].join(", ")}`
    : "Unknown argument";
  refuse([...faults, ...unknown.map((each) => ({ path: [each], message, type: "extra_forbidden" }))], name);
}

function refuse(faults: readonly ValueFault[], what: string): void {
  if (faults.length === 0) return;
  const messages = faults.map(({ path, message }) => `${["arguments", ...path].join(".")}: ${message}`);
  throw new AppError(
    "definition_invalid",
    `Invalid arguments for ${what}: ${messages.slice(0, 20).join("; ")}`,
    {
      details: {
        faults: faults.map(({ path, message, type }) => ({
          loc: ["arguments", ...path],
          msg: message,
          type,
        })),
      },
    },
  );
}

/** Keywords by which a schema itself defines further arguments. */
const OPEN =
  "$ref allOf anyOf oneOf not if dependentSchemas additionalProperties unevaluatedProperties patternProperties propertyNames".split(
    " ",
  );

/**
 * The arguments of an endpoint as a JSON Schema, for those who choose them. Without an `inputSchema`, these are the
 * arguments that its path needs, and those that its templates use.
 */
export function inputsOf(endpoint: EndpointDefinition): JsonObject {
  if (endpoint.inputSchema !== null) return endpoint.inputSchema;
  const required = inPath(endpoint.path);
  const others = inTemplates(endpoint).filter((name) => name !== undefined && !required.includes(name));
  return {
    type: "object",
    properties: Object.fromEntries([
      ...required.map((name) => [name, { type: "string" }] as const),
      ...others.map((name) => [name, {}] as const),
    ]),
    ...(required.length > 0 ? { required } : {}),
  };
}

/** The names of an endpoint's arguments, or null if it accepts any. */
function namesOf(endpoint: EndpointDefinition) {
  const { inputSchema, path } = endpoint;
  if (OPEN.some((keyword) => inputSchema?.[keyword] !== undefined)) return null;
  const described = isObject(inputSchema?.properties) ? Object.keys(inputSchema.properties) : [];
  const read = inTemplates(endpoint);
  return read.includes(undefined)
    ? null
    : new Set([...described, ...inPath(path), ...read.flatMap((name) => name ?? [])]);
}

const inPath = (path: string): string[] => [
  ...new Set([...path.matchAll(/\{([^{}/]+)\}/g)].map(([, name = ""]) => name)),
];

const inTemplates = ({ headers, queryTemplate, bodyTemplate }: EndpointDefinition) =>
  [headers, queryTemplate, bodyTemplate].flatMap((template) => readsOf(template));

/** The fields of `input` that the template reads; undefined means all of it. */
function readsOf(template: Json): (string | undefined)[] {
  if (typeof template === "string")
    return readPieces(template).flatMap((piece) =>
      typeof piece === "string"
        ? []
        : pathsOf(piece).flatMap(([root, name]) => (root === "input" ? [name] : [])),
    );
  if (Array.isArray(template)) return template.flatMap(readsOf);
  return isObject(template) ? Object.values(template).flatMap(readsOf) : [];
}
