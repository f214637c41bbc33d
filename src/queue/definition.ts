import { type TObject, Type } from "@sinclair/typebox";
import { conditionFault } from "../base/condition.ts";
import { AppError, type Fault, InvalidInput, MAX_FAULTS } from "../base/errors.ts";
import { expressionOf } from "../base/expression/expression.ts";
import { isObject, type JsonObject } from "../base/json.ts";
import { object, read, typed } from "../base/shape.ts";
import {
  isWholeTemplate,
  resolveTemplates,
  type Scope,
  templateFaults,
  templatesIn,
} from "../base/template.ts";
import { newlyTyped } from "../base/typed-secrets.ts";
import type { StoredResult } from "../base/whole-scope.ts";
import { fill } from "../compute/fill.ts";
import type { App, Context } from "../context.ts";
import type { ActionKind, Executor } from "../executors/contract.ts";
import { MAX_KEY_LENGTH } from "./concurrency-key.ts";
import { isReported, soundPart } from "./sound-part.ts";

/** Fields that every kind has in addition to its own (docs/decisions/runs.md). */
const COMMON = {
  retry: Type.Optional(
    typed(
      "Retry",
      object(
        {
          maxAttempts: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: 10,
              description: "Maximum number of attempts",
              "x-default": 1,
            }),
          ),
          backoffSeconds: Type.Optional(
            Type.Array(Type.Number({ minimum: 0, maximum: 86_400 }), {
              maxItems: 10,
              description: "Seconds to wait before each further attempt. The last value repeats",
              examples: [[10, 60]],
            }),
          ),
        },
        { description: "Retries of a failed run" },
      ),
    ),
  ),
  timeoutSeconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 86_400,
      description: "Timeout of each attempt, in seconds",
      "x-default": 3600,
    }),
  ),
  concurrencyKey: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_KEY_LENGTH,
      description: "Runs with the same key execute one at a time, in order. Can be a template",
      examples: ["{{payload.customerId}}"],
    }),
  ),
};

const DEFAULT_TIMEOUT_SECONDS = 3600;

export interface CommonFields {
  retry?: { maxAttempts?: number; backoffSeconds?: number[] };
  timeoutSeconds?: number;
  concurrencyKey?: string;
}

const shapes = new WeakMap<Executor, TObject>();

/** The whole definition of a kind: its own fields and the common ones. */
export function definitionShape(executor: Executor): TObject {
  let shape = shapes.get(executor);
  if (!shape) {
    const own = executor.definition as TObject;
    const { type: _, properties, required: __, additionalProperties: ___, ...rules } = own;
    shape = object({ ...COMMON, ...properties }, rules);
    shapes.set(executor, shape);
  }
  return shape;
}

/** Returns the errors in a definition that its shape can't express. Paths are relative to the definition. */
export type Rules = (definition: JsonObject) => { path: readonly string[]; message: string }[];

/**
 * Returns everything that is wrong with a definition before its templates are evaluated. Values that are whole
 * templates match any shape, and are checked when the action runs. `rules` are the kind's own unless given.
 */
export function definitionFaults(
  app: Pick<App, "executors">,
  kind: ActionKind,
  definition: JsonObject,
  loc: readonly string[],
  rules: Rules | null = null,
): Fault[] {
  const executor = app.executors[kind];
  const { faults } = read(definitionShape(executor), definition, loc, { exempt: isWholeTemplate });
  faults.push(...lacking(executor, definition, loc));
  const paths = pathsOf(executor);
  for (const { path, message, type = "template_error" } of templateFaults(definition, paths)) {
    faults.push({ loc: [...loc, ...path], msg: message, type });
  }
  for (const path of templatesAboveConditions(executor, definition)) {
    const msg = "Conditions can't come from a template here. Write them out.";
    faults.push({ loc: [...loc, ...path], msg, type: "template_error" });
  }
  for (const { path, text } of conditionsIn(executor, definition)) {
    const fault = conditionFault(text);
    if (fault) faults.push({ loc: [...loc, ...path], msg: fault, type: "condition_error" });
  }
  if (faults.length >= MAX_FAULTS) return faults; // More aren't reported, so the rest may have wrong shapes too.
  const part = soundPart(definition, faults, loc);
  if (part === null || templatesAboveConditions(executor, part).length > 0) return faults;
  const check = rules ?? executor.check;
  const broken = [...keyFaults(part, loc), ...faultsAt(loc, check?.(part) ?? [])];
  return [...faults, ...broken.filter((fault) => !isReported(faults, fault.loc))];
}

