import type { Json, JsonObject } from "../base/json.ts";
import { LongJson, wholeOf } from "../base/long-json.ts";
import { DoFirst, type WriteContext } from "../context.ts";
import type { LongValues } from "../store/columns.ts";

/** Of payloads that were parsed for a transaction which has not come back for them. */
const MAX_KEPT = 8;

/** What was stored of a trigger; its payload, or all of it, is its text where that is long. */
export type StoredTrigger = LongValues | LongJson;

/** The trigger as values; others get their turns while a long text is parsed. */
export async function openTrigger(trigger: StoredTrigger): Promise<JsonObject> {
  const long = longIn(trigger);
  return long === null ? (trigger as JsonObject) : opened(trigger, await wholeOf(long));
}

/** The trigger as values within a transaction, which waits for no parsing. Throws `DoFirst`, and finds the value when it comes back. */
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
