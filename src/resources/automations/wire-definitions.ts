import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { keepTyped, maskTyped } from "../../base/typed-secrets.ts";

interface StepDefinition {
  definition: JsonObject;
  path: string[];
  /** What the step with the same key had before. */
  earlier: JsonObject | undefined;
}

const definitionOf = (work: Json | undefined): JsonObject | undefined => {
  const definition = isObject(work ?? null) ? (work as JsonObject).definition : undefined;
  return isObject(definition ?? null) ? (definition as JsonObject) : undefined;
};

const stepsIn = ({ steps }: JsonObject): JsonObject[] =>
  Array.isArray(steps) ? steps.filter((step): step is JsonObject => isObject(step)) : [];

/** Returns the definitions in a config's steps. */
export function definitionsIn(config: JsonObject, before: JsonObject): StepDefinition[] {
  const at = (work: Json, path: string[], earlier: Json | undefined): StepDefinition[] => {
    const definition = definitionOf(work);
    return definition ? [{ definition, path: [...path, "definition"], earlier: definitionOf(earlier) }] : [];
  };
  const steps = Array.isArray(config.steps) ? config.steps : [];
  return [
    ...at(config.action ?? null, ["action"], before.action),
    ...steps.flatMap((step, index) =>
      at(step, ["steps", String(index)], isObject(step) ? earlierOf(step, before) : undefined),
    ),
  ];
}

const earlierOf = ({ key }: JsonObject, before: JsonObject) =>
  stepsIn(before).find((step) => step.key === key);

/** A copy of a config with each step's definition changed. */
function mapDefinitions(
  config: JsonObject,
  before: JsonObject,
  change: (definition: JsonObject, earlier: JsonObject | undefined) => Json,
): JsonObject {
  const work = (value: Json, earlier: Json | undefined): Json => {
    const definition = definitionOf(value);
    return definition && isObject(value)
      ? { ...value, definition: change(definition, definitionOf(earlier)) }
      : value;
  };
  return {
    ...config,
    ...(config.action === undefined ? {} : { action: work(config.action, before.action) }),
    ...(Array.isArray(config.steps)
      ? {
          steps: config.steps.map((step) => work(step, isObject(step) ? earlierOf(step, before) : undefined)),
        }
      : {}),
  };
}

/** Returns the config that everyone may see: plain-text secrets in definitions are masked. */
export const maskConfig = (config: JsonObject): JsonObject => mapDefinitions(config, {}, maskTyped);

/** Values that are still masked keep their previous value. */
export const keepDefinitions = (config: JsonObject, before: JsonObject): JsonObject =>
  mapDefinitions(config, before, keepTyped);
