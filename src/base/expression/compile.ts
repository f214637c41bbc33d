import { addEntry, boolOf, type Env, keyShown, located, type OperandRun, type Run } from "./evaluation.ts";
import { ExpressionError } from "./fault.ts";
import { FUNCTIONS } from "./functions/table.ts";
import { loopOver } from "./loops.ts";
import { ARITHMETIC, COMPARISONS, unfit } from "./operators.ts";
import type { Node } from "./parse.ts";
import {
  Duration,
  decimalOf,
  find,
  int,
  isList,
  isObject,
  LongDecimal,
  nameOf,
  type Operand,
  plain,
  type Value,
} from "./value.ts";

/** The variables of the macros around a node, innermost last. */
export type Bound = readonly string[];

type Of<K extends Node["kind"]> = Extract<Node, { kind: K }>;

/**
 * Compiles a tree to a function. Throws `ExpressionError` for unknown functions and for a wrong number of arguments.
 */
export function compile(node: Node, bound: Bound = []): Run {
  switch (node.kind) {
    case "value":
      return () => node.value;
    case "name":
      return compileName(node, bound);
    case "field":
      return compileKey(node, node.of, () => node.name, bound);
    case "index":
      return compileKey(node, node.of, compile(node.key, bound), bound);
    case "has":
      return compileHas(node, bound);
    case "loop":
      return compileLoop(node, bound);
    case "not":
      return compileNot(node, bound);
    case "call":
    case "negative":
    case "binary":
    case "choice": {
      const run = compileOperand(node, bound);
      return (env) => plain(run(env));
    }
    case "list":
      return compileList(node, bound);
    case "map":
      return compileMap(node, bound);
  }
}

/** Compiles an operand of an operator, which sees more than a value. */
function compileOperand(node: Node, bound: Bound): OperandRun {
  switch (node.kind) {
    case "call":
      return compileCall(node, bound);
    case "negative":
      return compileNegative(node, bound);
    case "binary":
      return compileBinary(node, bound);
    case "choice":
      return compileChoice(node, bound);
    default:
      return compile(node, bound);
  }
}

function compileName({ name, at }: Of<"name">, bound: Bound): Run {
  const slot = bound.lastIndexOf(name);
  if (slot >= 0) return ({ variables }) => variables[slot] ?? null;
  return ({ scope }) => {
    if (Object.hasOwn(scope, name)) return scope[name] ?? null;
    throw new ExpressionError("missing", `unknown name ${name}`, at);
  };
}

function compileKey({ at }: Node, of: Node, key: Run, bound: Bound): Run {
  const holder = compile(of, bound);
  const isHeaders = of.kind === "name" && of.name === "headers" && !bound.includes("headers");
  return (env) => {
    const from = holder(env);
    const keyValue = key(env);
    const wanted = isHeaders && typeof keyValue === "string" ? keyValue.toLowerCase() : keyValue;
    const value = find(from, wanted);
    if (value !== undefined) return value;
    throw new ExpressionError("missing", `${nameOf(from)} has no ${keyShown(wanted)}`, at);
  };
}

function compileHas({ of, name, at }: Of<"has">, bound: Bound): Run {
  const holder = compile(of, bound);
  return (env) => {
    const from = holder(env);
    if (from === null) return false;
    if (!isObject(from)) throw new ExpressionError("missing", `${nameOf(from)} has no fields`, at);
    return find(from, name) !== undefined;
  };
}

/** Resolves the function of a call: `math.round(x)`, or `round(x)` and `x.round()`. */
function calleeOf({ of, name, args }: Of<"call">, bound: Bound): { name: string; args: Node[] } {
  if (of === null) return { name, args };
  if (of.kind === "name" && !bound.includes(of.name) && FUNCTIONS.has(`${of.name}.${name}`))
    return { name: `${of.name}.${name}`, args };
  return { name, args: [of, ...args] };
}

function compileCall(node: Of<"call">, bound: Bound): OperandRun {
  const { at } = node;
  const { name, args } = calleeOf(node, bound);
  const callee = FUNCTIONS.get(name);
  if (!callee) throw new ExpressionError("syntax", `unknown function ${name}${nearest(name)}`, at);
  const { min, max, isShallow, call } = callee;
  if (args.length < min || args.length > max) {
    const count =
      min === max ? min : max === Number.POSITIVE_INFINITY ? `at least ${min}` : `${min} to ${max}`;
    throw new ExpressionError(
      "syntax",
      `${name} requires ${count} ${max === 1 ? "argument" : "arguments"}, not ${args.length}`,
      at,
    );
  }
  const runs = args.map((arg) => compile(arg, bound));
  return (env) => {
    const values = runs.map((run) => run(env));
    try {
      let steps = 1;
      if (!isShallow) for (const value of values) steps += extentOf(value);
      env.budget.step(steps);
      return call(values, env);
    } catch (error) {
      if (!(error instanceof ExpressionError) || error.at >= 0) throw error;
      throw new ExpressionError(
        error.kind,
        error.kind === "budget" ? error.reason : `${name}: ${error.reason}`,
        at,
      );
    }
  };
}

