import { addEntry, boolOf, type Env, located, type Run } from "./evaluation.ts";
import { ExpressionError } from "./fault.ts";
import { unfit } from "./operators.ts";
import { distinctByKey, groupByKey, type Keyed, sortByKey } from "./order.ts";
import type { Macro } from "./parse.ts";
import { entriesOf, isList, isObject, type Value } from "./value.ts";

/** A compiled macro. */
export interface Loop {
  macro: Macro;
  range: Run;
  /** Its expressions. */
  first: Run;
  second: Run | null;
  /** Index of its variables. */
  slot: number;
  /** True if it has a variable for the index or key too. */
  isPaired: boolean;
  at: number;
}

interface Turn {
  key: Value;
  item: Value;
}

/** Iterates over a list or an object. Each iteration is a step. */
export function loopOver(loop: Loop): Run {
  const { range, slot, isPaired, at } = loop;
  const body = BODIES[loop.macro];
  return (env) => {
    const { variables, budget } = env;
    const outer = variables.slice(slot);
    const items = located(at, () => itemsOf(range(env), loop));
    const turns = function* () {
      for (const turn of items) {
        located(at, () => budget.step());
        if (isPaired) variables[slot] = turn.key;
        variables[slot + (isPaired ? 1 : 0)] = turn.item;
        yield turn;
      }
    };
    try {
      return located(at, () => body(env, turns(), loop));
    } finally {
      variables.splice(slot, variables.length - slot, ...outer);
    }
  };
}

/** For an object, a single variable is its key. */
function itemsOf(value: Value, { macro, isPaired }: Loop): Turn[] {
  if (isList(value)) return value.map((item, index) => ({ key: BigInt(index), item }));
  if (!isObject(value)) throw unfit(macro, value);
  return entriesOf(value).map(([key, item]) => ({ key, item: isPaired ? item : key }));
}

type Body = (env: Env, turns: Iterable<Turn>, loop: Loop) => Value;

const test = (env: Env, { macro, first, at }: Loop) => boolOf(first(env), macro, at);

/** One item that decides is enough, even if others fail. */
function decided(deciding: boolean): Body {
  return (env, turns, loop) => {
    let fault: ExpressionError | null = null;
    for (const _ of turns) {
      try {
        if (test(env, loop) === deciding) return deciding;
      } catch (error) {
        if (!(error instanceof ExpressionError) || error.kind === "budget") throw error;
        fault ??= error;
      }
    }
    if (fault) throw fault;
    return !deciding;
  };
}

const isOne: Body = (env, turns, loop) => {
  let count = 0;
  for (const _ of turns) if (test(env, loop)) count++;
  return count === 1;
};

const filter: Body = (env, turns, loop) => {
  const out: Value[] = [];
  for (const { item } of turns) if (test(env, loop)) push(env, out, item);
  return out;
};

/** With two expressions, the first is a filter. */
const map: Body = (env, turns, loop) => {
  const out: Value[] = [];
  for (const _ of turns) {
    if (loop.second === null) push(env, out, loop.first(env));
    else if (test(env, loop)) push(env, out, loop.second(env));
  }
  return out;
};

const transformMap: Body = (env, turns, loop) => {
  const out = new Map<Value, Value>();
  for (const { key } of turns) {
    if (loop.second !== null && !test(env, loop)) continue;
    env.budget.make(16);
    addEntry(out, key, (loop.second ?? loop.first)(env), loop.at);
  }
  return out;
};

function keyed(make: (keyed: Keyed[], env: Env, loop: Loop) => Value[]): Body {
  return (env, turns, loop) => {
    const out: Keyed[] = [];
    for (const { item } of turns) {
      env.budget.make(16);
      out.push({ key: loop.first(env), item });
    }
    return make(out, env, loop);
  };
}

const BODIES: Readonly<Record<Macro, Body>> = {
  all: decided(false),
  exists: decided(true),
  exists_one: isOne,
  existsOne: isOne,
  filter,
  map,
  transformList: map,
  transformMap,
  sortBy: keyed((items, { budget }, { macro }) => sortByKey(macro, items, budget)),
  groupBy: keyed((items, { budget }, { macro }) => groupByKey(macro, items, budget)),
  distinctBy: keyed((items, { budget }) => distinctByKey(items, budget)),
};

function push({ budget }: Env, list: Value[], value: Value): void {
  budget.make(8);
  list.push(value);
}
