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
    summary: "Lists decisions, newest first",
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
    summary: "Lists what waits for a decision, newest first",
    description:
      "With assigned_to_me, only what is assigned to the caller by name. At most 500; total counts all, and GET /api/v1/decisions pages over them.",
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
    summary: "Shows one decision",
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
    summary: "Approves or rejects, and lets what waits go on",
    description:
      "Once: a decision that has been settled is 409, save that the same person repeating the same decision gets it unchanged. One that is assigned to somebody is decided by that person or an admin.",
    params,
    body: Decide,
    response: Decision,
    errors: [409],
    handle: async ({ ctx, params, body }) => toDecision(await decide(ctx, params.decision_id, body), ctx),
  }),
];
