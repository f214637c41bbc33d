import { type Static, Type } from "@sinclair/typebox";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { named, object, optional } from "../../base/shape.ts";
import { Incremental, incrementalFaults } from "../incremental.ts";
import { Endpoint, endpointFaults, specFault } from "./endpoint.ts";

/** Name of a template's resource. No path has this form. */
export const RESOURCE_NAME = "^[a-z][a-z0-9_]{0,62}$";

/** A list of the API that extracts reference by name in `spec`. */
export const TemplateResource = object({
  name: Type.String({ pattern: RESOURCE_NAME, description: "Name that extracts use in their spec" }),
  title: optional(
    Type.String({ minLength: 1, maxLength: 255, description: "Name that people read", examples: ["Orders"] }),
  ),
  description: optional(Type.String({ maxLength: 2000, description: "What the resource contains" })),
  spec: Type.String({
    minLength: 1,
    maxLength: 1000,
    description:
      "Path below the base URL. Can contain {{config.x}} as a path segment, as can params and body of the endpoint",
  }),
  endpoint: optional(Endpoint),
  primaryKey: optional(
    Type.Array(named(1000), {
      maxItems: 32,
      description: "Columns that identify a row",
      examples: [["id"]],
    }),
  ),
  incremental: optional(Incremental),
});
export type TemplateResource = Static<typeof TemplateResource>;

interface PathFault {
  path: string[];
  message: string;
}

/** Errors that the shape can't express. Paths are relative to the list. Templates in `spec` are checked elsewhere. */
export function resourcesFaults(resources: readonly TemplateResource[]): PathFault[] {
  const names = new Set<string>();
  return resources.flatMap((resource, index) => {
    const faults = resourceFaults(resource);
    if (names.has(resource.name))
      faults.push({ path: ["name"], message: `Duplicate resource name ${resource.name}.` });
    names.add(resource.name);
    return faults.map(({ path, message }) => ({ path: [String(index), ...path], message }));
  });
}

function resourceFaults({ spec, endpoint = {}, incremental }: TemplateResource): PathFault[] {
  const faults: PathFault[] = [];
  const message = specFault(spec.replace(/\{\{[^{}]*\}\}/g, "x"));
  if (message) faults.push({ path: ["spec"], message });
  const { params: _, body: __, ...fixed } = endpoint;
  for (const { path } of textsIn(fixed, ["endpoint"]))
    faults.push({ path, message: "Templates are allowed in spec, endpoint.params and endpoint.body." });
  for (const { path, message } of endpointFaults(endpoint, incremental !== undefined))
    faults.push({ path: ["endpoint", ...path], message });
  for (const { path, message } of incrementalFaults(incremental))
    faults.push({ path: ["incremental", ...path], message });
  return faults;
}

/** The strings of a resource that may contain `{{config.x}}`, with paths relative to it. */
export const templatesOf = ({
  spec,
  endpoint = {},
}: TemplateResource): { path: string[]; value: string }[] => [
  { path: ["spec"], value: spec },
  ...textsIn(endpoint.params ?? {}, ["endpoint", "params"]),
  ...textsIn(endpoint.body ?? {}, ["endpoint", "body"]),
];

/** Strings with templates in a value. */
function textsIn(value: Json | JsonObject, path: string[]): { path: string[]; value: string }[] {
  if (typeof value === "string") return value.includes("{{") ? [{ path, value }] : [];
  const inner = Array.isArray(value) ? value.entries() : isObject(value) ? Object.entries(value) : [];
  return [...inner].flatMap(([key, item]) => textsIn(item as Json, [...path, String(key)]));
}
