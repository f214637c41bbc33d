import { type Static, Type } from "@sinclair/typebox";
import { anything, described, map, nullable, object, oneOf } from "../../base/shape.ts";

const MAX_TEXT = 20_000;

export const ExpressionEvaluation = object({
  text: described(
    "Text with templates, such as `{{payload.total * 2}}`, or a condition without braces",
    Type.String({ maxLength: MAX_TEXT }),
  ),
  as: oneOf(["template", "condition"], {
    default: "template",
    description: "Whether the text has templates, or is a condition.",
  }),
  scope: described(
    "Values, by the names that expressions start with: `payload`, `headers`, `query`, `input`, `steps`, `item`, `index`, `run`, `now`",
    map(anything()),
  ),
});
export type ExpressionEvaluation = Static<typeof ExpressionEvaluation>;

export const ExpressionValue = object({
  value: described("The value. Null if there is an error", anything()),
  error: described(
    "Why the text couldn't be evaluated",
    nullable(
      object({
        message: described("What is wrong, and where in the text", Type.String()),
        template: described(
          "The template that failed. Null if it isn't a single one",
          nullable(Type.String()),
        ),
      }),
    ),
  ),
});
export type ExpressionValue = Static<typeof ExpressionValue>;
