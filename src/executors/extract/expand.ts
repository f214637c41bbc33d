import { AppError } from "../../base/errors.ts";
import type { Link, Provider } from "../../providers/contract.ts";
import type { KeyedTable } from "../../providers/contract-tables.ts";
import { type ResourceDefinition, tableName } from "./plan.ts";
import { MAX_RESOURCES, parsePattern, type TablePattern, wildcardOf } from "./wildcard.ts";

/** Maximum number of names in a message. */
const MAX_NAMES = 10;

interface Expanding {
  warn(text: string): void;
  log(text: string): void;
}

/**
 * Replaces resources with a wildcard by one resource per table. One statement finds all tables with their keys. A table
 * belongs to the resource that names it, otherwise to the first matching wildcard.
 *
 * Throws `not_found` for a wildcard without matches, and `definition_invalid` for more than `MAX_RESOURCES` resources,
 * for two tables with the same name in the lake, and for tables without a required key.
 */
export async function expand(
  resources: readonly ResourceDefinition[],
  { provider, link }: { provider: Provider; link: Link },
  tell: Expanding,
): Promise<ResourceDefinition[]> {
  const { tables } = provider;
  const schemas = resources.flatMap(({ spec }) => wildcardOf(spec)?.schema ?? []);
  if (!tables?.inSchemas || schemas.length === 0) return [...resources];
  const found = await tables.inSchemas(link, [...new Set(schemas.flatMap(spellings))]);
  const taken = new Set(
    resources.flatMap((resource) => (wildcardOf(resource.spec) ? [] : (named(resource, found) ?? []))),
  );
  const all = resources.flatMap((resource) => {
    if (!wildcardOf(resource.spec)) return [resource];
    const own = matching(resource, found, tell).filter((table) => !taken.has(table));
    for (const table of own) taken.add(table);
    tell.log(`${resource.spec}: ${own.length} tables and views.`);
    return resourcesOf(resource, own);
  });
  if (all.length > MAX_RESOURCES) {
    throw new AppError(
      "definition_invalid",
      `The wildcards make ${count(all.length)} resources, and an extract takes at most ${count(MAX_RESOURCES)}. Leave tables out with exclude, or spread them over several extracts.`,
      { details: { resources: all.length, limit: MAX_RESOURCES } },
    );
  }
  checkNames(all);
  return all;
}

/** A name as written, and as PostgreSQL folds it to lower case. */
const spellings = (name: string): string[] => [name, name.toLowerCase()];

/** Finds the table of a resource without a wildcard as the provider would. */
function named({ spec, name = "" }: ResourceDefinition, tables: readonly KeyedTable[]): KeyedTable | null {
  const pattern = parsePattern(spec ?? name);
  const [first] = pattern ? fitting(pattern, tables) : [];
  return first ?? null;
}

/** The tables that match a pattern, first case-sensitively, then folded to lower case. */
function fitting({ schema, table, isExact }: TablePattern, tables: readonly KeyedTable[]): KeyedTable[] {
  const schemas = schema === null ? [null] : spellings(schema);
  for (const letters of spellings(table)) {
    const fits = (name: string) => (isExact ? name === letters : fitsPieces(name, letters.split("*")));
    for (const each of schemas) {
      const fit = tables.filter(
        (one) => (each === null ? one.isVisible : one.schema === each) && fits(one.table),
      );
      if (fit.length > 0) return fit;
    }
  }
  return [];
}

/** Whether `name` consists of the pieces in order, with anything in between. */
function fitsPieces(name: string, [first = "", ...rest]: readonly string[]): boolean {
  const last = rest.pop() ?? "";
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const piece of rest) {
    const found = name.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}

/** Returns the tables that match a wildcard, without excluded ones. Throws `not_found` if none is left. */
function matching(
  { spec, exclude = [] }: ResourceDefinition,
  tables: readonly KeyedTable[],
  tell: Expanding,
): KeyedTable[] {
  const wildcard = wildcardOf(spec);
  const all = wildcard ? fitting(wildcard, tables) : [];
  const excluded = new Set<KeyedTable>();
  for (const text of exclude) {
    const pattern = parsePattern(text);
    const out = pattern
      ? fitting({ ...pattern, schema: pattern.schema ?? wildcard?.schema ?? null }, all)
      : [];
    if (out.length === 0) tell.warn(`${spec}: exclude ${JSON.stringify(text)} matches no table.`);
    for (const table of out) excluded.add(table);
  }
  const left = all.filter((table) => !excluded.has(table));
  if (left.length > 0) return left;
  const why =
    all.length === 0 ? "matches no table or view that this user may read" : "excludes all of its tables";
  throw new AppError("not_found", `${spec} ${why}. Nothing was loaded.`);
}

function resourcesOf(resource: ResourceDefinition, tables: readonly KeyedTable[]): ResourceDefinition[] {
  const { exclude: _, ...settings } = resource;
  const needsKey =
    settings.writeDisposition === "merge" ||
    (settings.deletes !== undefined && settings.deletes !== "ignore");
  const takesOwn = needsKey && (settings.primaryKey ?? []).length === 0;
  const keyless = takesOwn ? tables.filter(({ primaryKey }) => primaryKey.length === 0) : [];
  if (keyless.length > 0) {
    const what = settings.writeDisposition === "merge" ? "A merge" : "deletes";
    throw new AppError(
      "definition_invalid",
      `${what} needs a primary key, and these tables of ${resource.spec} have none: ${listOf(keyless.map(({ spec }) => spec))}. Leave them out with exclude, or add them as resources of their own.`,
      { details: { tables: keyless.map(({ spec }) => spec) } },
    );
  }
  return tables.map(({ spec, table, primaryKey }) => ({
    ...settings,
    spec,
    // A table may have a name like a file format, such as csv.
    ...(tableName({ spec }) === tableName({ name: table }) ? {} : { name: table }),
    ...(takesOwn ? { primaryKey } : {}),
  }));
}

const count = (value: number): string => value.toLocaleString("en");

function listOf(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(", ");
  return names.length > MAX_NAMES ? `${shown} and ${names.length - MAX_NAMES} more` : shown;
}

/** Two source tables must not become one lake table. */
function checkNames(resources: readonly ResourceDefinition[]): void {
  const bySource = new Map<string, string>();
  for (const resource of resources) {
    const table = tableName(resource);
    const spec = resource.spec ?? resource.name ?? "";
    const other = bySource.get(table);
    if (other !== undefined) {
      throw new AppError(
        "definition_invalid",
        `${other} and ${spec} would both be the table ${table}. Leave one out with exclude, or add it as a resource with a name of its own.`,
        { details: { table, resources: [other, spec] } },
      );
    }
    bySource.set(table, spec);
  }
}
