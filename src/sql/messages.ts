import { AppError, type ErrorCode } from "../base/errors.ts";

/** A fault as the parent is told it: DuckDB's own words, less the paths in `hide`. */
export function messageOf(
  error: unknown,
  hide: readonly string[],
): { code: ErrorCode; message: string; retryable: boolean } {
  if (error instanceof AppError)
    return { code: error.code, message: error.message, retryable: error.retryable };
  const message = cleaned(error instanceof Error ? error.message : String(error), hide);
  return { code: codeOf(message), message, retryable: false };
}

function codeOf(message: string): ErrorCode {
  if (/No space left on device/i.test(message)) return "disk_full";
  if (/^Out of Memory Error/i.test(message)) return "sql_memory";
  return "sql_error";
}

/** Tables that the SQL does not name are not there to be suggested, so DuckDB suggests its own. */
const SYSTEM_HINT = /\nDid you mean "(?:pg_|information_schema|sqlite_|duckdb_|temp\.|system\.)[^"]*"\?/;

/** DuckDB quotes the statement, which is not the tenant's where we wrote around it. */
const OUR_COPY = /\n\nLINE \d+: COPY \([\s\S]*$/;

/** The longest messages quote whole statements. */
const MAX_CHARACTERS = 4000;

function cleaned(message: string, hide: readonly string[]): string {
  let text = message.replace(/^Failed to (?:extract statements|prepare): /, "");
  text = text.replace(SYSTEM_HINT, "").replace(OUR_COPY, "");
  for (const path of [...hide].sort((a, b) => b.length - a.length)) text = text.replaceAll(path, "…");
  return text.slice(0, MAX_CHARACTERS).trim();
}
