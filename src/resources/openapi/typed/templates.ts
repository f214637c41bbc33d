import type { JsonObject } from "../../../base/json.ts";
import { HttpTemplate } from "../../../providers/http-template/definition.ts";
import {
  ActionPart,
  AgentPart,
  AutomationPart,
  BundleDefinition,
  ConnectionPart,
} from "../../bundles/definition.ts";
import { byKind } from "./actions.ts";
import { byTrigger } from "./automations.ts";
import { byProvider } from "./connections.ts";
import { type Draw, only, type Typed, variant } from "./draw.ts";

/** Returns one variant of `whole` for each type of template, and for actions one for each kind. */
export function byType(draw: Draw, whole: JsonObject): JsonObject[] {
  const type = (value: string) => only(value, "What the template creates");
  const ofType = (value: string, title: string, definition: string) =>
    variant(whole, {
      title,
      fields: {
        templateType: type(value),
        definition: {
          anyOf: [draw.ref(definition), draw.ref("EmptyDefinition")],
          description: "Components of the bundle",
        },
      },
      lacks: ["kind"],
    });
  const actions = byKind(draw, variant(whole, { title: "", fields: { templateType: type("action") } }), {
    isDraftAllowed: true,
  });
  const anyKind = variant(whole, {
    title: "Action of any kind",
    description: "An action template without a kind; the action created from it has one.",
    fields: {
      templateType: type("action"),
      kind: { type: "null", description: "None", examples: [null] },
      definition: draw.ref("ActionDefinition"),
    },
  });
  return [
    ...actions,
    anyKind,
    ofType("connection", "Connection template", "ConnectionTemplateDefinition"),
    ofType("bundle", "Bundle", "BundleDefinition"),
  ];
}

/** Resources created from components of a bundle. Templates can be used instead of any value. */
const filled = { isFilled: true } as const;

function components(draw: Draw, schema: JsonObject): JsonObject[] {
  const whole = draw.plain(schema);
  const type = (value: string) => only(value, "What the component becomes");
  const made = (value: string, title: string, definition: string) =>
    variant(whole, {
      title,
      fields: { type: type(value), definition: draw.ref(definition, filled) },
      needs: ["definition"],
      lacks: ["templateSlug", "templateVersion", "inputs", "connectionId"],
    });
  const ofTemplate = (value: string, title: string, lacks: readonly string[]) =>
    variant(whole, {
      title,
      fields: { type: type(value) },
      needs: ["templateSlug"],
      lacks: ["definition", ...lacks],
    });
  return [
    made("connection", "Connection", "Connection"),
    made("action", "Action", "Action"),
    made("automation", "Automation", "Automation"),
    made("agent_spec", "Agent", "Agent"),
    ofTemplate("connection", "Connection of a template", ["connectionId"]),
    ofTemplate("action", "Action of a template", []),
  ];
}

export const TEMPLATES: Readonly<Record<string, Typed>> = {
  ConnectionTemplateDefinition: {
    draw: ({ plain }) => ({
      description: "An HTTP API, with the config and credentials of its connections",
      ...plain(HttpTemplate),
    }),
  },
  BundleDefinition: {
    mode: {},
    draw: ({ plain }) => ({
      description: "Resources that the bundle creates",
      ...plain(BundleDefinition),
    }),
  },
  BundleComponent: {
    mode: {},
    draw: (draw, schema) => ({
      description:
        "A resource that the bundle creates. Its definition can contain {{inputs.x}} and {{components.KEY.id}}",
      oneOf: components(draw, schema),
    }),
  },
  Connection: {
    draw: (draw) => ({
      description: "A connection that a bundle creates: of a provider, or to an HTTP API",
      anyOf: [...byProvider(draw, draw.plain(ConnectionPart)), draw.ref("ConnectionTemplateDefinition")],
    }),
  },
  Action: {
    draw: (draw) => ({
      description: "An action that a bundle creates, by its kind",
      oneOf: byKind(draw, draw.plain(ActionPart), { isDraftAllowed: true }),
    }),
  },
  Automation: {
    draw: (draw) => ({
      description: "An automation that a bundle creates, by its trigger",
      anyOf: byTrigger(draw, draw.plain(AutomationPart)),
    }),
  },
  Agent: { draw: ({ plain }) => ({ description: "An agent that a bundle creates", ...plain(AgentPart) }) },
  TemplateDefinition: {
    mode: {},
    draw: ({ ref }) => ({
      description: "What the template creates, by its type",
      anyOf: [ref("ConnectionTemplateDefinition"), ref("BundleDefinition"), ref("ActionDefinition")],
    }),
  },
  TemplateCreate: {
    draw: (draw, schema) => ({
      description: "A new template, by its type.",
      anyOf: byType(draw, draw.plain(schema)),
    }),
  },
};
