import { object, uuid } from "../../base/shape.ts";
import { operation } from "../../http/operation.ts";
import { Answer } from "../decisions/wire.ts";
import { decideApproval, listApprovals } from "./service.ts";
import { Approval, ApprovalPage, ApprovalQuery, toApproval } from "./wire.ts";

const tag = "Approvals";
const params = object({ approval_id: uuid() });

export const approvalOperations = [
  operation({
    method: "GET",
    path: "/api/v1/approvals",
    audience: "viewer",
    tag,
    summary: "List approvals",
    description:
      "Newest first. An approval has the ID of its decision. Expired and cancelled ones are listed as decided; the decision has the outcome. Returns at most 500; total counts all. To page through them, use GET /api/v1/decisions.",
    query: ApprovalQuery,
    response: ApprovalPage,
    async handle({ ctx, query }) {
      const { rows, total } = await listApprovals(ctx, query.status);
      return { items: rows.map((row) => toApproval(row, ctx)), total };
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/approvals/{approval_id}/approve",
    audience: "member",
    byPeople: true,
    tag,
    summary: "Approve a request",
    description: "The waiting run continues.",
    params,
    body: Answer,
    bodyOptional: true,
    response: Approval,
    errors: [409],
    handle: async ({ ctx, params, body }) =>
      toApproval(await decideApproval(ctx, params.approval_id, "approved", body ?? {}), ctx),
  }),
  operation({
    method: "POST",
    path: "/api/v1/approvals/{approval_id}/reject",
    audience: "member",
    byPeople: true,
    tag,
    summary: "Reject a request",
    description: "With an optional reason.",
    params,
    body: Answer,
    bodyOptional: true,
    response: Approval,
    errors: [409],
    handle: async ({ ctx, params, body }) =>
      toApproval(await decideApproval(ctx, params.approval_id, "rejected", body ?? {}), ctx),
  }),
];
