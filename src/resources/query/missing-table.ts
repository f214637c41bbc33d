import { distance } from "../../base/nearest.ts";
import type { LakeTable } from "../../lake/contract.ts";
import { sqlName } from "../../lake/views.ts";

/** DuckDB only sees tables that the SQL names, so its own suggestions come from its system tables. */
const MISSING =
  /^Catalog Error: Table with name "?(.+?)"? does not exist(?:!| because schema "[^"]*" does not exist\.)(?:\nDid you mean "[^"]*"\?)?/;

const MAX_NAMES = 3;

type Named = Pick<LakeTable, "layer" | "dataset" | "table">;

/** Returns whether this is DuckDB's message about a missing table. */
export const isMissingTable = (message: string): boolean => MISSING.test(message);

/** Adds the tables with the most similar names to DuckDB's message about a missing table. */
export const withSimilarTables = (message: string, tables: readonly Named[]): string =>
  message.replace(
    MISSING,
    (_, missing: string) => `Table ${missing} not found. ${adviceFor(missing, tables)}`,
  );

function adviceFor(missing: string, tables: readonly Named[]): string {
  if (tables.length === 0) return "The lake has no tables yet. Load data first, for example with an extract.";
  const ranked = tables
    .map((one) => ({ name: `${one.layer}.${sqlName(one)}`, edits: editsTo(missing.toLowerCase(), one) }))
    .toSorted((a, b) => a.edits - b.edits);
  const close = ranked.filter(({ edits }) => edits <= Math.max(2, missing.length / 3)).slice(0, MAX_NAMES);
  if (close.length > 0) return `Did you mean ${close.map(({ name }) => name).join(" or ")}?`;
  const names = ranked.slice(0, MAX_NAMES).map(({ name }) => name);
  const more = ranked.length > names.length ? `, and ${ranked.length - names.length} more` : "";
  return `Tables are named layer.dataset__table. There are: ${names.join(", ")}${more}.`;
}

/** The fewest edits from the missing name to a table's full name, or to a part of it. */
const editsTo = (missing: string, one: Named): number =>
  Math.min(
    ...[`${one.layer}.${sqlName(one)}`, sqlName(one), one.table, one.dataset].map((name) =>
      distance(missing, name),
    ),
  );
