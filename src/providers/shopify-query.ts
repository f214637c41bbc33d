import type { Field, Resource } from "./shopify-resources.ts";

/**
 * What is left out of a query: `Type.field` that the API's version has not, and paths such as `lineItems.product` that
 * the token may not read.
 */
export type LeftOut = ReadonlySet<string>;

/** The query for one page of a resource. */
export function pageQuery(
  resource: Resource,
  fields: readonly Field[],
  leftOut: LeftOut,
  sort: string | null,
): string {
  const { name, root, type, args } = resource;
  const given = [
    "first: $first, after: $after",
    ...(Object.keys(resource.filters).length > 0 || resource.hasIdSearch ? ["query: $query"] : []),
    ...(sort === null ? [] : [`sortKey: ${sort}`]),
    ...(args ? [args] : []),
  ].join(", ");
  const variables = given.includes("$query")
    ? "$first: Int!, $after: String, $query: String"
    : "$first: Int!, $after: String";
  const nodes = selection(fields, type, leftOut);
  return `query ${name}(${variables}) { ${root}(${given}) { nodes { ${nodes} } pageInfo { hasNextPage endCursor } } }`;
}

/** The query for more of a list that hangs from one object. */
export function moreQuery(type: string, field: Field, path: string, leftOut: LeftOut): string {
  const list = field.kind === "list";
  const variables = list ? "$id: ID!, $first: Int!" : "$id: ID!, $first: Int!, $after: String";
  const paging = list ? "first: $first" : "first: $first, after: $after";
  const body = selection(field.of ?? [], field.type, leftOut, path);
  const inner = list ? body : `nodes { ${body} } pageInfo { hasNextPage endCursor }`;
  return `query more(${variables}) { node(id: $id) { ... on ${type} { ${field.name}(${paging}) { ${inner} } } } }`;
}

/** The fields below an object of `type`; `id` is always among them where the object has one. */
function selection(fields: readonly Field[], type: string, leftOut: LeftOut, at = ""): string {
  return fields
    .filter((field) => !leftOut.has(`${type}.${field.name}`) && !leftOut.has(pathOf(at, field)))
    .map((field) => fieldText(field, leftOut, pathOf(at, field)))
    .join(" ");
}

export const pathOf = (at: string, { name }: Pick<Field, "name">): string =>
  at === "" ? name : `${at}.${name}`;

function fieldText(field: Field, leftOut: LeftOut, path: string): string {
  const args = [
    ...(field.first === undefined ? [] : [`first: ${field.first}`]),
    ...(field.args ? [field.args] : []),
  ];
  const head = args.length > 0 ? `${field.name}(${args.join(", ")})` : field.name;
  if (!field.of) return head;
  const body = selection(field.of, field.type, leftOut, path) || "__typename";
  return field.kind === "connection"
    ? `${head} { nodes { ${body} } pageInfo { hasNextPage endCursor } }`
    : `${head} { ${body} }`;
}

/** The date values of a search are quoted; nothing else than an instant gets there. */
export const searchText = (conditions: readonly (string | null)[]): string | null =>
  conditions.filter((condition) => condition !== null).join(" AND ") || null;
