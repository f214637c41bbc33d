import { and, eq, type SQL, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import type { WriteContext } from "../../context.ts";
import type { RunError } from "../runs/table.ts";
import { type DeadLetterRow, deadLetters } from "./table.ts";

/** Finds the dead letter of a delivery. */
export const letterOf = (source: DeadLetterRow["source"], deliveryId: string): SQL | undefined =>
  and(eq(deadLetters.source, source), eq(deadLetters.deliveryId, deliveryId));

/** Returns the dead letter of a failed replay, dead again. Null if there is none. */
export async function putBack(
  tx: WriteContext,
  letter: SQL | undefined,
  replay: { attempts: number; error: RunError },
): Promise<string | null> {
  const [row] = await tx.db
    .update(deadLetters)
    .set({
      status: "dead",
      lastFailedAt: timestamp(tx.clock),
      error: replay.error,
      attempts: sql`${deadLetters.attempts} + ${replay.attempts}`,
    })
    .where(letter)
    .returning({ id: deadLetters.id });
  return row?.id ?? null;
}
