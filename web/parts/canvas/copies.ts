import type { Values } from "../form/form.tsx";
import { withDependsOn } from "./commands.ts";
import { dependencyOf, TRIGGER } from "./config.ts";
import { renamed } from "./renaming.ts";
import { freshKey, type StepValue, stepsIn } from "./steps-config.ts";

/** Copies steps under new keys, with the edges between them. Those without edges follow `after`. */
export function addCopies(
  config: Values,
  copies: readonly StepValue[],
  after: readonly string[],
): { config: Values; keys: string[] } {
  const taken = [...stepsIn(config)];
  let pending: StepValue[] = [...copies];
  for (const { key } of copies) {
    const fresh = freshKey(taken, key);
    taken.push({ key: fresh } as StepValue);
    if (fresh !== key) pending = renamed(pending, key, fresh);
  }
  const own = new Set(pending.map(({ key }) => key));
  const added = pending.map((step) => {
    const inner = (step.dependsOn ?? []).filter((text) => own.has(dependencyOf(text).key));
    return withDependsOn(step, inner.length > 0 ? inner : after.filter((each) => each !== TRIGGER));
  });
  return { config: { ...config, steps: [...stepsIn(config), ...added] }, keys: [...own] };
}
