import type { Fault } from "../../base/errors.ts";
import type { Component } from "./definition.ts";

/** A component, with the keys of its dependencies. */
export interface Linked {
  component: Component;
  /** Named in `dependsOn`, or in its templates. */
  needs: readonly string[];
}

/** Keys must be unique, dependencies must exist, and no component may depend on itself. */
export function orderFaults(linked: readonly Linked[], loc: readonly string[]): Fault[] {
  const faults: Fault[] = [];
  const keys = new Set<string>();
  for (const [index, { component }] of linked.entries()) {
    if (keys.has(component.key)) {
      const msg = `Duplicate key ${component.key}`;
      faults.push({ loc: [...loc, String(index), "key"], msg, type: "value_error" });
    }
    keys.add(component.key);
  }
  for (const [index, { component }] of linked.entries()) {
    for (const [position, key] of (component.dependsOn ?? []).entries()) {
      if (keys.has(key)) continue;
      const at = [...loc, String(index), "dependsOn", String(position)];
      faults.push({ loc: at, msg: `Component ${key} not found`, type: "value_error" });
    }
  }
  const { circle } = inOrder(linked);
  if (faults.length === 0 && circle.length > 0) {
    const msg = `Circular dependency: ${circle.join(" → ")}`;
    faults.push({ loc, msg, type: "value_error" });
  }
  return faults;
}

/** Orders the components so that each comes after its dependencies. `circle` names some that can't be ordered. */
export function inOrder(linked: readonly Linked[]): { sorted: Linked[]; circle: string[] } {
  const byKey = new Map(linked.map((each) => [each.component.key, each]));
  const sorted: Linked[] = [];
  const done = new Set<string>();
  const visit = (key: string, trail: readonly string[]): string[] => {
    const start = trail.indexOf(key);
    if (start >= 0) return [...trail.slice(start), key];
    const each = byKey.get(key);
    if (!each || done.has(key)) return [];
    for (const need of each.needs) {
      const circle = visit(need, [...trail, key]);
      if (circle.length > 0) return circle;
    }
    done.add(key);
    sorted.push(each);
    return [];
  };
  for (const key of byKey.keys()) {
    const circle = visit(key, []);
    if (circle.length > 0) return { sorted, circle };
  }
  return { sorted, circle: [] };
}