/** Returns the cost of scanning a value, in steps. */
function extentOf(value: Value): number {
  if (typeof value === "string") return value.length >> 3;
  if (isList(value)) return value.length;
  if (value instanceof Uint8Array) return value.length >> 5;
  return value instanceof Map ? value.size : 0;
}

function nearest(name: string): string {
  const last = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  const close = [...FUNCTIONS.keys()].find(
    (each) => each.slice(each.lastIndexOf(".") + 1).toLowerCase() === last,
  );
  return close ? ` (did you mean ${close}?)` : "";
}

function compileNot({ of, at }: Of<"not" | "negative">, bound: Bound): Run {
  const inner = compile(of, bound);
  return (env) => !boolOf(inner(env), "!", at);
}

function compileNegative({ of, at }: Of<"not" | "negative">, bound: Bound): OperandRun {
  const inner = compileOperand(of, bound);
  return (env) => {
    const value = inner(env);
    if (typeof value === "number") return -value;
    if (typeof value === "bigint") return located(at, () => int(-value));
    if (value instanceof LongDecimal) return located(at, () => decimalOf(-value.whole));
    if (value instanceof Duration) return new Duration(-value.nanoseconds);
    throw unfit("-", value).located(at);
  };
}

function compileBinary({ operator, left, right, at }: Of<"binary">, bound: Bound): OperandRun {
  if (operator === "&&" || operator === "||")
    return logical(operator, compile(left, bound), compile(right, bound), at);
  const compare = COMPARISONS[operator];
  if (compare) return calculation(compare, compile(left, bound), compile(right, bound), at);
  const a = compileOperand(left, bound);
  const b = compileOperand(right, bound);
  if (operator === "??") return (env) => orElse(a, env) ?? b(env);
  const calculate = ARITHMETIC[operator];
  if (!calculate) throw new ExpressionError("syntax", `unknown operator ${operator}`, at);
  return calculation(calculate, a, b, at);
}

function calculation<T>(
  calculate: (a: T, b: T, budget: Env["budget"]) => Operand,
  a: (env: Env) => T,
  b: (env: Env) => T,
  at: number,
): OperandRun {
  return (env) => {
    const x = a(env);
    const y = b(env);
    return located(at, () => {
      env.budget.step();
      return calculate(x, y, env.budget);
    });
  };
}

/** Returns null if something is missing. */
function orElse(run: OperandRun, env: Env): Operand {
  try {
    return run(env);
  } catch (error) {
    if (error instanceof ExpressionError && error.kind === "missing") return null;
    throw error;
  }
}

/** As in CEL, one operand that decides is enough, even if the other fails. */
function logical(operator: "&&" | "||", a: Run, b: Run, at: number): Run {
  const deciding = operator === "||";
  const side = (run: Run, env: Env): boolean | ExpressionError => {
    try {
      return boolOf(run(env), operator, at);
    } catch (error) {
      if (error instanceof ExpressionError && error.kind !== "budget") return error;
      throw error;
    }
  };
  return (env) => {
    const first = side(a, env);
    if (first === deciding) return deciding;
    const second = side(b, env);
    if (second === deciding) return deciding;
    for (const outcome of [first, second]) if (typeof outcome !== "boolean") throw outcome;
    return !deciding;
  };
}

function compileChoice({ condition, yes, no, at }: Of<"choice">, bound: Bound): OperandRun {
  const when = compile(condition, bound);
  const [then, otherwise] = [compileOperand(yes, bound), compileOperand(no, bound)];
  return (env) => (boolOf(when(env), "?", at) ? then(env) : otherwise(env));
}

function compileList({ items, at }: Of<"list">, bound: Bound): Run {
  const runs = items.map((item) => compile(item, bound));
  return (env) => {
    located(at, () => env.budget.make(8 * runs.length));
    return runs.map((run) => run(env));
  };
}

function compileMap({ entries, at }: Of<"map">, bound: Bound): Run {
  const runs = entries.map(([key, value]) => [compile(key, bound), compile(value, bound)] as const);
  return (env) => {
    located(at, () => env.budget.make(16 * runs.length));
    const map = new Map<Value, Value>();
    for (const [key, value] of runs) addEntry(map, key(env), value(env), at);
    return map;
  };
}

function compileLoop({ macro, list, names, args, at }: Of<"loop">, bound: Bound): Run {
  const inner = [...bound, ...names];
  const [first, second] = args.map((arg) => compile(arg, inner));
  if (!first) throw new ExpressionError("syntax", `${macro} requires an expression`, at);
  return loopOver({
    macro,
    range: compile(list, bound),
    first,
    second: second ?? null,
    slot: bound.length,
    isPaired: names.length === 2,
    at,
  });
}
