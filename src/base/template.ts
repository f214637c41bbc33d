import { AppError, MAX_FAULTS } from "./errors.ts";
import { Budget, SMALL } from "./expression/budget.ts";
import { type Evaluation, noUuid, uuidsOf } from "./expression/expression.ts";
import { ExpressionTooLong } from "./expression/too-long.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";
import { measure } from "./measure.ts";
import { readPieces, type Template } from "./template-grammar.ts";
import { ambiguityOf, checkExpression, lookUp, textOf } from "./template-lookup.ts";
import { sqlTemplate } from "./template-sql.ts";
import { fillUrl } from "./template-url.ts";

export { sqlTemplate };

/**
 * Names that templates and conditions see: `payload`, `headers` (with lowercase names), `query`, `input`, `steps`,
 * `run`, `now`, `automation`, and inside `forEach` also `item` and `index`.
 */
export type Scope = Readonly<Record<string, Json>>;

/** Keys, outermost first. `*` matches any key or index. */
type FieldPath = readonly string[];

export interface TemplateOptions {
  /** Fields that are left unchanged, including nested ones. */
  skip?: readonly FieldPath[];
  /** SQL fields: templates become parameters in the map `parameters` next to the field. */
  sql?: readonly FieldPath[];
  /** URL fields: a value within text is one segment or query value. */
  url?: readonly FieldPath[];
  /** Budget of all expressions together. Default: small enough for the main thread. */
  expressions?: Budget;
}

/** Maximum size of all values inserted into one definition, in characters of JSON. */
const MAX_EXPANSION = 64 * 1024 * 1024;

/**
 * Returns `value` with its templates evaluated. Keys of objects are left unchanged,
 * and inserted values aren't evaluated again. A text that is exactly one template gets the value with its type.
 * Otherwise see `textOf`. The result may share parts with `value` and `scope`.
 *
 * Throws `template_error` with the location in `details.path`, and `ExpressionTooLong`.
 */
export function resolveTemplates(value: Json, scope: Scope, options: TemplateOptions = {}): Json {
  if (!JSON.stringify(value).includes("{{")) return value; // this check is several times faster than walking the value
  const { skip = [], sql = [], url = [], expressions = new Budget(SMALL) } = options;
  return resolve(value, { scope, budget: { left: MAX_EXPANSION }, expressions, path: [], skip, sql, url });
}

interface FieldFault {
  path: string[];
  message: string;
  /** Present if the template has a value, but perhaps not the intended one. */
  type?: "ambiguous_path";
}

/**
 * Returns the invalid templates of each field, including unknown functions and names,
 * to check them before anything runs. A path can start with any name. Keys can't have templates, which would be left
 * unchanged.
 */
export function templateFaults(value: Json, options: TemplateOptions = {}): FieldFault[] {
  const faults: FieldFault[] = [];
  const seeText = (text: string, path: readonly string[], isSql: boolean) => {
    if (faults.length >= MAX_FAULTS) return;
    let templates: Template[] = [];
    const fault = faultOf(() => {
      templates = templatesOf(text, isSql);
      templates.forEach(checkExpression);
    });
    const [ambiguity] = fault ? [] : templates.flatMap((template) => ambiguityOf(template) ?? []);
    if (fault) faults.push({ path: [...path], message: fault.message });
    else if (ambiguity !== undefined)
      faults.push({ path: [...path], message: ambiguity, type: "ambiguous_path" });
  };
  const seeKey = (key: string, path: readonly string[]) => {
    if (faults.length < MAX_FAULTS && templatesIn(key).length > 0)
      faults.push({ path: [...path], message: TEMPLATE_KEY });
  };
  eachText(value, options, seeText, seeKey);
  return faults;
}

const TEMPLATE_KEY =
  "A key can't contain a template. Use an expression for the object, such as {{ {input.key: input.value} }}";

/** The same for an expression without braces. */
export function expressionFaults(text: string): FieldFault[] {
  const template = { source: text, path: [], expression: text };
  const message = faultOf(() => checkExpression(template))?.message ?? ambiguityOf(template);
  return message === null ? [] : [{ path: [], message }];
}

/** Returns the templates of each field. Fields that can't be parsed are left out. */
export function templatesIn(
  value: Json,
  options: TemplateOptions = {},
): { path: string[]; template: Template }[] {
  const found: { path: string[]; template: Template }[] = [];
  eachText(value, options, (text, path, isSql) => {
    faultOf(() => found.push(...templatesOf(text, isSql).map((template) => ({ path: [...path], template }))));
  });
  return found;
}

/** Calls `see` with each text that contains braces, and `seeKey` with each such key. */
function eachText(
  value: Json,
  { skip = [], sql = [] }: TemplateOptions,
  see: (text: string, path: readonly string[], isSql: boolean) => void,
  seeKey?: (key: string, path: readonly string[]) => void,
): void {
  const walk = (item: Json, at: Pick<Walk, "path" | "skip" | "sql" | "url">): void => {
    if (at.skip.some(isHere)) return;
    if (typeof item === "string") {
      if (item.includes("{{")) see(item, at.path, at.sql.some(isHere));
    } else if (typeof item === "object" && item !== null)
      for (const [key, part] of Object.entries(item)) {
        const inner = step(at, key);
        if (key.includes("{{") && !inner.skip.some(isHere)) seeKey?.(key, inner.path);
        walk(part, inner);
      }
  };
  walk(value, { path: [], skip, sql, url: [] });
}

