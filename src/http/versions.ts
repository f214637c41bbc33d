import { AppError } from "../base/errors.ts";
import { canonicalJson, isObject, type Json } from "../base/json.ts";
import { isSinglePath, readPathOf } from "../base/single-path.ts";
import type { App, Context, WriteContext } from "../context.ts";
import { type Operation, Reply, type Visit } from "./operation.ts";

export interface Siblings {
  /**
   * Returns the operation that reads the resource that `operation` changes. Undefined if it can't be read by itself.
   */
  readerOf(operation: Operation): Operation | undefined;
  /** True if the response is the resource as its reader returns it. */
  isTagged(operation: Operation): boolean;
}

export const NO_SIBLINGS: Siblings = { readerOf: () => undefined, isTagged: () => false };

/** Groups `operations` by path, so that the one that reads a resource is with those that create and change it. */
export function siblingsOf(operations: readonly Operation[]): Siblings {
  const readers = new Map(
    operations
      .filter(
        ({ method, path, response }) => method === "GET" && response !== undefined && isSinglePath(path),
      )
      .map((operation) => [operation.path, operation]),
  );
  const inList = new Map([...readers].map(([path, reader]) => [path.replace(/\/\{\w+\}$/, ""), reader]));
  const readerOf = ({ path, guards }: Operation) => readers.get(guards ?? readPathOf(path));
  const isCreated = ({ method, path, status, response }: Operation) =>
    method === "POST" && status === 201 && inList.get(path)?.response === response;
  const isChanged = (operation: Operation) => !operation.guards && readerOf(operation) !== undefined;
  return { readerOf, isTagged: (operation) => isChanged(operation) || isCreated(operation) };
}

const HALF = 16;
const half = (text: string) => Bun.SHA256.hash(text, "hex").slice(0, HALF);

/**
 * First half of an ETag: identifies the last change by people, where the resource has `updatedAt`. Changes by the
 * server alone, such as its latest run, don't cause conflicts. Two changes never have the same time (`timestampAfter`).
 */
function stateOf(body: unknown): string | null {
  if (!isObject(body)) return null;
  const { id, updatedAt, status } = body;
  const isDated = typeof id === "string" && typeof updatedAt === "string";
  return half(isDated ? `${id} ${updatedAt} ${status}` : canonicalJson(body as Json));
}

/** Returns the ETag of a resource, and of what its response contains. */
export function tagOf(body: unknown, text: string): string | null {
  const state = stateOf(body);
  return state === null ? null : `"${state}${half(text)}"`;
}

const listed = (header: string) => header.split(",").map((tag) => tag.trim().replace(/^W\//, ""));

export const isListed = (header: string, tag: string): boolean =>
  header.trim() === "*" || listed(header).includes(tag);

const isOfState = (header: string, state: string): boolean =>
  header.trim() === "*" ||
  listed(header).some((tag) => tag.length === 2 * HALF + 2 && tag.startsWith(`"${state}`));

interface Request {
  reader: Operation;
  visit: Visit;
  identity: object;
  params: object;
}

/**
 * Checks `If-Match` of a change: immediately, and again in its transaction,
 * so that only one of two changes of the same state succeeds. Throws `changed_meanwhile`.
 */
export async function guarded(
  app: App,
  ctx: Context,
  wanted: string,
  { reader, visit, identity, params }: Request,
): Promise<Context> {
  const handle = reader.handle as unknown as (input: object) => Promise<unknown>;
  const check = async (at: Context) => {
    const reply = await handle({ app, ctx: at, visit, identity, params, query: {}, body: undefined });
    const state = stateOf(reply instanceof Reply ? reply.body : reply);
    if (state === null || !isOfState(wanted, state)) throw changed();
  };
  await check(ctx);
  const precondition = async (tx: WriteContext) => {
    await ctx.precondition?.(tx);
    await check(tx);
  };
  return { ...ctx, precondition };
}

const changed = () =>
  new AppError(
    "changed_meanwhile",
    "This was changed since you read it. Read it again and repeat your change.",
  );
