import { and, eq } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";
import { canonicalJson, type JsonObject } from "../../base/json.ts";
import { measure } from "../../base/measure.ts";
import type { Context } from "../../context.ts";
import type { DecisionRequest } from "../../executors/contract.ts";
import { decisions } from "../decisions/table.ts";
import { ROLES } from "../organizations/table.ts";
import type { ApprovalRule, ConnectionRow } from "./table.ts";

/**
 * What a connection is opened for: `verify` tests it and reads no data, `write` may change the external system, and for
 * `approved` the caller has requested approval, or does so itself.
 */
export type Purpose = "verify" | "read" | "write" | "approved";

const MAX_APPROVED_CHARACTERS = 65_536;

export const needsApproval = (rule: ApprovalRule, purpose: Purpose): boolean =>
  purpose === "write" ? rule !== "none" : purpose === "read" && rule === "all";

/** For use outside a run, where approval can't be requested. */
export const approvalMissing = ({ name }: ConnectionRow): AppError =>
  new AppError(
    "invalid_state",
    `Connection ${name} requires approval. Run an action with it: the run waits for a decision.`,
  );

const isAdmin = ({ role }: Pick<Context, "role">) => ROLES.indexOf(role) >= ROLES.indexOf("admin");

/** Throws `forbidden` if a non-admin would change what needs approval. */
export function checkMaySet(ctx: Pick<Context, "role">, from: ApprovalRule, to?: ApprovalRule): void {
  if (to === undefined || to === from || isAdmin(ctx)) return;
  throw new AppError("forbidden", "approvalRequired: setting it requires the admin role.");
}

/**
 * Throws `forbidden` if a non-admin would change what verifying a protected connection sends: anyone can verify it,
 * without approval.
 */
export function checkMayVerify(
  ctx: Pick<Context, "role">,
  { name, approvalRequired }: Pick<ConnectionRow, "name" | "approvalRequired">,
): void {
  if (approvalRequired === "none" || isAdmin(ctx)) return;
  throw new AppError(
    "forbidden",
    `Connection ${name} requires approval, so changing what its verification sends requires the admin role.`,
  );
}

/** Thrown if a run needs approval for what it does with a connection. */
export class ApprovalNeeded extends Error {
  override readonly name = "ApprovalNeeded";
  readonly request: DecisionRequest;
  constructor(request: DecisionRequest) {
    super("The run needs approval.");
    this.request = request;
  }
}

interface Use {
  runId: string;
  kind: string;
  definition: JsonObject;
  purpose: Purpose;
}

/**
 * Throws `ApprovalNeeded` unless exactly this use of the connection was approved for this run: its definition with all
 * templates filled in, at the address that the connection has now.
 */
export async function requireApproval(ctx: Context, row: ConnectionRow, use: Use): Promise<void> {
  const { runId, kind, definition, purpose } = use;
  const { id, provider, config } = row;
  const request = {
    kind,
    definition,
    purpose,
    connection: { id, provider, config, template: row.definition },
  };
  const hash = Bun.SHA256.hash(canonicalJson(request as unknown as JsonObject), "hex");
  if (await isApproved(ctx, runId, hash)) return;
  if (measure(definition, MAX_APPROVED_CHARACTERS) > MAX_APPROVED_CHARACTERS) {
    const message = `The definition is too long for an approval: more than ${MAX_APPROVED_CHARACTERS} characters.`;
    throw new AppError("definition_invalid", message);
  }
  throw new ApprovalNeeded({
    title: `Use connection ${row.name} (${kind})?`.slice(0, 255),
    description: `Connection ${row.name} requires approval for ${row.approvalRequired === "all" ? "every use" : "writes"}.`,
    decisionType: "approve_reject",
    formSchema: null,
    context: { connectionId: id, connection: row.name, provider, kind, purpose, definition, hash },
    assignedTo: null,
    expiresInSeconds: null,
    onReject: "fail",
    onExpire: "fail",
  });
}

async function isApproved(ctx: Context, runId: string, hash: string): Promise<boolean> {
  const rows = await ctx.db
    .select({ context: decisions.context })
    .from(decisions)
    .where(
      and(
        eq(decisions.subjectId, runId),
        eq(decisions.organizationId, ctx.organizationId),
        eq(decisions.status, "decided"),
        eq(decisions.decisionValue, "approved"),
      ),
    );
  return rows.some(({ context }) => context?.hash === hash);
}
