import type { Field, Resource } from "./resources.ts";

/**
 * Fields omitted from queries: `Type.field` if the API version lacks it, and paths such as `lineItems.product` that the
 * token may not read.
 */
export type Omitted = ReadonlySet<string>;

/** The query for one page of a resource. */
export function pageQuery(
  resource: Resource,
  fields: readonly Field[],
  leftOut: Omitted,
  sort: string | null,
): string {
  const { name, root, type, args } = resource;
  const filters = [
    "first: $first, after: $after",
    ...(Object.keys(resource.filters).length > 0 || resource.hasIdSearch ? ["query: $query"] : []),
    ...(sort === null ? [] : [`sortKey: ${sort}`]),
    ...(args ? [args] : []),
  ].join(", ");
  const variables = filters.includes("$query")
    ? "$first: Int!, $after: String, $query: String"
    : "$first: Int!, $after: String";
  const nodes = selection(fields, type, leftOut);
  return `query ${name}(${variables}) { ${root}(${filters}) { nodes { ${nodes} } pageInfo { hasNextPage endCursor } } }`;
}

/** The query for more items of a list nested in one object. */
export function moreQuery(type: string, field: Field, path: string, leftOut: Omitted): string {
  const list = field.kind === "list";
  const variables = list ? "$id: ID!, $first: Int!" : "$id: ID!, $first: Int!, $after: String";
  const paging = list ? "first: $first" : "first: $first, after: $after";
  const body = selection(field.of ?? [], field.type, leftOut, path);
  const inner = list ? body : `nodes { ${body} } pageInfo { hasNextPage endCursor }`;
  return `query more(${variables}) { node(id: $id) { ... on ${type} { ${field.name}(${paging}) { ${inner} } } } }`;
}

/** Whether a bulk operation supports these fields, and its file shows the parent of each line. */
export const canBeBulk = (fields: readonly Field[]): boolean =>
  fields.filter(({ kind }) => kind === "connection").length <= 1 && !fields.some(hasListsBelow);

const hasListsBelow = ({ kind, of = [] }: Field): boolean =>
  kind === "list" || of.some((field) => field.kind !== undefined || hasListsBelow(field));

/** The query of a bulk operation: complete connections by their edges, without pagination. */
export function bulkQuery(
  { root, type, args }: Resource,
  fields: readonly Field[],
  leftOut: Omitted,
  search: string | null,
): string {
  const parameters = [
    ...(search === null ? [] : [`query: ${JSON.stringify(search)}`]),
    ...(args ? [args] : []),
  ];
  const head = parameters.length > 0 ? `${root}(${parameters.join(", ")})` : root;
  return `{ ${head} { edges { node { ${selection(fields, type, leftOut, "", true)} } } } }`;
}

/** The fields of an object of `type`, always including `id` if there is one. */
function selection(
  fields: readonly Field[],
  type: string,
  leftOut: Omitted,
  at = "",
  isBulk = false,
): string {
  return fields
    .filter((field) => !leftOut.has(`${type}.${field.name}`) && !leftOut.has(pathOf(at, field)))
    .map((field) => fieldText(field, leftOut, pathOf(at, field), isBulk))
    .join(" ");
}

export const pathOf = (at: string, { name }: Pick<Field, "name">): string =>
  at === "" ? name : `${at}.${name}`;

function fieldText(field: Field, leftOut: Omitted, path: string, isBulk: boolean): string {
  const args = [
    ...(field.first === undefined || isBulk ? [] : [`first: ${field.first}`]),
    ...(field.args ? [field.args] : []),
  ];
  const head = args.length > 0 ? `${field.name}(${args.join(", ")})` : field.name;
  if (!field.of) return head;
  const body = selection(field.of, field.type, leftOut, path, isBulk) || "__typename";
  if (isBulk && field.kind === "connection") return `${head} { edges { node { ${body} } } }`;
  return field.kind === "connection"
    ? `${head} { nodes { ${body} } pageInfo { hasNextPage endCursor } }`
    : `${head} { ${body} }`;
}

/** Date values of a search are quoted; they can only be timestamps. */
export const searchText = (conditions: readonly (string | null)[]): string | null =>
  conditions.filter((condition) => condition !== null).join(" AND ") || null;
