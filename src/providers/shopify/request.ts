import { AppError } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import { rangeEnd } from "../api/instants.ts";
import type { ExtractRequest } from "../contract.ts";
import { type Field, RESOURCES, type Resource, rowFields, snakeCase } from "./resources.ts";

export function findResource(spec: string): Resource {
  const resource = RESOURCES.find(({ name }) => name === spec);
  if (resource) return resource;
  const names = RESOURCES.map(({ name }) => name).join(", ");
  throw new AppError(
    "not_found",
    `Shopify has no resource ${JSON.stringify(spec)} here. Use one of ${names}.`,
  );
}

/** Names of a resource's columns. */
export const columnNames = (resource: Resource): string[] => [
  ...rowFields(resource).flatMap(({ name }) =>
    name === "id" ? ["id", "admin_graphql_api_id"] : [snakeCase(name)],
  ),
  ...(resource.rows === undefined ? [] : ["order_id", "order_name"]),
];

/** The fields to request: those of the requested columns, and those that pagination needs. */
export function chosenFields(
  resource: Resource,
  columns: readonly string[] | null,
  cursor: string | null,
): readonly Field[] {
  const wanted = columns && new Set(columns.map((name) => name.split(/\.|__/)[0] ?? name).map(snakeCase));
  const known = new Set(columnNames(resource));
  for (const name of wanted ?? []) {
    if (!known.has(name)) {
      throw new AppError(
        "definition_invalid",
        `The resource ${resource.name} of Shopify has no column "${name}".`,
      );
    }
  }
  const always = new Set(["id", "updated_at", ...(cursor === null ? [] : [cursor])]);
  const chosen = (fields: readonly Field[]) =>
    fields.filter(
      ({ name }) => wanted === null || wanted.has(snakeCase(name)) || always.has(snakeCase(name)),
    );
  if (resource.rows === undefined) return chosen(resource.fields);
  const own = ["id", "name", "updatedAt"].map((name) => ({ name, type: name === "id" ? "ID" : "String" }));
  return [...own, ...resource.fields.map((field) => ({ ...field, of: chosen(field.of ?? []) }))];
}

/** The range of a cursor that Shopify can filter by; open at both ends if the cursor isn't a date. */
export interface Range {
  /** In snake_case. */
  field: string;
  from: string | null;
  to: string | null;
}

/** The range with its ends rounded to seconds, the end rounded up. */
export function checkRange(resource: Resource, range: ExtractRequest["range"]): Range | null {
  if (!range) return null;
  const field = snakeCase(range.field);
  const type = rowFields(resource).find(({ name }) => snakeCase(name) === field)?.type;
  if (type === undefined && !columnNames(resource).includes(field)) {
    throw new AppError(
      "cursor_field_missing",
      `The resource ${resource.name} of Shopify has no column "${range.field}", which is to be its cursor.`,
      { details: { table: resource.name, field: range.field } },
    );
  }
  if (type !== "DateTime") return { field, from: null, to: null };
  return { field, from: secondOf(range.field, range.from, 0), to: secondOf(range.field, range.to, 999) };
}

/** Shopify's search is accurate to the second. */
function secondOf(field: string, value: Json, roundMs: number): string | null {
  const ms = rangeEnd(field, value);
  return ms === null ? null : wholeSecond(ms + roundMs);
}

export const wholeSecond = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;
