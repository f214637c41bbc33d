import { variantOwner } from "./naming.ts";
import type { Target } from "./resolve.ts";

/** The columns that an upsert writes. It keeps the old values of those that no row of the load has. */
export function presentTargets(targets: readonly Target[]): Target[] {
  const present = new Set(targets.filter(({ isAbsent }) => !isAbsent).map(({ name }) => name));
  return targets.filter(({ name }) => present.has(name) || present.has(variantOwner(name) ?? name));
}
