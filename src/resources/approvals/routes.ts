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
    summary: "Lists approvals, newest first",
    description:
      "An approval's id is its decision's id. What expired or was cancelled is listed as decided; the decision tells which. At most 500; total counts all, and GET /api/v1/decisions pages over them.",
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
    summary: "Approves, and lets what waits go on",
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
    summary: "Rejects, with a reason if there is one to tell",
    params,
    body: Answer,
    bodyOptional: true,
    response: Approval,
    errors: [409],
    handle: async ({ ctx, params, body }) =>
      toApproval(await decideApproval(ctx, params.approval_id, "rejected", body ?? {}), ctx),
  }),
];
