import type { CelInput, CelResult } from "@bufbuild/cel";
import type { Clock } from "./clock.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";
import type { Scope } from "./template.ts";

type Cel = typeof import("@bufbuild/cel");

/** Steps that the loops (`all`, `exists`, `map` …) of one condition may take together. */
const MAX_STEPS = 100_000;
/** The most that one condition may put together with `+`, in characters and bytes. */
const MAX_JOINED = 64 * 1024 * 1024;
const STEP = "@weir_step";
const LOOK = "@weir_look";
const TEXT = "@weir_text";
/** What a pattern takes for a character of text, at most. */
const MS_OF_A_CHARACTER = 1e-4;
/** What goes through all of a large value, and can stand in one condition a hundred times. */
const LOOKED_AT: readonly unknown[] = ["_==_", "_!=_", "@in"];

/** A condition, ready to be asked. */
export interface Program {
  /** What it gives for the values of its names, or an error that says why it gives nothing. Takes from the allowance. */
  run(scope: Scope, clock: Clock, allowance: Allowance): CelResult;
  /** Names that it uses and `scope` lacks. */
  namesMissingIn(scope: object): string[];
}

/** How long conditions may go on together. */
export interface Allowance {
  leftMs: number;
  /** True where everybody else waits meanwhile. */
  isHere?: boolean;
  /** What the time is measured by; the machine's clock by default. */
  clock?: Clock;
}

/** What is left to the condition that runs; one runs at a time, as nothing in it waits. */
const budget = {
  looked: 0,
  steps: 0,
  joined: 0,
  until: 0,
  isOver: false,
  isLate: false,
  clock: null as Clock | null,
};

let loaded: { cel: Cel; env: ReturnType<Cel["celEnv"]> } | null = null;

/** Loads the library; takes about 70 ms, so it waits for the first condition or until a server is up. */
export function load() {
  if (loaded) return loaded;
  const cel = require("@bufbuild/cel") as Cel;
  const env = cel.celEnv({ funcs: [...mixedArithmetic(cel), ...boundedJoins(cel), ...boundFunctions(cel)] });
  loaded = { cel, env };
  return loaded;
}

/** Throws CEL's syntax error. */
export function compile(text: string): Program {
  const { cel, env } = load();
  const parsed = cel.parse(text);
  const names = new Set<string>();
  boundLoops(parsed.expr, names, []);
  const evaluate = cel.plan(env, parsed);
  return {
    run(scope, clock, allowance) {
      const startedMs = clock.monotonic();
      const until = startedMs + allowance.leftMs;
      Object.assign(budget, {
        steps: MAX_STEPS,
        joined: MAX_JOINED,
        until,
        isOver: false,
        isLate: false,
        clock,
      });
      const input = inputOf(names, scope);
      const outcome = budget.isOver ? null : evaluate(input);
      allowance.leftMs = budget.isLate ? 0 : allowance.leftMs - (clock.monotonic() - startedMs);
      if (budget.isOver) return cel.celError("it goes through its lists for too long");
      return outcome;
    },
    namesMissingIn: (scope) => [...names].filter((name) => !Object.hasOwn(scope, name)),
  };
}

/** The values of those names that `scope` has. */
function inputOf(names: ReadonlySet<string>, scope: Scope): Record<string, CelInput> {
  const values: Record<string, CelInput> = Object.create(null);
  for (const name of names) {
    if (!Object.hasOwn(scope, name)) continue;
    const value = scope[name] ?? null;
    values[name] = name === "steps" ? asData(value, keptData) : keptData(value); // steps come in while others are decided
  }
  return values;
}

const dataOf = new WeakMap<object, CelInput>();

/** The same, once for each value: many conditions see one large payload. */
function keptData(value: Json): CelInput {
  if (typeof value !== "object" || value === null) return value;
  const known = dataOf.get(value);
  if (known !== undefined) return known;
  const data = asData(value);
  if (!budget.isOver) dataOf.set(value, data);
  return data;
}

/** By these keys the library takes an object for one of a class, or for a message of Protocol Buffers. */
const ODD_KEYS = ["constructor", "$typeName"];

/**
 * JSON as nothing but data: objects with such keys, and those around them, as maps; all else as it is. Stops in the
 * middle where the time is over: then nothing looks at what it has made.
 */
function asData(value: Json, part: (value: Json) => CelInput = asData): CelInput {
  if (Array.isArray(value)) return listData(value, part);
  if (!isObject(value)) return value;
  let members: Map<string, CelInput> | null = null;
  if (ODD_KEYS.some((key) => Object.hasOwn(value, key))) members = new Map();
  for (const key in value) {
    if (isOver()) break;
    const item = value[key] as Json;
    const data = part(item);
    if (members === null && data !== item) members = membersBefore(value, key);
    members?.set(key, data);
  }
  return members ?? (value as CelInput);
}

function listData(list: Json[], part: (value: Json) => CelInput): CelInput {
  let items: CelInput[] | null = null;
  for (const [index, item] of list.entries()) {
    if (isOver()) break;
    const data = part(item);
    if (items === null && data !== item) items = list.slice(0, index) as CelInput[];
    items?.push(data);
  }
  return items ?? (list as CelInput);
}

function membersBefore(value: JsonObject, end: string): Map<string, CelInput> {
  const members = new Map<string, CelInput>();
  for (const key in value) {
    if (key === end) break;
    members.set(key, value[key] as CelInput);
  }
  return members;
}

