import { sourceOf } from "../base/cidr.ts";
import { AppError } from "../base/errors.ts";
import { type FairSlots, openFairSlots } from "../base/fair-slots.ts";
import type { App } from "../context.ts";
import { BODY_MEMORY } from "./body-memory.ts";
import type { Operation, Visit } from "./operation.ts";
import { problemResponse } from "./serve.ts";

/** Concurrent requests per kind. Fewer make commits of fewer writes, more make the other kinds wait longer. */
const SLOTS = 32;
/** Maximum number of waiting requests per lane. They hold a connection and their headers. Bodies aren't read yet. */
const WAIT_LIMIT = 8_192;
const SWEEP_MS = 25;

/**
 * External systems, people and programs each have slots of their own, so that a flood of one doesn't delay the others.
 * Requests beyond the slots take turns by address, then by credential. When too many wait, the newest one of the caller
 * with the most gets 503. Requests abandoned by their sender aren't started. Health checks don't wait.
 */
export function openFairness(app: App) {
  const lane = () => openFairSlots(SLOTS, WAIT_LIMIT, SWEEP_MS);
  const lanes: Readonly<Record<Lane, FairSlots>> = { sender: lane(), page: lane(), program: lane() };
  return async (operation: Operation, visit: Visit, work: () => Promise<Response>): Promise<Response> => {
    if (operation.path === "/health") return work();
    const refuse = () => problemResponse(app, tooMany(), visit, operation.iceberg !== undefined);
    const entered = lanes[laneOf(operation, visit)].enter([sourceOf(visit.address), callerOf(visit)]);
    const leave = entered instanceof Promise ? await entered : entered;
    if (leave === null) return refuse();
    try {
      return visit.request.signal.aborted ? refuse() : await work();
    } finally {
      app.memory.of(BODY_MEMORY).release(visit);
      leave();
    }
  };
}

const tooMany = () =>
  new AppError("unavailable", "The server has too many requests waiting. Try again in a second.", {
    retryable: true,
    retryAfterSeconds: 1,
  });

type Lane = "sender" | "page" | "program";

function laneOf({ audience, path }: Operation, { request }: Visit): Lane {
  if (audience === "signature" || path.startsWith("/f/")) return "sender";
  return request.headers.has("cookie") && !request.headers.has("authorization") ? "page" : "program";
}

const callerOf = ({ request: { headers } }: Visit): string =>
  headers.get("authorization") ?? headers.get("cookie") ?? "";
