import { type Static, Type } from "@sinclair/typebox";
import type { JsonObject } from "../../base/json.ts";
import {
  described,
  exemplified,
  jsonObject,
  named,
  nullable,
  object,
  oneOf,
  optional,
  slug,
  typed,
  uuid,
} from "../../base/shape.ts";
import type { Places } from "../../base/template-install.ts";
import type { App } from "../../context.ts";
import { ACTION_KINDS, type ActionKind } from "../../executors/contract.ts";
import { templateFieldsOf } from "../../queue/definition.ts";
import { TRIGGER_TYPES } from "../automations/table.ts";
import { COMPONENT_TYPES } from "./table.ts";

const KEY = "^(?!__proto__$)[A-Za-z_][A-Za-z0-9_-]*$";

export const Component = object(
  {
    key: Type.String({
      minLength: 1,
      maxLength: 100,
      pattern: KEY,
      description:
        "Name of the component within the bundle. Templates can use {{components.KEY.id}}, slug and name",
      examples: ["shop"],
    }),
    type: oneOf(COMPONENT_TYPES, { description: "Type of resource to create" }),
    name: optional(
      described("Name of the resource. Can contain {{inputs.x}}", exemplified(["Shop database"], named())),
    ),
    templateSlug: optional(
      described("Slug of the template to create the resource from, instead of a definition", slug()),
    ),
    templateVersion: optional(
      Type.Integer({
        minimum: 1,
        description: "Version of the template. Default: the latest published one",
      }),
    ),
    definition: optional(jsonObject({ description: "Definition of the resource, instead of a template" })),
    inputs: optional(
      jsonObject({
        description: "Inputs of the template. Default: the bundle's inputs of the same names",
        examples: [{ host: "{{inputs.host}}" }],
      }),
    ),
    connectionId: optional(
      Type.String({
        minLength: 1,
        maxLength: 500,
        description: "ID of the connection, for an action created from a template",
        examples: ["{{components.shop.id}}"],
      }),
    ),
    dependsOn: optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 100, examples: ["shop"] }), {
        maxItems: 100,
        description: "Keys of components to create before this one",
        examples: [["shop"]],
      }),
    ),
  },
  {
    examples: [
      {
        key: "orders",
        type: "action",
        name: "Load orders",
        definition: { kind: "http_request", definition: { url: "{{inputs.url}}" } },
      },
    ],
  },
);
export type Component = Static<typeof Component>;

/**
 * A bundle's definition (docs/decisions/bundles.md). Every value of a component can contain `{{inputs.x}}` and
 * `{{components.KEY.id}}` (also `slug` and `name`). Other templates of actions and automations are left for their runs.
 */
export const BundleDefinition = object({
  components: Type.Array(typed("BundleComponent", Component), {
    minItems: 1,
    maxItems: 100,
    description: "Resources that the bundle creates",
  }),
});
export type BundleDefinition = Static<typeof BundleDefinition>;

const settings = {
  config: optional(described("Settings of the provider", nullable(jsonObject()))),
  credentials: optional(described("Credentials, preferably from inputs", nullable(jsonObject()))),
};

/** `definition` has the body of a create request, without the name. */
export const ConnectionPart = object({
  provider: Type.String({ description: "ID of the provider" }),
  ...settings,
});
export type ConnectionPart = Static<typeof ConnectionPart>;

export const ActionPart = object({
  kind: oneOf(ACTION_KINDS, { description: "Kind of the action" }),
  definition: optional(described("Settings of the kind", nullable(jsonObject()))),
  connectionId: optional(described("ID of the connection that the action uses", nullable(uuid()))),
});
export type ActionPart = Static<typeof ActionPart>;

export const AutomationPart = object({
  triggerType: oneOf(TRIGGER_TYPES, { default: "manual", description: "What starts the automation" }),
  description: optional(
    described(
      "Purpose of the automation",
      nullable(Type.String({ maxLength: 2048, examples: ["Loads orders"] })),
    ),
  ),
  config: jsonObject({ description: "Trigger and steps" }),
});
export type AutomationPart = Static<typeof AutomationPart>;

/** An agent is its Markdown. The name is in its front matter, unless the component has one. */
export const AgentPart = object({
  markdown: Type.String({
    minLength: 1,
    maxLength: 1_000_000,
    description: "YAML front matter between two lines of ---, then the system prompt",
    examples: ["---\nname: Sales analyst\ntools: [query]\n---\nAnswer questions about orders.\n"],
  }),
});

/** A connection template replaces a provider. */
export const isHttpDefinition = (definition: JsonObject): boolean => definition.http !== undefined;

type Paths = string[][];

/** What a component's fields become when it is installed. */
export function templateFields(app: Pick<App, "executors">, component: Component): Places {
  const definition: JsonObject = component.definition ?? {};
  if (component.type === "action") return below(["definition", "definition"], kindOf(definition), app);
  if (component.type === "connection")
    return isHttpDefinition(definition) ? { live: [["definition", "http"]] } : {};
  if (component.type !== "automation") return {};
  const config = (definition.config ?? {}) as { action?: JsonObject; steps?: JsonObject[] };
  const at = ["definition", "config"];
  const fields = [below([...at, "action", "definition"], kindOf(config.action ?? {}), app)];
  for (const [index, step] of (Array.isArray(config.steps) ? config.steps : []).entries()) {
    fields.push(below([...at, "steps", String(index), "definition"], kindOf(step ?? {}), app));
  }
  return {
    live: [...fields.flatMap(({ live }) => live), [...at, "steps", "*", "forEach"]],
    sql: [
      ...fields.flatMap(({ sql }) => sql),
      ...["where", "orderBy"].map((field) => [...at, "steps", "*", "forEach", field]),
    ],
    conditions: [...fields.flatMap(({ conditions }) => conditions), [...at, "steps", "*", "when"]],
    code: fields.flatMap(({ code }) => code),
  };
}

const kindOf = ({ kind }: JsonObject): ActionKind | null =>
  ACTION_KINDS.find((each) => each === kind) ?? null;

function below(path: readonly string[], kind: ActionKind | null, app: Pick<App, "executors">) {
  const moved = (paths: readonly (readonly string[])[]): Paths => paths.map((rest) => [...path, ...rest]);
  const { sql, conditions, code } = kind
    ? templateFieldsOf(app, kind)
    : { sql: [], conditions: [], code: [] };
  return { live: moved([[]]), sql: moved(sql), conditions: moved(conditions), code: moved(code) };
}
