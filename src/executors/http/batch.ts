import { AppError } from "../../base/errors.ts";
import { withoutSecrets } from "../../base/hide.ts";
import type { Reply } from "../../base/http-message.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { parseLossless } from "../../base/json-numbers.ts";
import { readStored, wholeOf } from "../../base/long-json.ts";
import { pauseSeconds } from "../../base/retry.ts";
import { read } from "../../base/shape.ts";
import type { Done, RunContext } from "../contract.ts";
import { withFiles, withWrittenBody } from "./body.ts";
import { bodyFault, Definition, isBodiless } from "./definition.ts";
import { byOf, makeResult } from "./result.ts";
import { type Access, openAccess, sender, startOf } from "./send.ts";

const DEFAULT_SIZE = 100;
const DEFAULT_MAX_BYTES = 10 * 1024 * 1024;
/** Up to this many items, a result has the outcome of each. Beyond it, only of failed ones. */
const MAX_OUTCOMES = 100_000;
/** The same for an error, which is stored in the run. */
const MAX_ERROR_OUTCOMES = 10_000;
/** Number of failures reported with their reasons. */
const MAX_REASONS = 10;

/** Fields whose templates are evaluated for each batch. */
export const BATCH_FIELDS = ["url", "headers", "query", "body"] as const;

type Batched = Definition & { batch: NonNullable<Definition["batch"]>; url: string };

interface Ended {
  from: number;
  count: number;
  status: number | null;
  error: AppError | null;
}

/**
 * Sends one request per batch of items, in order. A failed batch is retried by itself, and the others are still sent.
 * If any is left, the run fails with `batch_failed`. Each batch has its own `Idempotency-Key`, the same in every
 * attempt of the run.
 */
export async function sendBatches(ctx: RunContext, definition: Batched): Promise<Done> {
  const { batch, method = "GET", responseExtract = null } = definition;
  const mayChange = !isBodiless(method) || definition.body !== undefined;
  const access = await openAccess(ctx, mayChange ? "write" : "read");
  const secrets = () => access?.secrets() ?? [];
  const ended: Ended[] = [];
  const replies: Reply[] = [];
  let left = definition.maxBytes ?? DEFAULT_MAX_BYTES;
  let from = 0;
  try {
    for await (const items of batchesOf(ctx, batch.items, batch.size ?? DEFAULT_SIZE)) {
      const total = Array.isArray(batch.items) ? { total: batch.items.length } : {};
      ctx.progress({ phase: "requesting", current: from, ...total, unit: "items" });
      const number = ended.length + 1;
      const one = await tried(ctx, () => sendOne(ctx, definition, access, { items, number, maxBytes: left }));
      if (one.reply) {
        replies.push(one.reply);
        left = Math.max(0, left - one.reply.bytes);
      }
      const error = one.error && (withoutSecrets(one.error, secrets()) as AppError);
      if (error) ctx.log("error", `Items ${from} to ${from + items.length - 1}: ${error.message}`);
      ended.push({ from, count: items.length, status: one.reply?.status ?? statusIn(error), error });
      from += items.length;
    }
    ctx.progress({ phase: "requesting", current: from, total: from, unit: "items" });
    refuseFailed(ended);
    if (replies.some(({ truncated }) => truncated))
      ctx.log("warn", "The responses together are longer than maxBytes, and were truncated.");
    const last = replies.at(-1);
    const work = {
      status: last?.status ?? 0,
      headers: last?.headers ?? {},
      isPaged: true,
      itemsPath: null,
      responseExtract,
      secrets: [...secrets()],
    };
    return withOutcomes(await makeResult(byOf(ctx), work, replies), outcomesOf(ended, MAX_OUTCOMES));
  } catch (error) {
    throw withoutSecrets(afterSome(error, ended), secrets());
  }
}

/** An error that stops the batches, with the outcomes before it. */
function afterSome(error: unknown, ended: readonly Ended[]): unknown {
  const last = ended.at(-1);
  if (!(error instanceof AppError) || error.details !== null || !last) return error;
  const message = `${error.message} Items 0 to ${last.from + last.count - 1} were sent before.`;
  const { retryable } = error;
  const details = { outcomes: outcomesOf(ended, MAX_ERROR_OUTCOMES) };
  return new AppError(error.code, message, { retryable, details, cause: error });
}

async function* batchesOf(
  ctx: RunContext,
  items: Batched["batch"]["items"],
  size: number,
): AsyncGenerator<Json[]> {
  if (Array.isArray(items)) {
    for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size) as Json[];
    return;
  }
  let batch: Json[] = [];
  const { content, mimeType } = await ctx.artifact(items.artifactId);
  for await (const item of itemsIn(content, mimeType === "application/json")) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Parses a list, or one value per line. `isOne` if it can only be a single value. */
