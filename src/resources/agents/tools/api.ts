import { AppError } from "../../../base/errors.ts";
import type { Json } from "../../../base/json.ts";
import { enqueueRun } from "../../../queue/enqueue.ts";
import { callCatalogTool, listCatalogTools } from "../../api-catalog/tools.ts";
import { refuseViewers, runToEnd, triggerOf } from "./child.ts";
import type { ToolSource } from "./contract.ts";

const MAX_DESCRIPTION_CHARACTERS = 1024;

/**
 * The endpoints or tools of one API in the catalog, by its name.
 * A call is a run of `http_request`, sent only if the definition is the same as when the agent was opened.
 * If an admin requires approval for each call, the call needs no second one, since the chat has already asked for it.
 */
export const apiTool: ToolSource = {
  async open(ctx, named, agent) {
    const tools = await listCatalogTools(ctx, named);
    if (tools.length === 0)
      throw new AppError("not_found", `${named} isn't in the API catalog, or has nothing that can be called`);
    return tools.map((tool) => ({
      name: tool.name,
      description: `Of the API ${tool.apiName}: ${tool.description}`.slice(0, MAX_DESCRIPTION_CHARACTERS),
      inputSchema: tool.inputSchema,
      approvalRequired: tool.approvalRequired || tool.writes,
      fingerprint: tool.fingerprint,
      waitsForRun: true,
      async call({ id, input, signal, isApproved }) {
        if (tool.approvalRequired) {
          refuseViewers(ctx);
          const approvedFingerprint = isApproved ? tool.fingerprint : null;
          const reply = await callCatalogTool(ctx, tool, { id, input, signal, approvedFingerprint });
          return reply as unknown as Json;
        }
        const definition = {
          api: { ...tool.reference, arguments: input, fingerprint: tool.fingerprint },
        };
        return runToEnd(
          ctx,
          (tx) =>
            enqueueRun(tx, {
              kind: "http_request",
              definition,
              isResolved: true,
              trigger: triggerOf(ctx, agent),
              idempotencyKey: id,
            }),
          signal,
        );
      },
    }));
  },
};
