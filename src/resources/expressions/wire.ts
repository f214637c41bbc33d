import { type Static, Type } from "@sinclair/typebox";
import { anything, described, map, nullable, object, oneOf } from "../../base/shape.ts";

const MAX_TEXT = 20_000;

export const ExpressionEvaluation = object({
  text: described(
    "Text with templates, such as `{{payload.total * 2}}`, or a condition without braces",
    Type.String({ maxLength: MAX_TEXT }),
  ),
  as: oneOf(["template", "condition"], { default: "template", description: "What the text is." }),
  scope: described(
    "Values by the names that expressions begin with: `payload`, `headers`, `query`, `input`, `steps`, `item`, `index`, `run`, `now`",
    map(anything()),
  ),
});
export type ExpressionEvaluation = Static<typeof ExpressionEvaluation>;

export const ExpressionValue = object({
  value: described("The value; null if there is an error", anything()),
  error: described(
    "Why there is no value",
    nullable(
      object({
        message: described("What is wrong, with its place in the text", Type.String()),
        template: described(
          "The template that has no value; null if the fault is in no single one",
          nullable(Type.String()),
        ),
      }),
    ),
  ),
});
export type ExpressionValue = Static<typeof ExpressionValue>;
