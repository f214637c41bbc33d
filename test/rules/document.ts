import { Errors } from "typebox/schema";
import type { startApp } from "../support/app.ts";

export type Schema = { [key: string]: unknown } & { $ref?: string };

interface Parameter {
  $ref?: string;
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  schema: Schema;
}

interface Content {
  [mediaType: string]: { schema: Schema; example?: unknown; examples?: Record<string, { value: unknown }> };
}

interface Documented {
  operationId: string;
  "x-role": string;
  security: Record<string, unknown>[];
  parameters: Parameter[];
  requestBody?: { required: boolean; content: Content };
  responses: Record<string, { $ref?: string; description: string; content?: Content }>;
}

interface Document {
  openapi: string;
  paths: Record<string, Record<string, Documented>>;
  components: Record<string, Record<string, Schema>>;
}

/** One operation of the document with all references resolved. */
export interface Described extends Omit<Documented, "responses"> {
  method: string;
  path: string;
  responses: Record<string, { description: string; content?: Content }>;
}

/** `/openapi.json` as served, and its operations with all references resolved. */
export async function readDocument({ anonymous }: Awaited<ReturnType<typeof startApp>>) {
  const { text } = await anonymous("GET", "/openapi.json");
  const document = JSON.parse(text) as Document;
  const known = new Map<string, unknown>();
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): Described => {
      const whole = followed(operation, document, known) as Omit<Described, "method" | "path">;
      return { ...whole, method: method.toUpperCase(), path };
    }),
  );
  return { text, document, operations };
}

/**
 * Returns a copy with references replaced by their targets; examples stay unchanged.
 * A recursive schema accepts anything there.
 */
function followed(value: unknown, document: Document, known = new Map<string, unknown>()): unknown {
  if (Array.isArray(value)) return value.map((item) => followed(item, document, known));
  if (typeof value !== "object" || value === null) return value;
  const { $ref } = value as Schema;
  if (typeof $ref === "string") {
    if (known.has($ref)) return known.get($ref);
    const found = $ref
      .slice(2)
      .split("/")
      .reduce<unknown>((at, name) => (at as Schema | undefined)?.[name], document);
    if (found === undefined) throw new Error(`Nothing is at ${$ref}.`);
    known.set($ref, {});
    const whole = followed(found, document, known);
    known.set($ref, whole);
    return whole;
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === "example" || key === "examples" ? item : followed(item, document, known),
    ]),
  );
}

/** Errors of an independent validator for a value, as texts. Empty if it matches. */
export function misfits(schema: Schema, value: unknown): string[] {
  const [fits, errors] = Errors(schema, value);
  return fits ? [] : errors.map((error) => `${error.instancePath || "/"} ${error.message}`);
}
