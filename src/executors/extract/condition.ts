import { AppError } from "../../base/errors.ts";
import type { ExtractRequest } from "../../providers/contract.ts";
import { tokensOf } from "../../sql/tokens.ts";
import type { Drops } from "./drops.ts";
import { selectOf, type Target } from "./resolve.ts";
import { SEQUENCE } from "./sheet.ts";

type Condition = NonNullable<ExtractRequest["where"]>;

/** Keywords that only start a query. */
const QUERY = /^(select|union|except|intersect)$/i;
/** Query keywords at the start of a condition or parenthesis. */
const BEGINNINGS =
  /^(from|with|values|table|describe|desc|show|summarize|pivot|pivot_wider|pivot_longer|unpivot)$/i;

/** Why this can't be used in parentheses as a single condition. Null if it can. */
function faultOf(sql: string): string | null {
  const tokens = tokensOf(sql);
  if (tokens.length === 0) return "it is empty";
  let depth = 0;
  for (const [at, { kind, text }] of tokens.entries()) {
    if (text === ";") return "it has a second statement";
    if (text === "(") depth++;
    if (text === ")" && --depth < 0) return "it closes a parenthesis that it doesn't open";
    const isFirst = at === 0 || tokens[at - 1]?.text === "(";
    const isQuery = QUERY.test(text) || (isFirst && BEGINNINGS.test(text));
    if (kind === "word" && isQuery) return "it contains a query";
  }
  return depth > 0 ? "it opens a parenthesis that it doesn't close" : null;
}

/**
 * Removes staged root rows for which `where` isn't true, in DuckDB SQL over the columns of the table. Keeps the first
 * `limit` of the others. Throws `definition_invalid`, `sql_error`, `sql_timeout`.
 */
export async function dropUnmet(
  drops: Drops,
  {
    targets,
    resource,
    where,
    limit,
  }: {
    targets: readonly Target[];
    resource: string;
    where: Condition;
    limit: number | null;
  },
): Promise<void> {
  const fault = faultOf(where.sql);
  if (fault)
    throw new AppError(
      "definition_invalid",
      `The condition \`where\` of ${resource} can't be used: ${fault}.`,
    );
  const rows = `SELECT ${SEQUENCE.name}, ${selectOf(targets)} FROM (${drops.alive(drops.root)})`;
  const unmet = `SELECT ${SEQUENCE.name} FROM (${rows}) WHERE (${where.sql}\n) IS NOT TRUE`;
  await drops.drop("filtered", unmet, where.parameters, { isTenants: true }).catch((error: unknown) => {
    if (!(error instanceof AppError) || error.code !== "sql_error") throw error;
    const message = `The condition \`where\` of ${resource}: ${error.message}`;
    throw new AppError("sql_error", message, { cause: error });
  });
  if (limit === null) return;
  const beyond = `SELECT ${SEQUENCE.name} FROM (${drops.alive(drops.root)}) ORDER BY ${SEQUENCE.name} OFFSET ${limit}`;
  await drops.drop("filtered", beyond);
}
