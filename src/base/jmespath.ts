import { compile, type JSONValue, TreeInterpreter } from "@jmespath-community/jmespath";
import { systemClock } from "./clock.ts";
import { AppError } from "./errors.ts";
import { isObject, type Json } from "./json.ts";
import { measure } from "./measure.ts";

type Node = ReturnType<typeof compile>;
type Value = Parameters<typeof TreeInterpreter.visit>[1];

/** The longest expression, in characters. */
const MAX_LENGTH = 4096;
/** Milliseconds that one search may take. */
const MAX_SEARCH_MS = 2_000;
/** The most that a search may give or join, in characters of JSON. */
const MAX_SIZE = 64 * 1024 * 1024;

/** Beyond JMESPath's standard, and without a bound on time or memory. */
const REFUSED_FUNCTIONS = new Set(["pad_left", "pad_right", "replace", "trim", "trim_left", "trim_right"]);

/** What these give may hold one value many times over, so that a few of them unfold to more than there is memory. */
const MULTIPLYING = new Set<string>([
  "MultiSelectList",
  "MultiSelectHash",
  "Projection",
  "ValueProjection",
  "FilterProjection",
  "Function",
]);

/** Why `text` is no JMESPath expression, in one sentence; null where it is one. */
export function jmespathFault(text: string): string | null {
  if (text.length > MAX_LENGTH) return `A JMESPath expression has at most ${MAX_LENGTH} characters.`;
  try {
    const refused = refusedIn(compile(text));
    return refused ? `The JMESPath expression ${shown(text)} uses ${refused}, which is not available.` : null;
  } catch (error) {
    return `The JMESPath expression ${shown(text)} can't be read: ${reasonOf(error)}.`;
  }
}

/**
 * What a JMESPath expression (https://jmespath.org) finds in `data`; null for nothing. Only own fields
 * are found. Throws `definition_invalid` for an expression that can't be read or does not fit the data,
 * and for one that takes or gives too much.
 */
export function searchJson(data: Json, text: string, limitMs = MAX_SEARCH_MS): Json {
  const fault = jmespathFault(text);
  if (fault) throw new AppError("definition_invalid", fault);
  const interpreter = new BoundedInterpreter();
  interpreter.until = systemClock.monotonic() + limitMs;
  let found: Json;
  try {
    found = interpreter.search(compile(text), data as JSONValue) as Json;
  } catch (error) {
    if (error instanceof AppError) throw error;
    const message = `The JMESPath expression ${shown(text)} does not fit the data: ${reasonOf(error)}.`;
    throw new AppError("definition_invalid", message, { cause: error });
  }
  if (measure(found, MAX_SIZE) > MAX_SIZE) throw tooMuch();
  return found;
}

/** The library's class has no name to import it by. */
const Interpreter = TreeInterpreter.constructor as new () => typeof TreeInterpreter;

class BoundedInterpreter extends Interpreter {
  until = 0;

  override visit(node: Node, value: Value): ReturnType<typeof TreeInterpreter.visit> {
    if (systemClock.monotonic() > this.until) throw tooMuch();
    if (node.type === "Field")
      return isObject(value) && Object.hasOwn(value, node.name) ? (value[node.name] ?? null) : null;
    if (node.type === "Function" && node.name === "join") this.checkJoin(node.children, value);
    const found = super.visit(node, value);
    if (MULTIPLYING.has(node.type) && measure(found as Json, MAX_SIZE) > MAX_SIZE) throw tooMuch();
    return found;
  }

  private checkJoin(children: readonly Node[], value: Value): void {
    const [glue, list] = children.map((child) => this.visit(child, value));
    if (typeof glue === "string" && Array.isArray(list) && glue.length * list.length > MAX_SIZE)
      throw tooMuch();
  }
}

/** The first thing in the tree that is not let through, in words. */
function refusedIn(node: unknown): string | null {
  if (typeof node !== "object" || node === null) return null;
  if ("type" in node) {
    if (node.type === "LetExpression") return "let";
    if (node.type === "Literal") return null;
    if (node.type === "Function" && "name" in node && REFUSED_FUNCTIONS.has(String(node.name)))
      return `${node.name}()`;
  }
  for (const part of Object.values(node)) {
    const refused = refusedIn(part);
    if (refused) return refused;
  }
  return null;
}

const tooMuch = () =>
  new AppError(
    "definition_invalid",
    "The JMESPath expression takes too long or gives too much for this data.",
  );

const reasonOf = (error: unknown) =>
  (error instanceof Error ? error.message : String(error)).replace(/\.$/, "");

const shown = (text: string) => JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
