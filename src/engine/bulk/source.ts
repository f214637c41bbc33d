import { AppError } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import { type Context, SYSTEM, write } from "../../context.ts";
import type { RunContext } from "../../executors/contract.ts";
import { bulkMoved } from "../../flows/bulk.ts";
import { listedItems } from "../../flows/lay-out.ts";
import type { LakeRead } from "../../lake/contract.ts";
import { readsOf } from "../../lake/reads.ts";
import { lakeJob } from "../../lake/views.ts";
import { hasLease } from "../../queue/progress.ts";
import { openContent } from "../../resources/artifacts/content.ts";
import { insertArtifact, stageFile } from "../../resources/artifacts/keep.ts";
import { findArtifact } from "../../resources/artifacts/service.ts";
import type { ItemsState, RowsOfTable } from "../../resources/automations/table.ts";
import type { RunRow } from "../../resources/runs/table.ts";
import { MEDIA_TYPES } from "../../sql/media-types.ts";
import { quoteName } from "../../sql/text.ts";

const MAX_ROWS = 1_000_000;
const MAX_SNAPSHOT_BYTES = 20 * 1024 ** 3;

/** The items of a bulk step, in order. */
export interface Source {
  total: number;
  items(): AsyncGenerator<Json>;
  reads: LakeRead[];
}

/**
 * The list stored with its run, or the rows of a table as of the first attempt, stored as a file of the run. Throws
 * `definition_invalid` for too many rows, `sql_error`, and `gone` if the rows were deleted.
 */
export async function openSource(
  ctx: Context,
  run: RunRow,
  context: RunContext,
  { runId, total, bulk }: ItemsState,
): Promise<Source> {
  if (bulk?.of !== "table")
    return { total, items: () => listedItems(ctx.db, runId, run.stepKey ?? ""), reads: [] };
  const { batch = null } = bulk;
  const snapshot = bulk.snapshotId
    ? { id: bulk.snapshotId, total, reads: [] }
    : await takeSnapshot(ctx, run, context, bulk);
  const blob = await openContent(ctx, await findArtifact(ctx, snapshot.id));
  return { total: snapshot.total, items: () => itemsIn(blob, batch), reads: snapshot.reads };
}

async function takeSnapshot(
  ctx: Context,
  run: RunRow,
  context: RunContext,
  bulk: { of: "table" } & RowsOfTable,
) {
  const { table, batch = 1 } = bulk;
  context.progress({ phase: "read", message: `Reading ${table}` });
  const sql = selectOf(bulk);
  const tables = await context.lake.tables();
  const { job } = await lakeJob(context.lake, tables, sql, bulk.parameters ?? {});
  const options = { format: "jsonl", maxBytes: MAX_SNAPSHOT_BYTES } as const;
  const saved = await context.sql.save(
    { ...job, signal: context.signal },
    await context.workFolder(),
    options,
  );
  const file = Bun.file(saved.path);
  const rows = await countLines(file);
  if (rows > MAX_ROWS)
    throw new AppError(
      "definition_invalid",
      `forEach processes at most ${MAX_ROWS} rows, and ${table} has more. Select rows with where.`,
    );
  const total = Math.ceil(rows / batch);
  const artifact = await stageFile(ctx, run.id, {
    title: `Rows of ${table}`,
    fileName: `${table}.jsonl`,
    mimeType: MEDIA_TYPES.jsonl,
    bytes: file,
  });
  await write({ ...ctx, actor: SYSTEM }, async (tx) => {
    if (!(await hasLease(tx.db, run))) return; // another worker has taken over the run
    await insertArtifact(tx, artifact);
    await bulkMoved(tx, run, { total, bulk: { ...bulk, snapshotId: artifact.id } });
  });
  context.log("info", `${rows} rows of ${table}.`);
  return { id: artifact.id, total, reads: readsOf(sql, tables) };
}

function selectOf({ table, where, orderBy }: RowsOfTable): string {
  const [layer = "", ...name] = table.split(".");
  return [
    `SELECT * FROM ${quoteName(layer)}.${quoteName(name.join("."))}`,
    ...(where === undefined ? [] : ["WHERE (", where, ")"]),
    ...(orderBy === undefined ? [] : ["ORDER BY", orderBy]),
    `LIMIT ${MAX_ROWS + 1}`,
  ].join("\n");
}

const LINE_BREAK = 10;

async function countLines(file: Blob): Promise<number> {
  let lines = 0;
  for await (const piece of file.stream() as unknown as AsyncIterable<Uint8Array>)
    for (let at = piece.indexOf(LINE_BREAK); at >= 0; at = piece.indexOf(LINE_BREAK, at + 1)) lines++;
  return lines;
}

/** Returns rows, or with `batch` lists of that many. */
async function* itemsIn(blob: Blob, batch: number | null): AsyncGenerator<Json> {
  if (batch === null) return yield* rowsIn(blob);
  let rows: Json[] = [];
  for await (const row of rowsIn(blob)) {
    rows.push(row);
    if (rows.length < batch) continue;
    yield rows;
    rows = [];
  }
  if (rows.length > 0) yield rows;
}

async function* rowsIn(blob: Blob): AsyncGenerator<Json> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of blob.stream() as unknown as AsyncIterable<Uint8Array>) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line);
  }
  if (rest !== "") yield JSON.parse(rest);
}
