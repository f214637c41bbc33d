import { operation } from "../../http/operation.ts";
import { evaluateText } from "./evaluate.ts";
import { ExpressionEvaluation, ExpressionValue } from "./wire.ts";

export const expressionOperations = [
  operation({
    method: "POST",
    path: "/api/v1/expressions/evaluate",
    audience: "viewer",
    tag: "Automations",
    summary: "Evaluate an expression",
    description:
      "Evaluates text with templates, or a condition, against the given values, as a run does. A text that can't be evaluated returns 200 with `error`.",
    body: ExpressionEvaluation,
    response: ExpressionValue,
    takesData: true,
    example: { value: 84, error: null },
    handle: ({ ctx, body }) => evaluateText(ctx, body),
  }),
];
