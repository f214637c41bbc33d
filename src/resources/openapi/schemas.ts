import { AppError } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { ActionCreate } from "../actions/wire.ts";
import { FrontMatter } from "../agents/wire.ts";
import { AutomationCreate } from "../automations/wire.ts";
import { ConnectionCreate } from "../connections/wire.ts";
import { TemplateCreate } from "../templates/wire.ts";
import { sharedSchemas } from "./components.ts";
import type { Mode } from "./schema.ts";

interface Named {
  title: string;
  description: string;
  draw(document: ReturnType<typeof sharedSchemas>): JsonObject;
}

const IN: Mode = { direction: "in" };
const FILE: Mode = { direction: "in", hasPlaceholders: true };

const named = (shape: object, title: string, description: string): Named => ({
  title,
  description,
  draw: ({ refer }) => refer(JSON.parse(JSON.stringify(shape)), IN) ?? {},
});

const typed = (name: string, title: string, description: string, mode = IN): Named => ({
  title,
  description,
  draw: ({ refer }) => refer({ "x-is": name }, mode) ?? {},
});

/** Schemas of files that people write, by name. */
const SCHEMAS: Readonly<Record<string, Named>> = {
  automation: named(AutomationCreate, "Automation", "An automation, as POST /api/v1/automations accepts it"),
  action: named(ActionCreate, "Action", "An action, as POST /api/v1/actions accepts it"),
  connection: named(ConnectionCreate, "Connection", "A connection, as POST /api/v1/connections accepts it"),
  template: named(TemplateCreate, "Template", "A template, as POST /api/v1/templates accepts it"),
  bundle: typed(
    "BundleDefinition",
    "Bundle",
    "The definition of a bundle: what it makes when it is installed",
  ),
  "agent-spec": named(FrontMatter, "Agent spec", "The front matter of an agent's Markdown"),
  config: typed("ConfigFile", "Configuration", "A file of `weir apply` and `weir export`", FILE),
};

/** Lists all schemas with their titles and descriptions. */
export const listSchemas = () =>
  Object.entries(SCHEMAS).map(([name, { title, description }]) => ({ name, title, description }));

/** Returns one schema as a self-contained document, whose `$id` is `id`. Throws `not_found` for an unknown name. */
export function schemaDocument(name: string, id: string): JsonObject {
  const known = Object.hasOwn(SCHEMAS, name) ? SCHEMAS[name] : undefined;
  if (!known)
    throw new AppError(
      "not_found",
      `Unknown schema ${JSON.stringify(name)}. Use one of ${Object.keys(SCHEMAS).join(", ")}.`,
    );
  const document = sharedSchemas({ root: "#/$defs/" });
  const root = known.draw(document);
  const schemas = document.all();
  const own = String(root.$ref).replace("#/$defs/", "");
  const { [own]: body, ...others } = schemas;
  const isWithin = JSON.stringify(schemas).includes(`"#/$defs/${own}"`);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: id,
    ...(isObject(body) ? body : {}),
    title: known.title,
    description: known.description,
    $defs: isWithin ? schemas : others,
  };
}

/** The `$id` of a schema that wasn't returned by a server. */
export const schemaUrn = (name: string): string => `urn:weir:schema:${name}`;
