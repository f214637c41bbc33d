import { AppError } from "../../base/errors.ts";
import type { HostAndPort } from "../sql/route.ts";
import { addressOf } from "./socket.ts";

/** An error of the server or its client library, as far as Weir uses it. */
interface Thrown {
  code?: string;
  message?: string;
}

export const sqlState = (error: unknown): string =>
  typeof error === "object" && error !== null ? ((error as Thrown).code ?? "") : "";

/** Whether the server refused the connection because it is, or isn't, encrypted (`pg_hba.conf`). */
export const refusesSecurity = (error: unknown): boolean => sqlState(error) === "28000";

/** Converts the failure to an `AppError` that says what to change. Passes an `AppError` through. */
export function toFailure(
  error: unknown,
  server: HostAndPort,
  who: { user: string; database: string },
): AppError {
  if (error instanceof AppError) return error;
  const { message = "" } = (typeof error === "object" && error !== null ? error : {}) as Thrown;
  const make = (text: string, retryable = false) =>
    new AppError("upstream", text, { retryable, cause: error });
  const about = (setting: string, text: string) =>
    new AppError("upstream", text, { cause: error, details: { setting } });
  const state = sqlState(error);
  switch (state) {
    case "28P01":
      return about(
        "credentials.password",
        `${addressOf(server)} rejected the password of the user "${who.user}".`,
      );
    case "28000":
      return /no encryption|SSL off/.test(message)
        ? about(
            "config.sslMode",
            `${addressOf(server)} requires TLS here. Set sslMode to require or verify-full.`,
          )
        : about(
            "credentials.user",
            `${addressOf(server)} denies access to the user "${who.user}": ${message}.`,
          );
    case "3D000":
      return about("config.database", `There is no database "${who.database}" at ${addressOf(server)}.`);
    case "53300":
      return make(`${addressOf(server)} has too many connections already.`, true);
    case "57P03":
      return make(`${addressOf(server)} is starting or stopping.`, true);
    case "57P01":
    case "57P02":
      return make(
        `${addressOf(server)} ended the connection: it was stopped, or someone stopped the query.`,
        true,
      );
    case "57014":
      return /statement timeout/.test(message)
        ? new AppError("timeout", `${addressOf(server)} stopped the query: it took too long.`, {
            retryable: true,
            cause: error,
          })
        : make(`${addressOf(server)} cancelled the query.`, true);
    case "42501":
      return make(`The user "${who.user}" isn't allowed to do this: ${message}.`);
    case "40001":
    case "40P01":
      return make(`${addressOf(server)} stopped the query over a conflict: ${message}.`, true);
    case "SASL_SIGNATURE_MISMATCH":
      return make(`${addressOf(server)} couldn't prove that it knows the password.`);
    case "CONNECT_TIMEOUT":
      return new AppError(
        "timeout",
        `${addressOf(server)} accepted the connection, but didn't respond in time.`,
        {
          retryable: true,
          cause: error,
        },
      );
  }
  if (/^[0-9A-Z]{5}$/.test(state))
    return make(`${addressOf(server)} answered: ${message}.`, /^(08|53|55|58)/.test(state));
  return make(`The connection to ${addressOf(server)} was lost.`, true);
}
