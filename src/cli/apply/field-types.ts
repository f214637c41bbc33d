import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { Kind } from "./kinds.ts";
import type { Path } from "./text.ts";

/** Types of fields in files, by their schema. */
export interface Types {
  /**
   * Converts the value of a placeholder that is a whole value to a number, boolean or text,
   * if the field accepts only that.
   */
  fitted(kind: Kind, thing: JsonObject, path: Path, value: Scalar): Promise<Scalar>;
}

type Scalar = string | number | boolean;

/** Placeholders and templates are allowed for any number, so they don't reveal a field's type. */
const STAND_INS = /\/(Placeholder|TemplateExpression)$/;

/** The schema is built for the first placeholder. */
export function openTypes(): Types {
  let drawn: Promise<JsonObject> | null = null;
  return {
    async fitted(kind, thing, path, value) {
      drawn ??= drawSchema();
      const root = await drawn;
      const list = isObject(root.properties) ? root.properties[kind.section] : undefined;
      const found = new Set<string>();
      collect(root, isObject(list) ? list.items : undefined, thing, path, found);
      return convert(value, found);
    },
  };
}

async function drawSchema(): Promise<JsonObject> {
  const { schemaDocument, schemaUrn } = await import("../../resources/openapi/schemas.ts");
  return schemaDocument("config", schemaUrn("config"));
}

function convert(value: Scalar, types: ReadonlySet<string>): Scalar {
  if (types.has("string")) {
    const isTaken = types.has(typeof value) || (typeof value === "number" && types.has("integer"));
    return typeof value === "string" || isTaken ? value : String(value);
  }
  if (typeof value !== "string") return value;
  if ((types.has("number") || types.has("integer")) && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(value))
    return Number(value);
  if (types.has("boolean") && (value === "true" || value === "false")) return value === "true";
  return value;
}

/** Adds the possible types of a value at `path` of `thing`. */
function collect(
  root: JsonObject,
  schema: Json | undefined,
  thing: Json | undefined,
  path: Path,
  found: Set<string>,
): void {
  if (!isObject(schema)) return;
  if (typeof schema.$ref === "string") {
    if (STAND_INS.test(schema.$ref)) return;
    const name = schema.$ref.split("/").at(-1) ?? "";
    return collect(root, isObject(root.$defs) ? root.$defs[name] : undefined, thing, path, found);
  }
  for (const list of [schema.anyOf, schema.oneOf, schema.allOf])
    for (const one of Array.isArray(list) ? list : [])
      if (mayBe(one, thing)) collect(root, one, thing, path, found);
  const [step, ...rest] = path;
  if (step === undefined) {
    for (const type of [schema.type].flat()) if (typeof type === "string") found.add(type);
    return;
  }
  const inner = (thing as Record<string | number, Json> | undefined)?.[step];
  if (typeof step === "number") return collect(root, schema.items, inner, rest, found);
  const known = isObject(schema.properties) ? schema.properties[step] : undefined;
  collect(root, known ?? schema.additionalProperties, inner, rest, found);
}

/** False if a field of the value shows that it is another variant, such as one of another provider. */
function mayBe(variant: Json, value: Json | undefined): boolean {
  if (!isObject(variant) || !isObject(variant.properties) || !isObject(value)) return true;
  return Object.entries(variant.properties).every(
    ([name, field]) =>
      !isObject(field) ||
      typeof field.const !== "string" ||
      [undefined, field.const].includes(value[name] as string),
  );
}
