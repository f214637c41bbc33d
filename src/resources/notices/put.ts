import { timestamp } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import type { WriteContext } from "../../context.ts";
import { NOTICES_TOPIC, type NoticeKind, notices, type Recipient } from "./table.ts";

interface NewNotice {
  kind: NoticeKind;
  automationId: string | null;
  to: Recipient;
  facts: JsonObject;
}

/** Puts a notice in the queue, in the transaction of what it tells. */
export async function putNotice(
  tx: WriteContext,
  { kind, automationId, to, facts }: NewNotice,
): Promise<void> {
  const id = tx.ids.uuid();
  const { organizationId } = tx;
  const at = timestamp(tx.clock);
  const row = { id, organizationId, createdAt: at, kind, automationId, thing: id, ...to, facts };
  await tx.db.insert(notices).values({ ...row, count: 1, attempts: 0, dueAt: at });
  tx.afterCommit(() => tx.signals.notify(NOTICES_TOPIC));
}
