import { AppError, type ErrorCode } from "../base/errors.ts";

/** DuckDB's error message for the parent, without the paths in `hide`, and without the statement if it is Weir's. */
export function messageOf(
  error: unknown,
  hide: readonly string[],
  isOurs: boolean,
): { code: ErrorCode; message: string; retryable: boolean } {
  if (error instanceof AppError)
    return { code: error.code, message: error.message, retryable: error.retryable };
  const message = cleaned(error instanceof Error ? error.message : String(error), hide, isOurs);
  const code = codeOf(message);
  if (/max_temp_directory_size/.test(message)) return { code, message: TOO_MUCH, retryable: false };
  return code === "disk_full"
    ? { code, message: "The disk is full. Free some space and try again.", retryable: true }
    : { code, message, retryable: false };
}

/** DuckDB's message mentions a setting that can't be changed. */
const TOO_MUCH =
  "The SQL needed more memory than its limit, and then more space on disk than one statement may take.";

function codeOf(message: string): ErrorCode {
  if (/No space left on device/i.test(message)) return "disk_full";
  if (/^Out of Memory Error/i.test(message)) return "sql_memory";
  return "sql_error";
}

/** Advice about settings that can't be changed. */
const MEMORY_HINT = /\n+Possible solutions:[\s\S]*$/;

/** Tables that the SQL doesn't mention aren't available as suggestions, so DuckDB suggests system tables. */
const SYSTEM_HINT = /\nDid you mean "(?:pg_|information_schema|sqlite_|duckdb_|temp\.|system\.)[^"]*"\?/;

/** DuckDB quotes the statement, which is Weir's own if it wraps the tenant's. */
const OUR_COPY = /\n\nLINE \d+: COPY \([\s\S]*$/;

/** The end of Weir's SELECT around the tenant's, as far as DuckDB quotes it, and the caret in the next line. */
const OUR_SELECT = /(\n\nLINE \d+: )(\.\.\.[^\n]*_load_id" FROM \()([^\n]*\n)( *)\^/;

const ANY_STATEMENT = /\n\nLINE \d+: [\s\S]*$/;

/** The longest messages quote complete statements. */
const MAX_CHARACTERS = 4000;

function cleaned(message: string, hide: readonly string[], isOurs: boolean): string {
  let text = message.replace(/^Failed to (?:extract statements|prepare): /, "");
  text = text
    .replace(MEMORY_HINT, "")
    .replace(SYSTEM_HINT, "")
    .replace(isOurs ? ANY_STATEMENT : OUR_COPY, "");
  text = text.replace(OUR_SELECT, (_, line: string, ours: string, theirs: string, indent: string) =>
    [line, theirs, indent.slice(ours.length), "^"].join(""),
  );
  for (const path of [...hide].sort((a, b) => b.length - a.length)) text = text.replaceAll(path, "…");
  return text.slice(0, MAX_CHARACTERS).trim();
}
