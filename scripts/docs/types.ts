/** The tables of types in docs/exact-values.md: each line is extracted here, and the tables show the results. */
import { table } from "./fields.ts";
import type { Answer, Line } from "./types/line.ts";
import { answersHere, TYPE_SOURCES } from "./types/sources.ts";

const MAX_CHARACTERS = 40;
const code = (text: string) =>
  `\`${text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text}\``;

/** Returns the table of each source, by name. */
export async function typeTables(): Promise<Record<string, string>> {
  const tables: Record<string, string> = {};
  for (const [name, source] of Object.entries(TYPE_SOURCES)) {
    tables[name] = tableOf(source.lines, await answersHere(source));
  }
  return tables;
}

/** Lines with the same values and results share a row. */
function tableOf(lines: readonly Line[], answers: readonly Answer[]): string {
  const rows = new Map<string, { titles: string[]; cells: string[] }>();
  for (const [at, line] of lines.entries()) {
    const cells = cellsOf(line, answers[at] as Answer);
    const row = rows.get(cells.join("\0")) ?? { titles: [], cells };
    row.titles.push(line.title ?? code(line.type));
    rows.set(cells.join("\0"), row);
  }
  return table(
    ["source", "example", "lake", "in responses", "reported in `warnings`"],
    [...rows.values()].map(({ titles, cells }) => [titles.join(", "), ...cells]),
  );
}

const cellsOf = ({ values, shown = values, odd, oddShown = odd }: Line, { lake, wire, told }: Answer) => [
  shown.map(code).join(", "),
  lake,
  wire.map(code).join(", "),
  told === null ? "" : `${code(oddShown ?? "")} ${told}`,
];
