import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { damaged } from "../fault.ts";
import { logicalReading } from "./logical.ts";
import { array, enumeration, fixed, jsonOf, map, PRIMITIVES, type Reading, reading, union } from "./types.ts";

export interface AvroColumn {
  name: string;
  reading: Reading;
}

/** The columns of a schema: the fields of a record, or one named `value` for any other type. */
export function columnsOf(schema: Json): AvroColumn[] {
  const names = new Names();
  const whole = unwrapped(schema);
  if (!isRecord(whole)) return [{ name: "value", reading: names.readingOf(whole, "") }];
  return names.fieldsOf(whole, "");
}

/** Avro allows `{"type": {"type": "record", …}}`. */
function unwrapped(schema: Json): Json {
  return isObject(schema) && isObject(schema.type) && schema.logicalType === undefined
    ? unwrapped(schema.type)
    : schema;
}

const isRecord = (schema: Json): schema is JsonObject =>
  isObject(schema) && (schema.type === "record" || schema.type === "error");

/** Builds readings from a schema, whose named types may be reused, also recursively. */
class Names {
  readonly #known = new Map<string, Reading>();

  readingOf(schema: Json, namespace: string): Reading {
    if (Array.isArray(schema)) {
      const branches = schema.map((branch) => ({
        reading: this.readingOf(branch, namespace),
        isNull: unwrapped(branch) === "null" || (isObject(branch) && branch.type === "null"),
      }));
      return union(branches);
    }
    if (typeof schema === "string") return PRIMITIVES.get(schema)?.() ?? this.#named(schema, namespace);
    if (!isObject(schema)) throw damaged("its schema has a type that is neither a name nor an object");
    const { type } = schema;
    switch (type) {
      case "record":
      case "error":
        return this.#record(schema, namespace);
      case "enum":
        return this.#keep(schema, namespace, enumeration(list(schema.symbols).map(String)));
      case "fixed":
        return this.#keep(schema, namespace, this.#fixed(schema));
      case "array":
        return array(this.readingOf(schema.items ?? null, namespace));
      case "map":
        return map(this.readingOf(schema.values ?? null, namespace));
      default: {
        const logical = typeof type === "string" ? logicalOf(type, schema, null) : null;
        return logical ?? this.readingOf(type ?? null, namespace);
      }
    }
  }

  fieldsOf(schema: JsonObject, namespace: string): AvroColumn[] {
    const self = reading("JSON", (tap) => {
      const values = fields.map((field) => `${JSON.stringify(field.name)}:${jsonOf(field.reading, tap)}`);
      return `{${values.join(",")}}`;
    });
    this.#keep(schema, namespace, self);
    const inner = namespaceOf(schema, namespace);
    const fields: AvroColumn[] = list(schema.fields).map((field) => {
      if (!isObject(field) || typeof field.name !== "string")
        throw damaged("its schema has a field without a name");
      // Some programs put a logical type next to the field's type, where the specification ignores it.
      return { name: field.name, reading: this.readingOf(field.type ?? null, inner) };
    });
    return fields;
  }

  #record(schema: JsonObject, namespace: string): Reading {
    this.fieldsOf(schema, namespace);
    return this.#named(String(schema.name), namespaceOf(schema, namespace));
  }

  #fixed(schema: JsonObject): Reading {
    const size = Number(schema.size);
    if (!Number.isSafeInteger(size) || size < 0) throw damaged("its schema has a fixed without a size");
    return logicalOf("fixed", schema, size) ?? fixed(size);
  }

  #keep(schema: JsonObject, namespace: string, made: Reading): Reading {
    const name = String(schema.name ?? "");
    this.#known.set(fullName(name, namespaceOf(schema, namespace)), made);
    return made;
  }

  #named(name: string, namespace: string): Reading {
    const found = this.#known.get(fullName(name, namespace)) ?? this.#known.get(name);
    if (found === undefined) throw damaged(`its schema uses an unknown type ${name}`);
    return found;
  }
}

const list = (value: Json | undefined): Json[] => {
  if (!Array.isArray(value)) throw damaged("its schema lacks a list of fields or symbols");
  return value;
};

const fullName = (name: string, namespace: string) =>
  name.includes(".") || namespace === "" ? name : `${namespace}.${name}`;

/** The namespace within a named type: that of its full name, its own, or that of its parent. */
function namespaceOf({ name, namespace }: JsonObject, around: string): string {
  const dot = String(name ?? "").lastIndexOf(".");
  if (dot >= 0) return String(name).slice(0, dot);
  return typeof namespace === "string" ? namespace : around;
}

function logicalOf(base: string, schema: JsonObject, size: number | null): Reading | null {
  const { logicalType, precision, scale } = schema;
  return typeof logicalType === "string"
    ? logicalReading(base, { logicalType, precision, scale, size })
    : null;
}
