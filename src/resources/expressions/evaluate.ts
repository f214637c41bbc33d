import { holds, MAX_CONDITIONS_MS, openBudgetHere } from "../../base/condition.ts";
import { AppError } from "../../base/errors.ts";
import { ExpressionTooLong } from "../../base/expression/too-long.ts";
import type { Json } from "../../base/json.ts";
import { resolveTemplates, type Scope } from "../../base/template.ts";
import { fillInChild } from "../../compute/fill.ts";
import type { Context } from "../../context.ts";
import { decideConditions } from "../../executors/branch-choice.ts";
import type { ExpressionEvaluation, ExpressionValue } from "./wire.ts";

const failed = (message: string, template: string | null = null): ExpressionValue => ({
  value: null,
  error: { message, template },
});

/** Evaluates a template as a run would: in a child process if it takes too long. */
export async function evaluateText(
  ctx: Context,
  { text, as, scope }: ExpressionEvaluation,
): Promise<ExpressionValue> {
  try {
    const value = as === "condition" ? await decide(ctx, text, scope) : await filled(ctx, text, scope);
    return { value, error: null };
  } catch (error) {
    if (!(error instanceof AppError) || ctx.closing.aborted) throw error;
    const { template } = error.details ?? {};
    return failed(error.message, typeof template === "string" ? template : null);
  }
}

const by = ({ organizationId, closing }: Context) => ({ organizationId, signal: closing });

async function decide(ctx: Context, text: string, scope: Scope): Promise<Json> {
  try {
    return holds(text, scope, openBudgetHere());
  } catch (error) {
    if (!(error instanceof ExpressionTooLong)) throw error;
    const request = { texts: [text], scope, allowanceMs: MAX_CONDITIONS_MS };
    return (await decideConditions(ctx.compute, request, by(ctx))).first === 0;
  }
}

async function filled(ctx: Context, text: string, scope: Scope): Promise<Json> {
  try {
    return resolveTemplates(text, scope);
  } catch (error) {
    if (!(error instanceof ExpressionTooLong)) throw error;
    const work = { definition: { text }, options: {} };
    return (await fillInChild(ctx.compute, work, { scope, kept: [] }, by(ctx))).text ?? null;
  }
}
