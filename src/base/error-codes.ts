/** Cause and remedy of an error. */
export interface ErrorMeaning {
  cause: string;
  cure: string;
}

/** Codes of rejected requests. */
const REQUEST = {
  bad_request: {
    cause: "The request can't be read: a header, the path or the JSON is malformed.",
    cure: "Fix the request. The message names the part.",
  },
  invalid: {
    cause: "A field doesn't fit. Sent as a list of `loc`, `msg` and `type` instead of a code.",
    cure: "Correct the fields that `loc` names.",
  },
  unauthenticated: {
    cause: "No credentials, or they are mistyped, expired or revoked.",
    cure: "Sign in again, or create a new access token or API key.",
  },
  second_factor_required: {
    cause: "The password is right, and the account has a second factor.",
    cure: "Send the code of the authenticator app, or a recovery code.",
  },
  sign_in_again: {
    cause: "The session's last sign-in is over an hour ago, and this changes credentials.",
    cure: "Sign in again, then repeat the request.",
  },
  forbidden: {
    cause: "Your role in the organization doesn't allow this.",
    cure: "Ask an admin or owner to do it, or to change your role.",
  },
  own_request: {
    cause: "The person who asked for an approval can't decide it.",
    cure: "Have another member decide.",
  },
  scope_missing: {
    cause: "The access token was created without the scope that this needs.",
    cure: "Use a token that has the scope that the message names.",
  },
  csrf: {
    cause: "The request came from another site's page with a browser's session.",
    cure: "Send it from Weir's own page, or with a token instead of a cookie.",
  },
  not_found: {
    cause: "It doesn't exist in this organization, or it was deleted.",
    cure: "Check the ID or slug, and the organization that the request is for.",
  },
  method_not_allowed: {
    cause: "The path exists, and takes other methods.",
    cure: "Use a method that the `Allow` header lists.",
  },
  request_timeout: {
    cause: "The body arrived too slowly.",
    cure: "Send it again, over a faster connection.",
  },
  conflict: {
    cause: "Another request changed the same thing at the same time, or a name is taken.",
    cure: "Read it again, and repeat the request if it still applies.",
  },
  depends_on_others: {
    cause: "The named changes of a draft need others that would stay in it.",
    cure: "Include those too, or publish the whole draft.",
  },
  changed_meanwhile: {
    cause: "The resource has changed since the `ETag` in `If-Match`.",
    cure: "Read it again, and apply your change to the current version.",
  },
  slug_taken: {
    cause: "Another resource of this kind has the slug.",
    cure: "Choose another slug, or leave it out.",
  },
  in_use: {
    cause: "Other resources use it.",
    cure: "Change those first. The message or `details` names them.",
  },
  other_user: {
    cause: "The header `X-Expected-User-Id` names another user than the caller.",
    cure: "Reload the page, which then shows who is signed in.",
  },
  invalid_state: {
    cause: "Its status doesn't allow this, such as cancelling a run that has ended.",
    cure: "Check the status, and whether the request is still needed.",
  },
  last_owner: {
    cause: "The organization would have no owner.",
    cure: "Make another member an owner first.",
  },
  idempotency_mismatch: {
    cause: "The same `Idempotency-Key` came with another request in the last 24 hours.",
    cure: "Use a new key for each new request.",
  },
  gone: {
    cause: "It existed, and its content has been deleted.",
    cure: "Create it again, such as by running the action again.",
  },
  cursor_expired: {
    cause: "A page cursor is older than 24 hours.",
    cure: "Start again without a cursor.",
  },
  payload_too_large: {
    cause: "The body is larger than allowed.",
    cure: "Send less, or raise `WEIR_MAX_BODY_BYTES`.",
  },
  unsupported_media_type: {
    cause: "The body has another media type, or is compressed.",
    cure: "Send the media type that the message names, uncompressed.",
  },
  range_not_satisfiable: {
    cause: "The `Range` of a download begins at or after the end of the content.",
    cure: "Request bytes before the size in `Content-Range`.",
  },
  rate_limited: {
    cause: "Too many requests from this credential or address.",
    cure: "Wait for the seconds in `Retry-After`. Operators can raise `WEIR_API_RATE`.",
  },
  quota_exceeded: {
    cause: "The organization has reached a limit that the operator set.",
    cure: "Delete what isn't needed, or ask the operator for a higher quota.",
  },
  internal: {
    cause: "A bug in Weir.",
    cure: "Look up the correlation ID in the log, and report it.",
  },
  unavailable: {
    cause: "Weir can't do it now: the database is unreachable, or the server is stopping.",
    cure: "Try again. If it persists, check `weir doctor` and the log.",
  },
  not_available: {
    cause: "This version doesn't have the feature.",
    cure: "Upgrade, or do without it.",
  },
} as const satisfies Record<string, ErrorMeaning>;

