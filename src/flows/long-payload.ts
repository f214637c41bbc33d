import type { Json, JsonObject } from "../base/json.ts";
import { LongJson, wholeOf } from "../base/long-json.ts";
import { DoFirst, type WriteContext } from "../context.ts";
import type { LongValues } from "../store/columns.ts";

/** Maximum number of parsed payloads that are kept until their transactions are repeated. */
const MAX_KEPT = 8;

/** The stored trigger. If it is long, the payload, or all of it, is JSON text. */
export type StoredTrigger = LongValues | LongJson;

/** Returns the trigger as values. Parses long text in slices, so that other requests get their turns. */
export async function openTrigger(trigger: StoredTrigger): Promise<JsonObject> {
  const long = longIn(trigger);
  return long === null ? (trigger as JsonObject) : opened(trigger, await wholeOf(long));
}

/**
 * Returns the trigger as values inside a transaction, which doesn't wait for parsing. Throws `DoFirst`, and finds the
 * value when it is called again.
 */
export function openTriggerWithin(tx: WriteContext, trigger: StoredTrigger): JsonObject {
  const long = longIn(trigger);
  if (long === null) return trigger as JsonObject;
  const { openedPayloads } = tx;
  const known = openedPayloads.get(long.text);
  if (known === undefined) {
    throw new DoFirst(async () => {
      openedPayloads.set(long.text, await wholeOf(long));
      for (const oldest of openedPayloads.keys()) {
        if (openedPayloads.size <= MAX_KEPT) break;
        openedPayloads.delete(oldest);
      }
    });
  }
  tx.afterCommit(() => openedPayloads.delete(long.text));
  return opened(trigger, known);
}

function longIn(trigger: StoredTrigger): LongJson | null {
  if (trigger instanceof LongJson) return trigger;
  return trigger.payload instanceof LongJson ? trigger.payload : null;
}

const opened = (trigger: StoredTrigger, value: Json): JsonObject =>
  (trigger instanceof LongJson ? value : { ...trigger, payload: value }) as JsonObject;
