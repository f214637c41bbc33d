import type { JsonObject } from "../base/json.ts";
import { asksForMore } from "./declined.ts";
import { LIST_PATIENCE, type Patience } from "./limits.ts";
import { headerText } from "./param-headers.ts";
import { answerTo, capabilitiesOf } from "./questions.ts";
import {
  HEADER_MISMATCH,
  METHOD_NOT_FOUND,
  MISSING_CAPABILITY,
  rpcFailure,
  statusFailure,
  UNSUPPORTED_VERSION,
} from "./rpc.ts";
import { watchOver } from "./watch.ts";
import {
  type Answer,
  CLIENT,
  hostOf,
  type McpServer,
  type McpWire,
  noAnswer,
  OtherEra,
  post,
  supportedIn,
} from "./wire.ts";

export const MODERN_VERSION = "2026-07-28";

const metaOf = (server: McpServer): JsonObject => ({
  "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
  "io.modelcontextprotocol/clientInfo": CLIENT,
  "io.modelcontextprotocol/clientCapabilities": capabilitiesOf(server),
});

/**
 * Maximum number of times that a request is sent: for a server that asks again after a rejection, or after answers.
 */
const MAX_ROUNDS = 3;
const MAX_ANSWERED_ROUNDS = 12;

/** Revision 2026-07-28: no session, each request is self-contained. */
export function modernWire(server: McpServer): McpWire {
  const host = hostOf(server);
  const declined: string[] = [];
  let lastId = 0;
  return {
    era: "modern",
    declined,
    async request(method, params, patience, headers = {}) {
      let answers: JsonObject = {};
      for (let round = 1; ; round++) {
        const answer = await exchange(server, ++lastId, method, { ...params, ...answers }, patience, headers);
        const { status, message } = answer;
        if (message?.kind === "error") throw rpcFailure(host, method, message.error);
        if (message?.kind !== "result") {
          if (status >= 300) throw statusFailure(host, status, answer.headers.get("www-authenticate"));
          throw noAnswer(server, method);
        }
        const { resultType = "complete" } = message.result;
        if (resultType === "complete") return message.result;
        answers = answerTo(server, method, message.result, declined);
        if (round >= (server.answer === undefined ? MAX_ROUNDS : MAX_ANSWERED_ROUNDS))
          throw asksForMore(host, method, declined);
      }
    },
    close: async () => undefined,
  };
}

/** Asks the server for its revision. Throws `OtherEra` for an older one, `upstream` if it can't be used. */
export async function probeModern(server: McpServer, patience: Patience = LIST_PATIENCE): Promise<void> {
  const { status, headers, message } = await exchange(server, 0, "server/discover", {}, patience, {});
  if (message?.kind === "result") {
    const { supportedVersions: versions } = message.result;
    if (Array.isArray(versions) && versions.includes(MODERN_VERSION)) return;
    throw new OtherEra(); // some older servers answer any request
  }
  const host = hostOf(server);
  const code = message?.kind === "error" ? message.error.code : null;
  if (message?.kind === "error") {
    if (code === UNSUPPORTED_VERSION) throw new OtherEra(supportedIn(message.error));
    if (code === HEADER_MISMATCH || code === MISSING_CAPABILITY)
      throw rpcFailure(host, "server/discover", message.error);
    if (code === METHOD_NOT_FOUND && status === 404) return; // of this revision, but without `server/discover`
  }
  if (status === 401 || status === 403 || status >= 500 || status === 429)
    throw statusFailure(host, status, headers.get("www-authenticate"));
  throw new OtherEra();
}

async function exchange(
  server: McpServer,
  id: number,
  method: string,
  params: JsonObject,
  patience: Patience,
  own: Record<string, string>,
): Promise<Answer> {
  const watch = watchOver(server.signal, patience, hostOf(server));
  const { name } = params;
  try {
    return await post(server, {
      url: server.url,
      body: { jsonrpc: "2.0", id, method, params: { ...params, _meta: metaOf(server) } },
      headers: {
        "mcp-protocol-version": MODERN_VERSION,
        "mcp-method": method,
        ...(typeof name === "string" ? { "mcp-name": headerText(name) } : {}),
        ...own,
      },
      watch,
    });
  } catch (error) {
    throw watch.signal.aborted ? watch.signal.reason : error;
  } finally {
    watch.close();
  }
}
