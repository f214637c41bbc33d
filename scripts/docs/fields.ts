/** A JSON Schema as a Markdown table: a line for each field, with those of nested objects and lists below. */

export interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  "x-default"?: unknown;
  description?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
}

interface Field {
  name: string;
  schema: Schema;
  isRequired: boolean;
}

/** Fields of an input. Required ones are marked. */
export function inputTable(schema: Schema): string {
  const fields = fieldsOf(schema, "");
  if (fields.length === 0) return "None.";
  const rows = fields.map(({ name, schema: each, isRequired }) => [
    `\`${name}\`${isRequired ? " \\*" : ""}`,
    typeOf(each),
    meaningOf(each),
  ]);
  const hasRequired = fields.some((field) => field.isRequired);
  return table(["field", "what", "meaning"], rows) + (hasRequired ? "\n\n\\* has to be there." : "");
}

/** Fields of an output. */
export function outputTable(schema: Schema): string {
  const rows = fieldsOf(schema, "").map(({ name, schema: each }) => [
    `\`${name}\``,
    typeOf(each),
    sentence(each.description) ?? "",
  ]);
  return table(["field", "what", "meaning"], rows);
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("\n", " ");

function fieldsOf(schema: Schema, before: string): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, each]) => {
    const isRequired = (schema.required ?? []).includes(key) && each.default === undefined;
    return [{ name: before + key, schema: each, isRequired }, ...belowOf(each, before + key)];
  });
}

/** Returns the fields nested in `schema`. For several shapes, each field once. */
function belowOf(schema: Schema, name: string): Field[] {
  if (schema.properties) return fieldsOf(schema, `${name}.`);
  if (schema.items) return belowOf(schema.items, `${name}[]`);
  const fields = new Map<string, Field>();
  for (const each of (schema.anyOf ?? []).flatMap((shape) => belowOf(shape, name))) {
    const known = fields.get(each.name);
    fields.set(each.name, {
      ...each,
      schema: known ? { anyOf: [known.schema, each.schema], ...described(known.schema) } : each.schema,
      isRequired: false,
    });
  }
  return [...fields.values()];
}

const described = ({ description }: Schema) => (description === undefined ? {} : { description });

function typeOf(schema: Schema): string {
  if (schema.const !== undefined) return `\`${schema.const}\``;
  if (schema.enum) return schema.enum.map((each) => `\`${each}\``).join(", ");
  if (schema.anyOf)
    return [...new Set(schema.anyOf.flatMap((each) => each.anyOf ?? [each]).map(typeOf))].join(" or ");
  if (schema.type === "array") return `list of ${schema.items ? typeOf(schema.items) : "anything"}`;
  if (schema.format === "uuid") return "id";
  if (schema.format === "date-time") return "instant";
  return WORDS[schema.type ?? ""] ?? "anything";
}

const WORDS: Readonly<Record<string, string>> = {
  object: "object",
  string: "text",
  boolean: "true or false",
  integer: "whole number",
  number: "number",
  null: "null",
};

function meaningOf(schema: Schema): string {
  const implied = schema.default ?? schema["x-default"];
  const fallback = implied === undefined ? null : `Default \`${JSON.stringify(implied)}\`.`;
  return [sentence(schema.description), rangeOf(schema), fallback].filter(Boolean).join(" ");
}

function sentence(text: string | undefined): string | null {
  if (!text) return null;
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function rangeOf(schema: Schema): string | null {
  if (schema.type === "array") return between(schema.minItems, schema.maxItems, " entries");
  if (schema.type !== "string") return between(schema.minimum, schema.maximum, "");
  const { minLength = 0, maxLength } = schema;
  return between(minLength > 1 ? minLength : undefined, maxLength, " characters");
}

function between(least: number | undefined, most: number | undefined, what: string): string | null {
  const text = (value: number) => value.toLocaleString("en-US");
  if (least !== undefined && most !== undefined) return `${text(least)} to ${text(most)}${what}.`;
  if (most !== undefined) return `At most ${text(most)}${what}.`;
  return least === undefined ? null : `At least ${text(least)}${what}.`;
}
