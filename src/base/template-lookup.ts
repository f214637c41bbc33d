import { AppError } from "./errors.ts";
import { isObject, type Json } from "./json.ts";
import type { Scope } from "./template.ts";
import type { Template } from "./template-grammar.ts";

/**
 * What a template stands for in `scope`. Only own fields of objects and places of lists are reached,
 * so that `__proto__` and `constructor` are names like any other.
 *
 * The fallback stands in where a part is missing and where the value is null. Without one, throws
 * `template_error` naming the path and its first part that is missing. Names of headers are found in
 * any case, as HTTP has it.
 */
export function lookUp(template: Template, scope: Scope): Json {
  const { path, fallback } = template;
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

function missing({ source, path }: Template, depth: number, holder: Json): AppError {
  const part = path[depth] ?? "";
  const reason =
    depth === 0 ? `there is no ${part} here` : `${written(path.slice(0, depth))} ${lacks(holder, part)}`;
  const message = `The template ${source} has no value: ${reason}.`;
  return new AppError("template_error", message, {
    details: { template: source, missing: written(path.slice(0, depth + 1)) },
  });
}

function lacks(holder: Json, part: string): string {
  if (Array.isArray(holder)) return `is a list of ${holder.length} and has no ${JSON.stringify(part)}`;
  if (isObject(holder)) return `has no ${JSON.stringify(part)}`;
  return `is ${holder === null ? "null" : `a ${typeof holder}`} and has no ${JSON.stringify(part)}`;
}

/** A path as one would write it. */
const written = (path: readonly string[]) =>
  path
    .map((key, depth) => {
      if (/^[\p{L}_$@][\p{L}\p{N}_$@-]*$/u.test(key)) return depth === 0 ? key : `.${key}`;
      return /^\d+$/.test(key) ? `[${key}]` : `[${JSON.stringify(key)}]`;
    })
    .join("");

/** A value inside of text: texts as they are, null as nothing, the rest as JSON. */
export function textOf(value: Json): string {
  if (typeof value === "string") return value;
  return value === null ? "" : JSON.stringify(value);
}
