import { AppError, invalid } from "../../base/errors.ts";
import { canonicalJson, type Json } from "../../base/json.ts";
import { addressKey } from "../../catalog/addresses.ts";
import type { EndpointDefinition, ReadApi } from "../../catalog/contract.ts";
import { uniqueNames } from "../../catalog/names.ts";
import { apiReader } from "../../catalog/reader.ts";
import type { Context } from "../../context.ts";
import { findByAddress, findWhole } from "./find.ts";
import { readProse } from "./prose.ts";
import type { EntryImportResult, ImportRequest, ImportResult } from "./wire-import.ts";

/**
 * Extracts an API from a text. Writes nothing. Only prose needs a model. Throws `InvalidInput` for content of another
 * type than stated, and `llm_not_configured` for prose if there is no model.
 */
export async function importContent(
  ctx: Context,
  input: ImportRequest,
  signal: AbortSignal,
): Promise<ImportResult> {
  const { title: _, ...read } = await readApi(ctx, input, signal);
  const existingApi =
    read.baseUrl === null ? null : await findByAddress(ctx, "http", addressKey(read.baseUrl));
  return { ...read, existingApi };
}

async function readApi(
  ctx: Context,
  { content, contentType, baseUrl = null }: ImportRequest,
  signal: AbortSignal,
): Promise<ReadApi> {
  let read: ReadApi | null;
  try {
    read = await apiReader(ctx.self, signal, ctx.organizationId).content(content, contentType, baseUrl);
  } catch (error) {
    if (error instanceof AppError && error.code === "bad_request")
      throw invalid(["body", "content"], error.message, "content_invalid");
    throw error;
  }
  return read ?? readProse(ctx, content, baseUrl, signal);
}

/** Number of endpoints compared without yielding. */
const TOGETHER = 20;

/**
 * Extracts an API from a text and compares it with an entry: what is new, changed and gone. Throws `invalid_state` for
 * an MCP server.
 */
export async function importInto(
  ctx: Context,
  id: string,
  input: ImportRequest,
  signal: AbortSignal,
): Promise<EntryImportResult> {
  const { row, items } = await findWhole(ctx, id);
  if (row.type !== "http")
    throw new AppError("invalid_state", `${row.name} is an MCP server; refresh asks it for its tools.`);
  const { baseUrl = row.baseUrl, ...rest } = input;
  const read = await importContent(ctx, { ...rest, baseUrl }, signal);
  const known = items.map((item) => item.definition as EndpointDefinition);
  const byRoute = new Map(known.map((endpoint) => [routeKey(endpoint), endpoint]));
  const unique = uniqueNames();
  for (const { name } of known) unique(name);
  const found = new Set<string>();
  const added: EndpointDefinition[] = [];
  const changed: EndpointDefinition[] = [];
  for (const [at, endpoint] of read.endpoints.entries()) {
    if (at % TOGETHER === 0) await Bun.sleep(0); // Schemas are long: other requests get their turn.
    const key = routeKey(endpoint);
    found.add(key);
    const own = byRoute.get(key);
    if (!own) added.push({ ...endpoint, name: unique(endpoint.name) });
    else if (differs(own, endpoint)) changed.push({ ...endpoint, name: own.name });
  }
  const removed = known.filter((endpoint) => !found.has(routeKey(endpoint)));
  return {
    ...read,
    endpoints: added,
    diff: { added: added.map(routeOf), changed, removed: removed.map(routeOf) },
  };
}

/** Names of placeholders don't matter. */
const routeKey = ({ method, path }: EndpointDefinition) => `${method} ${path.replace(/\{[^{}/]*\}/g, "{}")}`;

const routeOf = ({ name, method, path }: EndpointDefinition) => ({ name, method, path });

/** Compares what a call sends, its description, and how its rows are read. */
function differs(own: EndpointDefinition, other: EndpointDefinition): boolean {
  const shown = ({
    description,
    headers,
    queryTemplate,
    bodyTemplate,
    inputSchema,
    path,
    listing = null,
  }: EndpointDefinition) =>
    canonicalJson({
      description,
      headers,
      queryTemplate,
      bodyTemplate,
      inputSchema,
      path,
      listing,
    } as unknown as Json);
  return shown(own) !== shown(other);
}
