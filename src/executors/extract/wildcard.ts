import type { Provider } from "../../providers/contract.ts";
import type { ResourceDefinition } from "./plan.ts";

/** Maximum number of resources of an extract, with wildcards expanded. */
export const MAX_RESOURCES = 1000;

/** A table name, or a pattern for several. */
export interface TablePattern {
  /** Null for the default schema. */
  schema: string | null;
  /** `*` matches any characters, unless `isExact`. */
  table: string;
  isExact: boolean;
}

const QUOTED = '"((?:[^"]|"")+)"';
const SPEC = new RegExp(`^(?:(?:${QUOTED}|([^".*/?[{]+))\\.)?(?:${QUOTED}|([^"./?[{]+))$`);

/**
 * Returns the parts of `orders`, `public.orders` or `public.order_*`; quoted parts can contain anything. Null for other
 * text.
 */
export function parsePattern(text: string): TablePattern | null {
  const [whole, quotedSchema, schema, quotedTable, table] = SPEC.exec(text.trim()) ?? [];
  if (whole === undefined) return null;
  return {
    schema: quotedSchema?.replaceAll('""', '"') ?? schema ?? null,
    table: quotedTable?.replaceAll('""', '"') ?? table ?? "",
    isExact: !table?.includes("*"),
  };
}

/** Returns whether a `*` is outside quoted names. */
const hasWildcard = (spec: string): boolean => spec.replaceAll(/"(?:[^"]|"")*"/g, "").includes("*");

/** The schema and the pattern of `public.*` or `public.order_*`. Null for other text. */
export function wildcardOf(spec: string | undefined): (TablePattern & { schema: string }) | null {
  const pattern = spec === undefined ? null : parsePattern(spec);
  if (!pattern || pattern.isExact || pattern.schema === null) return null;
  return { ...pattern, schema: pattern.schema };
}

/** What the specs of a connection refer to. `unknown`: the connection isn't known. `none`: any connection. */
export type SourceKind = "tables" | "files" | "other" | "unknown" | "none";

const isUnknown = (source: SourceKind) => source === "unknown" || source === "none";

export const sourceKindOf = ({ tables, files }: Provider): SourceKind =>
  tables?.inSchemas ? "tables" : files ? "files" : "other";

/** Whether the resource's meaning depends on the provider of its connection. */
const dependsOnSource = ({ name, spec, exclude }: ResourceDefinition): boolean =>
  exclude !== undefined || hasWildcard(spec ?? name ?? "");

/** Whether one resource refers to several tables, or can. */
export const isWildcard = ({ spec }: ResourceDefinition, source: SourceKind): boolean =>
  (source === "tables" || isUnknown(source)) && wildcardOf(spec) !== null;

interface PathFault {
  path: string[];
  message: string;
}

/** Settings of a single table. */
const OF_ONE_TABLE = ["name", "columns", "file", "endpoint"] as const;

/** Returns why a wildcard, or a setting next to it, is invalid. Paths are relative to the resource. */
export function wildcardFaults(resource: ResourceDefinition, source: SourceKind): PathFault[] {
  const { name, spec = "", exclude } = resource;
  if (`${spec}${name ?? ""}`.includes("{{") || !dependsOnSource(resource)) return [];
  if (exclude === undefined && (source === "files" || isUnknown(source))) return [];
  const wildcard = wildcardOf(spec);
  if (source === "files" || source === "other") {
    if (exclude !== undefined) {
      const message =
        "Only connections of PostgreSQL and MySQL take exclude, together with a spec such as public.*.";
      return [{ path: ["exclude"], message }];
    }
    if (!wildcard && spec !== "*") return [];
    const message = "Only connections of PostgreSQL and MySQL take wildcards. Name each resource.";
    return [{ path: ["spec"], message }];
  }
  if (!wildcard) {
    const field = hasWildcard(spec) ? "spec" : exclude ? "exclude" : "name";
    return [{ path: [field], message: MISPLACED[field] }];
  }
  const faults: PathFault[] = OF_ONE_TABLE.filter((field) => resource[field] !== undefined).map((field) => ({
    path: [field],
    message: `A wildcard takes no ${field}, which is of one table. Add that table as a resource of its own.`,
  }));
  for (const [index, text] of (Array.isArray(exclude) ? exclude : []).entries()) {
    if (text.includes("{{") || parsePattern(text)) continue;
    const message = `Invalid table or pattern ${JSON.stringify(text)}. Use public.orders, public.order_* or order_*, with odd names in double quotes.`;
    faults.push({ path: ["exclude", String(index)], message });
  }
  return faults;
}

const MISPLACED = {
  spec: "A wildcard goes in the name of the table, after a schema: public.* or public.order_*.",
  exclude: "exclude needs a spec with a wildcard, such as public.*.",
  name: "Use wildcards in spec, not in name.",
};
