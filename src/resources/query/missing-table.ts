import { distance } from "../../base/nearest.ts";
import type { LakeTable } from "../../lake/contract.ts";
import { sqlName } from "../../lake/views.ts";

/**
 * DuckDB's first sentence about a missing table, and its suggestion, which comes from its system tables: it only sees
 * tables that the SQL names.
 */
const MISSING =
  /^(Catalog Error: Table with name "?(.+?)"? does not exist(?:!| because schema "[^"]*" does not exist\.))(?:\nDid you mean "[^"]*"\?)?/;

const MAX_NAMES = 3;
/** Comparing takes the product of both lengths, and blocks other requests. */
const MAX_CHARACTERS = 200;
const MAX_COMPARED = 500;

type Named = Pick<LakeTable, "layer" | "dataset" | "table">;

/** Returns whether this is DuckDB's message about a missing table. */
export const isMissingTable = (message: string): boolean => MISSING.test(message);

/** Replaces the suggestion in DuckDB's message about a missing table by the tables with the most similar names. */
export const withSimilarTables = (message: string, tables: readonly Named[]): string =>
  message.replace(
    MISSING,
    (_, sentence: string, missing: string) => `${sentence} ${adviceFor(missing, tables)}`,
  );

function adviceFor(missing: string, tables: readonly Named[]): string {
  if (tables.length === 0) return "The lake has no tables yet. Load data first, for example with an extract.";
  const close = closeTo(missing.toLowerCase(), tables);
  if (close.length > 0) return `Did you mean ${close.join(" or ")}?`;
  const names = tables.slice(0, MAX_NAMES).map(fullName);
  const more = tables.length > names.length ? `, and ${tables.length - names.length} more` : "";
  return `Tables are named layer.dataset__table. There are: ${names.join(", ")}${more}.`;
}

const fullName = (one: Named): string => `${one.layer}.${sqlName(one)}`;

function closeTo(missing: string, tables: readonly Named[]): string[] {
  if (missing.length > MAX_CHARACTERS) return [];
  const most = Math.max(2, missing.length / 3);
  const similar = (name: string) => Math.abs(name.length - missing.length) <= most;
  return tables
    .map((one) => ({ name: fullName(one), parts: partsOf(one).filter(similar) }))
    .filter(({ parts }) => parts.length > 0)
    .slice(0, MAX_COMPARED)
    .map(({ name, parts }) => ({ name, edits: Math.min(...parts.map((part) => distance(missing, part))) }))
    .filter(({ edits }) => edits <= most)
    .toSorted((a, b) => a.edits - b.edits)
    .slice(0, MAX_NAMES)
    .map(({ name }) => name);
}

const partsOf = (one: Named): string[] => [fullName(one), sqlName(one), one.table, one.dataset];
