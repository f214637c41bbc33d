/**
 * SQL as drizzle's SQLite builder and our fragments write it, in the form that PostgreSQL takes. Whatever else
 * differs is a function or an operator in the database (`postgres-functions.sql`).
 */

const KEPT = 2_000;
const PIECE =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|\?\d*|\bindexed\s+by\s+\w+|\bnot\s+indexed\b|\bjson_(?:array|object)\s*\(|\bjson\s*\(/gi;

/** PostgreSQL has these names as syntax of its own. */
const CALLS: Readonly<Record<string, string>> = {
  json_array: "json_build_array(",
  json_object: "json_build_object(",
  json: "json_text(",
};

/** Translates statements, and keeps what it made of them. */
export class Translator {
  readonly #kept = new Map<string, string>();

  translate(text: string): string {
    const known = this.#kept.get(text);
    if (known !== undefined) return known;
    const made = translate(text);
    if (this.#kept.size >= KEPT) this.#kept.clear();
    this.#kept.set(text, made);
    return made;
  }
}

export function translate(text: string): string {
  let count = 0;
  const pieces = text.replace(PIECE, (piece) => {
    if (piece.startsWith("?")) return piece === "?" ? `$${++count}` : `$${piece.slice(1)}`;
    if (/^["']/.test(piece)) return piece;
    return CALLS[piece.replace(/\s*\($/, "").toLowerCase()] ?? "";
  });
  // drizzle names the table of a conflict's column
  const unqualified = pieces.replace(
    /\bon conflict \(([^)]*)\)/gi,
    (_, on: string) => `on conflict (${on.replaceAll(/"\w+"\./g, "")})`,
  );
  const listed = unqualified.replace(
    /\b(not\s+)?in\s*\(\s*select\s+value\s+from\s+json_each\s*\(\s*(\$\d+)\s*\)\s*\)/gi,
    (_, not: string | undefined, values: string) =>
      `${not === undefined ? "= any" : "<> all"} ((select json_texts(${values}))::text[])`, // asked once, not for each row
  );
  // drizzle names each column, and gives null where the database is to number the row
  return /^insert into "\w+" \("seq", /i.test(listed) && /\bvalues \(null, /i.test(listed)
    ? listed.replace('("seq", ', "(").replaceAll("(null, ", "(")
    : listed;
}
