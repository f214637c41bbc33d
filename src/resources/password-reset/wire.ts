import { type Static, Type } from "@sinclair/typebox";
import { object } from "../../base/shape.ts";
import { Password } from "../sign-in/wire.ts";

export const ForgottenPassword = object({ email: Type.String({ format: "email", maxLength: 254 }) });

export const PasswordReset = object({
  token: Type.String({
    minLength: 1,
    maxLength: 200,
    description: "Token of the emailed link. Valid for 1 hour and one use.",
  }),
  password: Password,
});
export type PasswordReset = Static<typeof PasswordReset>;
