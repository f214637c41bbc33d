import { and, desc, eq, gt, inArray } from "drizzle-orm";
import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { timestamp } from "../base/clock.ts";
import { AppError, type Fault, InvalidInput } from "../base/errors.ts";
import { storedJson } from "../base/json.ts";
import { writeCanonical, writeJson } from "../base/json-write.ts";
import { slot } from "../base/memory.ts";
import { type Context, type WriteContext, write } from "../context.ts";
import { Reply } from "./operation.ts";

export const idempotencyKeys = sqliteTable(
  "idempotency_keys",
  {
    organizationId: text().notNull(),
    actorId: text().notNull(),
    key: text().notNull(),
    requestHash: text().notNull(),
    status: integer().notNull(),
    /** The response as JSON; encrypted if it contains a secret. */
    reply: text().notNull(),
    createdAt: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.organizationId, t.actorId, t.key] })],
);

/** How long a key is stored (docs/decisions/http-conventions.md). */
const LIFETIME_MS = 24 * 60 * 60 * 1000;

/** Label for encrypting a response with a secret. */
export const replyLabel = (row: { organizationId: string; actorId: string; key: string }) =>
  `idempotency:${row.organizationId}:${row.actorId}:${row.key}`;

interface Request {
  method: string;
  path: string;
  body: unknown;
  /** Scopes of a restricted access token. */
  scopes?: readonly string[];
}

/** How the reply is stored. */
interface Kind {
  status: number;
  isSealed: boolean;
}

/** The running request of each key. */
const UNDER_WAY = slot(() => new Map<string, Promise<unknown>>());

/**
 * Does work with its own transactions once for each key. Its reply is stored at the end,
 * so that a request with the same key resumes what a kill interrupted. Concurrent requests wait for that reply.
 */
export async function onceAtEnd(
  ctx: Context,
  key: string,
  request: Request,
  kind: Kind,
  work: () => Promise<unknown>,
): Promise<Reply> {
  const underWay = ctx.memory.of(UNDER_WAY);
  const name = replyLabel({ organizationId: ctx.organizationId, actorId: ctx.actor.id, key });
  const own = () => keepAtEnd(ctx, key, request, kind, work);
  const reply = (underWay.get(name) ?? Promise.resolve()).then(own, own);
  underWay.set(name, reply);
  try {
    return await reply;
  } finally {
    if (underWay.get(name) === reply) underWay.delete(name);
  }
}

async function keepAtEnd(
  ctx: Context,
  key: string,
  request: Request,
  kind: Kind,
  work: () => Promise<unknown>,
): Promise<Reply> {
  const isNew = new Error("No response is stored for this key.");
  try {
    return await once(ctx, key, request, kind, () => Promise.reject(isNew));
  } catch (error) {
    if (error !== isNew) throw error;
  }
  const body = await work();
  return once(ctx, key, request, kind, async () => body);
}

/** Returns the error of an invalid key. */
export const keyFaults = (key: string | null): Fault[] =>
  key === null || /^[\x21-\x7e]{1,255}$/.test(key)
    ? []
    : [
        {
          loc: ["header", "Idempotency-Key"],
          msg: "Input should be 1 to 255 visible ASCII characters",
          type: "string_pattern_mismatch",
        },
      ];

/**
 * Does `work` and stores its reply under `key`, in one transaction. A repeated request gets the stored reply.
 * A reply with a secret is stored encrypted. Throws `idempotency_mismatch` if the key was used for another request.
 */
export async function once(
  ctx: Context,
  key: string,
  request: Request,
  { status, isSealed }: Kind,
  work: (tx: WriteContext) => Promise<unknown>,
): Promise<Reply> {
  const faults = keyFaults(key);
  if (faults.length > 0) throw new InvalidInput(faults);
  const hash = new Bun.CryptoHasher("sha256").update(await writeCanonical(request)).digest("hex");
  const label = replyLabel({ organizationId: ctx.organizationId, actorId: ctx.actor.id, key });
  const ofActor = and(eq(idempotencyKeys.actorId, ctx.actor.id), eq(idempotencyKeys.key, key));
  const mine = and(eq(idempotencyKeys.organizationId, ctx.organizationId), ofActor);
  // a user's first request may create the organization that the repeated request then has
  const known = and(inArray(idempotencyKeys.organizationId, [ctx.organizationId, ""]), ofActor);
  return write(ctx, async (tx) => {
    const [kept] = await tx.db
      .select()
      .from(idempotencyKeys)
      .where(and(known, gt(idempotencyKeys.createdAt, timestamp(tx.clock, -LIFETIME_MS))))
      .orderBy(desc(idempotencyKeys.organizationId))
      .limit(1);
    if (kept) {
      if (kept.requestHash !== hash) {
        throw new AppError(
          "idempotency_mismatch",
          "This Idempotency-Key was already used with a different request. Use a new key.",
        );
      }
      const text = isSealed ? tx.secrets.open(kept.reply, replyLabel(kept)) : kept.reply;
      return new Reply(kept.status, storedJson(text), { "idempotency-replayed": "true" });
    }
    const body = await work(tx);
    const text = await writeJson(body);
    await tx.db.delete(idempotencyKeys).where(mine); // expired
    await tx.db.insert(idempotencyKeys).values({
      organizationId: tx.organizationId,
      actorId: tx.actor.id,
      key,
      requestHash: hash,
      status,
      reply: isSealed ? tx.secrets.seal(text, label) : text,
      createdAt: timestamp(tx.clock),
    });
    return new Reply(status, body);
  });
}
