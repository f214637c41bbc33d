import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { isTextual } from "./media.ts";
import { inputTemplate } from "./names.ts";
import {
  addInput,
  fileInput,
  type Inputs,
  REPEATED,
  type Reading,
  resolve,
  STYLE,
  styleOf,
} from "./openapi-inputs.ts";
import type { Part } from "./openapi-refs.ts";
import { toJsonSchema } from "./openapi-schema.ts";

const MULTIPART = /^multipart\/form-data\b/i;
const FORM = /^application\/x-www-form-urlencoded\b/i;
/** Media types that can be sent, best first. */
const MEDIA = [/^application\/json\b/i, /[/+]json\b/i, FORM, MULTIPART, /^text\//i, /^\*\/\*$/] as const;

/** Reads the request body of an OpenAPI 3 operation. */
export function readRequestBody(reading: Reading, inputs: Inputs, part: Part): void {
  const body = resolve(reading, part);
  const content = body && isObject(body.value.content) ? body.value.content : null;
  if (!body || !content) return;
  const types = Object.keys(content);
  const type = MEDIA.map((media) => types.find((each) => media.test(each))).find(
    (each) => each !== undefined,
  );
  const named = type ?? types[0];
  if (named === undefined) return;
  const isRequired = body.value.required === true;
  if (type === undefined && !isTextual(named)) reading.warn(`A body of ${named} can't be sent yet.`);
  const media = content[named];
  const schema = toJsonSchema(reading.refs, isObject(media) ? media.schema : {}, body.base, reading.warn);
  if (isTextual(named)) return addText(inputs, named, schema, isRequired);
  const encoding = isObject(media) && isObject(media.encoding) ? media.encoding : {};
  const form = FORM.test(named) ? withStyles(schema, encoding) : schema;
  addBody(inputs, named, MULTIPART.test(named) ? withFiles(schema) : form, isRequired);
}

/** A single argument: such a body can't be built from fields. */
function addText(inputs: Inputs, type: string, schema: JsonObject, isRequired: boolean): void {
  const text = { type: "string", description: `The body, as text of ${type.slice(0, 100)}` };
  addBody(inputs, type, schema.type === "string" ? schema : text, isRequired);
}

/** Adds to a form's schema how its lists are written: one field per item, unless the description says otherwise. */
function withStyles(schema: JsonObject, encoding: JsonObject): JsonObject {
  if (!isObject(schema.properties)) return schema;
  const properties = Object.entries(schema.properties).map(([name, property]): [string, Json] => {
    const own = isObject(encoding[name]) ? encoding[name] : {};
    const style = isObject(property) ? fieldStyle(property, own) : null;
    return [name, style === null ? property : { ...(property as JsonObject), [STYLE]: style }];
  });
  return { ...schema, properties: Object.fromEntries(properties) };
}

/** Null for nested fields in brackets, as most servers read them. */
function fieldStyle(
  { type }: JsonObject,
  { style = "form", explode = style === "form", contentType }: JsonObject,
): string | null {
  const isList = [type].flat().includes("array");
  if ((isList || [type].flat().includes("object")) && /[/+]json\b/i.test(String(contentType))) return "json";
  if (!isList || style === "deepObject") return null;
  if (explode === true) return REPEATED;
  return { spaceDelimited: "ssv", pipeDelimited: "pipes" }[String(style)] ?? "csv";
}

/** A form's schema with file arguments; a list of files is one argument. */
function withFiles(schema: JsonObject): JsonObject {
  if (!isObject(schema.properties)) return schema;
  const properties = Object.entries(schema.properties).map(([name, property]): [string, Json] => {
    if (isFile(property)) return [name, fileInput(isObject(property) ? property.description : undefined)];
    const isList = isObject(property) && property.type === "array" && isFile(property.items ?? null);
    return [name, isList ? fileInput(property.description, true) : property];
  });
  return { ...schema, properties: Object.fromEntries(properties) };
}

const isFile = (schema: Json): boolean => isObject(schema) && schema.format === "binary";

/** Reads the Swagger 2 parameters that make up the body. */
export function readOldBody(
  reading: Reading,
  inputs: Inputs,
  parts: readonly Part[],
  consumes: readonly string[],
): void {
  const whole = parts.map(({ value }) => value).find((value) => isObject(value) && value.in === "body");
  const part = parts.find(({ value }) => value === whole);
  if (isObject(whole) && part) {
    const schema = toJsonSchema(reading.refs, whole.schema, part.base, reading.warn);
    const type = consumes.find((each) => MEDIA[1].test(each));
    const [text] = type === undefined ? consumes.filter(isTextual) : [];
    if (text !== undefined) return addText(inputs, text, schema, whole.required === true);
    return addBody(inputs, type ?? "application/json", schema, whole.required === true);
  }
  if (parts.length === 0) return;
  const properties: JsonObject = {};
  const required: string[] = [];
  for (const { value, base } of parts) {
    if (!isObject(value) || typeof value.name !== "string") continue;
    const schema = toJsonSchema(reading.refs, value, base, reading.warn);
    const isList = [schema.type].flat().includes("array") && value.type === "array";
    if (isList) schema[STYLE] = styleOf(reading, value, schema) ?? REPEATED;
    properties[value.name] = schema;
    if (value.required === true) required.push(value.name);
  }
  const hasFile = parts.some(({ value }) => isObject(value) && value.type === "file");
  const type =
    hasFile || (consumes.length > 0 && consumes.every((each) => MULTIPART.test(each)))
      ? "multipart/form-data"
      : "application/x-www-form-urlencoded";
  const schema = { type: "object", properties, ...(required.length > 0 ? { required } : {}) };
  addBody(inputs, type, hasFile ? withFiles(schema) : schema, required.length > 0);
}

/** Fields of a plain object become separate arguments; any other body is one argument, `body`. */
export function addBody(inputs: Inputs, type: string, schema: JsonObject, isRequired: boolean): void {
  if (!MEDIA[0].test(type) && !/^\*\/\*$/.test(type)) inputs.headers["Content-Type"] = type;
  if (!isPlainObject(schema)) {
    const argument = addInput(inputs, "body", "body", schema, isRequired);
    inputs.body = inputTemplate(argument);
    return;
  }
  const properties = schema.properties as JsonObject;
  const required = Array.isArray(schema.required) ? schema.required : [];
  const template: [string, Json][] = Object.entries(properties).map(([name, property]) => {
    const argument = addInput(inputs, "body", name, property, isRequired && required.includes(name));
    return [name, inputTemplate(argument)];
  });
  inputs.body = Object.fromEntries(template);
}

const OPEN = ["allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "enum", "const"];

function isPlainObject(schema: JsonObject): boolean {
  const { type, properties, additionalProperties } = schema;
  const isObjectType = type === undefined || type === "object";
  const isClosed = !isObject(additionalProperties) && additionalProperties !== true;
  return (
    isObjectType &&
    isClosed &&
    isObject(properties) &&
    Object.keys(properties).length > 0 &&
    OPEN.every((key) => schema[key] === undefined)
  );
}
