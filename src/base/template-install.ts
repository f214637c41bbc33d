import { AppError } from "./errors.ts";
import { Budget, SMALL } from "./expression/budget.ts";
import { noUuid } from "./expression/expression.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";
import { measure } from "./measure.ts";
import { type Piece, pathsOf, readPieces, readTemplate, type Template } from "./template-grammar.ts";
import { lookUp, textOf } from "./template-lookup.ts";
import { fillSql } from "./template-sql.ts";

/** Keys, outermost first. `*` matches any key or index. */
type FieldPath = readonly string[];

/** How a definition's fields are used later, when it runs. */
export interface Places {
  /** Fields whose remaining templates are evaluated at run time, including nested ones. */
  live?: readonly FieldPath[];
  /** SQL fields: values become parameters in the map `parameters` next to the field. */
  sql?: readonly FieldPath[];
  /** CEL fields: values become literals. */
  conditions?: readonly FieldPath[];
  /** Code fields, which are left unchanged. */
  code?: readonly FieldPath[];
}

/** How templates with certain names are filled in. */
export interface Filling {
  /** Names at the start of the templates to fill in. All others are left unchanged. */
  names: readonly string[];
  /** Undefined for a value that isn't given: see `fillOnce`. Throws `template_error`. */
  look(template: Template, path: readonly string[]): Json | undefined;
  /** True leaves a template unchanged if its value isn't given. */
  keepAbsent?: boolean;
}

/** Maximum size of a definition, in characters of JSON. */
const MAX_EXPANSION = 16 * 1024 * 1024;

/**
 * Fills in the templates with certain names permanently, in one pass. Others are left for later.
 * Inserted values never become templates: in the live fields of `places` their braces are quoted as `{{"{{"}}`,
 * which evaluates to the braces themselves.
 *
 * A field that is exactly one template gets the value with its type. If the value isn't given,
 * the field is omitted from its object. Throws `template_error` with the location in `details.path`.
 */
export function fillOnce(value: Json, filling: Filling, places: Places = {}): Json {
  const { live = [], sql = [], conditions = [], code = [] } = places;
  const walk = {
    filling,
    budget: { left: MAX_EXPANSION },
    path: [],
    isLive: false,
    live,
    sql,
    conditions,
    code,
  };
  const filled = fill(value, enter(walk));
  return filled === undefined ? null : filled;
}

interface Walk {
  filling: Filling;
  budget: { left: number };
  path: readonly string[];
  isLive: boolean;
  live: readonly FieldPath[];
  sql: readonly FieldPath[];
  conditions: readonly FieldPath[];
  code: readonly FieldPath[];
}

const isHere = (path: FieldPath) => path.length === 0;

const narrow = (paths: readonly FieldPath[], key: string) =>
  paths.filter(([head]) => head === key || head === "*").map(([, ...rest]) => rest);

const enter = (walk: Walk): Walk => ({ ...walk, isLive: walk.isLive || walk.live.some(isHere) });

const step = (walk: Walk, key: string): Walk =>
  enter({
    ...walk,
    path: [...walk.path, key],
    live: narrow(walk.live, key),
    sql: narrow(walk.sql, key),
    conditions: narrow(walk.conditions, key),
    code: narrow(walk.code, key),
  });

function fill(value: Json, walk: Walk): Json | undefined {
  if (typeof value === "string") return placed(walk, () => fillField(value, walk));
  if (Array.isArray(value)) {
    return value.map((item, index) => {
      const inner = step(walk, String(index));
      const filled = fill(item, inner);
      if (filled === undefined) throw absent(String(item), inner.path);
      return filled;
    });
  }
  return isObject(value) ? fillObject(value, walk) : value;
}

function fillObject(value: JsonObject, walk: Walk): JsonObject {
  const added: JsonObject = {};
  const taken = isObject(value.parameters) ? Object.keys(value.parameters) : [];
  const entries = Object.entries(value).flatMap(([key, item]): [string, Json][] => {
    const inner = step(walk, key);
    if (typeof item !== "string" || !inner.sql.some(isHere)) {
      const filled = fill(item, inner);
      return filled === undefined ? [] : [[key, filled]];
    }
    return placed(inner, () => {
      const bound = fillStatement(item, inner, [...taken, ...Object.keys(added)]);
      Object.assign(added, bound.parameters);
      return [[key, bound.sql]];
    });
  });
  const filled = Object.fromEntries(entries);
  if (Object.keys(added).length === 0) return filled;
  const parameters = filled.parameters ?? {};
  if (!isObject(parameters)) {
    throw new AppError("template_error", "SQL with templates requires parameters to be an object.", {
      details: { path: [...walk.path, "parameters"] },
    });
  }
  return { ...filled, parameters: { ...parameters, ...added } };
}

