import type { Fault } from "../../base/errors.ts";
import { isObject, type Json } from "../../base/json.ts";
import { cursorQuery, object } from "../../base/shape.ts";
import type { App } from "../../context.ts";
import { operation } from "../../http/operation.ts";
import { eventStream } from "../../http/stream.ts";
import { followEvents, startOfStream } from "./follow.ts";
import { listEvents } from "./list.ts";
import { faultsOfTypes } from "./matching.ts";
import { listSeals } from "./seals.ts";
import { verifyOwnTrail } from "./verify-own.ts";
import { EventPage, EventQuery, EventStreamQuery, SealPage, toEvent, toSeal, Verification } from "./wire.ts";

const tag = "Events";

const typeFaults = (_: App, raw: Json): Fault[] =>
  isObject(raw) && typeof raw.type === "string" ? faultsOfTypes(raw.type, ["query", "type"]) : [];

export const eventOperations = [
  operation({
    method: "GET",
    path: "/api/v1/events",
    audience: "viewer",
    tag,
    summary: "List audit events",
    description:
      "Newest first. A page can have fewer events than `limit`, or none, while `hasMore` is true. Continue with `nextCursor`, which is valid for 24 hours and for the same filters.",
    query: EventQuery,
    faults: typeFaults,
    response: EventPage,
    errors: [410],
    async handle({ ctx, query }) {
      const { rows, ...page } = await listEvents(ctx, query);
      return { items: rows.map(toEvent), ...page };
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/events/verify",
    audience: "viewer",
    tag,
    summary: "Verify the audit log",
    description:
      "Recomputes the hash chain and compares it with the seals and the head, which only the master key can create. `reason` is `truncated` if the latest events are missing, `rewritten` if events were changed or removed, and `rolled_back` if an older copy was restored. `firstBadId` is the first event that doesn't match.",
    response: Verification,
    example: { valid: true, checked: 1280, firstBadId: null },
    handle: ({ ctx, visit }) => verifyOwnTrail(ctx, visit.request.signal),
  }),
  operation({
    method: "GET",
    path: "/api/v1/events/seals",
    audience: "admin",
    tag,
    summary: "List the audit log's seals",
    description:
      "Oldest first. A seal is created every 1,000 events or 60 seconds. Store them elsewhere, and compare with `weir events verify --against FILE`.",
    query: object(cursorQuery(50, 200)),
    response: SealPage,
    errors: [410],
    async handle({ ctx, query }) {
      const { rows, ...page } = await listSeals(ctx, query);
      return { items: rows.map(toSeal), ...page };
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/events/stream",
    audience: "viewer",
    tag,
    summary: "Stream audit events",
    description:
      "Server-sent events: the data of each message is one event. Starts now, at `since`, or after the event in `Last-Event-ID`.",
    query: EventStreamQuery,
    headers: ["LastEventId"],
    faults: typeFaults,
    produces: "text/event-stream",
    async handle({ ctx, query, visit }) {
      const start = await startOfStream(ctx, query, visit.request.headers.get("last-event-id"));
      return eventStream(visit, (signal) => followEvents(ctx, query, start, signal));
    },
  }),
];
