import type { JsonObject } from "../../../base/json.ts";
import type { Typed } from "./draw.ts";

const fixed = { isFilled: false, hasPlaceholders: false };

/** A JSON Schema keyword that contains schemas. */
const schema = (description: string): JsonObject => ({
  description,
  anyOf: [{ $ref: "" }, { type: "boolean" }],
});

const KEYWORDS: Readonly<Record<string, JsonObject>> = {
  type: {
    description: "Type of the value, or several types",
    anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }],
    examples: ["object"],
  },
  title: { type: "string", description: "Name that people read", examples: ["Amount"] },
  description: { type: "string", description: "What the value means", examples: ["In euros"] },
  format: { type: "string", description: "Format of a string", examples: ["date"] },
  enum: {
    type: "array",
    description: "Allowed values",
    items: {},
    examples: [["small", "large"]],
  },
  properties: {
    type: "object",
    description: "Schemas of an object's fields, by name",
    additionalProperties: schema("Schema of the field"),
    examples: [{ amount: { type: "number" } }],
  },
  required: {
    type: "array",
    items: { type: "string" },
    description: "Required fields",
    examples: [["amount"]],
  },
  pattern: {
    type: "string",
    description: "Regular expression that a string must match",
    examples: ["^[A-Z]{2}$"],
  },
  minimum: { type: "number", description: "Minimum value", examples: [0] },
  maximum: { type: "number", description: "Maximum value", examples: [1000] },
  minLength: { type: "integer", description: "Minimum number of characters", examples: [1] },
  maxLength: { type: "integer", description: "Maximum number of characters", examples: [200] },
};

/** Texts used instead of values, and schemas that people write. */
export const TEXTS: Readonly<Record<string, Typed>> = {
  TemplateExpression: {
    mode: fixed,
    draw: () => ({
      title: "Template",
      type: "string",
      pattern: "^\\{\\{[\\s\\S]*\\}\\}$",
      description: "A template. Its value replaces it when the run starts",
      examples: ["{{payload.total}}"],
    }),
  },
  Placeholder: {
    mode: fixed,
    draw: () => ({
      title: "Placeholder",
      type: "string",
      pattern: "^\\$\\{[^{}]+\\}$|\\$\\{[A-Z_][A-Z0-9_]*\\}",
      description: `\${NAME} is a value or an environment variable of weir apply. \${connection:SLUG} and the like are the ID of a resource in a file or on the server`,
      examples: [`\${SHOP_PASSWORD}`, `\${connection:shop}`],
    }),
  },
  JsonSchema: {
    prefix: "Templated",
    draw: ({ ref, mode }) => {
      const own = ref("JsonSchema");
      const keywords = JSON.stringify(KEYWORDS).replaceAll('"$ref":""', `"$ref":${JSON.stringify(own.$ref)}`);
      const properties: Record<string, JsonObject> = JSON.parse(keywords);
      return {
        title: "JSON Schema",
        type: "object",
        description: "A JSON Schema (draft 2020-12); other keywords are allowed too",
        properties: mode.isFilled ? filled(properties, ref("TemplateExpression")) : properties,
        additionalProperties: { description: "Any keyword of JSON Schema" },
        examples: [{ type: "object", properties: { amount: { type: "number" } }, required: ["amount"] }],
      };
    },
  },
};

/** The keywords, each with a template as an alternative. */
const filled = (keywords: Record<string, JsonObject>, template: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(keywords).map(([name, { description = "", examples = [], ...rest }]) => [
      name,
      { description, examples, anyOf: [rest, template] },
    ]),
  );
