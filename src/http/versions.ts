import { AppError } from "../base/errors.ts";
import { canonicalJson, isObject, type Json } from "../base/json.ts";
import type { App, Context, WriteContext } from "../context.ts";
import { type Operation, Reply, type Visit } from "./operation.ts";

/** The last part of the path of a single thing. */
const SINGLE = /\/(\{\w+\}|current|me|draft|layout)$/;

/** Reads the thing that an operation changes; undefined where it is none that can be read by itself. */
export type Sibling = (operation: Operation) => Operation | undefined;

/** Groups `operations` by path, so that the one that reads a resource is with those that change it. */
export function siblingsOf(operations: readonly Operation[]): Sibling {
  const readers = new Map(
    operations
      .filter(({ method, path, response }) => method === "GET" && response !== undefined && SINGLE.test(path))
      .map((operation) => [operation.path, operation]),
  );
  return ({ path }) => readers.get(path);
}

/**
 * The tag of a thing as it is: of the instant at which people last changed it where it tells that, so that what only
 * the server changes in it, such as its latest run, does not make another.
 */
export function tagOf(body: unknown): string | null {
  if (!isObject(body)) return null;
  const { id, updatedAt, status } = body;
  const text = typeof updatedAt === "string" ? `${id} ${updatedAt} ${status}` : canonicalJson(body as Json);
  return `"${Bun.SHA256.hash(text, "hex").slice(0, 32)}"`;
}

const listed = (header: string) => header.split(",").map((tag) => tag.trim().replace(/^W\//, ""));

export const isListed = (header: string, tag: string): boolean =>
  header.trim() === "*" || listed(header).includes(tag);

interface Request {
  reader: Operation;
  visit: Visit;
  identity: object;
  params: object;
}

/**
 * Checks `If-Match` of a change: at once, and again in the transaction that makes it, so that of two changes of the same
 * state one is made. Throws `changed_meanwhile`.
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
    const tag = tagOf(reply instanceof Reply ? reply.body : reply);
    if (tag === null || !isListed(wanted, tag)) throw changed();
  };
  await check(ctx);
  return { ...ctx, precondition: (tx: WriteContext) => check(tx) };
}

const changed = () =>
  new AppError(
    "changed_meanwhile",
    "This was changed since you read it. Read it again and repeat your change.",
  );
