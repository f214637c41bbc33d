import { operation } from "../../http/operation.ts";
import { eventStream } from "../../http/stream.ts";
import { followEvents, startOfStream } from "./follow.ts";
import { listEvents } from "./list.ts";
import { verifyChain } from "./verify.ts";
import { EventFilter, EventPage, EventQuery, toEvent, Verification } from "./wire.ts";

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
    summary: "Recomputes the chain of hashes over all events",
    description:
      "`valid` is false where an event was altered or taken out; `firstBadId` names the first event that does not fit what stands before it.",
    response: Verification,
    example: { valid: true, checked: 1280, firstBadId: null },
    handle: ({ ctx, visit }) => verifyChain(ctx.db, ctx.organizationId, visit.request.signal),
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
