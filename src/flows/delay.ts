import { AppError } from "../base/errors.ts";
import type { Json, JsonObject } from "../base/json.ts";
import { isRealDay } from "../base/real-day.ts";
import type { Scope } from "../base/template.ts";
import type { WriteContext } from "../context.ts";
import type { Step } from "../resources/automations/config.ts";
import { stepValue } from "./whens.ts";

/** One year. */
export const MAX_DELAY_SECONDS = 31_536_000;

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/i;

/** Parses a time with a time zone as milliseconds since 1970. Null for anything else. */
export function instantIn(text: string): number | null {
  const ms = INSTANT.test(text) && isRealDay(text.slice(0, 10)) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}

/**
 * Returns the time until which a step waits. Null if it has passed.
 * Throws `template_error` if the value isn't a duration or time, and `DoFirst`.
 */
export async function delayOf(
  tx: WriteContext,
  { key, delay = {} }: Step,
  decision: string,
  scope: Scope,
): Promise<string | null> {
  const { seconds = null, until = null } = (await valuesOf(tx, delay as JsonObject, decision, scope)) as {
    seconds?: Json;
    until?: Json;
  };
  const now = tx.clock.now().getTime();
  const isLength = (delay.until ?? null) === null; // as configured, since a template can evaluate to null
  const ms = isLength ? now + lengthOf(key, seconds) * 1000 : timeOf(key, until);
  if (ms > now + MAX_DELAY_SECONDS * 1000)
    throw new AppError("template_error", `The delay of step ${key} is longer than a year.`);
  return ms <= now ? null : new Date(ms).toISOString();
}

async function valuesOf(
  tx: WriteContext,
  delay: JsonObject,
  decision: string,
  scope: Scope,
): Promise<JsonObject> {
  const values: JsonObject = {};
  for (const [name, value] of Object.entries(delay)) {
    const request = { decision, value: { delay: { [name]: value } } };
    const seen =
      typeof value === "string" ? ((await stepValue(tx, request, scope)) as JsonObject) : request.value;
    values[name] = (seen.delay as JsonObject)[name] ?? null;
  }
  return values;
}

function lengthOf(key: string, seconds: Json): number {
  const length = typeof seconds === "string" && seconds.trim() !== "" ? Number(seconds) : seconds;
  if (typeof length === "number" && length >= 0 && length <= MAX_DELAY_SECONDS) return length;
  const message = `Invalid delay.seconds of step ${key}: ${JSON.stringify(seconds)}. Use a number from 0 to ${MAX_DELAY_SECONDS}.`;
  throw new AppError("template_error", message);
}

function timeOf(key: string, until: Json): number {
  const ms = typeof until === "string" ? instantIn(until) : null;
  if (ms !== null) return ms;
  const message = `Invalid delay.until of step ${key}: ${JSON.stringify(until)}. Use a time with a zone, such as 2026-01-31T12:00:00Z.`;
  throw new AppError("template_error", message);
}
