import type { SqlSession } from "../../sql/contract.ts";
import type { NewArtifact } from "../contract.ts";

/** A record of a file that couldn't be read, or a row that wasn't loaded. */
export interface Reject {
  /** Omitted for rows, as is `line`. */
  file?: string;
  line?: number;
  reason: string;
  /** The record itself, or the row as JSON. */
  text: string;
}

/** Limits of what is stored for each resource, since the server holds it until the run ends. All records are counted. */
const MAX_REJECTS = 10_000;
const MAX_REJECTS_CHARACTERS = 4 * 1024 * 1024;
export const MAX_REJECT_CHARACTERS = 10_000;
const [TABLE, SCANS] = ["weir_rejects", "weir_scans"];

/** Makes `read_csv` record unreadable rows instead of failing. */
export const REJECTING = `, store_rejects = true, rejects_table = '${TABLE}', rejects_scan = '${SCANS}', rejects_limit = 0`;

const REASONS: Readonly<Record<string, string>> = {
  "MISSING COLUMNS": "fewer fields than columns",
  "TOO MANY COLUMNS": "more fields than columns",
  "UNQUOTED VALUE": "a quote that is never closed, or text after one",
  "LINE SIZE OVER MAXIMUM": "too long",
  "INVALID ENCODING": "not utf-8",
};

/** SQL of as many of the first rows of `select`, which has a column `text`, as can be stored. */
export const firstRejects = (select: string): string =>
  `SELECT * EXCLUDE (used) FROM (
    SELECT *, sum(length(text)) OVER (ROWS UNBOUNDED PRECEDING) AS used FROM (${select} LIMIT ${MAX_REJECTS}))
  WHERE used <= ${MAX_REJECTS_CHARACTERS}`;

/** Adds `more` to the rejects of a resource as far as they can be stored. */
export function addRejects(rejects: Reject[], more: readonly Reject[]): void {
  let used = rejects.reduce((sum, { text }) => sum + text.length, 0);
  for (const reject of more.slice(0, MAX_REJECTS - rejects.length)) {
    used += reject.text.length;
    if (used > MAX_REJECTS_CHARACTERS) return;
    rejects.push(reject);
  }
}

const MAX_CHARACTER_BYTES = 4;

/** The text of a line that was rejected, as far as it is kept. */
export const rejectText = (line: Uint8Array): string =>
  decoder
    .decode(line.subarray(0, MAX_REJECT_CHARACTERS * MAX_CHARACTER_BYTES))
    .slice(0, MAX_REJECT_CHARACTERS)
    .replace(/\r$/, "");

const decoder = new TextDecoder();

/** Warning about records of a file that were rejected, with the first of them. */
export const rejectedSentence = (file: string, count: number, first: Reject | undefined): string =>
  `${count} ${count === 1 ? "record" : "records"} of ${file} could not be read and ${count === 1 ? "was" : "were"} rejected (line ${first?.line}: ${first?.reason}). See the artifact with the rejected records.`;

/** Returns the records that the last statement recorded for `file`, and deletes them. */
export async function takeRejects(
  session: SqlSession,
  file: string,
): Promise<{ count: number; kept: Reject[] }> {
  const [row] = await session.run(`SELECT count(DISTINCT line_byte_position) AS n FROM ${TABLE}`);
  const count = Number(row?.n ?? 0);
  const rows =
    count === 0
      ? []
      : await session.run(
          firstRejects(
            `SELECT min(line) AS line, first(error_type) AS reason, left(first(csv_line), ${MAX_REJECT_CHARACTERS}) AS text FROM ${TABLE} GROUP BY line_byte_position ORDER BY 1`,
          ),
        );
  await forgetRejects(session);
  return {
    count,
    kept: rows.map(({ line, reason, text }) => ({
      file,
      line: Number(line),
      reason: REASONS[String(reason)] ?? String(reason).toLowerCase(),
      text: String(text ?? ""),
    })),
  };
}

export async function forgetRejects(session: SqlSession): Promise<void> {
  await session.run(`DROP TABLE IF EXISTS ${TABLE}`);
  await session.run(`DROP TABLE IF EXISTS ${SCANS}`);
}

/** The artifact with a resource's rejected records, as JSON Lines. */
export const rejectsArtifact = (table: string, rejects: readonly Reject[]): NewArtifact => ({
  title: `Rejected records of ${table}`,
  kind: "file",
  fileName: `${table}-rejected.jsonl`,
  mimeType: "application/x-ndjson",
  bytes: new TextEncoder().encode(rejects.map((each) => `${JSON.stringify(each)}\n`).join("")),
});
