import type { Fault } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { TriggerType } from "./table.ts";

const CHANNELS = ["email", "slack", "url"] as const;
/** Fields that require each other. */
const THRESHOLD = ["failureThreshold", "failureWindow", "notifyUrl"] as const;
const CAUSES = ["onFailure", "onRecovery", "lateAfterSeconds", ...THRESHOLD] as const;

/** Returns conflicts between fields of `alerts`, and missing required ones. Each field's shape is already valid. */
export function alertFaults(trigger: TriggerType, alerts: Json | undefined, loc: readonly string[]): Fault[] {
  if (!isObject(alerts ?? null)) return [];
  const { notify, ...settings } = alerts as JsonObject;
  const has = (field: string) => settings[field] !== undefined;
  const faults: Fault[] = [];
  const fail = (path: readonly string[], msg: string, type: string) =>
    faults.push({ loc: [...loc, ...path], msg, type });
  if (!CAUSES.some(has)) fail([], "Give onFailure, onRecovery or lateAfterSeconds", "missing");
  if (THRESHOLD.some(has))
    for (const field of THRESHOLD) {
      if (trigger !== "webhook" && has(field))
        fail([field], "Only webhooks accept this; use onFailure and notify", "extra_forbidden");
      if (trigger === "webhook" && !has(field)) fail([field], "Field required", "missing");
    }
  for (const [index, entry] of (Array.isArray(notify) ? notify : []).entries())
    if (isObject(entry) && CHANNELS.filter((channel) => entry[channel] !== undefined).length !== 1)
      fail(["notify", String(index)], "Give one of email, slack and url", "value_error");
  return faults;
}