/** Codes of language models, agents and search. */
const MODEL = {
  llm_not_configured: {
    cause: "No language model is configured.",
    cure: "Set `WEIR_LLM_BASE_URL`, `WEIR_LLM_API_KEY` and `WEIR_LLM_MODEL`.",
  },
  search_not_configured: {
    cause: "No search engine is configured.",
    cure: "Set `WEIR_SEARCH_URL`, `BRAVE_API_KEY` or `TAVILY_API_KEY`.",
  },
  llm_unauthorized: {
    cause: "The model's provider refused the API key.",
    cure: "Check the key of the language model.",
  },
  llm_model_unknown: {
    cause: "The provider doesn't have the model.",
    cure: "Correct the model's name in the settings or the agent.",
  },
  llm_rate_limited: {
    cause: "The provider's rate limit is used up.",
    cure: "Try again later, or ask the provider for a higher limit.",
  },
  llm_context_too_long: {
    cause: "The conversation or prompt is longer than the model accepts.",
    cure: "Shorten the prompt, use a model with a larger context, or correct `WEIR_MODEL_CONTEXT`.",
  },
  llm_overloaded: {
    cause: "The provider is overloaded.",
    cure: "Try again later.",
  },
  llm_refused: {
    cause: "The provider refused to answer, or blocked the answer.",
    cure: "Rephrase the prompt.",
  },
  llm_stream_cut: {
    cause: "The provider's answer was cut off.",
    cure: "Try again.",
  },
  llm_budget_exceeded: {
    cause: "The organization has used its tokens for the day.",
    cure: "Wait until tomorrow, or raise `WEIR_LLM_TOKENS_PER_DAY`.",
  },
  unknown_identifier: {
    cause: "The SQL that the model wrote names a table or column that doesn't exist.",
    cure: "Ask again, and name the tables.",
  },
  output_invalid: {
    cause: "The model's answer was cut off, or doesn't match the requested schema.",
    cure: "Try again, ask for less, simplify `outputSchema`, or use another model.",
  },
  too_many_steps: {
    cause: "The agent found no answer within its steps.",
    cure: "Raise `maxSteps`, or ask for less at once.",
  },
} as const satisfies Record<string, ErrorMeaning>;

