/** Text of a cell. */
export const shownAs = (value: unknown): string =>
  value === null || value === undefined
    ? "null"
    : typeof value === "object"
      ? JSON.stringify(value)
      : String(value);

const quoted = (value: unknown): string => {
  if (value === null || value === undefined) return "";
  const text = shownAs(value);
  return text === "" || /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** Rows as CSV (RFC 4180). An empty text has quotes, which NULL has not. */
export const toCsv = (
  columns: readonly { name: string }[],
  rows: readonly Record<string, unknown>[],
): string =>
  [
    columns.map(({ name }) => quoted(name)),
    ...rows.map((row) => columns.map(({ name }) => quoted(row[name]))),
  ]
    .map((cells) => cells.join(","))
    .join("\r\n");
