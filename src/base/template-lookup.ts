import { AppError } from "./errors.ts";
import { type Evaluation, evaluateJson, expressionOf } from "./expression/expression.ts";
import { ExpressionError } from "./expression/fault.ts";
import { reasonOf } from "./expression/reason.ts";
import { ExpressionTooLong } from "./expression/too-long.ts";
import { isObject, type Json } from "./json.ts";
import type { Scope } from "./template.ts";
import type { Template } from "./template-grammar.ts";

/** Names that expressions can start with: those of runs, and those of installations. */
const NAMES =
  "payload headers query input steps item index items run now automation inputs components config credentials".split(
    " ",
  );

/** Throws `template_error` for an expression with an unknown function or name. */
export function checkExpression({ source, expression }: Template): void {
  if (expression === undefined) return;
  const unreadable = (reason: string) =>
    new AppError("template_error", `Invalid template ${shown(source)}: ${reason}.`);
  try {
    for (const { path, at } of expressionOf(expression).reads) {
      const [name = ""] = path;
      if (NAMES.includes(name)) continue;
      throw new ExpressionError("syntax", `unknown name ${name}. Use ${NAMES.slice(0, 11).join(", ")}`, at);
    }
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    throw unreadable(reasonOf(error, expression));
  }
}

/**
 * Returns why a template isn't clear: one of its paths may be meant as a difference, which it was before paths between
 * `??` could have minus signs. Null if it is clear.
 */
export function ambiguityOf({ source, expression }: Template): string | null {
  if (expression === undefined) return null;
  const path = expressionOf(expression).paths.find(({ text }) => mayBeDifference(text));
  if (path === undefined) return null;
  const reason =
    'write spaces for a difference, as in a - b, or brackets for a key with a minus sign, as in a["b-1"]';
  return `Invalid template ${shown(source)}: ${reasonOf(new ExpressionError("syntax", reason, path.at), expression)}.`;
}

/**
 * After a minus sign, a number at the end or a path that can lead to a number. Keys such as `line-item` are common:
 * such a path begins with `item` only if the whole one does, too.
 */
const DIFFERENCE = /-(?:\d+(?:[.]\d+)?$|(?:payload|inputs?|steps)[.[])|^items?[.[].*-items?[.[]/;

/** Steps, headers and query parameters aren't numbers. */
const NO_NUMBER = /^(?:steps|headers|query)[.][^.[]*/;

const mayBeDifference = (path: string): boolean =>
  DIFFERENCE.test(path.replace(/"(?:[^"\\]|\\.)*"/g, "").replace(NO_NUMBER, ""));

const MAX_SHOWN = 200;

const shown = (source: string) => (source.length > MAX_SHOWN ? `${source.slice(0, MAX_SHOWN)}…` : source);

/** Evaluates an expression. Throws `template_error`, and `ExpressionTooLong` if it exceeds its budget. */
function evaluate({ source }: Template, expression: string, scope: Scope, evaluation: Evaluation): Json {
  try {
    return evaluateJson(expression, scope, evaluation);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    const message = `Template ${shown(source)} has no value: ${reasonOf(error, expression)}.`;
    const details = { template: source, at: error.at };
    if (error.kind === "budget") throw new ExpressionTooLong("template_error", message, { details });
    throw new AppError("template_error", message, { details });
  }
}

/**
 * Looks up a template in `scope`. Reads only own fields of objects and items of lists,
 * so that `__proto__` and `constructor` are ordinary names.
 *
 * The default is used for a missing part and for null. Without one,
 * throws `template_error` naming the path and its first missing part. Header names are case-insensitive, as in HTTP.
 */
export function lookUp(template: Template, scope: Scope, evaluation: Evaluation): Json {
  const { path, fallback, expression } = template;
  if (expression !== undefined) return evaluate(template, expression, scope, evaluation);
  let value: Json = scope;
  for (const [depth, part] of path.entries()) {
    const key = depth === 1 && path[0] === "headers" ? part.toLowerCase() : part;
    const next = own(value, key);
    if (next === undefined) {
      if (fallback !== undefined) return fallback;
      throw missing(template, depth, value);
    }
    value = next;
  }
  return fallback !== undefined && (path.length === 0 || value === null) ? fallback : value;
}

function own(value: Json, key: string): Json | undefined {
  if (Array.isArray(value)) return /^(0|[1-9]\d*)$/.test(key) ? value[Number(key)] : undefined;
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Why an existing step may be missing. */
const UNSEEN = ", since that step was skipped or isn't among the dependsOn of this one";

function missing({ source, path }: Template, depth: number, holder: Json): AppError {
  const part = path[depth] ?? "";
  const unseen = depth === 1 && path[0] === "steps" ? UNSEEN : "";
  const reason =
    depth === 0 ? absent(part) : `${written(path.slice(0, depth))} ${lacks(holder, part)}${unseen}`;
  const message = `Template ${source} has no value: ${reason}.`;
  return new AppError("template_error", message, {
    details: { template: source, missing: written(path.slice(0, depth + 1)) },
  });
}

function absent(name: string): string {
  if (name === "payload") return "this run has no payload, because no webhook, form or event started it";
  return `unknown name ${name}`;
}

function lacks(holder: Json, part: string): string {
  if (Array.isArray(holder)) return `is a list of ${holder.length} and has no ${JSON.stringify(part)}`;
  if (isObject(holder)) return `has no ${JSON.stringify(part)}`;
  return `is ${holder === null ? "null" : `a ${typeof holder}`} and has no ${JSON.stringify(part)}`;
}

/** Formats a path. */
const written = (path: readonly string[]) =>
  path
    .map((key, depth) => {
      if (/^[\p{L}_$@][\p{L}\p{N}_$@-]*$/u.test(key)) return depth === 0 ? key : `.${key}`;
      return /^\d+$/.test(key) ? `[${key}]` : `[${JSON.stringify(key)}]`;
    })
    .join("");

/** Text of a value within longer text: strings unchanged, null as nothing, anything else as JSON. */
export function textOf(value: Json): string {
  if (typeof value === "string") return value;
  return value === null ? "" : JSON.stringify(value);
}