function fillField(text: string, walk: Walk): Json | undefined {
  if (!text.includes("{{") || walk.code.some(isHere)) return text;
  if (walk.conditions.some(isHere)) return fillCondition(text, walk);
  const pieces = readPieces(text);
  const [first] = pieces;
  if (pieces.length === 1 && typeof first === "object" && takes(walk, first)) {
    const value = look(walk, first);
    if (value === undefined) return walk.filling.keepAbsent ? text : undefined;
    return walk.isLive ? quoted(value, /\{{2,}/g) : value;
  }
  return pieces.map((piece) => textOfPiece(piece, walk)).join("");
}

/** Throws `template_error` for an expression that reads both current and later values. */
function takes({ filling }: Walk, template: Template): boolean {
  const isKnown = ([name = ""]: readonly string[]) => filling.names.includes(name);
  const paths = pathsOf(template);
  if (!paths.some(isKnown)) return false;
  const other = paths.find((path) => !isKnown(path));
  if (other === undefined) return true;
  const message = `Template ${template.source} reads ${other[0]}, which isn't known yet when ${filling.names.join(" and ")} are. Use separate templates.`;
  throw new AppError("template_error", message);
}

/**
 * Evaluates an expression with the values that `look` finds for its paths. Undefined if it needs one that isn't given.
 */
function evaluated(walk: Walk, template: Template): Json | undefined {
  let scope: JsonObject = {};
  let isAbsent = false;
  for (const path of pathsOf(template)) {
    const value = walk.filling.look({ source: template.source, path }, walk.path);
    if (value === undefined) isAbsent = true;
    else scope = withValue(scope, path, value);
  }
  if (isAbsent && walk.filling.keepAbsent) return undefined;
  return lookUp(template, scope, { budget: new Budget(SMALL), nextUuid: noUuid });
}

/** Returns the object with a value at a path. */
function withValue(object: JsonObject, [name = "", ...rest]: readonly string[], value: Json): JsonObject {
  const known = Object.hasOwn(object, name) ? object[name] : undefined;
  const nested = rest.length === 0 ? value : withValue(isObject(known) ? known : {}, rest, value);
  return Object.fromEntries([...Object.entries(object), [name, nested]]);
}

function look(walk: Walk, template: Template): Json | undefined {
  const isComputed = template.expression !== undefined;
  const value = isComputed ? evaluated(walk, template) : walk.filling.look(template, walk.path);
  if (value === undefined) return value;
  walk.budget.left -= measure(value, walk.budget.left);
  if (walk.budget.left >= 0) return value;
  const megabytes = MAX_EXPANSION / 1024 / 1024;
  throw new AppError("template_error", `Templates insert more than ${megabytes} MiB. Pass less data.`);
}

/** Text of a piece within longer text. Outside live fields, quoted braces are unquoted here. */
function textOfPiece(piece: Piece, walk: Walk): string {
  if (typeof piece === "string") return piece;
  if (!takes(walk, piece)) {
    const isLiteral = piece.path.length === 0 && piece.expression === undefined && !walk.isLive;
    return isLiteral ? textOf(piece.fallback ?? "") : piece.source;
  }
  const value = look(walk, piece);
  if (value !== undefined) {
    const text = textOf(value);
    return walk.isLive ? quoteBraces(text, /\{+/g) : text; // a single brace could join an adjacent one
  }
  if (walk.filling.keepAbsent) return piece.source;
  throw absent(piece.source, walk.path);
}

function fillStatement(sql: string, walk: Walk, taken: readonly string[]) {
  const inside: Walk = { ...walk, isLive: true }; // parameters are evaluated when the statement runs
  const value = (template: Template): Json => {
    const found = look(walk, template);
    if (found !== undefined) return quoted(found, /\{{2,}/g);
    if (walk.filling.keepAbsent) return null;
    throw absent(template.source, walk.path);
  };
  return fillSql(
    sql,
    {
      takes: (template) => takes(walk, template),
      value,
      text(pieces) {
        const [first] = pieces;
        if (pieces.length === 1 && typeof first === "object" && value(first) === null) return null;
        return pieces.map((piece) => textOfPiece(piece, inside)).join("");
      },
    },
    taken,
  );
}

/** CEL accepts JSON literals. Within quotes, a value could end the string, so it is rejected there. */
function fillCondition(text: string, walk: Walk): string {
  let out = "";
  let quote = "";
  for (let at = 0; at < text.length; ) {
    const sign = text.charAt(at);
    const template = text.startsWith("{{", at) ? templateAt(text, at, walk) : null;
    if (template !== null) {
      if (quote !== "") {
        const message = `Remove the quotes around ${template.template.source}. Conditions use the value directly.`;
        throw new AppError("template_error", message);
      }
      const value = look(walk, template.template);
      if (value === undefined && !walk.filling.keepAbsent) throw absent(template.template.source, walk.path);
      out += JSON.stringify(value ?? null);
      at = template.end;
      continue;
    }
    const isEscaped = quote !== "" && sign === "\\";
    if (!isEscaped && (sign === '"' || sign === "'"))
      quote = quote === "" ? sign : quote === sign ? "" : quote;
    out += isEscaped ? text.slice(at, at + 2) : sign;
    at += isEscaped ? 2 : 1;
  }
  return out;
}

/** The template with known names that opens here. Null for CEL's own braces. */
function templateAt(text: string, at: number, walk: Walk) {
  try {
    const read = readTemplate(text, at);
    return takes(walk, read.template) ? read : null;
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}

/** Quotes all texts in `value`, so that evaluating templates leaves them unchanged. */
function quoted(value: Json, braces: RegExp): Json {
  if (typeof value === "string") return quoteBraces(value, braces);
  if (Array.isArray(value)) return value.map((item) => quoted(item, braces));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, quoted(item, braces)]));
}

const quoteBraces = (text: string, braces: RegExp) =>
  text.replace(braces, (run) => `{{${JSON.stringify(run)}}}`);

const absent = (source: string, path: readonly string[]) =>
  new AppError("template_error", `Template ${source} has no value.`, {
    details: { template: source, missing: source.replace(/^\{\{\s*|[\s}]+$/g, ""), path: [...path] },
  });

/** Adds the location to errors of `work`. */
function placed<T>({ path }: Walk, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof AppError) || error.details?.path !== undefined) throw error;
    throw new AppError(error.code, error.message, { details: { ...error.details, path: [...path] } });
  }
}
