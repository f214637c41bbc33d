import type { Schema } from "../calls.ts";
import { titleOf } from "../parts/form/schema.ts";

type Translate = (text: string) => string;

const isObject = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Translates the titles and descriptions in a schema. `name` is the property that it describes. */
export function translatedSchema(schema: Schema, translate: Translate, name?: string): Schema {
  const inner = (value: unknown) => (isObject(value) ? translatedSchema(value, translate) : value);
  const byName = (value: unknown, isNamed: boolean) =>
    isObject(value)
      ? Object.fromEntries(
          Object.entries(value).map(([key, of]) => [
            key,
            isObject(of) ? translatedSchema(of, translate, isNamed ? key : undefined) : of,
          ]),
        )
      : value;
  const part = (keyword: string, value: unknown): unknown => {
    switch (keyword) {
      case "title":
      case "description":
        return typeof value === "string" ? translate(value) : value;
      case "properties":
        return byName(value, true);
      case "patternProperties":
        return byName(value, false);
      case "anyOf":
      case "oneOf":
      case "allOf":
        return Array.isArray(value) ? value.map(inner) : value;
      case "items":
      case "additionalProperties":
        return inner(value);
      default:
        return value;
    }
  };
  return {
    ...Object.fromEntries(Object.entries(schema).map(([keyword, value]) => [keyword, part(keyword, value)])),
    ...(name === undefined ? {} : { title: translate(titleOf(name, schema)) }),
  };
}
