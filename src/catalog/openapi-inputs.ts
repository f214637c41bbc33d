import { headerFault } from "../base/http-message.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { schemaFaults } from "../base/json-schema.ts";
import { measure } from "../base/measure.ts";
import { isSecretName } from "./addresses.ts";
import { argumentName, inputTemplate } from "./names.ts";
import type { Part, References } from "./openapi-refs.ts";
import { toJsonSchema } from "./openapi-schema.ts";

/** How a list or an object is serialized as text; stored in the argument's schema. */
export const STYLE = "x-weir-style";
/** An object serialized as `key=value` with commas between. */
export const PAIRS = "pairs";
/** A list serialized as repeated form fields. */
export const REPEATED = "repeat";
/** An argument sent as a file of a form. */
export const FILE_STYLE = "file";

const FILE: JsonObject = {
  anyOf: [
    { type: "string" },
    {
      type: "object",
      properties: {
        filename: { type: "string", maxLength: 255 },
        contentType: { type: "string", maxLength: 255 },
        content: { type: "string" },
        base64: { type: "string" },
      },
      additionalProperties: false,
    },
  ],
};

/** Schema of a file argument; `isList` for several files in one field. */
export function fileInput(description: Json | undefined, isList = false): JsonObject {
  const hint = "A file: its text, or {filename, contentType} with its content as text or as base64";
  const own = typeof description === "string" && description !== "" ? `${description}. ` : "";
  const schema = isList ? { type: "array", items: FILE } : FILE;
  return { ...schema, description: `${own.replace(/\.\. $/, ". ")}${hint}`, [STYLE]: FILE_STYLE };
}

/** Collects the inputs of one operation. */
export interface Inputs {
  properties: JsonObject;
  required: string[];
  /** Arguments by location and original name. */
  owners: Map<string, string>;
  headers: Record<string, string>;
  query: Record<string, string>;
  body: Json;
  /** Number of attempts to find a free name, by prefix. */
  tries: Map<string, number>;
}

export const noInputs = (): Inputs => ({
  properties: {},
  required: [],
  owners: new Map(),
  headers: {},
  query: {},
  body: null,
  tries: new Map(),
});

export interface Reading {
  refs: References;
  /** True for Swagger 2. */
  isOld: boolean;
  warn(text: string): void;
}

/** Adds an argument under its own name if that is free, else prefixed with its location. Returns the name. */
export function addInput(
  inputs: Inputs,
  where: string,
  name: string,
  schema: Json,
  isRequired: boolean,
): string {
  const own = argumentName(name);
  const start = `${where}_${own}`;
  let free = own;
  while (Object.hasOwn(inputs.properties, free)) {
    const alike = start.slice(0, 48); // long names with the same start are cut to the same name
    const n = (inputs.tries.get(alike) ?? 0) + 1;
    inputs.tries.set(alike, n);
    const end = n === 1 ? "" : `_${n}`;
    free = `${start.slice(0, 64 - end.length)}${end}`;
  }
  Object.defineProperty(inputs.properties, free, {
    value: schema,
    enumerable: true,
    writable: true,
    configurable: true,
  });
  inputs.owners.set(`${where}:${name}`, free);
  if (isRequired) inputs.required.push(free);
  return free;
}

/** Maximum per operation. */
const MAX_PARAMETERS = 1_000;

/** Set by the body or by the authentication. */
const OWN_HEADERS = /^(accept|content-type|authorization|content-length|host|connection)$/i;

/** Reads the parameters of a path and of its operation; those of the operation override those of the path. */
export function readParameters(reading: Reading, inputs: Inputs, lists: readonly Part[]): Part[] {
  const byName = new Map<string, Part & { value: JsonObject }>();
  const bodies: Part[] = [];
  for (const { value, base, key } of lists) {
    for (const raw of Array.isArray(value) ? value : []) {
      const part = resolve(reading, { value: raw, base, key });
      if (!part) continue;
      const { in: where, name } = part.value;
      if (reading.isOld && (where === "body" || where === "formData")) bodies.push(part);
      else if (typeof name === "string" && typeof where === "string") byName.set(`${where}:${name}`, part);
    }
  }
  const parts = [...byName.values()];
  if (parts.length > MAX_PARAMETERS) reading.warn(`Only the first ${MAX_PARAMETERS} parameters are read.`);
  for (const part of parts.slice(0, MAX_PARAMETERS)) readParameter(reading, inputs, part);
  return bodies.slice(0, MAX_PARAMETERS);
}

export function resolve(reading: Reading, part: Part): (Part & { value: JsonObject }) | null {
  let at: Part | null = part;
  for (let steps = 0; at !== null && isObject(at.value) && typeof at.value.$ref === "string"; steps++) {
    if (steps > 10) return null;
    const ref: string = at.value.$ref;
    at = reading.refs.follow(ref, at.base);
    if (at === null) reading.warn(`${ref} can't be resolved. It is omitted.`);
  }
  return at !== null && isObject(at.value) ? (at as Part & { value: JsonObject }) : null;
}

