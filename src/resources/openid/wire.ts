import { Type } from "@sinclair/typebox";
import { object, optional } from "../../base/shape.ts";

export const StartQuery = object({
  return_to: optional(
    Type.String({
      minLength: 1,
      maxLength: 2000,
      description: "Path or URL on this server to return to afterwards.",
    }),
  ),
});

const word = (description: string) => optional(Type.String({ maxLength: 4096, description }));

/** Parameters that providers add are ignored. */
export const CallbackQuery = object(
  {
    code: word("Authorization code, after a successful sign-in"),
    state: word("State of the sign-in. Valid for 10 minutes and one use."),
    error: word("Why the sign-in failed"),
    iss: word("Issuer of the response (RFC 9207)"),
  },
  { additionalProperties: true },
);
