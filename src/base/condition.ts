import { AppError } from "./errors.ts";
import { Budget, LARGE_CONDITION, SMALL } from "./expression/budget.ts";
import { type Expression, expressionOf, noUuid } from "./expression/expression.ts";
import { ExpressionError } from "./expression/fault.ts";
import { reasonOf } from "./expression/reason.ts";
import { ExpressionTooLong } from "./expression/too-long.ts";
import { nameOf } from "./expression/value.ts";
import type { Scope } from "./template.ts";

/** Time limit for one condition, and for all conditions that are evaluated together. */
export const MAX_CONDITIONS_MS = LARGE_CONDITION.ms;
/** Limits in the server's main thread. Conditions that exceed them are evaluated in a child process. */
const HERE = { ...SMALL, ms: 20 };

/** Conditions that exceeded the limits of the main thread. */
const slow = new WeakSet<Expression>();

/** Returns the shared budget of conditions that are evaluated together in the main thread. It equals that of one. */
export const openBudgetHere = (): Budget => new Budget(HERE);

/** Returns why `text` isn't a valid condition, in one sentence. Null if it is. Doesn't check names and types. */
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

/** Returns the fault of a condition that is written as a template. Null if it isn't. */
function bracesIn(text: string): string | null {
  const bare = text.replace(/\{\{(.*?)\}\}/gs, (_, inner: string) => inner.trim());
  return bare === text ? null : `write it without braces, as in ${bare.slice(0, 200)}`;
}

/**
 * Evaluates a condition in CEL (https://cel.dev). Integers and other JSON numbers can be mixed.
 * `matches` takes linear time.
 *
 * Throws `condition_error` if it is invalid, uses a missing field (check with `has(payload.x)`), or isn't a boolean,
 * and `ExpressionTooLong` if it exceeds the budget.
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
