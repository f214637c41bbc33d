import { AppError } from "../base/errors.ts";
import type { SqlValue } from "./contract.ts";
import { quoteName } from "./text.ts";
import { type Token, tokensOf } from "./tokens.ts";

/** A table that SQL reads as of a load. */
export interface PastTable {
  layer: string;
  /** Its SQL name within the layer. */
  name: string;
  loadId: string;
  /** Its name in the rewritten SQL, within the same layer; no table of the lake can have this name. */
  view: string;
}

/** Keywords that may follow a table and aren't an alias. */
const FOLLOWERS = new Set(
  "where join inner left right full outer cross natural asof positional semi anti on using group having order limit offset union intersect except window qualify sample tablesample using pivot unpivot select fetch for set returning".split(
    " ",
  ),
);

/**
 * Replaces `LAYER.NAME AS OF 'LOAD'` in SQL, where the load is a string or a parameter, with the name of a view. The
 * caller creates the returned views. SQL without it remains unchanged.
 *
 * Throws `sql_error` for an invalid `AS OF`.
 */
export function takeAsOf(
  sql: string,
  parameters: Readonly<Record<string, SqlValue>> = {},
): { sql: string; past: PastTable[] } {
  if (!/\bof\b/i.test(sql)) return { sql, past: [] };
  const tokens = tokensOf(sql);
  const past = new Map<string, PastTable>();
  let text = "";
  let done = 0;
  for (const [at, token] of tokens.entries()) {
    const load = tokens[at + 2];
    if (!isWord(token, "as") || !isWord(tokens[at + 1], "of") || !isLoad(load)) continue;
    const [name, layer] = namesBefore(tokens, at);
    if (!name || !layer) {
      throw new AppError("sql_error", "AS OF must follow a table with its layer, such as raw.orders.");
    }
    const loadId = loadOf(load, parameters);
    const reference = { layer: plain(layer), name: plain(name), loadId };
    const key = JSON.stringify(reference).toLowerCase();
    const table = past.get(key) ?? { ...reference, view: `past ${past.size + 1}` };
    past.set(key, table);
    const alias = isNamed(tokens[at + 3]) ? "" : ` AS ${quoteName(table.name)}`;
    text += `${sql.slice(done, layer.start)}${quoteName(table.layer)}.${quoteName(table.view)}${alias}`;
    done = load.end;
  }
  return { sql: text + sql.slice(done), past: [...past.values()] };
}

const isWord = (token: Token | undefined, word: string): boolean =>
  token?.kind === "word" && token.text.toLowerCase() === word;

const isLoad = (token: Token | undefined): token is Token =>
  token?.kind === "text" || token?.kind === "parameter";

const isName = (token: Token | undefined): boolean => token?.kind === "word" || token?.kind === "quoted";

/** The name and the layer before the position `at`. */
function namesBefore(tokens: readonly Token[], at: number): [Token | undefined, Token | undefined] {
  const [layer, dot, name] = tokens.slice(Math.max(0, at - 3), at);
  const isWhole = isName(layer) && dot?.text === "." && isName(name);
  return isWhole ? [name, layer] : [undefined, undefined];
}

/** Whether the token is an alias for the table. */
const isNamed = (token: Token | undefined): boolean =>
  token?.kind === "quoted" || (token?.kind === "word" && !FOLLOWERS.has(token.text.toLowerCase()));

const plain = ({ kind, text }: Token): string =>
  kind === "quoted" ? text.slice(1, -1).replaceAll('""', '"') : text;

function loadOf({ kind, text }: Token, parameters: Readonly<Record<string, SqlValue>>): string {
  if (kind === "text") return text.slice(1, -1).replaceAll("''", "'");
  const name = text.slice(1);
  const value = Object.entries(parameters).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
  if (typeof value === "string") return value;
  throw new AppError("sql_error", `AS OF uses $${name}, which must be the ID of a load, as text.`);
}
