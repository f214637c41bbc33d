import { object, uuid } from "../../base/shape.ts";
import { operation } from "../../http/operation.ts";
import { decide } from "./decide.ts";
import { findDecision, listDecisions, listPending } from "./service.ts";
import {
  Decide,
  Decision,
  DecisionPage,
  DecisionQuery,
  PendingPage,
  PendingQuery,
  toDecision,
} from "./wire.ts";

const tag = "Decisions";
const params = object({ decision_id: uuid() });

export const decisionOperations = [
  operation({
    method: "GET",
    path: "/api/v1/decisions",
    audience: "viewer",
    tag,
    summary: "List decisions",
    query: DecisionQuery,
    response: DecisionPage,
    async handle({ ctx, query }) {
      const { rows, total } = await listDecisions(ctx, query);
      const { limit, offset } = query;
      return {
        decisions: rows.map((row) => toDecision(row, ctx)),
        hasNext: offset + rows.length < total,
        limit,
        offset,
        total,
      };
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/decisions/pending",
    audience: "viewer",
    tag,
    summary: "List pending decisions",
    description:
      "Newest first. With assigned_to_me, only those assigned to the caller. Returns at most 500; total counts all. To page through them, use GET /api/v1/decisions.",
    query: PendingQuery,
    response: PendingPage,
    async handle({ ctx, query }) {
      const { rows, total } = await listPending(ctx, query.assigned_to_me);
      return { decisions: rows.map((row) => toDecision(row, ctx)), total };
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/decisions/{decision_id}",
    audience: "viewer",
    tag,
    summary: "Get a decision",
    params,
    response: Decision,
    handle: async ({ ctx, params }) => toDecision(await findDecision(ctx, params.decision_id), ctx),
  }),
  operation({
    method: "POST",
    path: "/api/v1/decisions/{decision_id}/decide",
    audience: "member",
    byPeople: true,
    tag,
    summary: "Submit a decision",
    description:
      "Approves or rejects; the waiting run continues. A decision can be made once: another one returns 409, unless the same user repeats the same decision. Assigned decisions are made by the assignee or an admin.",
    params,
    body: Decide,
    response: Decision,
    errors: [409],
    handle: async ({ ctx, params, body }) => toDecision(await decide(ctx, params.decision_id, body), ctx),
  }),
];
