import { timestamp } from "../../base/clock.ts";
import { canonicalJson, comparable, type Json, type JsonObject } from "../../base/json.ts";
import type { Actor, WriteContext } from "../../context.ts";
import { insertInto } from "../../store/prepared.ts";
import { putHead, storedHead } from "./heads.ts";
import { type EventRow, type EventType, events } from "./table.ts";

/** The resource that an event is about. */
export interface Entity {
  type:
    | "connection"
    | "action"
    | "action_run"
    | "automation"
    | "automation_run"
    | "decision"
    | "session"
    | "authorization_code"
    | "device_code"
    | "access_token"
    | "api_key"
    | "user"
    | "organization"
    | "membership"
    | "invitation"
    | "artifact"
    | "dataset"
    | "query"
    | "dashboard"
    | "dashboard_subscription"
    | "template"
    | "bundle"
    | "catalog_entry"
    | "catalog_sign_in"
    | "agent_spec"
    | "chat_thread"
    | "webhook"
    | "webhook_delivery"
    | "dead_letter";
  id: string;
}

/** As stored: `data` and `actor` are JSON texts. */
type NewEvent = Omit<EventRow, "seq" | "redactedAt" | "data" | "actor"> & { data: string; actor: string };

/**
 * Appends an event to the organization's audit log, in the transaction of the change. Webhook deliveries and event
 * triggers read the audit log. There is no second publish step.
 */
export async function record(
  tx: WriteContext,
  type: EventType,
  entity: Entity,
  data: JsonObject = {},
  actor: Actor = tx.actor,
): Promise<void> {
  const { heads, before } = tx.trail;
  const rows = tx.trail.rows as NewEvent[];
  const { organizationId } = tx;
  const previous = heads.get(organizationId) ?? before.get(organizationId) ?? (await storedHead(tx, type));
  const shown = shownActor(actor);
  const row = {
    id: tx.ids.uuid(),
    organizationId,
    type,
    timestamp: timestamp(tx.clock),
    entityType: entity.type,
    entityId: entity.id,
    actorType: actor.type,
    actorId: actor.id,
    actor: shown.stored,
    data: canonicalJson(data),
    correlationId: tx.correlationId,
  };
  const hash = hashOf(previous.hash, row, shown.canonical, row.data);
  if (!heads.has(organizationId)) tx.afterCommit(() => tx.signals.notify(eventsTopic(organizationId)));
  heads.set(organizationId, { count: previous.count + 1, hash, isAuthentic: previous.isAuthentic });
  if (rows.length === 0) tx.beforeCommit(() => insertAll(tx, rows));
  rows.push({ ...row, hash });
}

/** Number of rows per statement. */
const BATCH = 16;

async function insertAll(tx: WriteContext, rows: readonly NewEvent[]): Promise<void> {
  for (let start = 0; start < rows.length; start += BATCH) {
    await insertEvents(tx.db, ...rows.slice(start, start + BATCH));
  }
  for (const [organizationId, head] of tx.trail.heads) await putHead(tx, organizationId, head);
}

/** Signalled when an organization's audit log has grown. */
export const eventsTopic = (organizationId: string) => `events:${organizationId}`;

const insertEvents = insertInto(events, ["seq", "redactedAt"], ["data", "actor"]);

/** SHA-256, hex, of the previous hash and the row's canonical JSON (docs/decisions/audit.md). */
export const chainHash = (previous: string, row: Omit<EventRow, "seq" | "hash" | "redactedAt">): string =>
  hashOf(
    previous,
    row,
    canonicalJson({ ...row.actor, type: row.actorType, id: row.actorId }),
    canonicalJson(row.data),
  );

/** An actor as JSON, as stored and as hashed. Computed once per actor. */
const shownActors = new WeakMap<Actor, { stored: string; canonical: string }>();

function shownActor(actor: Actor): { stored: string; canonical: string } {
  const known = shownActors.get(actor);
  if (known) return known;
  const { type, id, ...carried } = actor;
  const made = { stored: JSON.stringify(carried), canonical: canonicalJson(actor) };
  shownActors.set(actor, made);
  return made;
}

/** Hashes `canonicalJson` of the event, whose outer keys are sorted by hand. */
function hashOf(
  previous: string,
  row: Omit<EventRow, "seq" | "hash" | "redactedAt" | "data" | "actor">,
  actor: string,
  data: string,
): string {
  const text = JSON.stringify;
  const event =
    `{"actor":${actor},"data":${data},` +
    `"entity":{"id":${text(row.entityId)},"type":${text(row.entityType)}},"id":${text(row.id)},` +
    `"metadata":{"correlationId":${text(row.correlationId)},"organizationId":${text(row.organizationId)}},` +
    `"timestamp":${text(row.timestamp)},"type":${text(row.type)}}`;
  return Bun.SHA256.hash(previous + event, "hex");
}

/** One entry of `data.changes`. */
export interface Change {
  field: string;
  from: unknown;
  to: unknown;
}

/** Returns the differences between two states of a resource, by field. */
export const changesBetween = <T extends object>(before: T, after: Partial<T>): Change[] =>
  Object.entries(after)
    .map(([field, to]) => ({ field, from: before[field as keyof T] as unknown, to: to as unknown }))
    .filter(
      ({ field, from, to }) =>
        to !== undefined && comparable(from as Json, field) !== comparable(to as Json, field),
    );
