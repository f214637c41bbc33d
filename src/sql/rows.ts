import type { DuckDBConnection, DuckDBPreparedStatement } from "@duckdb/node-api";
import type { Column, Compression } from "./contract.ts";
import { streamRows } from "./stream.ts";
import { jsonText, textOf, typeName } from "./values.ts";

/** Approximate size in characters of the pieces in which rows are sent and written. */
const CHUNK_CHARACTERS = 1_000_000;

/** Sends lists of up to `limit` rows and about `maxBytes`. Returns their number, `truncated` if there were more. */
export async function sendRows(
  connection: DuckDBConnection,
  statement: DuckDBPreparedStatement,
  { limit, maxBytes }: { limit: number; maxBytes: number },
  send: (text: string) => void,
): Promise<{ columns: Column[]; rows: number; truncated: boolean }> {
  let parts: string[] = [];
  let size = 0;
  let sent = 0;
  let rows = 0;
  const flush = () => {
    if (parts.length > 0) send(`[${parts.join(",")}]`);
    sent += size;
    parts = [];
    size = 0;
  };
  const { columns, isWhole } = await eachRow(connection, statement, (text) => {
    if (rows === limit || sent + size + text.length > maxBytes) return false;
    parts.push(text);
    size += text.length + 1;
    rows++;
    if (size > CHUNK_CHARACTERS) flush();
    return true;
  });
  flush();
  return { columns, rows, truncated: !isWhole };
}

/** Calls `take` with the JSON text of each row until it returns false; `isWhole` if it accepted all. */
function eachRow(
  connection: DuckDBConnection,
  statement: DuckDBPreparedStatement,
  take: (text: string) => boolean,
): Promise<{ columns: Column[]; isWhole: boolean }> {
  return streamRows(connection, statement, async (result, chunks) => {
    const names = result.deduplicatedColumnNames();
    const keys = names.map((name, at) => `${at > 0 ? "," : "{"}${JSON.stringify(name)}:`);
    const types = result.columnTypes();
    const texts = types.map(textOf);
    const columns = types.map((type, at) => ({
      name: names[at] ?? "",
      dataType: typeName(type),
      nullable: true,
    }));
    for await (const chunk of chunks) {
      const values = texts.map((_, at) => chunk.getColumnValues(at));
      for (let row = 0; row < chunk.rowCount; row++) {
        let text = "";
        for (let at = 0; at < texts.length; at++)
          text += keys[at] + (texts[at] ?? jsonText)(values[at]?.[row] ?? null);
        if (!take(`${text}}`)) return { columns, isWhole: false };
      }
    }
    return { columns, isWhole: true };
  });
}

/** JSON outside strings: a JSON column keeps its original whitespace. */
const BREAKS = /[\r\n]/g;

/** Writes one line of JSON per row, up to `limit`. DuckDB's own JSON would differ from that of `sendRows`. */
export async function saveLines(
  connection: DuckDBConnection,
  statement: DuckDBPreparedStatement,
  path: string,
  { limit, compression }: { limit: number | null; compression: Compression | null },
): Promise<void> {
  const { TextFile } = await import("./text-file.ts"); // with zlib, which few processes need
  using file = new TextFile(path, compression);
  let lines = "";
  let rows = 0;
  const flush = () => {
    file.write(lines);
    lines = "";
  };
  await eachRow(connection, statement, (text) => {
    if (rows++ === limit) return false;
    lines += `${text.replaceAll(BREAKS, " ")}\n`;
    if (lines.length > CHUNK_CHARACTERS) flush();
    return true;
  });
  flush();
  file.end();
}
