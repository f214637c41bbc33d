import { desc, eq, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { canonicalJson, type JsonObject } from "../../base/json.ts";
import type { WriteContext } from "../../context.ts";
import { insertInto, prepared } from "../../store/prepared.ts";
import type { ReadDb } from "../../store/store.ts";
import { type EventRow, type EventType, events } from "./table.ts";

/** What an event is about. */
export interface Entity {
  type:
    | "connection"
    | "action"
    | "action_run"
    | "automation"
    | "automation_run"
    | "session"
    | "access_token"
    | "api_key"
    | "user"
    | "organization"
    | "membership"
    | "artifact"
    | "dataset"
    | "webhook_delivery"
    | "dead_letter";
  id: string;
}

/** The hash before the first event of an organization. */
export const GENESIS = "0".repeat(64);

const lastHash = prepared((db: ReadDb) =>
  db
    .select({ hash: events.hash })
    .from(events)
    .where(eq(events.organizationId, sql.placeholder("organizationId")))
    .orderBy(desc(events.seq))
    .limit(1)
    .prepare(),
);

/**
 * Appends one event to the organization's trail, in the transaction of the change that it tells of.
 * Webhook deliveries and event triggers follow the trail; there is no second publish step.
 */
export async function record(
  tx: WriteContext,
  type: EventType,
  entity: Entity,
  data: JsonObject = {},
): Promise<void> {
  const previous = tx.chainHeads.get(tx.organizationId) ?? (await storedHead(tx));
  const { type: actorType, id: actorId, ...carried } = tx.actor;
  const row = {
    id: tx.ids.uuid(),
    organizationId: tx.organizationId,
    type,
    timestamp: timestamp(tx.clock),
    entityType: entity.type,
    entityId: entity.id,
    actorType,
    actorId,
    actor: carried as JsonObject,
    data,
    correlationId: tx.correlationId,
  };
  const hash = chainHash(previous, row);
  await insertEvent(tx.db, { ...row, hash });
  tx.chainHeads.set(tx.organizationId, hash);
  tx.afterCommit(() => tx.signals.notify(eventsTopic(tx.organizationId)));
}

async function storedHead(tx: WriteContext): Promise<string> {
  const [last] = await lastHash(tx.db).all({ organizationId: tx.organizationId });
  return last?.hash ?? GENESIS;
}

/** Signalled when an organization's trail has grown. */
export const eventsTopic = (organizationId: string) => `events:${organizationId}`;

const insertEvent = insertInto(events, ["seq"]);

/** SHA-256, hex, over the hash before and the row's canonical JSON (decisions, section 9). */
export function chainHash(previous: string, row: Omit<EventRow, "seq" | "hash">): string {
  const { actorType, actorId, actor, entityType, entityId, correlationId, organizationId, ...rest } = row;
  const canonical = canonicalJson({
    ...rest,
    entity: { type: entityType, id: entityId },
    actor: { ...actor, type: actorType, id: actorId },
    metadata: { correlationId, organizationId },
  });
  return new Bun.CryptoHasher("sha256").update(previous).update(canonical).digest("hex");
}

/** One entry of `data.changes`. */
export interface Change {
  field: string;
  from: unknown;
  to: unknown;
}

/** What differs between two states of a thing, field by field; values that are equal as JSON are left out. */
export const changesBetween = <T extends object>(before: T, after: Partial<T>): Change[] =>
  Object.entries(after)
    .map(([field, to]) => ({ field, from: before[field as keyof T] as unknown, to: to as unknown }))
    .filter(({ from, to }) => to !== undefined && canonicalJson(from) !== canonicalJson(to));