/** Values between two looks at the clock. */
const LOOK_VALUES = 1_024;

function isOver(): boolean {
  if (++budget.looked % LOOK_VALUES === 0 && budget.clock && budget.clock.monotonic() > budget.until)
    budget.isOver = true;
  return budget.isOver;
}

/** What a value is called in CEL. */
export function describe(value: unknown): string {
  const { cel } = load();
  const { name } = cel.celType(value as Parameters<Cel["celType"]>[0]);
  return /^[aeiou]/.test(name) ? `an ${name}` : `a ${name}`;
}

/**
 * JSON has one kind of number, which CEL takes for a double, and CEL's own arithmetic does not mix kinds.
 * Without these, `payload.count % 2 == 0` would fail on every number.
 */
function mixedArithmetic({ celFunc, CelScalar: { DOUBLE, INT } }: Cel) {
  const divided = (a: number, b: number, whole: boolean) => {
    if (b === 0 && whole) throw new Error("a number is divided by zero");
    return a / b;
  };
  const remainder = (a: number, b: number) => {
    if (b === 0) throw new Error("a number is divided by zero");
    return a % b;
  };
  const operators: [name: string, work: (a: number, b: number, whole: boolean) => number][] = [
    ["_+_", (a, b) => a + b],
    ["_-_", (a, b) => a - b],
    ["_*_", (a, b) => a * b],
    ["_/_", divided],
    ["_%_", remainder],
  ];
  return operators.flatMap(([name, work]) => [
    celFunc(name, [DOUBLE, INT], DOUBLE, (a, b) => work(a, Number(b), true)),
    celFunc(name, [INT, DOUBLE], DOUBLE, (a, b) => work(Number(a), b, true)),
    ...(name === "_%_" ? [celFunc(name, [DOUBLE, DOUBLE], DOUBLE, remainder)] : []),
  ]);
}

/** In place of CEL's own, which join a text of 5 MB as often as it stands in the condition. */
function boundedJoins({ celFunc, CelScalar: { BYTES, STRING } }: Cel) {
  const spend = (length: number) => {
    budget.joined -= length;
    if (budget.joined < 0) throw new Error("it puts together more than 64 MiB");
  };
  return [
    celFunc("_+_", [STRING, STRING], STRING, (a, b) => {
      spend(a.length + b.length);
      return a + b;
    }),
    celFunc("_+_", [BYTES, BYTES], BYTES, (a, b) => {
      spend(a.length + b.length);
      const joined = new Uint8Array(a.length + b.length);
      joined.set(a);
      joined.set(b, a.length);
      return joined;
    }),
  ];
}

/**
 * The first gives back whether a loop goes on, and ends all of them when the budget is used up; the others give back the
 * text that a pattern goes through and the value that is compared, or one that costs nothing.
 */
function boundFunctions({ celFunc, CelScalar: { DYN } }: Cel) {
  const isLate = () => {
    if (budget.clock && budget.clock.monotonic() > budget.until) budget.isOver = true;
    return budget.isOver;
  };
  return [
    celFunc(STEP, [DYN], DYN, (goesOn) => {
      if (--budget.steps < 0) budget.isOver = true;
      return isLate() ? false : goesOn;
    }),
    celFunc(TEXT, [DYN], DYN, (text) => {
      if (typeof text !== "string" || !budget.clock) return text;
      if (text.length * MS_OF_A_CHARACTER <= budget.until - budget.clock.monotonic()) return text;
      budget.isOver = true;
      budget.isLate = true;
      return "";
    }),
    celFunc(LOOK, [DYN], DYN, (compared) => (isLate() ? false : compared)),
  ];
}

/**
 * Wraps the condition of every loop in the tree, and the last operand of what compares, and collects the names that
 * stand free in it.
 */
function boundLoops(node: unknown, names: Set<string>, bound: readonly string[]): void {
  if (Array.isArray(node)) for (const item of node) boundLoops(item, names, bound);
  if (!isObject(node)) return;
  const kind = isObject(node.exprKind) ? node.exprKind : null;
  const value = kind && isObject(kind.value) ? kind.value : null;
  let inner = bound;
  if (kind?.case === "identExpr" && value) {
    const name = String(value.name);
    if (!bound.includes(name)) names.add(name);
  } else if (kind?.case === "comprehensionExpr" && value) {
    inner = [...bound, String(value.iterVar), String(value.iterVar2), String(value.accuVar)];
    value.loopCondition = call(STEP, value.loopCondition as JsonObject, node.id as never);
  } else if (kind?.case === "callExpr" && value && LOOKED_AT.includes(value.function)) {
    const operands = value.args as JsonObject[];
    const last = operands.pop();
    if (last) operands.push(call(LOOK, last, node.id as never));
  }
  if (kind?.case === "callExpr" && value?.function === "matches" && isObject(value.target))
    value.target = call(TEXT, value.target, node.id as never);
  for (const part of Object.values(node)) boundLoops(part, names, inner);
}

const call = (name: string, argument: JsonObject, id: never): JsonObject => ({
  $typeName: "cel.expr.Expr",
  id,
  exprKind: {
    case: "callExpr",
    value: { $typeName: "cel.expr.Expr.Call", function: name, args: [argument] },
  },
});
