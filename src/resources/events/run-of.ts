import type { EventRow } from "./table.ts";

/** Returns the run that an event is about, or that caused it. Null if no run was involved. */
export function runOf({
  type,
  entityType,
  entityId,
  data,
}: Pick<EventRow, "type" | "entityType" | "entityId" | "data">): {
  table: "action" | "automation";
  id: string;
} | null {
  const named = [data.runId, data.actionRunId, entityType === "action_run" ? entityId : null];
  const id = named.find((each): each is string => typeof each === "string");
  return id === undefined ? null : { table: type.startsWith("automation.") ? "automation" : "action", id };
}