/** Returns faults of rules as those of a request. */
export const faultsAt = (loc: readonly string[], broken: ReturnType<Rules>): Fault[] =>
  broken.map(({ path, message }) => ({ loc: [...loc, ...path], msg: message, type: "value_error" }));

/**
 * Returns literal secrets in a definition, which every reader of the action could see. Those that `before` has in the
 * same location are accepted: they were stored before this check existed, and aren't shown.
 */
export const typedFaults = (
  definition: JsonObject,
  loc: readonly string[],
  before: JsonObject = {},
): Fault[] =>
  newlyTyped(definition, before).map((path) => ({
    loc: [...loc, ...path],
    msg: "This looks like a secret, and everyone with read access would see it. Put it in the credentials of a connection, and set connectionId to that connection",
    type: "use_a_connection",
  }));

/** A concurrency key may not have a new value in each run. */
function keyFaults({ concurrencyKey = null }: JsonObject, loc: readonly string[]): Fault[] {
  const isNew = templatesIn(concurrencyKey).some(
    ({ template }) =>
      template.expression !== undefined && expressionOf(template.expression).calls.includes("uuid"),
  );
  const msg =
    "uuid() gives each run a key of its own, so none would wait for another. Use a value that runs share";
  return isNew ? [{ loc: [...loc, "concurrencyKey"], msg, type: "template_error" }] : [];
}

function lacking({ oneOf = [] }: Executor, definition: JsonObject, loc: readonly string[]): Fault[] {
  const [first, ...others] = oneOf;
  if (first === undefined || oneOf.some((field) => definition[field] !== undefined)) return [];
  return [{ loc: [...loc, first], msg: `Field required, or ${others.join(" or ")}`, type: "missing" }];
}

/** Throws `InvalidInput` for what `definitionFaults` finds; a definition of no fields is a draft and passes. */
export function checkDefinition(
  app: Pick<App, "executors">,
  kind: ActionKind,
  definition: JsonObject,
  { loc = ["body", "definition"], before = {} }: { loc?: readonly string[]; before?: JsonObject } = {},
): void {
  if (Object.keys(definition).length === 0) return;
  const faults = [...definitionFaults(app, kind, definition, loc), ...typedFaults(definition, loc, before)];
  if (faults.length > 0) throw new InvalidInput(faults);
}

/** Returns the definition with its templates evaluated. Throws `template_error`. */
export function fillIn(executor: Executor, definition: JsonObject, scope: Scope): JsonObject {
  const filled = resolveTemplates(definition, scope, fillPathsOf(executor, definition));
  if (!isObject(filled)) throw new AppError("definition_invalid", "The definition must be an object.");
  return filled;
}

export const hasTemplates = (executor: Executor, definition: JsonObject): boolean =>
  templatesIn(definition, fillPathsOf(executor, definition)).length > 0;

/**
 * Evaluates a definition's templates in a child process, if results of steps are too long to parse here or expressions
 * take too long.
 */
export async function fillInWhole(
  { compute, organizationId }: Context,
  executor: Executor,
  definition: JsonObject,
  { scope, kept }: { scope: Scope; kept: readonly StoredResult[] },
  signal: AbortSignal,
): Promise<JsonObject> {
  const work = { definition, options: fillPathsOf(executor, definition) };
  const filled = await fill(compute, work, { scope, kept }, { organizationId, signal });
  return executor.filledIn?.(definition, filled) ?? filled;
}

