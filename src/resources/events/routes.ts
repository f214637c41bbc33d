import { cursorQuery, object } from "../../base/shape.ts";
import { operation } from "../../http/operation.ts";
import { eventStream } from "../../http/stream.ts";
import { followEvents, startOfStream } from "./follow.ts";
import { listEvents } from "./list.ts";
import { listSeals } from "./seals.ts";
import { verifyOwnTrail } from "./verify-own.ts";
import { EventFilter, EventPage, EventQuery, SealPage, toEvent, toSeal, Verification } from "./wire.ts";

const tag = "Events";

export const eventOperations = [
  operation({
    method: "GET",
    path: "/api/v1/events",
    audience: "viewer",
    tag,
    summary: "Lists audit events, newest first",
    description:
      "A page may hold fewer events than `limit`, or none, while `hasMore` is true: go on with `nextCursor`, which is good for 24 hours and for the same filters.",
    query: EventQuery,
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
    summary: "Verifies the audit log",
    description:
      "Recomputes the chain of hashes and compares it with the seals and the head, which only the master key can make. `reason` is `truncated` where the newest events are missing, `rewritten` where events were changed or removed, `rolled_back` where an older copy was put back. `firstBadId` names the first event that doesn't fit.",
    response: Verification,
    example: { valid: true, checked: 1280, firstBadId: null },
    handle: ({ ctx, visit }) => verifyOwnTrail(ctx, visit.request.signal),
  }),
  operation({
    method: "GET",
    path: "/api/v1/events/seals",
    audience: "admin",
    tag,
    summary: "Lists the seals of the audit log, oldest first",
    description:
      "A seal is made every 1,000 events or 60 seconds. Keep them elsewhere, and compare with `weir events verify --against FILE`.",
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
    summary: "Follows the events as server-sent events",
    description:
      "The data of each message is one event. Begins at this moment, or after the message named by `Last-Event-ID`.",
    query: EventFilter,
    produces: "text/event-stream",
    async handle({ ctx, query, visit }) {
      const start = await startOfStream(ctx, query, visit.request.headers.get("last-event-id"));
      return eventStream(visit, (signal) => followEvents(ctx, query, start, signal));
    },
  }),
];
