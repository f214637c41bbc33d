import { entriesOf, type Value } from "../value.ts";
import { type Definitions, listOf, objectOf, textOf } from "./contract.ts";

const namesOf = (value: Value | undefined): ReadonlySet<string> =>
  new Set(listOf(value).map((name) => textOf(name)));

export const objectFunctions: Definitions = {
  merge: {
    takes: "object, …",
    about: "Merges objects; later fields win.",
    examples: [['merge({"a": 1, "b": 1}, {"b": 2})', '{"a":1,"b":2}']],
    call(values, { budget }) {
      const merged = new Map<Value, Value>();
      for (const value of values)
        for (const [key, item] of entriesOf(objectOf(value))) {
          budget.step();
          budget.make(16);
          merged.set(key, item);
        }
      return merged;
    },
  },
  pick: {
    takes: "object, names",
    about: "Object with only these fields, if it has them.",
    examples: [['pick({"a": 1, "b": 2}, ["b", "c"])', '{"b":2}']],
    call([value, list], { budget }) {
      const names = namesOf(list);
      const entries = entriesOf(objectOf(value));
      budget.step(entries.length);
      budget.make(16 * entries.length);
      return new Map(entries.filter(([key]) => names.has(String(key))));
    },
  },
  omit: {
    takes: "object, names",
    about: "Object without these fields.",
    examples: [['{"a": 1, "b": 2}.omit(["b"])', '{"a":1}']],
    call([value, list], { budget }) {
      const names = namesOf(list);
      const entries = entriesOf(objectOf(value));
      budget.step(entries.length);
      budget.make(16 * entries.length);
      return new Map(entries.filter(([key]) => !names.has(String(key))));
    },
  },
};
