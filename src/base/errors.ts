import type { ERROR_CODES } from "./error-codes.ts";
import { capitalized, plural } from "./plural.ts";

/**
 * The only error type thrown across module boundaries.
 *
 * `code` is stable and meant for programs; only `http/problem.ts` maps it to a status. `message` is for
 * people. What callers must not see (upstream bodies, paths, SQL) goes in `cause`, which is only logged.
 *
 * Anything else that is thrown is a bug, and returns 500.
 */
export type ErrorCode = keyof typeof ERROR_CODES;

export interface ErrorOptions {
  /** Location in the request or definition, outermost first, such as `["body", "slug"]`. */
  loc?: readonly string[];
  /** Kind of a validation error, such as `extra_forbidden`. Only with `loc`. */
  type?: string;
  /** True if the same work may succeed later. */
  retryable?: boolean;
  /** Seconds to wait before the next attempt, if the other side said so. */
  retryAfterSeconds?: number;
  /** Details for the reader: JSON without secrets. */
  details?: Record<string, unknown>;
  cause?: unknown;
}

export class AppError extends Error {
  override readonly name = "AppError";
  readonly code: ErrorCode;
  readonly loc: readonly string[];
  readonly type: string | null;
  readonly retryable: boolean;
  readonly retryAfterSeconds: number | null;
  readonly details: Record<string, unknown> | null;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.loc = options.loc ?? [];
    this.type = options.type ?? null;
    this.retryable = options.retryable ?? false;
    this.retryAfterSeconds = options.retryAfterSeconds ?? null;
    this.details = options.details ?? null;
  }
}

export const notFound = (noun: string) => new AppError("not_found", `${capitalized(noun)} not found.`);

/** One validation error, as in the API. */
export interface Fault {
  loc: readonly string[];
  msg: string;
  type: string;
}

/**
 * Approximate maximum number of validation errors per request.
 * Nobody fixes more by hand, and reporting all could take minutes.
 */
export const MAX_FAULTS = 1000;

/** Several validation errors, reported together. */
export class InvalidInput extends AppError {
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super("invalid", faults.map((f) => `${f.loc.join(".")}: ${f.msg}`).join("; "), {
      loc: faults[0]?.loc ?? [],
    });
    this.faults = faults;
  }
}

/** Returns the errors of the `InvalidInput` that `check` throws, if any. */
export async function faultsThrownBy(check: () => unknown): Promise<Fault[]> {
  try {
    await check();
    return [];
  } catch (error) {
    if (error instanceof InvalidInput) return [...error.faults];
    throw error;
  }
}

/** Throws the errors of all checks that throw `InvalidInput`, together. For one place, those of the first check. */
export async function checkAll(...checks: (() => unknown)[]): Promise<void> {
  const faults: Fault[] = [];
  for (const check of checks) {
    const reported = new Set(faults.map(({ loc }) => loc.join()));
    faults.push(...(await faultsThrownBy(check)).filter(({ loc }) => !reported.has(loc.join())));
  }
  if (faults.length > 0) throw new InvalidInput(faults);
}

/** Returns the error for one invalid input. */
export const invalid = (loc: readonly string[], msg: string, type = "value_error") =>
  new InvalidInput([{ loc, msg, type }]);

/** A requested range that begins at or after the end of the content. */
export class RangeBeyondEnd extends AppError {
  /** Size of the content in bytes. */
  readonly size: number;

  constructor(size: number) {
    super(
      "range_not_satisfiable",
      `Range beyond the end. The content has ${plural(size, { one: "byte", other: "bytes" })}.`,
    );
    this.size = size;
  }
}

/** Error of an OAuth endpoint: a code of RFC 6749 or 8628, always with status 400. */
export class OAuthError extends AppError {
  readonly error: OAuthCode;

  constructor(error: OAuthCode, message: string) {
    super("bad_request", message);
    this.error = error;
  }
}

export type OAuthCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_client_metadata"
  | "invalid_redirect_uri"
  | "invalid_target"
  | "unsupported_response_type"
  | "invalid_grant"
  | "invalid_scope"
  | "unsupported_grant_type"
  | "authorization_pending"
  | "slow_down"
  | "access_denied"
  | "expired_token";
