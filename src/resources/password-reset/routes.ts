import { openOperation, Reply } from "../../http/operation.ts";
import { visitorOf } from "../../http/visit.ts";
import { resetByLink, sendReset } from "./service.ts";
import { ForgottenPassword, PasswordReset } from "./wire.ts";

const tag = "Sign-in";

export const passwordResetOperations = [
  openOperation({
    method: "POST",
    path: "/api/v1/auth/forgot",
    audience: "public",
    limited: "address",
    tag,
    summary: "Request a password reset",
    description:
      "Emails a link to set a new password if an account has this address. The response and its timing are the same if none does. The link is valid for 1 hour.",
    body: ForgottenPassword,
    status: 202,
    bodyExample: { email: "ada@example.com" },
    handle: async ({ app, body, visit: { correlationId } }) => {
      sendReset(app, body.email, correlationId).catch((error: unknown) =>
        app.log.report(error, { at: "mail a link for a new password", correlationId }),
      );
      return new Reply(202, null);
    },
  }),
  openOperation({
    method: "POST",
    path: "/api/v1/auth/reset",
    audience: "public",
    limited: "address",
    tag,
    summary: "Reset a password",
    description: "Requires the emailed link. Ends all existing sessions, tokens and device codes.",
    body: PasswordReset,
    status: 204,
    errors: [410],
    handle: ({ app, body, visit }) => resetByLink(app, body, visitorOf(visit)),
  }),
];
