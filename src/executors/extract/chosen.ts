import { isObject, type Json, type JsonObject } from "../../base/json.ts";

/** Fields that are wanted, by name: all of a field, or what of it. */
export type Choice = ReadonlyMap<string, Choice | null>;

/** What `columns` ask for: names of fields, which may have dots in them, or paths into objects and lists of them. */
export function choiceOf(columns: readonly string[]): Choice {
  const choice: Branch = new Map();
  for (const column of columns) {
    want(choice, column.split("."));
    choice.set(column, null);
  }
  return choice;
}

type Branch = Map<string, Branch | null>;

function want(branch: Branch, [name = "", ...inner]: readonly string[]): void {
  const known = branch.get(name);
  if (known === null) return; // all of it
  if (inner.length === 0) return void branch.set(name, null);
  const next: Branch = known ?? new Map();
  branch.set(name, next);
  want(next, inner);
}

/** What of `row` is wanted. */
export function chosen(row: JsonObject, choice: Choice): JsonObject {
  const made: [string, Json][] = [];
  for (const [key, item] of Object.entries(row)) {
    const inner = choice.get(key);
    if (inner === undefined) continue;
    made.push([key, inner === null ? item : chosenIn(item, inner)]);
  }
  return Object.fromEntries(made);
}

function chosenIn(item: Json, choice: Choice): Json {
  if (Array.isArray(item)) return item.map((each) => chosenIn(each, choice));
  return isObject(item) ? chosen(item, choice) : null;
}
