import { meaningOf, type Token, tokensOf } from "../../sql/tokens.ts";

/** Words and signs that a table's name can follow. */
const BEFORE_TABLES = new Set(["from", "join", "only", "lateral", ",", "("]);

/** Those of `tables`, such as `public.orders`, that a statement in a database's own dialect seems to read. */
export function tablesIn(sql: string, tables: readonly string[]): Set<string> {
  const tokens = partsOf(sql);
  const found = new Set<string>();
  for (const [schema, table] of referencesIn(tokens)) {
    for (const name of tables) {
      const [own = "", ownSchema] = namesOf(tokensOf(name)).toReversed();
      if (own === table && (schema === null || ownSchema === undefined || ownSchema === schema))
        found.add(name);
    }
  }
  return found;
}

/** The names that a statement uses, in lowercase: without its literals and comments. */
export const namesIn = (sql: string): Set<string> => new Set(namesOf(partsOf(sql)));

/** MySQL also quotes names with backticks. */
const partsOf = (sql: string): Token[] => tokensOf(sql.replaceAll("`", '"'));

const namesOf = (tokens: readonly Token[]): string[] => tokens.filter(isName).map(nameOf);

const isName = ({ kind }: Token): boolean => kind === "word" || kind === "quoted";
const nameOf = (token: Token): string => meaningOf(token).toLowerCase();

/** Schema and name of what may be tables. */
function* referencesIn(tokens: readonly Token[]): Generator<[string | null, string]> {
  for (const [at, token] of tokens.entries()) {
    const before = tokens[at - 1];
    if (!isName(token) || !before || !BEFORE_TABLES.has(before.text.toLowerCase())) continue;
    const parts = [nameOf(token)];
    let next = at + 1;
    for (; tokens[next]?.text === "."; next += 2) {
      const part = tokens[next + 1];
      if (part) parts.push(nameOf(part));
    }
    if (tokens[next]?.text !== "(") yield [parts.at(-2) ?? null, parts.at(-1) ?? ""]; // a function otherwise
  }
}
