/**
 * Translates SQL as written by drizzle's SQLite builder and Weir's fragments to PostgreSQL. Other differences are
 * handled by functions and operators in the database (`postgres-functions.sql`).
 */

const KEPT = 2_000;
const PIECE =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|\?\d*|\bindexed\s+by\s+\w+|\bnot\s+indexed\b|\bjson_(?:array|object)\s*\(|\bjson\s*\(/gi;

/** Names that are syntax in PostgreSQL. */
const CALLS: Readonly<Record<string, string>> = {
  json_array: "json_build_array(",
  json_object: "json_build_object(",
  json: "json_text(",
};

/** Translates statements and caches the results. */
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
  // drizzle qualifies the column of a conflict with its table
  const unqualified = pieces.replace(
    /\bon conflict \(([^)]*)\)/gi,
    (_, on: string) => `on conflict (${on.replaceAll(/"\w+"\./g, "")})`,
  );
  const listed = unqualified.replace(
    /\b(not\s+)?in\s*\(\s*select\s+value\s+from\s+json_each\s*\(\s*(\$\d+)\s*\)\s*\)/gi,
    (_, not: string | undefined, values: string) =>
      `${not === undefined ? "= any" : "<> all"} ((select json_texts(${values}))::text[])`, // evaluated once, not for each row
  );
  // drizzle lists all columns, and passes null for generated ones
  return /^insert into "\w+" \("seq", /i.test(listed) && /\bvalues \(null, /i.test(listed)
    ? listed.replace('("seq", ', "(").replaceAll("(null, ", "(")
    : listed;
}
