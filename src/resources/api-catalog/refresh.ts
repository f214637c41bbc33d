import { AppError } from "../../base/errors.ts";
import { withoutSecrets } from "../../base/hide.ts";
import { within } from "../../base/within.ts";
import type { ToolDefinition } from "../../catalog/contract.ts";
import { toolHash } from "../../catalog/tools.ts";
import type { Context } from "../../context.ts";
import { authorityOf } from "../../executors/http/send.ts";
import { openMcp } from "../../mcp/client.ts";
import { declineAll } from "../../mcp/questions.ts";
import { signInAuthority } from "../catalog-sign-ins/authority.ts";
import { holdTools } from "./drift.ts";
import { findApi, findWhole } from "./find.ts";
import { accessFor } from "./reach.ts";
import type { WholeApi } from "./wire.ts";

const BUDGET_MS = 30_000;

/**
 * Queries an MCP server's tools and compares them with those of the entry. New ones are returned, but not added. Throws
 * `invalid_state` for an HTTP API, and what the MCP client throws.
 */
export async function refreshApi(
  ctx: Context,
  id: string,
  signal: AbortSignal,
): Promise<{ api: WholeApi; added: (ToolDefinition & { definitionHash: string })[]; warnings: string[] }> {
  const row = await findApi(ctx, id);
  if (row.type !== "mcp" || row.url === null || row.transport === null)
    throw new AppError(
      "invalid_state",
      `${row.name} is an HTTP API; only MCP servers are asked for their tools.`,
    );
  const limited = within(BUDGET_MS, new URL(row.url).host, signal);
  const access = await accessFor(ctx, row.connectionId, { signal: limited, purpose: "verify" });
  const authority = access ? authorityOf(access) : signInAuthority(ctx, { url: row.url, entryId: row.id });
  try {
    const client = await openMcp({
      url: row.url,
      transport: row.transport,
      egress: ctx.egress,
      signal: limited,
      authority,
      answer: declineAll,
    });
    try {
      const { tools, warnings } = await client.listTools();
      await holdTools(ctx, id, tools);
      const api = await findWhole(ctx, id);
      const known = new Set(api.items.map(({ name }) => name));
      const added = tools.filter(({ upstreamName }) => !known.has(upstreamName));
      return { api, added: added.map((tool) => ({ ...tool, definitionHash: toolHash(tool) })), warnings };
    } finally {
      await client.close();
    }
  } catch (error) {
    throw withoutSecrets(error, authority.secrets());
  }
}
