import type { Written } from "./files-source.ts";
import type { SourceTable } from "./table.ts";

const DELIMITERS = [",", ",", ";", "\t", "|"];

/** A table as CSV. Its number determines the separators, and whether all fields are quoted. */
export function csvOf({ name, columns, rows }: SourceTable): Written {
  const number = Bun.hash.crc32(name);
  const delimiter = DELIMITERS[number % DELIMITERS.length] ?? ",";
  const end = number % 3 === 0 ? "\r\n" : "\n";
  const isQuoted = number % 7 === 0;
  const field = (value: string | null): string => {
    if (value === null) return "";
    const mustQuote = isQuoted || value === "" || /["\r\n]/.test(value) || value.includes(delimiter);
    return mustQuote ? `"${value.replaceAll('"', '""')}"` : value;
  };
  const lines = [
    ["id", ...columns.map((column) => column.name)],
    ...rows.map((row, at) => [String(at + 1), ...row.map(field)]),
  ];
  return {
    content: lines.map((line) => line.join(delimiter) + end).join(""),
    values: rows.map((row) => row.map((value) => value || null)),
  };
}
