import type { Action } from "../../calls.ts";
import { dependencyOf } from "./config.ts";
import type { StepValue } from "./steps-config.ts";

/** Known actions by ID. */
export type Actions = ReadonlyMap<
  string,
  Pick<Action, "name" | "slug" | "kind" | "definition" | "connectionId">
>;

export const kindOf = ({ kind, actionId }: StepValue, actions: Actions): string | undefined =>
  kind ?? actions.get(actionId ?? "")?.kind;

/** Branches of a step, in order. Empty if it has none. */
export function branchesOf(step: StepValue, actions: Actions): string[] {
  if (kindOf(step, actions) !== "conditional_branch") return [];
  const { branches, else: otherwise } = (step.definition ??
    actions.get(step.actionId ?? "")?.definition ??
    {}) as { branches?: { key?: unknown }[]; else?: unknown };
  const keys = Array.isArray(branches) ? branches.map((branch) => branch?.key) : [];
  return [...keys, otherwise].filter((key): key is string => typeof key === "string" && key !== "");
}

/** Branches, including removed ones that still have edges. */
export function drawnBranches(own: readonly string[], step: string, steps: readonly StepValue[]): string[] {
  const used = steps.flatMap(({ dependsOn }) =>
    (dependsOn ?? [])
      .map(dependencyOf)
      .flatMap(({ key, branch }) => (key === step && branch ? [branch] : [])),
  );
  return [...new Set([...own, ...used])];
}

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

/** Line that distinguishes two steps of a kind. */
export function summaryOf(step: StepValue, actions: Actions, titleOf: (kind: string) => string): string {
  const action = actions.get(step.actionId ?? "");
  if (action) return action.name;
  const definition = step.definition ?? {};
  const url = text(definition.url);
  if (url) return `${text(definition.method) ?? "GET"} ${url.replace(/^https?:\/\//, "")}`;
  const { layer, dataset } = (definition.output ?? {}) as { layer?: unknown; dataset?: unknown };
  if (text(dataset)) return `→ ${text(layer) ?? "marts"}.${dataset}`;
  const { resources, tables } = definition;
  const list = Array.isArray(resources) ? resources : Array.isArray(tables) ? tables : [];
  const names = list.flatMap((each: unknown) => text(each) ?? text((each as { name?: unknown })?.name) ?? []);
  if (names.length > 0) return names.join(", ");
  const own = ["title", "agent", "automation", "dataset", "query", "prompt"].flatMap(
    (name) => text(definition[name]) ?? [],
  );
  return own[0] ?? titleOf(step.kind ?? "");
}

/** Returns the next edge start after `now`, as in `dependsOn`: the step's branches in turn, then the step itself. */
export function nextWayOut(
  steps: readonly StepValue[],
  actions: Actions,
  key: string,
  now: string | null,
): string {
  const step = steps.find((each) => each.key === key);
  const ways = [...(step ? branchesOf(step, actions) : []).map((branch) => `${key}:${branch}`), key];
  return ways[(ways.indexOf(now ?? "") + 1) % ways.length] ?? key;
}
