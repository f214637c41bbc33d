import { join } from "node:path";
import type { Json, JsonObject } from "../../base/json.ts";
import type { Context } from "../../context.ts";
import type { RunContext } from "../../executors/contract.ts";
import { type ItemResult, resultsInOrder } from "../../flows/bulk-results.ts";
import { MAX_READ_BYTES, storedIn } from "../../flows/stored-results.ts";
import { openContent } from "../../resources/artifacts/content.ts";
import { stageFile, stageJson } from "../../resources/artifacts/keep.ts";
import { findArtifact } from "../../resources/artifacts/service.ts";
import type { ArtifactRow } from "../../resources/artifacts/table.ts";
import { type ItemFailure, type ItemsState, MAX_FAILURES } from "../../resources/automations/table.ts";
import type { RunError, RunRow } from "../../resources/runs/table.ts";
import { MEDIA_TYPES } from "../../sql/media-types.ts";

/** Maximum number of characters of listed failures. All failures are counted. */
const MAX_FAILURES_CHARACTERS = 256 * 1024;
/** Results up to this size are part of the run's result. */
const MAX_INLINE_BYTES = 128 * 1024;
const WRITE_CHARACTERS = 256 * 1024;

/** The result of a bulk step: for a list the results of its items, for a table their counts and a file with them. */
export interface BulkResult {
  result: JsonObject;
  staged: ArtifactRow[];
  /** Error of the first item that failed. */
  error: RunError | null;
}

interface Ended {
  items: ItemsState;
  total: number;
  completed: number;
  failed: number;
}

export async function bulkResult(
  ctx: Context,
  run: RunRow,
  context: RunContext,
  { items, total, completed, failed }: Ended,
): Promise<BulkResult> {
  const isTable = items.bulk?.of === "table";
  const step = { runId: items.runId, key: run.stepKey ?? "" };
  const path = join(await context.workFolder(), isTable ? "results.jsonl" : "results.json");
  const failures = openFailures();
  const results = failures.seen(resultsInOrder(ctx.db, step));
  const whole = wholeItems(ctx, isTable ? Number.POSITIVE_INFINITY : MAX_READ_BYTES);
  await write(path, isTable ? linesOf(whole.of(results)) : listOf(whole.of(results), total));
  const file = Bun.file(path);
  const { named, first } = failures;
  const error = first && { ...first.error, details: { ...first.error.details, item: first.index } };
  const warning = `steps.${step.key}.failures has only the first ${named.length} of ${failed} failed items.`;
  const shown = {
    failures: named as unknown as Json,
    ...(named.length < failed ? { warnings: [warning] } : {}),
  };
  if (isTable) {
    const counts = { items: total, completed, failed, ...shown };
    if (file.size === 0) return { result: { ...counts, artifactId: null }, staged: [], error };
    const facts = { title: `Results of ${step.key}`, fileName: "results.jsonl", mimeType: MEDIA_TYPES.jsonl };
    const artifact = await stageFile(ctx, run.id, { ...facts, bytes: file });
    return { result: { ...counts, artifactId: artifact.id }, staged: [artifact], error };
  }
  if (file.size <= MAX_INLINE_BYTES)
    return { result: { results: await file.json(), ...shown }, staged: [], error };
  const artifact = await stageJson(ctx, run.id, { title: `Results of ${step.key}`, json: file });
  const summary = {
    bytes: file.size + whole.leftOut,
    fields: { results: `list of ${total}` },
    large: ["results"],
  };
  return { result: { artifactId: artifact.id, summary, ...shown }, staged: [artifact], error };
}

/**
 * Puts large results of items, which are artifacts, into the list, up to `most` bytes. Beyond it, the list has their
 * summaries, and `leftOut` bytes less.
 */
function wholeItems(ctx: Context, most: number) {
  let bytes = 0;
  let leftOut = 0;
  const wholeOf = async (result: ItemResult): Promise<ItemResult> => {
    const stored = result.isCompleted ? storedIn(result.json) : null;
    if (stored === null) return result;
    const content = await openContent(ctx, await findArtifact(ctx, stored.artifactId));
    if (bytes + content.size > most) leftOut += content.size;
    if (leftOut > 0) return result;
    bytes += content.size;
    return { ...result, json: await content.text() };
  };
  return {
    get leftOut() {
      return leftOut;
    },
    async *of(lists: AsyncIterable<ItemResult[]>): AsyncGenerator<ItemResult[]> {
      for await (const results of lists) {
        const list: ItemResult[] = [];
        for (const result of results) list.push(await wholeOf(result));
        yield list;
      }
    },
  };
}

function openFailures() {
  const named: ItemFailure[] = [];
  let characters = 0;
  let first: ItemFailure | null = null;
  const note = ({ index, isCompleted, json }: ItemResult) => {
    if (isCompleted) return;
    first ??= { index, error: JSON.parse(json) };
    characters += json.length;
    if (named.length < MAX_FAILURES && characters <= MAX_FAILURES_CHARACTERS)
      named.push({ index, error: JSON.parse(json) });
  };
  return {
    named,
    get first(): ItemFailure | null {
      return first;
    },
    async *seen(lists: AsyncIterable<ItemResult[]>): AsyncGenerator<ItemResult[]> {
      for await (const results of lists) {
        for (const result of results) note(result);
        yield results;
      }
    },
  };
}

async function* linesOf(lists: AsyncIterable<ItemResult[]>): AsyncGenerator<string> {
  for await (const results of lists) yield results.map(lineOf).join("");
}

const lineOf = ({ index, isCompleted, json }: ItemResult): string =>
  isCompleted
    ? `{"index":${index},"status":"completed","result":${json}}\n`
    : `{"index":${index},"status":"failed","error":${json}}\n`;

/** A list in the order of the items, with null for those that didn't complete. */
async function* listOf(lists: AsyncIterable<ItemResult[]>, total: number): AsyncGenerator<string> {
  let next = 0;
  const nullsTo = (index: number) => "null,".repeat(index - next);
  yield "[";
  for await (const results of lists) {
    let text = "";
    for (const { index, isCompleted, json } of results) {
      text += `${nullsTo(index)}${isCompleted ? json : "null"}${index < total - 1 ? "," : ""}`;
      next = index + 1;
    }
    yield text;
  }
  yield `${nullsTo(total).slice(0, -1)}]`;
}

async function write(path: string, texts: AsyncIterable<string>): Promise<void> {
  const sink = Bun.file(path).writer();
  let unwritten = 0;
  for await (const text of texts) {
    sink.write(text);
    unwritten += text.length;
    if (unwritten < WRITE_CHARACTERS) continue;
    unwritten = 0;
    await sink.flush();
  }
  await sink.end();
}
