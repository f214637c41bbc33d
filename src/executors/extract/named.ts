import type { NamedResource } from "../../providers/contract-tables.ts";
import { RESOURCE_NAME } from "../../providers/http-template/resources.ts";
import type { ResourceDefinition } from "./plan.ts";

/** Maximum number of names in a message. */
const MAX_NAMES = 30;
const NAME = new RegExp(RESOURCE_NAME);

/** Returns whether this can be a name of a connection's resource. */
export const mayBeNamed = ({ spec, name }: ResourceDefinition): boolean => NAME.test(spec ?? name ?? "");

/**
 * Adds the connection's settings of a resource. The resource's own settings win. One that compares all keys of the
 * source doesn't take its cursor, with which a run wouldn't read all rows.
 */
export function withNamed(
  resources: readonly ResourceDefinition[],
  known: readonly NamedResource[],
): ResourceDefinition[] {
  return resources.map((resource) => {
    const found = known.find(({ name }) => name === (resource.spec ?? resource.name));
    if (!found) return resource;
    const { primaryKey, name, spec } = found;
    const { incremental, endpoint } = comparesKeys(resource) ? withoutCursor(found) : found;
    const own = { name, ...(primaryKey && { primaryKey }), ...(incremental && { incremental }) };
    return { ...own, endpoint, ...resource, spec };
  });
}

/** Names missing from a connection that defines names. Paths are relative to the definition. */
export function namedFaults(
  resources: readonly ResourceDefinition[],
  known: readonly NamedResource[],
): { path: string[]; message: string }[] {
  if (known.length === 0) return [];
  const names = known.map(({ name }) => name);
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
  return resources.flatMap(({ spec, name }, index) => {
    const wanted = spec ?? name ?? "";
    if (wanted.startsWith("/") || wanted.includes("{{") || wanted === "" || names.includes(wanted)) return [];
    const message = `The connection has no resource ${JSON.stringify(wanted)}. It has ${names.slice(0, MAX_NAMES).join(", ")}${more}; any other is a path, such as /orders.`;
    return [{ path: ["resources", String(index), spec === undefined ? "name" : "spec"], message }];
  });
}

const comparesKeys = ({ deletes = "ignore", incremental }: ResourceDefinition): boolean =>
  deletes !== "ignore" && incremental === undefined;

function withoutCursor({ endpoint }: NamedResource): Pick<NamedResource, "incremental" | "endpoint"> {
  const { incremental: _, ...whole } = endpoint;
  return { endpoint: whole };
}
