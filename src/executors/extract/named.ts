import type { NamedResource } from "../../providers/contract-tables.ts";
import { RESOURCE_NAME } from "../../providers/http-template/resources.ts";
import type { ResourceDefinition } from "./plan.ts";

/** Maximum number of names in a message. */
const MAX_NAMES = 30;
const NAME = new RegExp(RESOURCE_NAME);

/** Returns whether this can be a name of a connection's resource. */
export const mayBeNamed = ({ spec, name }: ResourceDefinition): boolean => NAME.test(spec ?? name ?? "");

/** Adds the connection's settings of a resource. The resource's own settings win. */
export function withNamed(
  resources: readonly ResourceDefinition[],
  known: readonly NamedResource[],
): ResourceDefinition[] {
  return resources.map((resource) => {
    const found = known.find(({ name }) => name === (resource.spec ?? resource.name));
    if (!found) return resource;
    const { primaryKey, incremental, endpoint, name, spec } = found;
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
