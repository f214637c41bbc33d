import { AppError, MAX_FAULTS } from "./errors.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";
import { measure } from "./measure.ts";
import { readPieces } from "./template-grammar.ts";
import { lookUp, textOf } from "./template-lookup.ts";
import { sqlTemplate } from "./template-sql.ts";
import { fillUrl } from "./template-url.ts";

export { sqlTemplate };

/**
 * The names that templates and conditions see: `payload`, `headers` (names in lower case), `query`,
 * `input`, `steps`, `run`, `now`, `automation`, and inside of `forEach` also `item` and `index`.
 */
export type Scope = Readonly<Record<string, Json>>;

/** Keys from the outermost in; `*` stands for any key or place. */
type FieldPath = readonly string[];

export interface TemplateOptions {
  /** Fields that are left as they are, with all that is in them. */
  skip?: readonly FieldPath[];
  /** Fields of SQL: their templates become parameters in the map `parameters` beside the field. */
  sql?: readonly FieldPath[];
  /** Fields of URLs: what a template puts inside of text is one segment or one value there. */
  url?: readonly FieldPath[];
}

/** The most that the templates of one definition may put in, in characters of JSON. */
const MAX_EXPANSION = 64 * 1024 * 1024;

/**
 * `value` with its templates filled in; keys of objects stay as they are, and what a template brings
 * in is never looked through again. A text that is exactly one template takes on the value with its
 * type; inside of text see `textOf`. The result may share parts with `value` and `scope`.
 *
 * Throws `template_error` with the place in `details.path`.
 */
export function resolveTemplates(value: Json, scope: Scope, options: TemplateOptions = {}): Json {
  if (!JSON.stringify(value).includes("{{")) return value; // to look is several times cheaper than to walk through it
  const { skip = [], sql = [], url = [] } = options;
  return resolve(value, { scope, budget: { left: MAX_EXPANSION }, path: [], skip, sql, url });
}

/** What can't be read as a template, place by place; for checking before anything runs. */
export function templateFaults(
  value: Json,
  options: TemplateOptions = {},
): { path: string[]; message: string }[] {
  const faults: { path: string[]; message: string }[] = [];
  const check = (item: Json, walk: Pick<Walk, "path" | "skip" | "sql" | "url">): void => {
    if (walk.skip.some(isHere) || faults.length >= MAX_FAULTS) return;
    if (typeof item === "string") {
      const fault = faultOf(() => (walk.sql.some(isHere) ? sqlTemplate(item, null, []) : readPieces(item)));
      if (fault) faults.push({ path: [...walk.path], message: fault.message });
    } else if (typeof item === "object" && item !== null) {
      for (const [key, part] of Object.entries(item)) check(part, step(walk, key));
    }
  };
  check(value, { path: [], skip: options.skip ?? [], sql: options.sql ?? [], url: [] });
  return faults;
}

/** True for a text that is one template and nothing else: what it stands for is not known before it runs. */
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
  path: readonly string[];
  /** What is left of the field paths from here on. */
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

function fill(text: string, { scope, budget, url }: Walk): Json {
  if (!text.includes("{{")) return text;
  const pieces = readPieces(text);
  const [first] = pieces;
  if (pieces.length === 1 && typeof first === "object") return spend(budget, lookUp(first, scope));
  if (url.some(isHere)) return fillUrl(pieces, (template) => spend(budget, lookUp(template, scope)));
  const texts = pieces.map((piece) => {
    if (typeof piece === "string") return piece;
    return textOf(spend(budget, lookUp(piece, scope)));
  });
  return texts.join("");
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
      const { sql, parameters } = sqlTemplate(item, walk.scope, taken);
      Object.assign(added, spend(walk.budget, parameters));
      return [key, sql];
    });
  });
  if (Object.keys(added).length === 0) return Object.fromEntries(bound);
  const given = object.parameters ?? {};
  if (!isObject(given)) {
    const message = "The templates of SQL need parameters to be an object.";
    throw placedAt(new AppError("template_error", message), [...walk.path, "parameters"]);
  }
  return { ...Object.fromEntries(bound), parameters: { ...given, ...added } };
}

function spend<T extends Json>(budget: Walk["budget"], value: T): T {
  budget.left -= measure(value, budget.left);
  if (budget.left >= 0) return value;
  const megabytes = MAX_EXPANSION / 1024 / 1024;
  throw new AppError("template_error", `The templates put in more than ${megabytes} MiB; pass on less.`);
}

/** Tells where a fault lies that `work` finds. */
function placed<T>({ path }: Pick<Walk, "path">, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof AppError ? placedAt(error, path) : error;
  }
}

function placedAt(error: AppError, path: readonly string[]): AppError {
  const place = path.length > 0 ? `${path.join(".")}: ` : "";
  return new AppError(error.code, `${place}${error.message}`, {
    details: { ...error.details, path: [...path] },
  });
}