function templatesOf(text: string, isSql: boolean): Template[] {
  if (!isSql) return readPieces(text).filter((piece) => typeof piece === "object");
  const templates: Template[] = [];
  const see = (template: Template) => {
    templates.push(template);
    return null;
  };
  sqlTemplate(text, see, []);
  return templates;
}

/** Returns whether a text is exactly one template, whose value isn't known before it runs. */
export function isWholeTemplate(value: unknown): value is string {
  if (typeof value !== "string" || !value.startsWith("{{") || !value.endsWith("}}")) return false;
  let whole = false;
  const fault = faultOf(() => {
    const pieces = readPieces(value);
    whole = pieces.length === 1 && typeof pieces[0] === "object";
  });
  return !fault && whole;
}

function faultOf(work: () => unknown): AppError | null {
  try {
    work();
    return null;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

interface Walk {
  scope: Scope;
  budget: { left: number };
  expressions: Budget;
  path: readonly string[];
  /** The rest of the field paths from here. */
  skip: readonly FieldPath[];
  sql: readonly FieldPath[];
  url: readonly FieldPath[];
}

const isHere = (path: FieldPath) => path.length === 0;

const narrow = (paths: readonly FieldPath[], key: string) =>
  paths.filter(([head]) => head === key || head === "*").map(([, ...rest]) => rest);

const step = <W extends Pick<Walk, "path" | "skip" | "sql" | "url">>(walk: W, key: string): W => ({
  ...walk,
  path: [...walk.path, key],
  skip: narrow(walk.skip, key),
  sql: narrow(walk.sql, key),
  url: narrow(walk.url, key),
});

function resolve(value: Json, walk: Walk): Json {
  if (walk.skip.some(isHere)) return value;
  if (typeof value === "string") return placed(walk, () => fill(value, walk));
  if (Array.isArray(value)) return value.map((item, index) => resolve(item, step(walk, String(index))));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]): [string, Json] => {
    const inner = step(walk, key);
    return [key, inner.sql.some(isHere) ? item : resolve(item, inner)];
  });
  return bindSql(Object.fromEntries(entries), walk);
}

function fill(text: string, walk: Walk): Json {
  if (!text.includes("{{")) return text;
  const { scope, budget, url } = walk;
  const pieces = readPieces(text);
  const evaluation = evaluationOf(walk);
  const look = (template: Template) => spend(budget, lookUp(template, scope, evaluation));
  const [first] = pieces;
  if (pieces.length === 1 && typeof first === "object") return look(first);
  if (url.some(isHere)) return fillUrl(pieces, look);
  return pieces.map((piece) => (typeof piece === "string" ? piece : textOf(look(piece)))).join("");
}

/** IDs depend on the run and the field, so that they are the same in each attempt. */
function evaluationOf({ scope, expressions, path }: Walk): Evaluation {
  const run = isObject(scope.run) && typeof scope.run.id === "string" ? scope.run.id : null;
  const nextUuid = run === null ? noUuid : uuidsOf(`${run}:${path.join(".")}`);
  return { budget: expressions, nextUuid };
}

/** Moves the templates of this object's SQL fields into its `parameters`. */
function bindSql(object: JsonObject, walk: Walk): JsonObject {
  const added: JsonObject = {};
  const bound = Object.entries(object).map(([key, item]): [string, Json] => {
    const inner = step(walk, key);
    if (typeof item !== "string" || !inner.sql.some(isHere)) return [key, item];
    return placed(inner, () => {
      const taken = [
        ...Object.keys(added),
        ...(isObject(object.parameters) ? Object.keys(object.parameters) : []),
      ];
      const look = (template: Template) => lookUp(template, walk.scope, evaluationOf(inner));
      const { sql, parameters } = sqlTemplate(item, look, taken);
      Object.assign(added, spend(walk.budget, parameters));
      return [key, sql];
    });
  });
  if (Object.keys(added).length === 0) return Object.fromEntries(bound);
  const ownParameters = object.parameters ?? {};
  if (!isObject(ownParameters)) {
    const message = "SQL with templates requires parameters to be an object.";
    throw placedAt(new AppError("template_error", message), [...walk.path, "parameters"]);
  }
  return { ...Object.fromEntries(bound), parameters: { ...ownParameters, ...added } };
}

function spend<T extends Json>(budget: Walk["budget"], value: T): T {
  budget.left -= measure(value, budget.left);
  if (budget.left >= 0) return value;
  const megabytes = MAX_EXPANSION / 1024 / 1024;
  throw new AppError("template_error", `Templates insert more than ${megabytes} MiB. Pass less data.`);
}

/** Adds the location to errors of `work`. */
function placed<T>({ path }: Pick<Walk, "path">, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof AppError ? placedAt(error, path) : error;
  }
}

function placedAt(error: AppError, path: readonly string[]): AppError {
  const place = path.length > 0 ? `${path.join(".")}: ` : "";
  const message = `${place}${error.message}`;
  const details = { ...error.details, path: [...path] };
  if (error instanceof ExpressionTooLong) return new ExpressionTooLong(error.code, message, { details });
  return new AppError(error.code, message, { details });
}
