import type { Trigger } from "../queue/enqueue.ts";
import type { Identity } from "./identity.ts";

/** Origin of a request that starts work: the page, the command line, or another program (docs/decisions/runs.md). */
export const triggerOf = (identity: Identity): Trigger => ({
  method: identity.carrier === "cookie" ? "ui" : identity.clientType === "cli" ? "cli" : "api",
  sourceType: identity.kind === "api_key" ? "api_key" : "user",
  sourceId: identity.kind === "api_key" ? identity.credentialId : identity.userId,
});
