import { AppError, invalid } from "../../base/errors.ts";
import { upwardFault } from "../../base/file-path.ts";
import type { Context } from "../../context.ts";
import { makeCursor, readCursor } from "../../crypto/cursor.ts";
import type { FilePage, Files, Link, Provider } from "../../providers/contract.ts";
import type { Tables } from "../../providers/contract-tables.ts";
import type { Column } from "../../sql/contract.ts";
import type { Purpose } from "./approval.ts";
import { providerOf } from "./input.ts";
import { reach } from "./reach.ts";
import { findConnection } from "./service.ts";
import type { ConnectionRow } from "./table.ts";
import type { ColumnQuery, FileQuery } from "./wire.ts";

const LIMIT_MS = 30_000;

/**
 * Returns a page of a folder, or the file at this path. Throws `invalid` and `cursor_expired` for the token, `connection_disabled`, `bad_request`
 * if the provider has no files, `not_found`, `upstream`.
 */
export async function listFiles(
  ctx: Context,
  id: string,
  { path, page_token }: FileQuery,
  signal: AbortSignal,
  purpose: Purpose = "read",
): Promise<FilePage & { path: string }> {
  const { row, files } = await findWithFiles(ctx, id, path);
  const scope = ["connection-files", ctx.organizationId, id, path];
  const token =
    page_token === undefined ? undefined : String(readCursor(ctx, scope, page_token, "page_token"));
  const { items, nextPageToken } = await reach(ctx, row, { limitMs: LIMIT_MS, signal, purpose }, (_, link) =>
    files.list(link, path, token).catch(async (error: unknown) => {
      if (!(error instanceof AppError) || error.code !== "not_found") throw error;
      const item = await files.stat(link, path);
      if (item.kind !== "file") throw error;
      return { items: [item], nextPageToken: undefined };
    }),
  );
  return {
    items,
    path,
    ...(nextPageToken === undefined ? {} : { nextPageToken: makeCursor(ctx, scope, nextPageToken) }),
  };
}

/** Throws as `listFiles` does. */
export function listTables(
  ctx: Context,
  id: string,
  includeSystem: boolean,
  signal: AbortSignal,
  purpose: Purpose = "read",
) {
  return withTables(ctx, id, signal, (tables, link) => tables.tables(link, includeSystem), purpose);
}

/** In ordinal order. Throws as `listFiles` does. */
export function listColumns(
  ctx: Context,
  id: string,
  { schema, table }: ColumnQuery,
  signal: AbortSignal,
  purpose: Purpose = "read",
): Promise<Column[]> {
  return withTables(ctx, id, signal, (tables, link) => tables.columns(link, schema, table), purpose);
}

/** Returns an active connection and its provider's files, after checking `path`. Throws as `listFiles` does. */
export async function findWithFiles(
  ctx: Context,
  id: string,
  path: string,
): Promise<{ row: ConnectionRow; files: Files }> {
  const { row, provider } = await findUsable(ctx, id);
  if (!provider.files) throw lacks(provider, "files");
  const upward = upwardFault(path);
  if (upward) throw invalid(["query", "path"], upward);
  return { row, files: provider.files };
}

/** Throws as `listFiles` does. */
export async function withTables<T>(
  ctx: Context,
  id: string,
  signal: AbortSignal,
  work: (tables: Tables, link: Link) => Promise<T>,
  purpose: Purpose = "read",
): Promise<T> {
  const { row, provider } = await findUsable(ctx, id);
  const { tables } = provider;
  if (!tables) throw lacks(provider, "tables");
  return reach(ctx, row, { limitMs: LIMIT_MS, signal, purpose }, (_, link) => work(tables, link));
}

async function findUsable(ctx: Context, id: string): Promise<{ row: ConnectionRow; provider: Provider }> {
  const row = await findConnection(ctx, id);
  if (row.status === "disabled") {
    throw new AppError("connection_disabled", `Connection ${row.name} is disabled. Reactivate it first.`);
  }
  return { row, provider: providerOf(ctx, row) };
}

function lacks({ title, http, files }: Provider, what: string): AppError {
  if (what !== "tables") return new AppError("bad_request", `${title} connections have no ${what}.`);
  if (http) {
    const hint = "An extract sets the path of a resource in its spec.";
    return new AppError("bad_request", `${title} connections have no list of tables. ${hint}`);
  }
  const hint = files ? " An extract names files in its spec, such as *.csv." : "";
  return new AppError("bad_request", `${title} connections have no tables.${hint}`);
}
