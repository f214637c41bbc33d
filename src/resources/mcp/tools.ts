import { and, asc, eq, isNull } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import type { Context } from "../../context.ts";
import type { AgentTool } from "../../models/contract.ts";
import { actions } from "../actions/table.ts";
import { refuseViewers } from "../agents/tools/child.ts";
import type { ToolSource, ToolUser } from "../agents/tools/contract.ts";
import { toolSources } from "../agents/tools/registry.ts";
import { listApprovals, settleApproval } from "../approvals/service.ts";
import { toApproval } from "../approvals/wire.ts";
import { automations } from "../automations/table.ts";
import { ROLES } from "../organizations/table.ts";

/** More tools than these help no model; the rest are reached by their slugs over the API. */
const MAX_EACH = 200;

/** A tool as outside agents see it. */
export interface OutsideTool extends Pick<AgentTool, "name" | "description" | "inputSchema"> {
  /** True where it only reads. */
  isReading: boolean;
  /** Throws an `AppError` that may be shown. */
  call(id: string, input: JsonObject, signal: AbortSignal): Promise<Json>;
}

/** All that the person of `ctx` may have an outside agent do, by their role of the moment. */
export async function outsideTools(ctx: Context, user: ToolUser): Promise<OutsideTool[]> {
  const reading = [
    ...(await opened(ctx, toolSources.query, "", user)),
    ...(await opened(ctx, toolSources.datasets, "", user)),
  ];
  const tools = reading.map((tool) => outside(tool, true));
  tools.push(approvalList(ctx));
  if (ROLES.indexOf(ctx.role) < ROLES.indexOf("member")) return tools;
  tools.push(approvalDecision(ctx));
  const isMine = (table: typeof actions | typeof automations) =>
    and(eq(table.organizationId, ctx.organizationId), eq(table.status, "active"), isNull(table.deletedAt));
  for (const [source, table] of [
    [toolSources.action, actions],
    [toolSources.automation, automations],
  ] as const) {
    const rows = await ctx.db
      .select({ slug: table.slug })
      .from(table)
      .where(isMine(table))
      .orderBy(asc(table.slug))
      .limit(MAX_EACH);
    for (const { slug } of rows)
      for (const tool of await opened(ctx, source, slug, user))
        tools.push(outside(tool, !tool.approvalRequired));
  }
  return tools;
}

const opened = async (ctx: Context, source: ToolSource | undefined, named: string, user: ToolUser) =>
  source ? source.open(ctx, named, user) : [];

const outside = ({ name, description, inputSchema, call }: AgentTool, isReading: boolean): OutsideTool => ({
  name,
  description,
  inputSchema,
  isReading,
  call: (id, input, signal) => call({ id, input, signal }),
});

const approvalList = (ctx: Context): OutsideTool => ({
  name: "list_approvals",
  description: "Lists what waits for a person's decision in this organization, newest first.",
  inputSchema: { type: "object", properties: {}, additionalProperties: false },
  isReading: true,
  async call() {
    const { rows, total } = await listApprovals(ctx, "pending");
    return JSON.parse(JSON.stringify({ items: rows.slice(0, 50).map(toApproval), total }));
  },
});

const approvalDecision = (ctx: Context): OutsideTool => ({
  name: "decide_approval",
  description:
    "Approves or rejects what waits for a decision, as the person whose token this is. Ask that person first.",
  inputSchema: {
    type: "object",
    properties: {
      id: { type: "string", format: "uuid" },
      decision: { enum: ["approved", "rejected"] },
      rejectionReason: { type: "string", maxLength: 2000 },
      formResponse: { type: "object", description: "What the decision's formSchema asks for" },
    },
    required: ["id", "decision"],
    additionalProperties: false,
  },
  isReading: false,
  async call(_, { id, decision, rejectionReason, formResponse }) {
    refuseViewers(ctx);
    if (decision !== "approved" && decision !== "rejected")
      throw new AppError("bad_request", "decision is approved or rejected.");
    const answer = {
      ...(rejectionReason === undefined ? {} : { rejectionReason }),
      ...(formResponse === undefined ? {} : { formResponse }),
    };
    const settled = await settleApproval(
      ctx,
      String(id),
      decision,
      answer as Parameters<typeof settleApproval>[3],
    );
    return JSON.parse(JSON.stringify(toApproval(settled)));
  },
});
