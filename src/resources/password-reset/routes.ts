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
    summary: "Mails a link that sets a new password, where there is an account with the address",
    description:
      "The reply is the same, and as fast, whether or not there is one. The link is good for an hour.",
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
    summary:
      "Sets a new password by the mailed link, and ends every session, token and device code from before",
    body: PasswordReset,
    status: 204,
    errors: [410],
    handle: ({ app, body, visit }) => resetByLink(app, body, visitorOf(visit)),
  }),
];
