import type { Budget } from "./budget.ts";
import { compare, isEqual, isOfWords, unfit } from "./operators.ts";
import { keyOf, type Value } from "./value.ts";

/** An item of a list with the key that it is sorted or grouped by. */
export interface Keyed {
  key: Value;
  item: Value;
}

/** Stable, nulls last. Throws if keys have no common order. */
export function sortByKey(name: string, keyed: readonly Keyed[], budget: Budget): Value[] {
  budget.step(keyed.length * Math.ceil(Math.log2(keyed.length + 1)));
  const ofWords = isOfWords(
    keyed.map(({ key }) => key),
    budget,
  );
  const order = ({ key: a }: Keyed, { key: b }: Keyed) => {
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
    const order = compare(a, b, budget, ofWords);
    if (order === null) throw unfit(name, a, b);
    return order;
  };
  if (keyed.length === 1 && keyed[0]) order(keyed[0], keyed[0]);
  return [...keyed].sort(order).map(({ item }) => item);
}

/** `[{key, items}]`, in order of the keys' first appearance. */
export function groupByKey(name: string, keyed: readonly Keyed[], budget: Budget): Value[] {
  const groups = new Map<Value, { key: Value; items: Value[] }>();
  budget.make(16 * keyed.length);
  for (const { key, item } of keyed) {
    const own = plainKey(name, key);
    const group = groups.get(own);
    if (group) group.items.push(item);
    else groups.set(own, { key, items: [item] });
  }
  return [...groups.values()].map(({ key, items }) => ({ key, items }));
}

function plainKey(name: string, key: Value): Value {
  if (typeof key === "object" && key !== null) throw unfit(name, key);
  return keyOf(key);
}

/** Returns the first item of each key. */
export function distinctByKey(keyed: readonly Keyed[], budget: Budget): Value[] {
  const seen = new Set<Value>();
  const compound: Value[] = [];
  const isNew = ({ key }: Keyed) => {
    if (typeof key === "object" && key !== null) {
      if (compound.some((other) => isEqual(key, other, budget))) return false;
      compound.push(key);
      return true;
    }
    const own = keyOf(key);
    return !seen.has(own) && Boolean(seen.add(own));
  };
  budget.make(8 * keyed.length);
  return keyed.filter(isNew).map(({ item }) => item);
}
