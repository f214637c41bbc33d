import { diskFull } from "../base/disk.ts";
import { AppError, type ErrorCode, InvalidInput, OAuthError, RangeBeyondEnd } from "../base/errors.ts";
import { isUniqueViolation } from "../store/store.ts";

/** The only place that maps errors to HTTP status codes (docs/decisions/http-conventions.md). */
export const STATUS: Readonly<Record<ErrorCode, number>> = {
  bad_request: 400,
  invalid: 422,
  unauthenticated: 401,
  second_factor_required: 401,
  sign_in_again: 401,
  forbidden: 403,
  own_request: 403,
  scope_missing: 403,
  csrf: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  depends_on_others: 409,
  changed_meanwhile: 412,
  slug_taken: 409,
  in_use: 409,
  other_user: 409,
  invalid_state: 409,
  last_owner: 409,
  idempotency_mismatch: 409,
  gone: 410,
  cursor_expired: 410,
  payload_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  rate_limited: 429,
  quota_exceeded: 429,
  internal: 500,
  unavailable: 503,
  llm_not_configured: 503,
  search_not_configured: 503,
  llm_unauthorized: 502,
  llm_model_unknown: 502,
  llm_rate_limited: 503,
  llm_context_too_long: 422,
  llm_overloaded: 503,
  llm_refused: 502,
  llm_stream_cut: 502,
  llm_budget_exceeded: 429,
  unknown_identifier: 422,
  output_invalid: 502,
  too_many_steps: 422,
  disk_full: 503,
  egress_blocked: 422,
  upstream: 502,
  timeout: 504,
  cancelled: 409,
  interrupted: 409,
  interrupted_too_often: 409,
  connection_disabled: 409,
  template_error: 422,
  condition_error: 422,
  definition_invalid: 422,
  unexpected_status: 502,
  batch_failed: 502,
  sql_error: 422,
  sql_timeout: 422,
  sql_memory: 422,
  script_error: 422,
  script_timeout: 422,
  script_memory: 422,
  row_count_mismatch: 500,
  schema_contract_violation: 409,
  cursor_field_missing: 422,
  test_failed: 422,
  dataset_changed: 409,
  limit_exceeded: 422,
  too_many_deletes: 422,
  work_folder_full: 422,
  max_delete_exceeded: 422,
  response_too_large: 502,
  result_too_large: 422,
  no_branch: 422,
  call_deadlock: 409,
  not_available: 501,
};

export interface Problem {
  status: number;
  body: Record<string, unknown>;
  headers: Record<string, string>;
  /** True for unexpected errors, which are logged. */
  isBug: boolean;
}

/** Returns what the caller sees of `error`. Anything but an `AppError` is a bug, shown as a 500 without details. */
export function problemOf(error: unknown, correlationId: string): Problem {
  if (error instanceof InvalidInput) {
    return { status: 422, body: { detail: error.faults }, headers: {}, isBug: false };
  }
  if (error instanceof OAuthError) {
    const body = { error: error.error, error_description: error.message };
    return { status: 400, body, headers: {}, isBug: false };
  }
  const known = error instanceof AppError ? error : unforeseen(error);
  if (known.code === "invalid" || (STATUS[known.code] === 422 && known.loc.length > 0)) {
    const fault = { loc: known.loc, msg: known.message, type: known.type ?? known.code };
    return { status: 422, body: { detail: [fault] }, headers: {}, isBug: false };
  }
  const headers: Record<string, string> = {};
  if (STATUS[known.code] === 401) headers["www-authenticate"] = "Bearer";
  if (known.retryAfterSeconds !== null) headers["retry-after"] = String(known.retryAfterSeconds);
  if (known instanceof RangeBeyondEnd) headers["content-range"] = `bytes */${known.size}`;
  return {
    status: STATUS[known.code],
    body: { detail: known.message, code: known.code, correlationId },
    headers,
    isBug: known.code === "internal",
  };
}

function unforeseen(error: unknown): AppError {
  if (isUniqueViolation(error)) {
    return new AppError("conflict", "This was changed by another request at the same time. Try again.", {
      cause: error,
    });
  }
  const full = diskFull(error);
  if (full) return full;
  return new AppError(
    "internal",
    "Internal error. To find the cause, search the server log for this correlation ID.",
    { cause: error },
  );
}

/** Error types of Iceberg's REST catalog by status, for errors without a type of their own. */
const ICEBERG_TYPES: Readonly<Record<number, string>> = {
  400: "BadRequestException",
  401: "NotAuthorizedException",
  403: "ForbiddenException",
  404: "NotFoundException",
  405: "UnsupportedOperationException",
  406: "UnsupportedOperationException",
  413: "BadRequestException",
  429: "TooManyRequestsException",
  503: "ServiceUnavailableException",
};

/** Maps statuses that the catalog's specification doesn't have to those that it has. */
const ICEBERG_STATUS: Readonly<Record<number, number>> = { 405: 406, 409: 503, 412: 400, 422: 400 };

/** Returns the error in the format of Iceberg's REST catalog. */
export function icebergProblemOf(error: unknown, problem: Problem): Problem {
  const isLasting = error instanceof AppError && error.code === "invalid_state";
  const status = isLasting ? 400 : (ICEBERG_STATUS[problem.status] ?? problem.status);
  const message =
    error instanceof InvalidInput
      ? error.faults.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ")
      : String(problem.body.detail ?? problem.body.error_description ?? "");
  const own = error instanceof AppError ? error.type : null;
  const type = own ?? ICEBERG_TYPES[status] ?? "InternalServerError";
  return {
    ...problem,
    status,
    body: { error: { message, type, code: status } },
  };
}
