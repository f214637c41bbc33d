import { AppError } from "../../base/errors.ts";
import { addressOf } from "../postgres/socket.ts";
import type { HostAndPort } from "../sql/route.ts";

/** An error of the server or its client library, as far as Weir uses it. */
interface Thrown {
  /** The server's error number; absent for the library's own errors. */
  errno?: number;
  code?: string;
  message?: string;
}

const thrown = (error: unknown): Thrown =>
  typeof error === "object" && error !== null ? (error as Thrown) : {};

export const errorNumber = (error: unknown): number => thrown(error).errno ?? 0;

/** The server refused, but may accept over TLS: plain connections are forbidden for all or for this user. */
export const refusesPlain = (error: unknown): boolean => [3159, 1045].includes(errorNumber(error));

/** TLS failed: the server doesn't support it, or both couldn't agree. */
export const failedTls = (error: unknown): boolean =>
  ["HANDSHAKE_NO_SSL_SUPPORT", "HANDSHAKE_SSL_ERROR"].includes(thrown(error).code ?? "");

const CERTIFICATE_FAULTS: readonly [RegExp, string][] = [
  [/expired/i, "has expired"],
  [/not yet valid/i, "is not valid yet"],
  [/altname|hostname|does not match|not in the cert/i, "is made out for another host"],
  [/self[- ]signed/i, "is self-signed, or issued by an authority that this machine doesn't trust"],
  [/unable to (get|verify)|issuer/i, "comes from an authority that this machine doesn't trust"],
];

/** Converts the failure to an `AppError` that says what to change. Passes an `AppError` through. */
export function toFailure(
  error: unknown,
  server: HostAndPort,
  who: { user: string; database: string },
): AppError {
  if (error instanceof AppError) return error;
  const { errno, code = "", message = "" } = thrown(error);
  const make = (text: string, retryable = false) =>
    new AppError("upstream", text, { retryable, cause: error });
  const about = (setting: string, text: string) =>
    new AppError("upstream", text, { cause: error, details: { setting } });
  switch (errno) {
    case 1045:
    case 1698:
      return about(
        "credentials.password",
        `${addressOf(server)} rejected the password of the user "${who.user}".`,
      );
    case 1044:
      return about(
        "config.database",
        `The user "${who.user}" has no access to the database "${who.database}", or no database has that name.`,
      );
    case 1049:
      return about("config.database", `There is no database "${who.database}" at ${addressOf(server)}.`);
    case 1040:
    case 1203:
    case 1226:
      return make(`${addressOf(server)} has too many connections already.`, true);
    case 1129:
    case 1130:
      return make(`${addressOf(server)} rejects connections from this machine: ${message}.`);
    case 1142:
    case 1143:
    case 1227:
      return make(`The user "${who.user}" isn't allowed to do this: ${message}.`);
    case 1251:
    case 1820:
    case 1862:
      return make(
        `${addressOf(server)} requires another authentication method, or a new password: ${message}.`,
      );
    case 3159:
      return about(
        "config.sslMode",
        `${addressOf(server)} requires TLS. Set sslMode to require or verify-full.`,
      );
    case 1969:
    case 3024:
      return new AppError("timeout", `${addressOf(server)} stopped the query: it took too long.`, {
        retryable: true,
        cause: error,
      });
    case 1053:
    case 1317:
    case 1927:
      return make(`${addressOf(server)} ended the query: it was stopped, or someone stopped it.`, true);
    case 1205:
    case 1213:
      return make(`${addressOf(server)} stopped the query over a lock: ${message}.`, true);
  }
  if (errno !== undefined && errno >= 1000) return make(`${addressOf(server)} answered: ${message}.`);
  switch (code) {
    case "HANDSHAKE_NO_SSL_SUPPORT":
      return about("config.sslMode", `${addressOf(server)} doesn't offer TLS, which sslMode requires.`);
    case "HANDSHAKE_SSL_ERROR": {
      const fault = CERTIFICATE_FAULTS.find(([pattern]) => pattern.test(message))?.[1];
      return make(
        fault
          ? `The certificate of ${addressOf(server)} ${fault}.`
          : `${addressOf(server)} and Weir could not agree on a TLS connection.`,
      );
    }
    case "ETIMEDOUT":
      return new AppError(
        "timeout",
        `${addressOf(server)} accepted the connection, but didn't respond in time.`,
        {
          retryable: true,
          cause: error,
        },
      );
    case "AUTH_SWITCH_PLUGIN_ERROR":
      return make(
        `${addressOf(server)} requires an authentication method for the user "${who.user}" that Weir doesn't support.`,
      );
  }
  return make(`The connection to ${addressOf(server)} was lost, or it is not a MySQL server.`, true);
}
