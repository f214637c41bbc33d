import { AppError } from "../base/errors.ts";
import { meaningOf, type Token, tokensOf } from "./tokens.ts";

/** Matched against words only, because comments may be between them. */
const CREATE_SECRET = /\bcreate (?:or replace )?(?:(?:persistent|temporary|temp) )?secret\b/;

/** Functions that affect the process, or reveal its settings, its statements or the server's paths. */
const REFUSED_FUNCTIONS: readonly RegExp[] = [
  /^(?:enable_logging|enable_profil.*|json_execute_serialized_sql)$/i,
  /^(?:current_setting|current_query|json_serialize_plan|sql_auto_complete|which_secret|pragma_.*)$/i,
  /^duckdb_(?!(?:columns|constraints|dependencies|indexes|keywords|schemas|sequences|tables|types|views)$)/i,
];

/** Views over such functions; a user's table of the same name is qualified with its schema. */
const REFUSED_VIEWS =
  /^(?:duckdb_databases|duckdb_logs|pragma_database_list|pg_prepared_statements|pg_proc|pg_settings)$/i;
const SYSTEM_SCHEMAS = /^(?:main|pg_catalog|information_schema)$/i;

/** Throws `sql_error` with the forbidden name. */
export function refuseNames(sql: string): void {
  const tokens = tokensOf(sql);
  const words = tokens.map(({ kind, text }) => (kind === "word" ? text.toLowerCase() : "."));
  if (CREATE_SECRET.test(words.join(" "))) throw refused("CREATE SECRET");
  for (const [at, token] of tokens.entries()) {
    if (words[at] === "pragma" && startsStatement(tokens, at)) throw refused("PRAGMA");
    const name = refusedName(tokens, at);
    if (name !== null) throw refused(name);
    const called = tokens[at + 1]?.text === "(" ? meaningOf(token).toLowerCase() : "";
    if (called === "query") refuseNames(onlyText(tokens, at + 2, called));
    if (called === "query_table") onlyText(tokens, at + 2, called);
  }
}

const refused = (name: string) => new AppError("sql_error", `${name} can't be used here.`);

/** The argument that starts at the token, which must be a single string literal, so that nothing is hidden. */
function onlyText(tokens: readonly Token[], at: number, called: string): string {
  const [inner, end] = [tokens[at], tokens[at + 1]];
  if (inner?.kind !== "text" || !inner.text.startsWith("'") || end?.text !== ")")
    throw new AppError("sql_error", `${called}(…) can't be used here with anything but a string literal.`);
  return meaningOf(inner);
}

function startsStatement(tokens: readonly Token[], at: number): boolean {
  const before = tokens[at - 1];
  return before === undefined || before.text === ";";
}

/** The forbidden name at the token: a function call, or a view, whose name may also be a string. */
function refusedName(tokens: readonly Token[], at: number): string | null {
  const token = tokens[at];
  if (!token) return null;
  if (token.kind === "text") {
    const text = textFrom(tokens, at);
    return REFUSED_VIEWS.test(text) ? text : null;
  }
  if (token.kind !== "word" && token.kind !== "quoted") return null;
  const value = meaningOf(token);
  if (tokens[at + 1]?.text === "(" && REFUSED_FUNCTIONS.some((names) => names.test(value))) return value;
  if (!REFUSED_VIEWS.test(value)) return null;
  const schema = tokens[at - 1]?.text === "." ? tokens[at - 2] : undefined;
  return schema === undefined || SYSTEM_SCHEMAS.test(meaningOf(schema)) ? value : null;
}

/** String literals on consecutive lines are concatenated. */
function textFrom(tokens: readonly Token[], at: number): string {
  let text = "";
  for (let next = at; tokens[next]?.kind === "text"; next++) text += meaningOf(tokens[next] as Token);
  return text;
}
