import { systemClock } from "./clock.ts";
import { type Allowance, compile, describe, load, type Program } from "./condition-program.ts";
import { AppError, invalid } from "./errors.ts";
import { isObject, type Json } from "./json.ts";
import { openTurns } from "./slices.ts";
import type { Scope } from "./template.ts";

/** The longest condition, in characters. */
const MAX_LENGTH = 4096;
/** The most brackets that may stand open at once; the parser's time grows steeply with them. */
const MAX_DEPTH = 64;
/** How long one condition may take, and all of those together that are decided in one go. */
export const MAX_CONDITIONS_MS = 1_000;
/** The same while everybody else waits; what takes longer is decided in a child. */
const HERE_MS = 20;
/** Programs kept, the least recently used going first. */
const MAX_PROGRAMS = 256;

const programs = new Map<string, Program>();
/** What was found of texts that were read, by their hash: reading one takes up to 5 ms. The oldest go first. */
const readings = new Map<string, string | null>();
const MAX_READINGS = 10_000;
/** Those that took more time than there is while everybody else waits. */
const slow = new WeakSet<Program>();

/** Loads what reads conditions, so that the first one doesn't wait for it. */
export const loadConditions = (): void => void load();

/** Why `text` is no condition, in one sentence; null where it is one. Names and types are not looked at. */
export function conditionFault(text: string): string | null {
  if (programs.has(text)) return null;
  if (text.trim() === "") return "A condition can't be empty.";
  if (text.length > MAX_LENGTH) return `A condition has at most ${MAX_LENGTH} characters.`;
  if (depthOf(text) > MAX_DEPTH) return `A condition may be nested at most ${MAX_DEPTH} deep.`;
  const key = Bun.SHA256.hash(text, "base64");
  const known = readings.get(key);
  if (known !== undefined) return known;
  const fault = readingFault(text);
  readings.set(key, fault);
  const [oldest] = readings.keys();
  if (readings.size > MAX_READINGS && oldest !== undefined) readings.delete(oldest);
  return fault;
}

function readingFault(text: string): string | null {
  try {
    programFor(text);
    return null;
  } catch (error) {
    return `The condition ${shown(text)} can't be read: ${reasonOf(error)}.`;
  }
}

/** Conditions of one body, in characters. */
const MAX_TOGETHER = 256 * 1024;

/**
 * Reads all conditions in a body, the texts called `when`, with turns for others in between, so that `conditionFault`
 * knows them. Throws `invalid` where they are too many.
 */
export async function readConditions(body: Json): Promise<void> {
  const turn = openTurns();
  let left = MAX_TOGETHER;
  for (const text of conditionsIn(body)) {
    left -= text.length;
    if (left < 0) {
      const message = `The conditions here have more than ${MAX_TOGETHER.toLocaleString("en-US")} characters together. Use fewer or shorter ones.`;
      throw invalid(["body"], message, "condition_error");
    }
    conditionFault(text);
    await turn();
  }
}

function* conditionsIn(value: Json): Generator<string> {
  if (Array.isArray(value)) for (const item of value) yield* conditionsIn(item);
  else if (isObject(value))
    for (const [name, item] of Object.entries(value))
      if (name === "when" && typeof item === "string") yield item;
      else yield* conditionsIn(item);
}

/** For conditions that are decided in one go: together they may take as long as one. */
export const openAllowance = (leftMs = MAX_CONDITIONS_MS): Allowance => ({ leftMs });

/** The same where everybody else waits meanwhile. */
export const openAllowanceHere = (): Allowance => ({ leftMs: HERE_MS, isHere: true });

/** A condition that was not decided in the time that it had. */
export class ConditionTooLong extends AppError {
  constructor(message: string, details: Record<string, unknown>) {
    super("condition_error", message, { details });
  }
}

/**
 * Whether a condition, written in CEL (https://cel.dev), holds for `scope`. JSON numbers compare and
 * calculate with whole and broken numbers alike; `matches` takes linear time.
 *
 * Throws `condition_error` where it can't be read, names a field that is not there (`has(payload.x)` asks),
 * gives something else than true or false, or goes through lists for too long; `ConditionTooLong` where its allowance is
 * used up.
 */
export function holds(text: string, scope: Scope, allowance: Allowance = openAllowance()): boolean {
  const fault = conditionFault(text);
  if (fault)
    throw new AppError("condition_error", fault, { details: { condition: text.slice(0, MAX_LENGTH) } });
  const { clock = systemClock } = allowance;
  const startedMs = clock.monotonic();
  const program = programFor(text);
  allowance.leftMs -= clock.monotonic() - startedMs;
  if (allowance.isHere && slow.has(program)) allowance.leftMs = 0;
  const outcome =
    allowance.leftMs > 0
      ? program.run(scope, clock, allowance)
      : new Error("those before it took too long together");
  if (typeof outcome === "boolean") return outcome;
  const reason =
    outcome instanceof Error
      ? reasonOf(outcome, program.namesMissingIn(scope))
      : `it gives ${describe(outcome)}, not true or false`;
  const message = `The condition ${shown(text)} can't be decided: ${reason}.`;
  if (allowance.leftMs <= 0) {
    if (allowance.isHere) slow.add(program);
    throw new ConditionTooLong(message, { condition: text });
  }
  throw new AppError("condition_error", message, { details: { condition: text } });
}

function programFor(text: string): Program {
  const program = programs.get(text) ?? compile(text);
  programs.delete(text);
  programs.set(text, program);
  for (const oldest of programs.keys()) {
    if (programs.size <= MAX_PROGRAMS) break;
    programs.delete(oldest);
  }
  return program;
}

function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let quote = "";
  for (let i = 0; i < text.length; i++) {
    const c = text.charAt(i);
    if (quote) {
      if (c === "\\") i++;
      else if (c === quote) quote = "";
    } else if (c === '"' || c === "'") quote = c;
    else if ("([{".includes(c)) deepest = Math.max(deepest, ++depth);
    else if (")]}".includes(c)) depth--;
  }
  return deepest;
}

/** CEL's own words, where they say something to people. */
function reasonOf(error: unknown, missing: readonly string[] = []): string {
  const message = error instanceof Error ? error.message : String(error);
  const [, operator, operands] =
    /^found no matching overload for '(\S+)' applied to '\((.*)\)'$/.exec(message) ?? [];
  if (operator) return `${operator.replaceAll("_", "")} does not work on (${operands})`;
  if (message === "unresolved attribute" && missing.length > 0)
    return `there is no ${missing.join(" or ")} here`;
  return message.replace(/^<input>:(\d+):(\d+): /, "at character $2, ").replace(/\.$/, "");
}

const shown = (text: string) => JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