/** Codes of runs. */
const RUN = {
  egress_blocked: {
    cause: "The address is private or Weir's own, and not allowed.",
    cure: "If it is right, add the host to `WEIR_EGRESS_ALLOW`.",
  },
  upstream: {
    cause: "The external system refused or failed.",
    cure: "Read its message. Verify the connection, then retry.",
  },
  timeout: {
    cause: "The external system or the run took longer than allowed.",
    cure: "Retry, do less at once, or raise `timeoutSeconds`.",
  },
  cancelled: {
    cause: "Someone cancelled the run, or a newer run replaced it.",
    cure: "Run it again if it is still needed.",
  },
  interrupted: {
    cause:
      "The process stopped during a call that may not be made twice, such as a tool of an MCP server that writes.",
    cure: "Check whether it was done. If not, retry the run.",
  },
  interrupted_too_often: {
    cause: "The process stopped several times while the run was executing.",
    cure: "Check the log for crashes and memory, then retry the run.",
  },
  connection_disabled: {
    cause: "The connection is disabled.",
    cure: "Enable the connection.",
  },
  template_error: {
    cause: "A template can't be read, or a value that it names doesn't exist.",
    cure: "Correct the template, or give it a fallback with `??`.",
  },
  condition_error: {
    cause: "A condition can't be read, or doesn't give true or false.",
    cure: "Correct the CEL expression.",
  },
  definition_invalid: {
    cause: "With its templates evaluated, the definition is invalid, or a setting is unusable.",
    cure: "Correct the field that the message names.",
  },
  unexpected_status: {
    cause: "An HTTP request returned a status that isn't in `expectStatus`.",
    cure: "Check the request, or add the status to `expectStatus`.",
  },
  batch_failed: {
    cause: "Some requests of a batch failed; `error.details.outcomes` lists them.",
    cure: "Correct and rerun the failed items.",
  },
  sql_error: {
    cause: "DuckDB or the database refused the SQL.",
    cure: "Correct the SQL. The message has its position.",
  },
  sql_timeout: {
    cause: "The SQL took longer than `WEIR_SQL_TIMEOUT`.",
    cure: "Read less, or raise the setting.",
  },
  sql_memory: {
    cause: "The SQL needed more memory than `WEIR_SQL_MEMORY`.",
    cure: "Read less, or raise the setting.",
  },
  script_error: {
    cause: "The script is invalid, or threw an error.",
    cure: "Correct the script. The message has line and column.",
  },
  script_timeout: {
    cause: "The script ran longer than allowed.",
    cure: "Do less at once, or raise its timeout.",
  },
  script_memory: {
    cause: "The script needed more memory than allowed.",
    cure: "Work on fewer items at once.",
  },
  row_count_mismatch: {
    cause: "The rows that were written differ from those that were read.",
    cure: "Nothing was committed. Retry, and report it if it happens again.",
  },
  schema_contract_violation: {
    cause: "The source's columns or types changed, and `schemaContract` forbids it.",
    cure: "Correct the source, or loosen the contract.",
  },
  cursor_field_missing: {
    cause: "Rows lack the field that `incremental.cursorField` names.",
    cure: "Name a field that all rows have.",
  },
  test_failed: {
    cause: "A test of the transform failed. Nothing was written.",
    cure: "Correct the data, the SQL or the test.",
  },
  dataset_changed: {
    cause: "Another run committed to the same dataset at the same time, or a file of the table is missing.",
    cure: "Retry the run. If it fails again, `weir doctor` finds missing files.",
  },
  disk_full: {
    cause: "The disk is full.",
    cure: "Free space, or lower the retention settings.",
  },
  work_folder_full: {
    cause: "The run wrote more temporary data than `WEIR_WORK_LIMIT`.",
    cure: "Load less at once, or raise the setting.",
  },
  limit_exceeded: {
    cause: "More than the definition allows. Nothing was done.",
    cure: "Raise the limit that the message names, or select less.",
  },
  too_many_deletes: {
    cause: "More rows are gone at the source than `maxDelete` allows. Nothing was loaded.",
    cure: "Check the source. If it is right, raise `maxDelete`.",
  },
  max_delete_exceeded: {
    cause: "A mirror would delete more files than `maxDelete`. Nothing was done.",
    cure: "Check the source. If it is right, raise `maxDelete`.",
  },
  response_too_large: {
    cause: "The external system sent more than `maxBytes`.",
    cure: "Ask for less, raise `maxBytes`, or keep the reply as a file with `saveAs`.",
  },
  result_too_large: {
    cause: "A result is too large for expressions to read.",
    cure: "Keep the rows in a dataset, and read them with SQL.",
  },
  no_branch: {
    cause: "No condition of a branch holds, and it has no `else`.",
    cure: "Add `else`, or a branch for the case.",
  },
  call_deadlock: {
    cause: "Runs would wait for each other.",
    cure: "Raise the called automation's concurrency, or call it with `wait: false`.",
  },
} as const satisfies Record<string, ErrorMeaning>;

/** Every code of an `AppError`. Unknown codes don't compile. */
export const ERROR_CODES = { ...REQUEST, ...MODEL, ...RUN } as const;

/** Codes that appear only in a run's `error`: nothing failed, the run's own rules ended it. */
export const RUN_END_CODES = {
  rejected: {
    cause: "A person rejected the approval.",
    cure: "Resolve the reason for it, then run it again.",
  },
  expired: {
    cause: "The approval expired without a decision.",
    cure: "Run it again, or raise `expiresInSeconds`.",
  },
  loop_detected: {
    cause: "Automations started each other through events, without end.",
    cure: "Narrow `event.types`, so that a run's own events don't start it.",
  },
  call_cycle: {
    cause: "An automation would call itself.",
    cure: "Remove the call, or split the automation.",
  },
  call_too_deep: {
    cause: "Automations call each other too deeply.",
    cure: "Call from fewer levels.",
  },
  called_automation_failed: {
    cause: "The automation that was called failed.",
    cure: "Open its run, which `details` names.",
  },
} as const satisfies Record<string, ErrorMeaning>;