async function* itemsIn(content: Blob, isOne: boolean): AsyncGenerator<Json> {
  if ((await content.slice(0, 1).text()) === "[") {
    const list = await wholeOf(readStored(await content.text()));
    if (Array.isArray(list)) yield* list;
    return;
  }
  if (isOne) {
    const message =
      "batch.items: the artifact is JSON, but no list. Name a list in it by an expression, such as {{steps.KEY.result.items}}.";
    throw new AppError("definition_invalid", message);
  }
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of content.stream() as unknown as AsyncIterable<Uint8Array>) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield parsed(line);
  }
  if (rest !== "") yield parsed(rest);
}

function parsed(line: string): Json {
  try {
    return parseLossless(line);
  } catch {
    throw new AppError("definition_invalid", "batch.items: the file has a line that is no JSON.");
  }
}

/** Sends one batch, with the retries of the definition. */
async function tried(
  ctx: RunContext,
  work: () => Promise<Reply>,
): Promise<{ reply: Reply | null; error: AppError | null }> {
  for (let attempt = 1; ; attempt++) {
    try {
      return { reply: await work(), error: null };
    } catch (error) {
      ctx.signal.throwIfAborted();
      if (!(error instanceof AppError)) throw error;
      const pause = error.retryable ? pauseSeconds(ctx.retry, error, attempt) : null;
      if (pause === null) return { reply: null, error };
      ctx.log("warn", `${error.message} The batch is sent again in ${pause} s.`);
      await ctx.clock.sleep(pause * 1000, ctx.signal);
      ctx.signal.throwIfAborted();
    }
  }
}

interface Batch {
  items: Json[];
  number: number;
  maxBytes: number;
}

async function sendOne(
  ctx: RunContext,
  definition: Batched,
  access: Access | null,
  { items, number, maxBytes }: Batch,
): Promise<Reply> {
  const { batch: _, url, headers, query, body, ...rest } = definition;
  const isDefault = body === undefined && !isBodiless(rest.method ?? "GET");
  const fields = Object.entries({ url, headers, query, body: isDefault ? "{{items}}" : body });
  const usedFields = Object.fromEntries(fields.filter(([, value]) => value !== undefined)) as JsonObject;
  const filled = { ...rest, ...(await ctx.fill(usedFields, { ...ctx.scope, items }, { url: [["url"]] })) };
  const { value, faults } = read(Definition, withWrittenBody(usedFields, filled), []);
  const [fault] = faults;
  if (fault) throw new AppError("definition_invalid", `${fault.loc.join(".")}: ${fault.msg}`);
  const request = await withFiles(ctx, { ...value, url: value.url ?? "" });
  const bodiless = bodyFault(request);
  if (bodiless) throw new AppError("definition_invalid", bodiless);
  return sender(ctx, request, access)(startOf(request, access), number, maxBytes);
}

const statusIn = (error: AppError | null): number | null =>
  typeof error?.details?.status === "number" ? error.details.status : null;

type Told = { index: number; status: number | null; ok: boolean };

/** Outcomes of the items. If there are very many, only failed ones. */
function outcomesOf(ended: readonly Ended[], most: number): Told[] {
  const all = ended.reduce((sum, { count }) => sum + count, 0);
  const reported = all > most ? ended.filter(({ error }) => error !== null) : ended;
  const outcomes: Told[] = [];
  for (const { from, count, status, error } of reported)
    for (let n = 0; n < count && outcomes.length < most; n++)
      outcomes.push({ index: from + n, status, ok: error === null });
  return outcomes;
}

function refuseFailed(ended: readonly Ended[]): void {
  const failed = ended.filter(({ error }) => error !== null);
  const [first] = failed;
  if (!first?.error) return;
  const reasons = failed
    .slice(0, MAX_REASONS)
    .map(({ from, count, error }) => ({ from, count, code: error?.code, message: error?.message }));
  throw new AppError(
    "batch_failed",
    `${failed.length} of ${ended.length} batches failed, the first with: ${first.error.message}`,
    { details: { outcomes: outcomesOf(ended, MAX_ERROR_OUTCOMES), failures: reasons } },
  );
}

function withOutcomes(made: Awaited<ReturnType<typeof makeResult>>, outcomes: readonly Told[]): Done {
  if (!("whole" in made)) return { result: { ...made.result, outcomes: [...outcomes] } };
  const { json, summary } = made.whole;
  const more = Buffer.from(`,"outcomes":${JSON.stringify(outcomes)}}`);
  const whole = { json: Buffer.concat([json.subarray(0, json.length - 1), more]), summary };
  return { result: made.result, whole };
}
