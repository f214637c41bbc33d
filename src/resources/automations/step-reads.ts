import type { Fault } from "../../base/errors.ts";
import { expressionOf } from "../../base/expression/expression.ts";
import { ExpressionError } from "../../base/expression/fault.ts";
import type { Json } from "../../base/json.ts";
import { templatesIn } from "../../base/template.ts";
import { pathsOf } from "../../base/template-grammar.ts";
import type { App } from "../../context.ts";
import { conditionsIn } from "../../queue/definition.ts";
import { forEachTemplate, type Step } from "./config.ts";

/**
 * Returns uses of `steps.KEY` that name a step that doesn't exist, or the step itself. Syntax errors are reported
 * elsewhere.
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
      unknownIn(paths, steps, [...loc, String(index), ...field], step.key),
    );
  });
}

/** The same for what is evaluated once all steps have ended. */
export const readFaults = (value: Json, steps: readonly Step[], loc: readonly string[]): Fault[] =>
  pathsIn(value, [...loc]).flatMap(({ field, paths }) => unknownIn(paths, steps, field));

function unknownIn(
  paths: readonly (readonly string[])[],
  steps: readonly Step[],
  loc: readonly string[],
  own?: string,
): Fault[] {
  const keys = steps.map(({ key }) => key).filter((key) => key !== own);
  return paths.flatMap(([root, key]) => {
    if (root !== "steps" || key === undefined || keys.includes(key)) return [];
    const known =
      keys.length > 0
        ? `the ${own === undefined ? "" : "other "}steps are ${keys.slice(0, 20).join(", ")}`
        : "there is no other step";
    const msg =
      key === own ? `The step ${key} can't read its own result` : `There is no step ${key}; ${known}`;
    return [{ loc: [...loc], msg, type: "unknown_step" }];
  });
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
