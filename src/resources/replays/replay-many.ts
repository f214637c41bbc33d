import { and, eq, inArray } from "drizzle-orm";
import { AppError, InvalidInput, invalid } from "../../base/errors.ts";
import { type Context, write } from "../../context.ts";
import { mayPass } from "../../store/faults.ts";
import { from } from "../dead-letters/service.ts";
import { deadLetters } from "../dead-letters/table.ts";
import type { ReplayMany } from "../dead-letters/wire.ts";
import { replayDeadLetter } from "./replay.ts";

const MAX_AT_ONCE = 1000;
/** Number of dead letters replayed per transaction: all other writes wait for it. */
const BATCH = 20;

/** Intermediate result of a call. */
interface Tally {
  replayed: number;
  /** Why the first failing dead letter couldn't be replayed. */
  refusal: AppError | null;
  /** Automations and webhooks that can't be replayed to: their other dead letters are skipped. */
  closed: Set<string>;
}

/**
 * Replays the named dead letters, or all of an automation or webhook (at most 1,000), each completely or not at all.
 * Returns how many. Those that can't be replayed stay unchanged. If none could be, throws the reason of the first. If
 * interrupted, throws with how many were replayed. Throws `InvalidInput` for unknown IDs, before any is replayed.
 */
export async function replayMany(ctx: Context, input: ReplayMany): Promise<number> {
  const letters = await findDead(ctx, input);
  const tally: Tally = { replayed: 0, refusal: null, closed: new Set() };
  try {
    for (let at = 0; at < letters.length; at += BATCH) {
      const batch = letters.slice(at, at + BATCH).filter(({ sourceId }) => !tally.closed.has(sourceId));
      await replayAll(ctx, batch, tally).catch(() => replayEach(ctx, batch, tally));
    }
  } catch (error) {
    if (!(error instanceof AppError) || tally.replayed === 0) throw error;
    const { code, message, retryable } = error;
    const far = `${tally.replayed} of ${letters.length} dead letters were replayed before that. The others are unchanged.`;
    throw new AppError(code, `${message} ${far}`, { retryable, cause: error });
  }
  if (tally.replayed === 0 && tally.refusal !== null) throw tally.refusal;
  return tally.replayed;
}

interface Dead {
  id: string;
  sourceId: string;
}

/** Oldest first. */
async function findDead(ctx: Context, input: ReplayMany): Promise<Dead[]> {
  const { automationId, webhookId } = input;
  const ids = input.ids?.map((id) => id.toLowerCase());
  if ([ids, automationId, webhookId].filter((selector) => selector !== undefined).length !== 1)
    throw invalid(["body"], "Set one of ids, automationId and webhookId", "value_error");
  if (ids) await refuseUnknown(ctx, ids);
  return ctx.db
    .select({ id: deadLetters.id, sourceId: deadLetters.sourceId })
    .from(deadLetters)
    .where(
      and(
        eq(deadLetters.organizationId, ctx.organizationId),
        eq(deadLetters.status, "dead"),
        ids === undefined ? undefined : inArray(deadLetters.id, ids),
        automationId === undefined ? undefined : from("inbound", automationId),
        webhookId === undefined ? undefined : from("outbound", webhookId),
      ),
    )
    .orderBy(deadLetters.id)
    .limit(MAX_AT_ONCE);
}

/** Those that were replayed already are known, and are skipped. */
async function refuseUnknown(ctx: Context, ids: readonly string[]): Promise<void> {
  const mine = and(eq(deadLetters.organizationId, ctx.organizationId), inArray(deadLetters.id, [...ids]));
  const known = new Set(
    (await ctx.db.select({ id: deadLetters.id }).from(deadLetters).where(mine)).map(({ id }) => id),
  );
  const faults = ids.flatMap((id, index) =>
    known.has(id)
      ? []
      : [{ loc: ["body", "ids", String(index)], msg: "Dead letter not found", type: "not_found" }],
  );
  if (faults.length > 0) throw new InvalidInput(faults);
}

/**
 * Replays those dead letters of a batch that are still dead: one may have been replayed or discarded in the meantime.
 */
async function replayAll(ctx: Context, batch: readonly Dead[], tally: Tally): Promise<void> {
  tally.replayed += await write(ctx, async (tx) => {
    const ids = batch.map(({ id }) => id);
    const still = await tx.db
      .select({ id: deadLetters.id })
      .from(deadLetters)
      .where(and(inArray(deadLetters.id, ids), eq(deadLetters.status, "dead")))
      .orderBy(deadLetters.id);
    for (const { id } of still) await replayDeadLetter(tx, id);
    return still.length;
  });
}

async function replayEach(ctx: Context, batch: readonly Dead[], tally: Tally): Promise<void> {
  for (const letter of batch) {
    if (tally.closed.has(letter.sourceId)) continue;
    try {
      await replayAll(ctx, [letter], tally);
    } catch (error) {
      if (mayPass(error)) throw error;
      const isKnown = error instanceof AppError;
      if (!isKnown) ctx.log.report(error, { at: "replay a dead letter", deadLetterId: letter.id });
      tally.refusal ??= isKnown ? error : new AppError("internal", "See the server log.");
      if (isKnown && error.code === "invalid_state") tally.closed.add(letter.sourceId);
    }
  }
}
