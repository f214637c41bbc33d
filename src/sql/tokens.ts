/** One token of SQL text, other than whitespace and comments. */
export interface Token {
  kind: "word" | "quoted" | "text" | "parameter" | "other";
  /** As written in the SQL. */
  text: string;
  start: number;
  end: number;
}

/** Characters beyond ASCII that DuckDB treats as spaces; JavaScript's set differs. */
const SPACES = String.raw`\xa0\u2000-\u200b\u202f\u205f\u2060\u3000\ufeff`;
/** Other characters allowed in a name. */
const LETTER = String.raw`(?![${SPACES}])[\x80-\uffff]`;

/** Alternatives by kind; at each position the first match counts. */
const GRAMMAR = new RegExp(
  [
    String.raw`(?<gap>[\t-\r ${SPACES}]+|--[^\n\r]*)`,
    String.raw`(?<text>[eE]'[^'\\]*(?:(?:\\[\s\S]|'')[^'\\]*)*'?|'[^']*(?:''[^']*)*'?|\$(?<tag>(?:[A-Za-z_]|${LETTER})*)\$[\s\S]*?(?:\$\k<tag>\$|$(?![\s\S])))`,
    '(?<quoted>"[^"]*(?:""[^"]*)*"?)',
    String.raw`(?<parameter>\$(?:\w|${LETTER})+)`,
    String.raw`(?<word>(?:[A-Za-z_]|${LETTER})(?:[\w$]|${LETTER})*)`,
    String.raw`(?<other>[\d.]+(?:[eE][+-]?\d+)?|[\s\S])`,
  ].join("|"),
  "y",
);

/** The tokens of SQL text in DuckDB's grammar. Invalid SQL has tokens too: DuckDB reports the error. */
export function tokensOf(sql: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < sql.length; ) {
    if (sql.startsWith("/*", at)) {
      at = endOfComment(sql, at);
      continue;
    }
    GRAMMAR.lastIndex = at;
    const groups = GRAMMAR.exec(sql)?.groups ?? {};
    const kind = (["text", "quoted", "parameter", "word", "other"] as const).find(
      (each) => groups[each] !== undefined,
    );
    const text = kind ? (groups[kind] ?? "") : (groups.gap ?? sql.charAt(at));
    if (kind) tokens.push({ kind, text, start: at, end: at + text.length });
    at += Math.max(1, text.length);
  }
  return tokens;
}

/** The value of a name or a string literal; the text of any other token. */
export function meaningOf({ kind, text }: Token): string {
  if (kind === "quoted") return text.slice(1, -1).replaceAll('""', '"');
  if (kind !== "text") return text;
  if (text.startsWith("$"))
    return text.slice(text.indexOf("$", 1) + 1, text.lastIndexOf("$", text.length - 2));
  if (text.startsWith("'")) return text.slice(1, -1).replaceAll("''", "'");
  return text.slice(2, -1).replaceAll(ESCAPE, (found, hex?: string, octal?: string) => {
    if (found === "''") return "'";
    const code = hex ? Number.parseInt(hex, 16) : octal ? Number.parseInt(octal, 8) : null;
    return code === null ? (CONTROLS[found[1] ?? ""] ?? found.slice(1)) : String.fromCharCode(code & 0xff);
  });
}

const ESCAPE = /''|\\(?:x([\da-f]{1,2})|([0-7]{1,3})|[\s\S])/gi;
const CONTROLS: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** Comments of this kind can be nested. */
function endOfComment(sql: string, start: number): number {
  let depth = 0;
  for (let at = start; at < sql.length; at++) {
    if (sql.startsWith("/*", at)) depth++;
    else if (sql.startsWith("*/", at)) depth--;
    else continue;
    at++;
    if (depth === 0) return at + 1;
  }
  return sql.length;
}
