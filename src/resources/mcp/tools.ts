import { and, asc, eq, isNull } from "drizzle-orm";
import type { Json, JsonObject } from "../../base/json.ts";
import type { Context } from "../../context.ts";
import type { AgentTool } from "../../models/contract.ts";
import { actions } from "../actions/table.ts";
import type { ToolSource, ToolUser } from "../agents/tools/contract.ts";
import { toolName } from "../agents/tools/names.ts";
import { toolSources } from "../agents/tools/registry.ts";
import { listApprovals } from "../approvals/service.ts";
import { toApproval } from "../approvals/wire.ts";
import { automations } from "../automations/table.ts";
import { ROLES } from "../organizations/table.ts";

/** More tools wouldn't help a model. Others can be called by their slugs in the API. */
const MAX_EACH = 200;

/** A tool as external agents see it. */
export interface OutsideTool extends Pick<AgentTool, "name" | "description" | "inputSchema"> {
  /** Whether it only reads. */
  isReading: boolean;
  /** Throws an `AppError` whose message can be shown. */
  call(id: string, input: JsonObject, signal: AbortSignal): Promise<Json>;
}

/** Opens one tool, which is the expensive part. None if it was deleted in the meantime. */
interface Offer {
  name: string;
  open(): Promise<OutsideTool[]>;
}

/** Returns everything that the user of `ctx` may have an external agent do, by their current role. */
export async function outsideTools(ctx: Context, user: ToolUser): Promise<OutsideTool[]> {
  const tools: OutsideTool[] = [];
  for (const offer of [...fixedOffers(ctx, user), ...(await runOffers(ctx, user, RUN_KINDS))])
    tools.push(...(await offer.open()));
  return tools;
}

/** Returns the tool with this name, opening only that one. Null if the user has none. */
export async function outsideTool(ctx: Context, user: ToolUser, name: string): Promise<OutsideTool | null> {
  const isNamed = (offer: Offer) => offer.name === name;
  const kinds = RUN_KINDS.filter((kind) => name.startsWith(`${kind}_`));
  const offer = fixedOffers(ctx, user).find(isNamed) ?? (await runOffers(ctx, user, kinds)).find(isNamed);
  const opened = offer ? await offer.open() : [];
  return opened.find((tool) => tool.name === name) ?? null;
}

const mayRun = ({ role, scopes }: Context) =>
  ROLES.indexOf(role) >= ROLES.indexOf("member") && (!scopes || scopes.includes("run"));

function fixedOffers(ctx: Context, user: ToolUser): Offer[] {
  const reading = (["query", "datasets"] as const).map((name) => ({
    name,
    open: () => opened(ctx, toolSources[name].source, "", user, true),
  }));
  const approvals = approvalList(ctx);
  return [...reading, { name: approvals.name, open: async () => [approvals] }];
}

const RUN_KINDS = ["action", "automation"] as const;

/** Offers what the team has set up, by slug. */
async function runOffers(
  ctx: Context,
  user: ToolUser,
  kinds: readonly (typeof RUN_KINDS)[number][],
): Promise<Offer[]> {
  if (!mayRun(ctx)) return [];
  const offers: Offer[] = [];
  for (const kind of kinds) {
    const table = kind === "action" ? actions : automations;
    const isMine = and(
      eq(table.organizationId, ctx.organizationId),
      eq(table.status, "active"),
      isNull(table.deletedAt),
    );
    const rows = await ctx.db
      .select({ slug: table.slug })
      .from(table)
      .where(isMine)
      .orderBy(asc(table.slug))
      .limit(MAX_EACH);
    for (const { slug } of rows)
      offers.push({
        name: toolName(kind, slug),
        open: () => opened(ctx, toolSources[kind].source, slug, user, false),
      });
  }
  return offers;
}

/** `isReading`: for a tool that only reads. Of the others, those that need no approval. */
async function opened(
  ctx: Context,
  source: ToolSource,
  named: string,
  user: ToolUser,
  isReading: boolean,
): Promise<OutsideTool[]> {
  const tools = await source.open(ctx, named, user);
  return tools.map((tool) => outside(tool, isReading || !tool.approvalRequired));
}

const outside = ({ name, description, inputSchema, call }: AgentTool, isReading: boolean): OutsideTool => ({
  name,
  description,
  inputSchema,
  isReading,
  call: (id, input, signal) => call({ id, input, signal, isApproved: false }),
});

const approvalList = (ctx: Context): OutsideTool => ({
  name: "list_approvals",
  description: "Lists the organization's pending approvals, newest first.",
  inputSchema: { type: "object", properties: {}, additionalProperties: false },
  isReading: true,
  async call() {
    const { rows, total } = await listApprovals(ctx, "pending");
    return JSON.parse(JSON.stringify({ items: rows.slice(0, 50).map((row) => toApproval(row, ctx)), total }));
  },
});
