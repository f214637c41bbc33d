import { type Static, Type } from "@sinclair/typebox";
import { requestObject } from "../../base/null-shape.ts";
import { NEW_PASSWORD, named, nullable, object, optional } from "../../base/shape.ts";

const email = () => Type.String({ format: "email", maxLength: 254 });

/** A new password. The maximum length limits the cost of hashing it. */
export const Password = Type.String({
  minLength: 12,
  maxLength: 1024,
  format: NEW_PASSWORD,
  description:
    "At least 12 characters. The 10,000 most common passwords are rejected, also with simple additions",
});

export const SignInMethods = object({
  setupRequired: Type.Boolean(),
  password: Type.Boolean(),
  oidc: nullable(object({ name: Type.String() })),
});

const owner = {
  email: email(),
  password: Password,
  firstName: optional(nullable(named())),
  lastName: optional(nullable(named())),
  organizationName: named(),
};

/** Data of an installation's first owner, from any source. */
export const FirstOwner = object(owner);
export type FirstOwner = Static<typeof FirstOwner>;

export const SetUp = object({ token: Type.String({ minLength: 1, maxLength: 200 }), ...owner });

export const PasswordChange = object({
  currentPassword: Type.String({ minLength: 1, maxLength: 1024 }),
  newPassword: Password,
  endTokens: Type.Boolean({
    default: true,
    description: "Whether access tokens are revoked and Slack accounts unlinked too",
  }),
});

/** No format here: every wrong value gets the same response. */
export const Credentials = requestObject({
  email: Type.String({ minLength: 1, maxLength: 254 }),
  password: Type.String({ minLength: 1, maxLength: 1024 }),
  code: optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description: "Code of the authenticator app, or a recovery code. Required if the second factor is on",
    }),
  ),
});
export type Credentials = Static<typeof Credentials>;
