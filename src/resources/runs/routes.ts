import { object, uuid } from "../../base/shape.ts";
import { mapInSlices } from "../../base/slices.ts";
import { operation } from "../../http/operation.ts";
import { eventStream } from "../../http/stream.ts";
import { triggerOf } from "../../http/trigger.ts";
import { findRun } from "../../queue/cancel.ts";
import { usersById } from "../users/people.ts";
import { followRun, pageLogs } from "./follow.ts";
import { listRuns } from "./list.ts";
import { namesOfRuns } from "./names.ts";
import { cancelRun, retryRun } from "./service.ts";
import { LogPage, LogQuery, NamedRun, Run, RunPage, RunQuery, toNamedRun, toRun } from "./wire.ts";
import { isHidden } from "./wire-private.ts";

const tag = "Action runs";
const params = object({ run_id: uuid() });

export const runOperations = [
  operation({
    method: "GET",
    path: "/api/v1/action-runs",
    audience: "viewer",
    tag,
    summary: "List action runs",
    query: RunQuery,
    response: RunPage,
    async handle({ ctx, query }) {
      const { rows, total } = await listRuns(ctx, query);
      const { limit, offset } = query;
      const names = await namesOfRuns(ctx, rows);
      const users = await usersById(
        ctx,
        rows.map((row) => (isHidden(ctx, row) ? null : row.createdBy)),
      );
      return {
        runs: await mapInSlices(rows, (row) => toNamedRun(ctx, row, names)),
        hasNext: offset + rows.length < total,
        limit,
        offset,
        total,
        users,
      };
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/action-runs/{run_id}",
    audience: "viewer",
    tag,
    summary: "Get an action run",
    params,
    response: NamedRun,
    async handle({ ctx, params }) {
      const row = await findRun(ctx, params.run_id);
      return toNamedRun(ctx, row, await namesOfRuns(ctx, [row]));
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/action-runs/{run_id}/cancel",
    audience: "member",
    tag,
    summary: "Cancel an action run",
    params,
    response: Run,
    errors: [409],
    handle: async ({ ctx, params }) => toRun(ctx, await cancelRun(ctx, params.run_id)),
  }),
  operation({
    method: "POST",
    path: "/api/v1/action-runs/{run_id}/retry",
    audience: "member",
    tag,
    summary: "Retry an action run",
    description: "Starts a new run. The old one must have failed or been cancelled.",
    params,
    status: 201,
    response: Run,
    idempotent: true,
    errors: [409],
    handle: async ({ ctx, params, identity }) =>
      toRun(ctx, await retryRun(ctx, params.run_id, { ...triggerOf(identity), method: "retry" })),
  }),
  operation({
    method: "GET",
    path: "/api/v1/action-runs/{run_id}/logs",
    audience: "viewer",
    tag,
    summary: "Get a run's log",
    description: "With `follow`, waits for new lines.",
    params,
    query: LogQuery,
    response: LogPage,
    handle: ({ ctx, params, query, visit }) =>
      pageLogs(ctx, params.run_id, query, AbortSignal.any([visit.request.signal, visit.closing])),
  }),
  operation({
    method: "GET",
    path: "/api/v1/action-runs/{run_id}/stream",
    audience: "viewer",
    tag,
    summary: "Stream an action run",
    description: "Server-sent events: status, progress, log and end.",
    params,
    headers: ["LastEventId"],
    produces: "text/event-stream",
    async handle({ ctx, params, visit }) {
      await findRun(ctx, params.run_id);
      const last = visit.request.headers.get("last-event-id");
      return eventStream(visit, (signal) => followRun(ctx, params.run_id, last, signal));
    },
  }),
];