/**
 * Returns the kind's own fields with their defaults. The engine handles the common ones. Throws `definition_invalid`.
 */
export function checkFilled(executor: Executor, definition: JsonObject): JsonObject {
  const { value, faults } = read(definitionShape(executor), definition, ["definition"]);
  faults.push(...lacking(executor, definition, ["definition"]));
  const more = faults.length > 0 ? [] : (executor.check?.(definition) ?? []);
  if (faults.length + more.length > 0) {
    const all = [
      ...faults,
      ...more.map(({ path, message }) => ({
        loc: ["definition", ...path],
        msg: message,
        type: "value_error",
      })),
    ];
    const text = all.map((fault) => `${fault.loc.join(".")}: ${fault.msg}`).join("; ");
    throw new AppError("definition_invalid", text, { details: { faults: all } });
  }
  const own = (executor.definition as TObject).properties;
  return Object.fromEntries(Object.entries(value as JsonObject).filter(([name]) => name in own));
}

/** Timeout of each attempt, in seconds. A kind with a field of that name enforces it itself. */
export const timeoutOf = (executor: Executor, { timeoutSeconds }: CommonFields): number =>
  "timeoutSeconds" in (executor.definition as TObject).properties
    ? DEFAULT_TIMEOUT_SECONDS
    : (timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS);

/** What a run ends with at its timeout. */
export const timedOut = (seconds: number): AppError =>
  new AppError("timeout", `The run exceeded its timeout of ${seconds} s.`, { retryable: true });

/** Which fields are treated as SQL by templates, and which are left unchanged. */
const pathsOf = (executor: Executor) => ({
  sql: (executor.sqlFields ?? []).map((path) => path.split(".")),
  url: (executor.urlFields ?? []).map((path) => path.split(".")),
  skip: [...(executor.conditionFields ?? []), ...(executor.codeFields ?? [])].map((path) => path.split(".")),
});

/** The same for execution: what the executor evaluates itself, or was evaluated before, is left unchanged too. */
function fillPathsOf(executor: Executor, definition: JsonObject) {
  const paths = pathsOf(executor);
  const late = executor.lateFields?.(definition) ?? [];
  return { ...paths, skip: [...paths.skip, ["concurrencyKey"], ...late.map((path) => path.split("."))] };
}

/** Returns how a definition's fields are treated when it runs, for callers that evaluate part of it before. */
export function templateFieldsOf(app: Pick<App, "executors">, kind: ActionKind) {
  const { conditionFields = [], codeFields = [], sqlFields = [] } = app.executors[kind];
  const paths = (fields: readonly string[]) => fields.map((path) => path.split("."));
  return {
    live: [[]] as string[][],
    sql: paths(sqlFields),
    conditions: paths(conditionFields),
    code: paths(codeFields),
  };
}

/** The conditions of a definition, field by field. */
export function conditionsIn(executor: Executor, definition: JsonObject): { path: string[]; text: string }[] {
  return (executor.conditionFields ?? []).flatMap((pattern) => textsAt(definition, pattern.split("."), []));
}

/** Locations of whole templates where a condition, or an object with conditions, is required. */
const templatesAboveConditions = (executor: Executor, definition: JsonObject): string[][] =>
  (executor.conditionFields ?? []).flatMap((pattern) => {
    const parts = pattern.split(".");
    return parts.flatMap((_, length) =>
      textsAt(definition, parts.slice(0, length), [])
        .filter(({ text }) => isWholeTemplate(text))
        .map(({ path }) => path),
    );
  });

function textsAt(
  value: unknown,
  pattern: readonly string[],
  path: string[],
): { path: string[]; text: string }[] {
  const [head, ...rest] = pattern;
  if (head === undefined) return typeof value === "string" ? [{ path, text: value }] : [];
  if (typeof value !== "object" || value === null) return [];
  const entries =
    head === "*" ? Object.entries(value) : Object.entries(value).filter(([name]) => name === head);
  return entries.flatMap(([name, item]) => textsAt(item, rest, [...path, name]));
}
