import type { App } from "../../context.ts";
import type { RunError } from "../runs/table.ts";
import type { AutomationConfig } from "./config.ts";
import type { AutomationRunRow, ItemsState } from "./table.ts";

/** A failed step of a run that completed, or a warning of an automation that a step called. */
export interface Warning {
  step: string;
  message: string;
}

/**
 * Returns a warning for each failed step of a run that completed, since `onError` of these steps is `continue`, and the
 * warnings of called automations.
 */
export function warningsOf({ status, steps }: Pick<AutomationRunRow, "status" | "steps">): Warning[] {
  if (status !== "completed") return [];
  return steps.flatMap((step) => {
    const called = (step.warnings ?? []).map((message) => ({ step: step.key, message }));
    if (step.status !== "failed" && step.status !== "cancelled") return called;
    const message = step.error?.message ?? `The step was ${step.status}.`;
    const own = step.items ? messageOf(step.items, step.error, message) : message;
    return [{ step: step.key, message: own }, ...called];
  });
}

function messageOf({ failed, total }: ItemsState, error: RunError | null, message: string): string {
  const item = error?.details?.item;
  const first = typeof item === "number" ? `Item ${item}: ${message}` : message;
  return `${failed} of ${total} items failed. ${first}`;
}

export const NO_MAIL_SERVER = "No mail server is set (WEIR_SMTP_URL and WEIR_MAIL_FROM).";

/** Returns why an automation's alert emails would not be sent. */
export function mailWarnings({ mailer }: App, { alerts }: AutomationConfig): string[] {
  if (mailer !== null || !alerts) return [];
  const { onFailure, onRecovery, lateAfterSeconds, notify = [] } = alerts;
  const isNoticed = onFailure || onRecovery || lateAfterSeconds !== undefined;
  const isMailed = notify.length === 0 || notify.some(({ email }) => email !== undefined);
  return isNoticed && isMailed ? [`Alerts are not mailed. ${NO_MAIL_SERVER}`] : [];
}
