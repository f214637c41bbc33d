import { capitalized } from "./plural.ts";

/**
 * The only error type thrown across module boundaries.
 *
 * `code` is stable and meant for programs; only `http/problem.ts` maps it to a status. `message` is for
 * people. What callers must not see (upstream bodies, paths, SQL) goes in `cause`, which is only logged.
 *
 * Anything else that is thrown is a bug, and returns 500.
 */
export type ErrorCode =
  // the request
  | "bad_request"
  | "invalid" // 422: names the field in `loc`
  | "unauthenticated"
  | "second_factor_required" // the password is right; a code is missing
  | "sign_in_again" // the session's last sign-in is too long ago for this
  | "forbidden"
  | "own_request" // who asked for a decision does not make it
  | "scope_missing" // the access token was made without the scope that this needs
  | "csrf"
  | "not_found"
  | "method_not_allowed"
  | "request_timeout"
  | "conflict"
  | "changed_meanwhile" // the thing is not as `If-Match` says
  | "slug_taken"
  | "in_use"
  | "invalid_state"
  | "last_owner"
  | "idempotency_mismatch"
  | "gone"
  | "cursor_expired"
  | "payload_too_large"
  | "unsupported_media_type"
  | "rate_limited"
  | "quota_exceeded" // the organization has all that an operator allows it
  | "internal"
  | "unavailable"
  | "llm_not_configured"
  | "search_not_configured"
  // a language model
  | "llm_unauthorized"
  | "llm_model_unknown"
  | "llm_rate_limited"
  | "llm_context_too_long"
  | "llm_overloaded"
  | "llm_refused"
  | "llm_stream_cut" // the reply ended before it was whole
  | "llm_budget_exceeded" // the organization has used up its tokens of the day
  | "unknown_identifier" // a model's SQL speaks of what is not there
  | "output_invalid" // an answer that does not fit the shape that was asked for
  | "too_many_steps" // an agent came to no answer within the steps that it has
  // a run
  | "egress_blocked"
  | "upstream" // the other side failed; `retryable` tells whether another try may help
  | "timeout"
  | "cancelled"
  | "interrupted_too_often"
  | "connection_disabled"
  | "template_error"
  | "condition_error"
  | "definition_invalid"
  | "unexpected_status"
  | "batch_failed" // what is in error.details.outcomes
  | "sql_error"
  | "sql_timeout"
  | "sql_memory"
  | "script_error" // a fault of the script itself, or what it threw
  | "script_timeout"
  | "script_memory"
  | "row_count_mismatch"
  | "schema_contract_violation"
  | "cursor_field_missing"
  | "test_failed" // a test of a transform did not hold; nothing was written
  | "dataset_changed" // somebody else committed to the same dataset meanwhile
  | "disk_full"
  | "work_folder_full" // the run put more into its work folder than one may
  | "limit_exceeded" // more than the definition allows; nothing was done
  | "too_many_deletes" // a look at all keys finds more rows gone than a load may delete; nothing was loaded
  | "max_delete_exceeded" // more would be deleted than the definition allows; nothing was
  | "response_too_large"
  | "result_too_large" // more than expressions could read
  | "no_branch"
  | "call_deadlock" // two runs would wait for each other
  | "not_available";

export interface ErrorOptions {
  /** Where in the request or definition the fault lies, outermost first, such as `["body", "slug"]`. */
  loc?: readonly string[];
  /** Kind of a validation fault, such as `extra_forbidden`; only with `loc`. */
  type?: string;
  /** True where the same work may succeed when it is tried again later. */
  retryable?: boolean;
  /** Seconds to wait before another try, where the other side named them. */
  retryAfterSeconds?: number;
  /** Facts for the reader, JSON, no secrets. */
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

/** One fault of the input, as the API shows it. */
export interface Fault {
  loc: readonly string[];
  msg: string;
  type: string;
}

/**
 * At most about so many faults of one input are told; what has more is no input that a person mends by hand, and telling
 * all would take minutes.
 */
export const MAX_FAULTS = 1000;

/** Several faults of one input, told together. */
export class InvalidInput extends AppError {
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super("invalid", faults.map((f) => `${f.loc.join(".")}: ${f.msg}`).join("; "), {
      loc: faults[0]?.loc ?? [],
    });
    this.faults = faults;
  }
}

/** One fault of the input. */
export const invalid = (loc: readonly string[], msg: string, type = "value_error") =>
  new InvalidInput([{ loc, msg, type }]);

/** What the endpoints of OAuth answer with instead: a code of RFC 6749 or 8628, always with status 400. */
export class OAuthError extends AppError {
  readonly error: OAuthCode;

  constructor(error: OAuthCode, message: string) {
    super("bad_request", message);
    this.error = error;
  }
}

export type OAuthCode =
  | "invalid_request"
  | "invalid_grant"
  | "unsupported_grant_type"
  | "authorization_pending"
  | "slow_down"
  | "access_denied"
  | "expired_token";