const KEY = /^(api[-_]?key|access[-_]?token)$/i;

function readParameter(
  reading: Reading,
  inputs: Inputs,
  { value: parameter, base }: Part & { value: JsonObject },
) {
  const where = String(parameter.in);
  const name = String(parameter.name);
  const isRequired = parameter.required === true || where === "path";
  if (where === "cookie") {
    if (isRequired) reading.warn(`The cookie ${name} can't be sent. Put it in a connection.`);
    return;
  }
  if (!["path", "query", "header"].includes(where)) return;
  if (where === "header" && (OWN_HEADERS.test(name) || isSecretName(name))) return; // belongs in a connection
  const fault = where === "header" ? headerFault(name) : null;
  if (fault) return reading.warn(fault);
  if (where === "query" && KEY.test(name)) return;
  if (where === "path" && (parameter.style === "matrix" || parameter.style === "label"))
    reading.warn(
      `The style ${parameter.style} of the path argument ${name} can't be sent; the plain value is.`,
    );
  const content = isObject(parameter.content) ? Object.values(parameter.content)[0] : undefined;
  const schema = toJsonSchema(
    reading.refs,
    reading.isOld ? parameter : isObject(content) ? content.schema : parameter.schema,
    base,
    reading.warn,
  );
  if (reading.isOld) for (const own of ["name", "in", "required"]) delete schema[own];
  if (typeof parameter.description === "string" && schema.description === undefined)
    schema.description = parameter.description.slice(0, 2_048).toWellFormed();
  const style = isObject(content) ? "json" : styleOf(reading, parameter, schema);
  if (style !== null) schema[STYLE] = style;
  const argument = addInput(inputs, where, name, schema, isRequired);
  if (where === "query") inputs.query[name] = inputTemplate(argument);
  if (where === "header") inputs.headers[name] = inputTemplate(argument);
}

/** Undescribed query parameters in a path: always sent, with the given value, or an argument if it is in braces. */
export function readPathQuery(inputs: Inputs, query: URLSearchParams): void {
  for (const [name, value] of query) {
    if (inputs.owners.has(`query:${name}`) || Object.hasOwn(inputs.query, name)) continue;
    if (isSecretName(name) || KEY.test(name)) continue;
    const [, argument] = /^\{([^{}]+)\}$/.exec(value) ?? [];
    if (argument !== undefined) {
      const known = inputs.owners.get(`path:${argument}`);
      inputs.query[name] = inputTemplate(known ?? addInput(inputs, "query", name, { type: "string" }, true));
    } else if (!value.includes("{")) inputs.query[name] = value;
  }
}

/** Null for the default: repeated lists and exploded objects. */
export function styleOf(
  { isOld }: Reading,
  { style, explode, collectionFormat, in: where }: JsonObject,
  schema: JsonObject,
) {
  const types = [schema.type].flat();
  const isList = types.includes("array");
  if (!isList && !types.includes("object")) return null;
  if (isOld) {
    if (!isList || collectionFormat === "multi") return null;
    const named = { ssv: "ssv", tsv: "tsv", pipes: "pipes" }[String(collectionFormat)];
    return named ?? "csv";
  }
  if (style === "deepObject") return "deepObject";
  if (style === "spaceDelimited") return explode === true ? null : "ssv";
  if (style === "pipeDelimited") return explode === true ? null : "pipes";
  if (where === "query") return explode === false ? "csv" : null;
  return explode === true ? PAIRS : "csv";
}

/** The schema of all arguments. */
function schemaOf({ properties, required }: Inputs): JsonObject | null {
  const names = Object.keys(properties);
  if (names.length === 0) return null;
  const schema: JsonObject = { type: "object", properties };
  if (required.length > 0) schema.required = [...new Set(required)];
  return schema;
}

/** Maximum size of a schema that Weir's validator accepts. */
const MAX_WHOLE = 65_000;

/** Shorter schemas can't exceed the validator's limits. */
const FEW_CHARACTERS = 10_000;

const isTooMuch = (schema: JsonObject) =>
  measure(schema, FEW_CHARACTERS) > FEW_CHARACTERS &&
  schemaFaults(schema).some(({ type }) => type === "too_long");

/** The schema of the arguments, with the largest of them cut until Weir's validator accepts it. */
export function fitted(inputs: Inputs, warn: (text: string) => void): JsonObject | null {
  const schema = schemaOf(inputs);
  if (schema === null) return null;
  while (measure(schema, MAX_WHOLE) > MAX_WHOLE || isTooMuch(schema)) {
    const sized = Object.entries(inputs.properties).map(([name, property]) => ({
      name,
      size: measure(property, MAX_WHOLE),
    }));
    const largest = sized.reduce((one, other) => (other.size > one.size ? other : one));
    if (largest.size < 200) return { type: "object" };
    warn(`The schema of ${largest.name} is too large to store. Any value is accepted.`);
    inputs.properties[largest.name] = {};
  }
  return schema;
}
