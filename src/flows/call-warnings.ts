import { isObject } from "../base/json.ts";
import type { AutomationRunRow, StepState } from "../resources/automations/table.ts";
import { warningsOf } from "../resources/automations/wire-warnings.ts";
import type { RunRow } from "../resources/runs/table.ts";
import { seenResult } from "./stored-results.ts";

/** Most warnings that a caller gets, and how long each can be. The others are in the called run. */
const MAX_WARNINGS = 20;
const MAX_CHARACTERS = 500;

const shortened = (text: string) =>
  text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS).toWellFormed()}…`;

/** Returns `warnings` of the result of a call, if the called run has any. */
export function warningsForCaller(run: AutomationRunRow): { warnings?: string[] } {
  const all = warningsOf(run).map(({ step, message }) => shortened(`Step ${step}: ${message}`));
  if (all.length === 0) return {};
  const more = all.length - MAX_WARNINGS;
  const rest = more > 0 ? [`${more} more warnings are in run ${run.id}.`] : [];
  return { warnings: [...all.slice(0, MAX_WARNINGS), ...rest] };
}

/** Returns the warnings of a step's run that are the automation's too: of the one it called, or of a bulk step. */
export function warningsFrom(
  { kind, result }: RunRow,
  { items }: Pick<StepState, "items"> = {},
): Pick<StepState, "warnings"> {
  const seen = kind === "call_automation" || items?.bulk ? seenResult(result) : null;
  const warnings = isObject(seen) ? seen.warnings : null;
  return Array.isArray(warnings) ? { warnings: warnings.map(String) } : {};
}

/** Adds the warnings of the automation that the run of an item called. The first of a list's are kept. */
export function withItemWarnings(warnings: string[] = [], run: RunRow, index: number): string[] {
  const added = (warningsFrom(run).warnings ?? []).map((text) => shortened(`Item ${index}: ${text}`));
  return [...warnings, ...added].slice(0, MAX_WARNINGS);
}
