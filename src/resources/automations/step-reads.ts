import type { Fault } from "../../base/errors.ts";
import { expressionOf } from "../../base/expression/expression.ts";
import { ExpressionError } from "../../base/expression/fault.ts";
import { isObject, type Json } from "../../base/json.ts";
import { templatesIn } from "../../base/template.ts";
import { pathsOf } from "../../base/template-grammar.ts";
import type { App } from "../../context.ts";
import { conditionsIn } from "../../queue/definition.ts";
import { forEachTemplate, type Step } from "./config.ts";

type Executors = Pick<App, "executors">["executors"];

/** Fields of a step that later steps see. Only a step with `forEach` has `failures`. */
const STEP_FIELDS = ["status", "actionRunId", "result", "error", "failures"];

/**
 * Returns uses of `steps.KEY` that name a step that doesn't exist, the step itself, or a field that no step
 * has. Syntax errors are reported elsewhere.
 */
export function stepReadFaults(
  { executors }: Pick<App, "executors">,
  steps: readonly Step[],
  loc: readonly string[],
): Fault[] {
  return steps.flatMap((step, index) => {
    const { kind, definition = {}, when, forEach } = step;
    const conditions = kind === undefined ? [] : conditionsIn(executors[kind], definition);
    const skip = conditions.map(({ path }) => path);
    const reads = [
      ...(when === undefined ? [] : [{ field: ["when"], paths: pathsOfCondition(when) }]),
      ...(typeof forEach === "string" ? pathsIn(forEachTemplate(forEach), ["forEach"]) : []),
      ...(typeof forEach === "object" ? pathsIn(forEach as unknown as Json, ["forEach"]) : []),
      ...pathsIn(definition, ["definition"], skip),
      ...conditions.map(({ path, text }) => ({
        field: ["definition", ...path],
        paths: pathsOfCondition(text),
      })),
    ];
    return reads.flatMap(({ field, paths }) =>
      unknownIn(executors, paths, steps, [...loc, String(index), ...field], step.key),
    );
  });
}

/** Returns the same faults for a value that is evaluated after all steps. */
export const readFaults = (
  { executors }: Pick<App, "executors">,
  value: Json,
  steps: readonly Step[],
  loc: readonly string[],
): Fault[] =>
  pathsIn(value, [...loc]).flatMap(({ field, paths }) => unknownIn(executors, paths, steps, field));

function unknownIn(
  executors: Executors,
  paths: readonly (readonly string[])[],
  steps: readonly Step[],
  loc: readonly string[],
  own?: string,
): Fault[] {
  return paths.flatMap((path) => {
    const [root, key] = path;
    if (root !== "steps" || key === undefined) return [];
    const step = steps.find((other) => other.key === key && key !== own);
    const msg = step ? unknownField(executors, step, path[2]) : unknownStep(key, steps, own);
    return msg === null ? [] : [{ loc: [...loc], msg, type: "unknown_step" }];
  });
}

function unknownStep(key: string, steps: readonly Step[], own?: string): string {
  if (key === own) return `The step ${key} can't read its own result`;
  const keys = steps.map((step) => step.key).filter((other) => other !== own);
  const known =
    keys.length > 0
      ? `the ${own === undefined ? "" : "other "}steps are ${keys.slice(0, 20).join(", ")}`
      : "there is no other step";
  return `There is no step ${key}; ${known}`;
}

/** Results aren't checked: pinned ones can have other fields than those of the kind. */
function unknownField(executors: Executors, { key, kind }: Step, field?: string): string | null {
  if (field === undefined || STEP_FIELDS.includes(field)) return null;
  const { properties }: Record<string, unknown> = kind === undefined ? {} : executors[kind].result;
  return isObject(properties) && Object.hasOwn(properties, field)
    ? `Use steps.${key}.result.${field} instead of steps.${key}.${field}`
    : `A step has no ${field}; use one of ${STEP_FIELDS.join(", ")}`;
}

const pathsIn = (value: Json, at: string[], skip: readonly string[][] = []) =>
  templatesIn(value, { skip }).map(({ path, template }) => ({
    field: [...at, ...path],
    paths: pathsOf(template),
  }));

function pathsOfCondition(text: string): string[][] {
  try {
    return expressionOf(text).reads.map(({ path }) => path);
  } catch (error) {
    if (error instanceof ExpressionError) return [];
    throw error;
  }
}
