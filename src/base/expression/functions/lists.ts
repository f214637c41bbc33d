import { distinctByKey, groupByKey, type Keyed, sortByKey } from "../order.ts";
import { find, isList, isObject, type Value } from "../value.ts";
import { type Definitions, fail, listOf, type Tools, textOf, wholeOf } from "./contract.ts";

/** Pairs each item with its field of that name (null if missing), or with itself. */
function keyedBy(values: readonly Value[]): Keyed[] {
  const [list, name] = values;
  if (name === undefined) return listOf(list).map((item) => ({ key: item, item }));
  const field = textOf(name);
  return listOf(list).map((item) => ({
    key: (isObject(item) ? find(item, field) : undefined) ?? null,
    item,
  }));
}

function flattened(list: readonly Value[], depth: number, { budget }: Tools): Value[] {
  budget.step(list.length);
  budget.make(8 * list.length);
  return list.flatMap((item) =>
    isList(item) && depth > 0 ? flattened(item, depth - 1, { budget } as Tools) : [item],
  );
}

export const listFunctions: Definitions = {
  first: {
    takes: "list",
    about: "First item; null for an empty list.",
    examples: [["first([1, 2])", "1"]],
    isShallow: true,
    call: ([list]) => listOf(list)[0] ?? null,
  },
  last: {
    takes: "list",
    about: "Last item; null for an empty list.",
    examples: [["[1, 2].last()", "2"]],
    isShallow: true,
    call: ([list]) => listOf(list).at(-1) ?? null,
  },
  slice: {
    takes: "list, from, to",
    about: "Items from one index up to, but not including, another, counted from 0.",
    examples: [["[1, 2, 3, 4].slice(1, 3)", "[2,3]"]],
    call([value, from, to], { budget }) {
      const list = listOf(value);
      const start = wholeOf(from);
      const end = wholeOf(to);
      if (start < 0 || end > list.length || start > end)
        fail(`the list has ${list.length} items, so there are none from ${start} to ${end}`);
      budget.make(8 * (end - start));
      return list.slice(start, end);
    },
  },
  flatten: {
    takes: "list, depth?",
    about: "Flattens nested lists by one level, or by the given depth.",
    examples: [["[[1, 2], [3]].flatten()", "[1,2,3]"]],
    call([list, depth], tools) {
      const levels = depth === undefined ? 1 : wholeOf(depth);
      return levels < 0 ? fail("the depth is negative") : flattened(listOf(list), levels, tools);
    },
  },
  sort: {
    takes: "list",
    about: "Sorted items, null last.",
    examples: [["[3, 1, 2].sort()", "[1,2,3]"]],
    call: ([list = null], { budget }) => sortByKey("sort", keyedBy([list]), budget),
  },
  sortBy: {
    takes: "list, name?",
    about:
      "Items sorted by a field, null last. `list.sortBy(x, expression)` sorts by any expression of an item.",
    examples: [
      ['[{"n": 2}, {"n": 1}].sortBy(x, x.n)', '[{"n":1},{"n":2}]'],
      ['sortBy([{"n": 2}, {"n": 1}], "n")', '[{"n":1},{"n":2}]'],
      ["[1, 3, 2].sortBy(x, -x)", "[3,2,1]"],
    ],
    call: (values, { budget }) => sortByKey("sortBy", keyedBy(values), budget),
  },
  groupBy: {
    takes: "list, name?",
    about:
      "Groups items by a field into `[{key, items}]`, in order of first appearance. `list.groupBy(x, expression)` groups by any expression of an item.",
    examples: [
      ['[{"a": "x"}, {"a": "y"}, {"a": "x"}].groupBy(r, r.a).map(g, size(g.items))', "[2,1]"],
      ['groupBy([{"a": "x"}], "a")', '[{"key":"x","items":[{"a":"x"}]}]'],
    ],
    call: (values, { budget }) => groupByKey("groupBy", keyedBy(values), budget),
  },
  distinct: {
    takes: "list",
    about: "Removes duplicates, keeping the first.",
    examples: [["[1, 2, 1].distinct()", "[1,2]"]],
    call: ([list = null], { budget }) => distinctByKey(keyedBy([list]), budget),
  },
  distinctBy: {
    takes: "list, name?",
    about:
      "First item for each value of a field. `list.distinctBy(x, expression)` uses any expression of an item.",
    examples: [['[{"id": 1, "v": 1}, {"id": 1, "v": 2}].distinctBy(x, x.id)', '[{"id":1,"v":1}]']],
    call: (values, { budget }) => distinctByKey(keyedBy(values), budget),
  },
  "lists.range": {
    takes: "count",
    about: "Whole numbers from 0 up to, but not including, the count.",
    examples: [["lists.range(3)", "[0,1,2]"]],
    call([value], { budget }) {
      const count = Math.max(wholeOf(value), 0);
      budget.step(count);
      budget.make(8 * count);
      return Array.from({ length: count }, (_, index) => BigInt(index));
    },
  },
};
