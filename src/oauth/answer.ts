import { Type } from "@sinclair/typebox";
import { object, optional } from "../base/shape.ts";

const word = (description: string) => optional(Type.String({ maxLength: 4096, description }));

/** Parameters of the authorization response; a server may add its own. */
export const SignInAnswer = object(
  {
    code: word("Authorization code, after a successful sign-in"),
    state: word("State of the sign-in. Valid for 10 minutes and one use."),
    error: word("Why the sign-in failed"),
    iss: word("Issuer of the response (RFC 9207)"),
  },
  { additionalProperties: true },
);
