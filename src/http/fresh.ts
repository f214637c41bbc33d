import { AppError } from "../base/errors.ts";
import type { App } from "../context.ts";
import type { Identity } from "./identity.ts";

/** How long after a sign-in a browser's session can create credentials. */
const FRESH_MS = 60 * 60 * 1000;

/** Throws `sign_in_again` if a browser's session signed in over an hour ago. */
export function requireFreshSignIn({ clock }: App, { clientType, signedInAt }: Identity): void {
  if (clientType !== "web" || signedInAt === null) return;
  if (clock.now().getTime() - Date.parse(signedInAt) <= FRESH_MS) return;
  throw new AppError(
    "sign_in_again",
    "This requires a sign-in within the last hour. Sign in again, or confirm your password or a code.",
  );
}
