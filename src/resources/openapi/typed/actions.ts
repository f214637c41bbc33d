import type { TObject } from "@sinclair/typebox";
import type { JsonObject } from "../../../base/json.ts";
import { ACTION_KINDS, type ActionKind } from "../../../executors/contract.ts";
import { executors } from "../../../executors/registry.ts";
import { definitionShape } from "../../../queue/definition.ts";
import { type Draw, only, pascal, type Typed, takesNothing, variant } from "./draw.ts";

const definitionName = (kind: ActionKind) => `${pascal(kind)}Definition`;

/** The definition of each kind. Templates can be used instead of its values. */
const definitions = Object.fromEntries(
  ACTION_KINDS.map((kind): [string, Typed] => {
    const { title, description, oneOf } = executors[kind];
    return [
      definitionName(kind),
      {
        mode: { isFilled: true },
        draw: ({ plain }) => ({
          title,
          description,
          ...plain(definitionShape(executors[kind])),
          ...(oneOf
            ? { anyOf: oneOf.map((field) => ({ required: [field], properties: { [field]: {} } })) }
            : {}),
        }),
      },
    ];
  }),
);

const empty: Typed = {
  mode: {},
  draw: () => ({
    title: "Draft",
    type: "object",
    additionalProperties: false,
    maxProperties: 0,
    description: "No definition yet. The action is a draft",
  }),
};

const KIND = "Kind of the action";

/** Returns whether a step of the kind needs no definition. */
const mayLackDefinition = (kind: ActionKind): boolean =>
  executors[kind].oneOf === undefined && takesNothing(definitionShape(executors[kind]) as TObject);

/** Returns the variants of kind and definition, one for each kind. */
export const byKind = (
  draw: Draw,
  whole: JsonObject,
  { isDraftAllowed, lacks = [] }: { isDraftAllowed: boolean; lacks?: readonly string[] },
): JsonObject[] =>
  ACTION_KINDS.map((kind) => {
    const definition = draw.ref(definitionName(kind));
    const needs = isDraftAllowed || mayLackDefinition(kind) ? ["kind"] : ["kind", "definition"];
    return variant(whole, {
      title: executors[kind].title,
      fields: {
        kind: only(kind, KIND),
        definition: isDraftAllowed
          ? {
              anyOf: [definition, draw.ref("EmptyDefinition"), { type: "null" }],
              description: `Settings of ${kind}`,
            }
          : definition,
      },
      needs,
      lacks,
    });
  });

/** What a step or an automation runs: a stored action, or a kind with its definition. */
const work: Typed = {
  draw(draw, schema) {
    const { description, examples, ...whole } = draw.plain(schema);
    const stored = variant(whole, {
      title: "Stored action",
      description: "Runs an action of the organization.",
      fields: {},
      needs: ["actionId"],
      lacks: ["kind", "definition"],
    });
    const variants = [stored, ...byKind(draw, whole, { isDraftAllowed: false, lacks: ["actionId"] })];
    return {
      oneOf: variants,
      ...(description === undefined ? {} : { description }),
      ...(examples === undefined ? {} : { examples }),
    };
  },
};

export const ACTIONS: Readonly<Record<string, Typed>> = {
  ...definitions,
  EmptyDefinition: empty,
  AutomationStep: work,
  AutomationWork: work,
  ActionDefinition: {
    mode: {},
    draw: ({ ref }) => ({
      description: "Settings of the action's kind",
      anyOf: [...ACTION_KINDS.map((kind) => ref(definitionName(kind))), ref("EmptyDefinition")],
    }),
  },
  ActionCreate: {
    draw: (draw, schema) => ({
      description: "A new action, by its kind.",
      oneOf: byKind(draw, draw.plain(schema), { isDraftAllowed: true }),
    }),
  },
};
