import type { EndpointDefinition, ToolDefinition } from "../../catalog/contract.ts";
import type { Context } from "../../context.ts";
import { isSafeMethod } from "../../executors/http/definition.ts";
import { ROLES } from "../organizations/table.ts";
import type { ItemRow } from "./table.ts";

export const isAdmin = ({ role }: Pick<Context, "role">): boolean =>
  ROLES.indexOf(role) >= ROLES.indexOf("admin");

/** Returns whether an admin requires approval for the item, or it is a tool held back. */
export const isProtected = (item: ItemRow): boolean => item.approvalRequired || item.status === "changed";

/**
 * Returns whether a call may change something, by its method or by its server's hints. A hint is only the server's
 * claim.
 */
export function mayChange({ definition, trusted }: ItemRow): boolean {
  const { method } = definition as Partial<EndpointDefinition>;
  if (method !== undefined) return !isSafeMethod(method);
  return !(trusted && (definition as ToolDefinition).annotations?.readOnlyHint === true);
}

/** Returns what an endpoint or tool calls, independent of its name here. */
export function calledBy({ name, definition }: ItemRow): string {
  const { method, path } = definition as Partial<EndpointDefinition>;
  if (method === undefined || path === undefined) return name;
  return `${method} ${path.replace(/\{[^{}/]*\}/g, "{}").replace(/^\/*|\/+$/g, "")}`;
}

/**
 * Requires approval for items of `after` that make the same call as a protected item of `before`, whatever their names.
 */
export function protectedLike(before: readonly ItemRow[], after: readonly ItemRow[]): ItemRow[] {
  const protectedCalls = new Set(before.filter(isProtected).map(calledBy));
  const was = new Map(before.map((item) => [item.name, calledBy(item)]));
  return after.map((item) => {
    const calls = calledBy(item);
    return was.get(item.name) !== calls && protectedCalls.has(calls)
      ? { ...item, approvalRequired: true }
      : item;
  });
}
