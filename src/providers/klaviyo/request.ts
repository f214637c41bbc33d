import { AppError } from "../../base/errors.ts";
import { columnsOf, RESOURCES, type Resource } from "./resources.ts";

export function findResource(spec: string): Resource {
  const resource = RESOURCES.find(({ name }) => name === spec);
  if (resource) return resource;
  const names = RESOURCES.map(({ name }) => name).join(", ");
  throw new AppError(
    "not_found",
    `Klaviyo has no resource ${JSON.stringify(spec)} here. Use one of ${names}.`,
  );
}

export function wantedColumns(resource: Resource, columns: readonly string[]): Set<string> {
  const known = columnsOf(resource);
  const wanted = new Set(columns.map((name) => name.split(/\.|__/)[0] ?? name));
  for (const name of wanted) {
    if (!Object.hasOwn(known, name)) {
      throw new AppError(
        "definition_invalid",
        `The resource ${resource.name} of Klaviyo has no column "${name}".`,
      );
    }
  }
  return wanted;
}

/** The requested columns that are attributes, and those that pagination needs. */
export function attributesOf(resource: Resource, wanted: ReadonlySet<string>): string[] {
  const needed = new Set([...wanted, ...Object.keys(resource.dates)]);
  return Object.keys(resource.attributes).filter(
    (name) => needed.has(name) && !(resource.additional ?? []).includes(name),
  );
}
