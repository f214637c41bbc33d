import { AppError } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import type { Context } from "../../context.ts";
import type { SourceSql } from "../../providers/contract-tables.ts";
import type { Column } from "../../sql/contract.ts";
import { findWithFiles, withTables } from "./browse.ts";
import { reach } from "./reach.ts";
import type { ColumnQuery } from "./wire.ts";

const LIMIT_MS = 30_000;
/** Number of bytes read from a file. */
const START_BYTES = 64 * 1024;

const QUOTES: Readonly<Record<SourceSql["dialect"], string>> = { postgres: '"', mysql: "`" };

/**
 * Returns the first rows of a table, as the source returns them. Throws as `listColumns` does, and `bad_request` if the
 * source has no SQL.
 */
export function previewTable(
  ctx: Context,
  id: string,
  { schema, table, limit }: ColumnQuery & { limit: number },
  signal: AbortSignal,
): Promise<{ columns: Column[]; rows: Record<string, Json>[]; truncated: boolean }> {
  return withTables(ctx, id, signal, async (tables, link) => {
    if (tables.first) return tables.first(link, schema, table, limit);
    if (!tables.sql)
      throw new AppError("bad_request", "Rows of this connection can be viewed only after they are loaded.");
    const quote = QUOTES[tables.sql.dialect];
    const quoted = (name: string) => quote + name.replaceAll(quote, quote + quote) + quote;
    const columns = await tables.columns(link, schema, table);
    const found = await tables.sql.select(link, `SELECT * FROM ${quoted(schema)}.${quoted(table)}`, limit);
    return { columns, ...found };
  });
}

/** Returns the beginning of a file as text. Null for a binary file. Throws as `listFiles` does. */
export async function previewFile(
  ctx: Context,
  id: string,
  path: string,
  signal: AbortSignal,
): Promise<{ path: string; text: string | null; truncated: boolean }> {
  const { row, files } = await findWithFiles(ctx, id, path);
  return reach(ctx, row, { limitMs: LIMIT_MS, signal, purpose: "read" }, async (_, link) => {
    const { bytes, truncated } = await startOf(await files.read(link, path));
    return { path, text: textIn(bytes, truncated), truncated };
  });
}

async function startOf(
  stream: ReadableStream<Uint8Array>,
): Promise<{ bytes: Uint8Array; truncated: boolean }> {
  const reader = stream.getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { bytes: Buffer.concat(parts), truncated: false };
      parts.push(value);
      size += value.length;
      if (size > START_BYTES)
        return { bytes: Buffer.concat(parts).subarray(0, START_BYTES), truncated: true };
    }
  } finally {
    await reader.cancel();
  }
}

/** Removes an incomplete character at the end. */
function textIn(bytes: Uint8Array, isCut: boolean): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: isCut });
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}
