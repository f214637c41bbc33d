import { AppError } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { type QueryReply, query, type ShopifySession } from "./client.ts";
import { type GraphError, missingScope, scopeIn } from "./failure.ts";
import { type Field, type Resource, snakeCase } from "./resources.ts";

/** One resource being read. */
export interface Reading {
  session: ShopifySession;
  resource: Resource;
  fields: readonly Field[];
  /** See `LeftOut`. */
  leftOut: Set<string>;
  /** Objects per page, reduced if Shopify finds the query too costly. */
  pageSize: number;
}

/**
 * Sends a query; if it is too costly, with smaller pages, and without fields that the API version lacks or the token
 * may not read, which adds a warning. `at` is the path of the object that the query's root returns. Throws `upstream`
 * if the resource itself may not be read.
 */
export async function askAdapting(
  reading: Reading,
  make: () => { text: string; variables: JsonObject },
  at = "",
): Promise<QueryReply> {
  for (;;) {
    const { text, variables } = make();
    try {
      const reply = await query(reading.session, text, variables);
      const hasData = isObject(Object.values(reply.data)[0]);
      let isNew = false;
      for (const error of reply.denied) isNew = leaveOut(reading, error, at, hasData) || isNew;
      if (hasData || !isNew) return reply;
    } catch (error) {
      if (!(error instanceof AppError) || !adapt(reading, error)) throw error;
    }
  }
}

/** True if the next query is different. */
function leaveOut(
  { session, resource, leftOut }: Reading,
  error: GraphError,
  at: string,
  hasData: boolean,
): boolean {
  const scope = scopeIn(error);
  const below = error.path.slice(1).join(".");
  const path = at === "" || below === "" ? below : `${at}.${below}`;
  const needs = scope ? `: missing scope ${scope}` : "";
  if (path === "" && hasData) {
    session.link.warn?.(`This access token can't read all of ${resource.name}${needs}.`, { isPartial: true });
    return false;
  }
  if (path === "" || (leftOut.has(path) && !hasData)) {
    throw missingScope(resource.name, scope ?? resource.scope, error);
  }
  const name = path.split(".").map(snakeCase).join(".");
  session.link.warn?.(`This access token can't read ${name}${needs}. The column stays empty.`);
  leftOut.add(path);
  return true;
}

function adapt(reading: Reading, { details }: AppError): boolean {
  const { leftOut, session } = reading;
  const { reason, field, excess } = details ?? {};
  if (reason === "query_too_costly" && reading.pageSize > 1) {
    const size = Math.floor(reading.pageSize / (typeof excess === "number" ? excess : 2));
    reading.pageSize = Math.max(1, Math.min(reading.pageSize - 1, size));
    return true;
  }
  if (reason !== "unknown_field" || typeof field !== "string" || leftOut.has(field)) return false;
  leftOut.add(field);
  session.link.warn?.(`This version of Shopify's API has no ${field}. The column stays empty.`);
  return true;
}
