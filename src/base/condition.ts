import { AppError } from "./errors.ts";
import { Budget, LARGE_CONDITION, SMALL } from "./expression/budget.ts";
import { type Expression, expressionOf, noUuid } from "./expression/expression.ts";
import { ExpressionError } from "./expression/fault.ts";
import { reasonOf } from "./expression/reason.ts";
import { ExpressionTooLong } from "./expression/too-long.ts";
import { nameOf } from "./expression/value.ts";
import type { Scope } from "./template.ts";

/** The most time that one condition may take, and all of those together that are decided in one go. */
export const MAX_CONDITIONS_MS = LARGE_CONDITION.ms;
/** While everybody else waits; what takes more is decided in a child. */
const HERE = { ...SMALL, ms: 20 };

/** Conditions that took more than there is while everybody else waits. */
const slow = new WeakSet<Expression>();

/** For conditions that are decided in one go while everybody else waits: together they may take as much as one. */
export const openBudgetHere = (): Budget => new Budget(HERE);

/** Why `text` is no condition, in one sentence; null where it is one. Names and types are not looked at. */
export function conditionFault(text: string): string | null {
  if (text.trim() === "") return "A condition can't be empty.";
  try {
    expressionOf(text);
    return null;
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    return `Invalid condition ${shown(text)}: ${bracesIn(text) ?? reasonOf(error, text)}.`;
  }
}

/** That a condition is written like a template, as people do who know only those; null where it isn't. */
function bracesIn(text: string): string | null {
  const bare = text.replace(/\{\{(.*?)\}\}/gs, (_, inner: string) => inner.trim());
  return bare === text ? null : `write it without braces, as in ${bare.slice(0, 200)}`;
}

/**
 * Whether a condition, written in CEL (https://cel.dev), holds for `scope`. JSON numbers compare and
 * calculate with whole and broken numbers alike; `matches` takes linear time.
 *
 * Throws `condition_error` where it can't be read, names a field that is not there (`has(payload.x)` asks), or gives
 * something else than true or false; `ExpressionTooLong` where the budget is used up.
 */
export function holds(text: string, scope: Scope, budget: Budget): boolean {
  const fault = conditionFault(text);
  if (fault)
    throw new AppError("condition_error", fault, { details: { condition: text.slice(0, MAX_SHOWN) } });
  const expression = expressionOf(text);
  const undecided = (reason: string) => `Couldn't evaluate the condition ${shown(text)}: ${reason}.`;
  if (!budget.isLarge && slow.has(expression))
    throw new ExpressionTooLong("condition_error", undecided("it takes too long"), {
      details: { condition: text },
    });
  try {
    const value = expression.evaluate(scope, { budget, nextUuid: noUuid });
    if (typeof value === "boolean") return value;
    throw new ExpressionError("type", `it returns ${nameOf(value)}, not true or false`);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    const message = undecided(reasonOf(error, text));
    const details = { condition: text };
    if (error.kind !== "budget") throw new AppError("condition_error", message, { details });
    if (!budget.isLarge) slow.add(expression);
    throw new ExpressionTooLong("condition_error", message, { details });
  }
}

const MAX_SHOWN = 4_096;

const shown = (text: string) => JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
