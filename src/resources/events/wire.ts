import { type Static, Type } from "@sinclair/typebox";
import type { JsonObject } from "../../base/json.ts";
import {
  cursorQuery,
  instant,
  jsonObject,
  nullable,
  object,
  oneOf,
  optional,
  uuid,
} from "../../base/shape.ts";
import type { EventRow, EventType, SealRow } from "./table.ts";

const ACTOR_TYPES = ["user", "system", "automation", "api"] as const;

const text = (description: string) => optional(Type.String({ minLength: 1, maxLength: 200, description }));

const filters = {
  type: text("Event type, or a pattern such as `action.*`, or `*` for all."),
  entityType: text("Type of the resource that the events are about, such as `action` or `connection`."),
  entityId: text("ID of the resource that the events are about."),
  actorType: optional(oneOf(ACTOR_TYPES, { description: "Only events of this type of actor." })),
  actorId: text("ID of the actor."),
  correlationId: text("Only events with this correlation ID, which have one cause."),
  q: text("Text in the event's data, its actor, or the ID of the resource. Ignores case."),
};

export const EventFilter = object(filters);
export type EventFilter = Static<typeof EventFilter>;

export const EventStreamQuery = object({
  ...filters,
  since: optional(
    Type.String({
      format: "date-time",
      description:
        "Starts with the events since this time, which can be at most 1 minute ago. Ignored with `Last-Event-ID`.",
    }),
  ),
});
export type EventStreamQuery = Static<typeof EventStreamQuery>;

export const EventQuery = object({
  ...filters,
  since: optional(Type.String({ format: "date-time", description: "Events at or after this time." })),
  until: optional(Type.String({ format: "date-time", description: "Events at or before this time." })),
  order: oneOf(["desc", "asc"], { default: "desc" }),
  ...cursorQuery(50, 200),
});
export type EventQuery = Static<typeof EventQuery>;

export const Event = object({
  id: uuid(),
  type: Type.Unsafe<EventType>(Type.String()),
  timestamp: instant(),
  entity: object({ type: Type.String(), id: Type.String() }),
  actor: Type.Object({
    type: oneOf(ACTOR_TYPES),
    id: Type.String(),
    email: optional(nullable(Type.String())),
    ip: optional(nullable(Type.String())),
    userAgent: optional(nullable(Type.String())),
    process: optional(Type.String()),
    version: optional(Type.String()),
  }),
  data: jsonObject(),
  metadata: object({ correlationId: Type.String(), organizationId: uuid() }),
  hash: Type.String({
    description: "SHA-256 (hex) of the organization's previous hash and this event's canonical JSON.",
  }),
  redactedAt: optional(
    Type.String({
      format: "date-time",
      description:
        "When personal data was erased from the event. Its hash is that of the original content. Omitted for all other events.",
    }),
  ),
});

export const EventPage = object({
  items: Type.Array(Event),
  nextCursor: optional(Type.String()),
  hasMore: Type.Boolean(),
});

const REASONS = ["truncated", "rewritten", "rolled_back"] as const;
export type Reason = (typeof REASONS)[number];

export const Verification = object({
  valid: Type.Boolean(),
  checked: Type.Integer({ description: "Number of events whose hash was recomputed." }),
  firstBadId: nullable(
    Type.String({
      description: "The first event that doesn't match; null if events are missing at the end.",
    }),
  ),
  reason: optional(oneOf(REASONS, { description: "Why the audit log isn't valid. Omitted if it is" })),
  redacted: optional(
    Type.Integer({
      description:
        "Number of checked events from which this installation erased personal data. Omitted if 0.",
    }),
  ),
});
export type Verification = Static<typeof Verification>;

export const Seal = object({
  organizationId: uuid(),
  seq: Type.Integer({ description: "Sequence number of the newest event that the seal covers." }),
  count: Type.Integer({ description: "Number of events that the seal covers." }),
  hash: Type.String({ description: "Hash of the newest event that the seal covers." }),
  createdAt: instant(),
});

export const SealPage = object({ items: Type.Array(Seal), nextCursor: optional(Type.String()) });

/** The only conversion of a seal's row for the API. */
export const toSeal = ({ organizationId, seq, count, hash, createdAt }: SealRow): Static<typeof Seal> => ({
  organizationId,
  seq,
  count,
  hash,
  createdAt,
});

/** The only conversion of an event's row for the API. */
export const toEvent = (row: EventRow) => ({
  id: row.id,
  type: row.type,
  timestamp: row.timestamp,
  entity: { type: row.entityType, id: row.entityId },
  actor: { ...row.actor, type: row.actorType, id: row.actorId },
  data: row.data,
  metadata: { correlationId: row.correlationId, organizationId: row.organizationId },
  hash: row.hash,
  ...(row.redactedAt === null ? {} : { redactedAt: row.redactedAt }),
});

/** An event's row as returned by SQL, with its JSON as text. */
export type RawEvent = Omit<EventRow, "actor" | "data"> & { actor: string; data: string };

/** Returns `JSON.stringify(toEvent(row))` without parsing stored JSON, for bulk output. */
export function eventText(row: RawEvent): string {
  const text = JSON.stringify;
  // Joined into one flat string. A rope would be flattened again by everyone who signs or sends it.
  return [
    `{"id":${text(row.id)},"type":"${row.type}","timestamp":"${row.timestamp}",`,
    `"entity":{"type":"${row.entityType}","id":${text(row.entityId)}},"actor":${actorText(row)},"data":${row.data},`,
    `"metadata":{"correlationId":${text(row.correlationId)},"organizationId":"${row.organizationId}"},"hash":"${row.hash}"`,
    row.redactedAt === null ? "}" : `,"redactedAt":"${row.redactedAt}"}`,
  ].join("");
}

/** A cache, since most events have few actors. */
const actorTexts = new Map<string, string>();
const MAX_ACTORS = 1_000;

function actorText({ actor, actorType, actorId }: RawEvent): string {
  const key = `${actorType} ${actorId} ${actor}`;
  const known = actorTexts.get(key);
  if (known !== undefined) return known;
  const made = JSON.stringify({ ...(JSON.parse(actor) as JsonObject), type: actorType, id: actorId });
  if (actorTexts.size >= MAX_ACTORS) actorTexts.clear();
  actorTexts.set(key, made);
  return made;
}
