import type { Trigger } from "../queue/enqueue.ts";
import type { Identity } from "./identity.ts";

/** How a request sets work off: by the page, by the command line, or by another program (docs/decisions/runs.md). */
export const triggerOf = (identity: Identity): Trigger => ({
  method: identity.carrier === "cookie" ? "ui" : identity.clientType === "cli" ? "cli" : "api",
  sourceType: identity.kind === "api_key" ? "api_key" : "user",
  sourceId: identity.kind === "api_key" ? identity.credentialId : identity.userId,
});
