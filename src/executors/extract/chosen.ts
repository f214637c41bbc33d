import { isObject, type Json, type JsonObject } from "../../base/json.ts";

/** Selected fields by name: a whole field, or parts of it. */
export type Choice = ReadonlyMap<string, Choice | null>;

/** The selection of `columns`: names of fields, which can contain dots, or paths into nested objects and lists. */
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
  if (known === null) return; // all parts
  if (inner.length === 0) return void branch.set(name, null);
  const next: Branch = known ?? new Map();
  branch.set(name, next);
  want(next, inner);
}

/** Returns the selected parts of `row`. */
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
