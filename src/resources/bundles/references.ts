import { AppError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Template } from "../../base/template-grammar.ts";
import { fillOnce } from "../../base/template-install.ts";
import type { App } from "../../context.ts";
import { type Component, templateFields } from "./definition.ts";

/** Names of templates that are filled in when a bundle is installed. */
export const NAMES = ["inputs", "components"];

export interface Reference {
  template: Template;
  path: readonly string[];
}

/** Fields of a component that can contain templates. */
export function fieldsOf({ name, definition, inputs, connectionId }: Component): JsonObject {
  const fields: JsonObject = {};
  for (const [field, value] of Object.entries({ name, definition, inputs, connectionId })) {
    if (value !== undefined) fields[field] = value;
  }
  return fields;
}

/** Returns the templates of a component that the installation fills in. `fault` gets those that can't be parsed. */
export function referencesIn(
  app: Pick<App, "executors">,
  component: Component,
): { references: Reference[]; fault: { path: string[]; message: string } | null } {
  const references: Reference[] = [];
  const filling = {
    names: NAMES,
    keepAbsent: true,
    look(template: Template, path: readonly string[]): undefined {
      references.push({ template, path });
    },
  };
  try {
    fillOnce(fieldsOf(component), filling, templateFields(app, component));
    return { references, fault: null };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const path = Array.isArray(error.details?.path) ? error.details.path.map(String) : [];
    return { references, fault: { path, message: error.message } };
  }
}

/** Returns the keys of components that must exist before this one. */
export const needsOf = (component: Component, references: readonly Reference[]): string[] => [
  ...(component.dependsOn ?? []),
  ...references.flatMap(({ template: { path } }) =>
    path[0] === "components" && path[1] !== undefined ? [path[1]] : [],
  ),
];
