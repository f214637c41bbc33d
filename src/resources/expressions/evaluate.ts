import { holds, openBudgetHere } from "../../base/condition.ts";
import { AppError } from "../../base/errors.ts";
import { ExpressionTooLong } from "../../base/expression/too-long.ts";
import type { Json } from "../../base/json.ts";
import { resolveTemplates } from "../../base/template.ts";
import type { ExpressionEvaluation, ExpressionValue } from "./wire.ts";

const failed = (message: string, template: string | null = null): ExpressionValue => ({
  value: null,
  error: { message, template },
});

/** Evaluates one text as a run would, with as much time as there is while others wait. */
export function evaluateText({ text, as, scope }: ExpressionEvaluation): ExpressionValue {
  try {
    const value: Json =
      as === "condition" ? holds(text, scope, openBudgetHere()) : resolveTemplates(text, scope);
    return { value, error: null };
  } catch (error) {
    if (error instanceof ExpressionTooLong)
      return failed("Too slow to evaluate here. In a run, an expression has more time.");
    if (!(error instanceof AppError)) throw error;
    const { template } = error.details ?? {};
    return failed(error.message, typeof template === "string" ? template : null);
  }
}
