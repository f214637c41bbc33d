import type { TSchema } from "@sinclair/typebox";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { read } from "../../base/shape.ts";

/** Example texts, by field name. */
const BY_NAME: Readonly<Record<string, string>> = {
  email: "ada@example.com",
  password: "correct horse battery staple",
  firstName: "Ada",
  lastName: "Lovelace",
  name: "Orders",
  title: "Orders",
  displayName: "Orders",
  organizationName: "Acme",
  slug: "orders",
  layer: "raw",
  dataset: "shop",
  table: "orders",
  sql: "SELECT count(*) AS orders FROM raw.shop__orders",
  dataType: "VARCHAR",
  locale: "en-GB",
  timezone: "Europe/Berlin",
  correlationId: "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
  organizationId: "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
  createdBy: "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
  updatedBy: "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
  ipAddress: "192.0.2.1",
  ip: "192.0.2.1",
  userAgent: "Mozilla/5.0",
  lastFour: "9f3a",
  displayStatus: "Completed",
  type: "action.completed",
  hash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  version: "0.1.0",
};

const BY_FORMAT: Readonly<Record<string, string>> = {
  uuid: "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
  "date-time": "2026-01-31T09:30:00.000Z",
  date: "2026-01-31",
  email: "ada@example.com",
  uri: "https://example.com/",
  "new-password": "correct horse battery staple",
};

/** For texts with a pattern. The first that matches is used. */
const CANDIDATES = [
  "orders",
  "example",
  "Orders",
  "application/json",
  "/orders",
  "orders.csv",
  "UTC",
  "0 7 * * *",
  "text",
  "https://example.com",
  "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  "SHA256:uNiVztksCsDhcc0u9e8BgrJXVGDHaRO7e2Vt1gtCwzI",
  "-----BEGIN CERTIFICATE-----\nMIIB…\n-----END CERTIFICATE-----",
  "amzn1.sp.solution.0190a1b2-c3d4-7e5f",
  "a",
  "1",
];

/** Returns a realistic value that matches the shape. Undefined if none was found. */
export function exampleOf(shape: TSchema): Json | undefined {
  const made = sample(JSON.parse(JSON.stringify(shape)), "");
  return fits(shape, made) ? made : undefined;
}

/** Returns a value that matches the shape of one field. Undefined if none was found. */
export function exampleIn(schema: JsonObject, name: string): Json | undefined {
  const made = sample(schema, name, true);
  return fits(schema as TSchema, made) ? made : undefined;
}

/** Returns an example of a request: its required fields, or if there are none, the first field. */
export function requestExampleOf(shape: TSchema): Json | undefined {
  const whole = exampleOf(shape);
  if (!isObject(whole)) return whole;
  const { required, properties } = JSON.parse(JSON.stringify(shape));
  const requiredNames = Array.isArray(required)
    ? required.map(String).filter((name) => properties[name].default === undefined)
    : [];
  const names = requiredNames.length > 0 ? requiredNames : Object.keys(whole).slice(0, 1);
  return Object.fromEntries(Object.entries(whole).filter(([name]) => names.includes(name)));
}

const fits = (shape: TSchema, value: Json) => read(shape, value, []).faults.length === 0;

/** With `isShort`, optional fields of objects are left out. */
function sample(schema: JsonObject, name: string, isShort = false): Json {
  const { anyOf, enum: values, type, examples, "x-default": implied } = schema;
  if (Array.isArray(examples) && examples[0] !== undefined) return examples[0];
  if (schema.default !== undefined) return schema.default;
  if (implied !== undefined) return implied;
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(values)) return values[0] ?? null;
  if (Array.isArray(anyOf)) return isObject(anyOf[0]) ? sample(anyOf[0], name, isShort) : null;
  switch (type) {
    case "string":
      return sampleText(schema, name);
    case "integer":
    case "number":
      return sampleNumber(schema);
    case "boolean":
      return true;
    case "array":
      return isObject(schema.items) ? [sample(schema.items, name.replace(/s$/, ""), isShort)] : [];
    case "object":
      return sampleObject(schema, isShort);
    default:
      return null;
  }
}

function sampleText(schema: JsonObject, name: string): string {
  const format = BY_FORMAT[String(schema.format)];
  if (format !== undefined) return format;
  const known = BY_NAME[name];
  const texts = [...(known === undefined ? [] : [known]), ...CANDIDATES];
  const least = Number(schema.minLength ?? 0);
  return texts.find((text) => fits(schema as TSchema, text)) ?? "x".repeat(least);
}

function sampleNumber({ minimum, maximum }: JsonObject): number {
  const least = typeof minimum === "number" ? minimum : 1;
  return typeof maximum === "number" ? Math.min(Math.max(least, 1), maximum) : Math.max(least, 1);
}

function sampleObject(schema: JsonObject, isShort: boolean): JsonObject {
  const { properties, patternProperties, additionalProperties, required } = schema;
  if (isObject(properties)) {
    const needed = Array.isArray(required) ? required : [];
    const fields = Object.entries(properties);
    const shown = isShort
      ? fields.filter(([name], at) => needed.includes(name) || needed.length + at === 0)
      : fields;
    return Object.fromEntries(
      shown.map(([name, value]) => [name, isObject(value) ? sample(value, name, isShort) : null]),
    );
  }
  const values = isObject(patternProperties) ? Object.values(patternProperties)[0] : additionalProperties;
  return isObject(values) && Object.keys(values).length > 0 ? { orders: sample(values, "") } : {};
}
