import { AppError } from "../../base/errors.ts";
import type { SftpConfig } from "./shape.ts";

/** Codes of SFTP version 3 (draft-ietf-secsh-filexfer-02, section 7). */
const NO_SUCH_FILE = 2;
const PERMISSION_DENIED = 3;
const FAILURE = 4;
const NO_CONNECTION = 6;
const CONNECTION_LOST = 7;
const UNSUPPORTED = 8;

/** An error of the server or the library as a sentence. */
export function failureOf(error: Error, { host }: Pick<SftpConfig, "host">): AppError {
  const { code } = error as { code?: unknown };
  const make = (text: string, retryable = false) =>
    new AppError("upstream", text, { retryable, cause: error, details: { sftpCode: String(code ?? "") } });
  switch (code) {
    case NO_SUCH_FILE:
      return make(`There is no such file or folder at ${host}.`);
    case PERMISSION_DENIED:
      return make(`${host} doesn't allow this user to read or write there (permission denied).`);
    case UNSUPPORTED:
      return make(`${host} doesn't support this request.`);
    case FAILURE:
      return make(`${host} refused a request: ${error.message.slice(0, 200)}.`);
    case NO_CONNECTION:
    case CONNECTION_LOST:
      return make(`The connection to ${host} was lost.`, true);
  }
  if (/does not support|not supported/i.test(error.message)) return make(error.message);
  return make(`The connection to ${host} was lost: ${error.message.slice(0, 200)}.`, true);
}

/** Whether it means that a path doesn't exist. */
export const isAbsent = (error: unknown): boolean =>
  error instanceof AppError && error.details?.sftpCode === String(NO_SUCH_FILE);
