import { AppError } from "../../base/errors.ts";
import type { App } from "../../context.ts";
import type { Letter } from "../../mail/contract.ts";

/** Email rate limit per organization or account: enough for a team, too little for spam. */
export const MAIL_RATE = { perMinute: 10, burst: 50 };

/**
 * Sends an email; call it after the commit. Returns null once the mail server has accepted it,
 * otherwise a sentence with the reason, which is also logged. `key` is what the rate limit applies to.
 */
export async function mail(
  app: App,
  letter: Letter,
  { key, correlationId, rate = MAIL_RATE }: { key: string; correlationId: string; rate?: typeof MAIL_RATE },
): Promise<string | null> {
  const unsent = (reason: string) => {
    const { to, subject } = letter;
    app.log.write("warn", "email not sent", { to, subject, reason, correlationId });
    return `Couldn't send the email to ${to}: ${reason}`;
  };
  if (app.mailer === null) return unsent("no mail server is configured (WEIR_SMTP_URL and WEIR_MAIL_FROM).");
  const { retryAfterSeconds } = app.limiter.take(`mail:${key}`, rate);
  if (retryAfterSeconds > 0)
    return unsent(`too many emails were sent. Try again in ${retryAfterSeconds} seconds.`);
  try {
    await app.mailer.send(letter);
  } catch (error) {
    if (!(error instanceof AppError)) app.log.report(error, { at: "send a mail", correlationId });
    return unsent(error instanceof AppError ? error.message : "see the server log.");
  }
  app.log.write("info", "email sent", { to: letter.to, subject: letter.subject, correlationId });
  return null;
}
