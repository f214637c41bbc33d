import { comparable, isObject, type Json, type JsonObject } from "../../base/json.ts";

/** The merged config, or the names that both sides changed. */
export type Merged = { config: JsonObject } | { conflicts: string[] };

/**
 * Merges the changes of `ours` and `theirs` since `base`: field by field, and steps by their keys. A step that one side
 * removed and the other changed is a conflict. Steps keep the order of `ours`. A step added by `theirs`
 * comes after the step that precedes it there.
 */
export function mergeConfigs(base: JsonObject, ours: JsonObject, theirs: JsonObject): Merged {
  const conflicts: string[] = [];
  const config: JsonObject = {};
  for (const field of new Set([base, ours, theirs].flatMap(Object.keys))) {
    if (field === "steps") continue;
    const value = pick(base[field], ours[field], theirs[field]);
    if (value === CONFLICT) conflicts.push(field);
    else if (value !== undefined) config[field] = value;
  }
  const sides = [base, ours, theirs].map(stepsOf);
  const [before, own, other] = sides as [Steps, Steps, Steps];
  const keys = orderOf(own, other);
  const steps: Json[] = [];
  for (const key of keys) {
    const value = pick(before.get(key), own.get(key), other.get(key));
    if (value === CONFLICT) conflicts.push(`steps.${key}`);
    else if (value !== undefined) steps.push(value);
  }
  if (steps.length > 0 || Array.isArray(ours.steps)) config.steps = steps;
  return conflicts.length > 0 ? { conflicts } : { config };
}

const CONFLICT = Symbol("conflict");

/** Returns the changed value if only one side changed it, or both in the same way. */
function pick(
  base: Json | undefined,
  ours: Json | undefined,
  theirs: Json | undefined,
): Json | undefined | typeof CONFLICT {
  if (isSame(ours, theirs) || isSame(base, theirs)) return ours;
  return isSame(base, ours) ? theirs : CONFLICT;
}

const isSame = (one: Json | undefined, other: Json | undefined): boolean =>
  one === undefined || other === undefined ? one === other : comparable(one) === comparable(other);

/** Returns `theirs`, with the named steps and settings (prefixed with `$`) of `ours`. */
export function onlyOf(ours: JsonObject, theirs: JsonObject, names: ReadonlySet<string>): JsonObject {
  const config: JsonObject = {};
  for (const field of new Set([ours, theirs].flatMap(Object.keys))) {
    if (field === "steps") continue;
    const value = (names.has(`$${field}`) ? ours : theirs)[field];
    if (value !== undefined) config[field] = value;
  }
  const [own, other] = [stepsOf(ours), stepsOf(theirs)];
  const steps = orderOf(own, other).flatMap((key) => (names.has(key) ? own : other).get(key) ?? []);
  if (steps.length > 0 || Array.isArray(ours.steps)) config.steps = steps;
  return config;
}

/** Returns the names of differing steps, and of differing settings with `$` in front. */
export function changesBetween(before: JsonObject, after: JsonObject): string[] {
  const [old, now] = [stepsOf(before), stepsOf(after)];
  const keys = new Set([...old.keys(), ...now.keys()]);
  const fields = new Set([before, after].flatMap(Object.keys).filter((name) => name !== "steps"));
  return [
    ...[...keys].filter((key) => !isSame(old.get(key), now.get(key))),
    ...[...fields].filter((name) => !isSame(before[name], after[name])).map((name) => `$${name}`),
  ];
}

type Steps = ReadonlyMap<string, Json>;

export const stepsOf = ({ steps }: JsonObject): Steps =>
  new Map(
    (Array.isArray(steps) ? steps : []).flatMap((step): [string, Json][] =>
      isObject(step) && typeof step.key === "string" ? [[step.key, step]] : [],
    ),
  );

function orderOf(ours: Steps, theirs: Steps): string[] {
  const order = [...ours.keys()];
  let last = -1;
  for (const key of theirs.keys()) {
    const at = order.indexOf(key);
    if (at >= 0) last = at;
    else order.splice(++last, 0, key);
  }
  return order;
}
