import type { Clock } from "./base/clock.ts";
import { timestamp, timestampAfter } from "./base/clock.ts";
import type { Egress } from "./base/egress.ts";
import type { AppError } from "./base/errors.ts";
import type { Ids } from "./base/ids.ts";
import type { Json, JsonObject } from "./base/json.ts";
import type { Limiter } from "./base/limit.ts";
import type { Log } from "./base/log.ts";
import type { Memory } from "./base/memory.ts";
import type { OpenIdProvider } from "./base/openid.ts";
import type { Semaphore } from "./base/semaphore.ts";
import type { Signals } from "./base/signals.ts";
import type { Scope as TemplateScope } from "./base/template.ts";
import type { Tracer } from "./base/trace.ts";
import type { StoredResult } from "./base/whole-scope.ts";
import type { Charts } from "./charts/contract.ts";
import type { Compute } from "./compute/contract.ts";
import type { Config } from "./config.ts";
import type { SecretBox } from "./crypto/secretbox.ts";
import type { Executors, WaitKind, Waits } from "./executors/contract.ts";
import type { Away } from "./lake/away.ts";
import type { BlobStore, Lake } from "./lake/contract.ts";
import type { Mailer } from "./mail/contract.ts";
import type { Models } from "./models/contract.ts";
import type { Providers } from "./providers/contract.ts";
import type { Reader } from "./reader/contract.ts";
import type { Scope } from "./resources/access-tokens/table.ts";
import type { AutomationRunRow, ItemsState } from "./resources/automations/table.ts";
import type { DeliveryRow } from "./resources/inbound/table.ts";
import type { Role } from "./resources/organizations/table.ts";
import type { RunRow } from "./resources/runs/table.ts";
import type { Scripts } from "./scripts/contract.ts";
import type { Search } from "./search/contract.ts";
import type { Sheets } from "./sheets/contract.ts";
import type { Sql } from "./sql/contract.ts";
import type { Peers } from "./store/peers.ts";
import type { ReadDb, Store, WriteDb } from "./store/store.ts";
import { version } from "./version.ts";

/** Slow conditions and lists of a transaction that advances an automation run. */
interface DecidedWhens {
  /** What is left of the time that the conditions may take together. */
  leftMs: number;
  /** By a hash of the expression and what it sees. */
  results: Map<string, Json | AppError>;
}

/** What the queue of runs hands to those above it: changes of state, in the same transaction, and questions. */
export interface RunFollowers {
  /** Reads the automation runs of steps without items for `ended`, by id, to share a round trip with other statements. */
  open(tx: Pick<WriteContext, "db">, runs: readonly RunRow[]): Promise<ReadonlyMap<string, OpenRun>>;
  /** The runs of steps of one automation run have ended. `open` is that automation run if it was read before. */
  ended(tx: WriteContext, runs: readonly RunRow[], open?: OpenRun | null): Promise<void>;
  /** The run of a step waits for something else than a worker or time. */
  waits(tx: WriteContext, run: RunRow): Promise<void>;
  /** The run of a step is queued again. */
  resumed(tx: WriteContext, run: RunRow): Promise<void>;
  /** An automation run has finished. */
  automationEnded(tx: WriteContext, run: AutomationRunRow): void;
  /** The names that the templates of a step's run see, with long results apart. Throws `gone` for a deleted one. */
  stepScope(
    ctx: App & { db: ReadDb },
    run: RunRow,
  ): Promise<{ scope: TemplateScope; kept: readonly StoredResult[]; bulk?: ItemsState }>;
  /** What runs can wait for. */
  readonly waitServices: { readonly [K in WaitKind]: WaitService<Waits[K]> };
}

/** An unfinished automation run with its config and the state of its webhook delivery. */
export interface OpenRun {
  readonly run: AutomationRunRow;
  /** Null for a test run, whose config is stored elsewhere. */
  readonly config: JsonObject | null;
  readonly delivery: Pick<DeliveryRow, "id" | "attempts" | "isKept" | "replayOf"> | null;
}

/** One thing that runs wait for; `run.waitId` is the id that it has to have. */
interface WaitService<Request> {
  /** Sets it up. It may end the run at once. An `AppError` fails the run. */
  begin(tx: WriteContext, run: RunRow, request: Request): Promise<void>;
  /** The run was cancelled, and nothing waits for it any longer. */
  abandon(tx: WriteContext, id: string): Promise<void>;
}

/** What one process has. Built once, in `app.ts`; nothing else is global. */
export interface App {
  readonly config: Config;
  /** Where links and webhook addresses start, without a slash at the end; known once the server listens. */
  readonly baseUrl: () => string;
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Where spans of OpenTelemetry go. */
  readonly tracer: Tracer;
  readonly secrets: SecretBox;
  readonly egress: Egress;
  /** The way out of an organization, with the private addresses that an operator allows it. */
  readonly egressFor: (organizationId: string) => Egress;
  /** The operator's language model; most take it by `modelFor` of resources/usage, which counts. */
  readonly models: Models;
  /** What Slack signs its requests with, and what it lets a bot answer with; null where that is not set up. */
  readonly slack: { readonly signingSecret: string | null; readonly botToken: string | null };
  /** Null where people sign in with passwords alone. */
  readonly openid: OpenIdProvider | null;
  /** Null where no mail server is set: then nothing is mailed. */
  readonly mailer: Mailer | null;
  readonly sql: Sql;
  readonly compute: Compute;
  /** What conditions of steps came to that were decided before their transaction, by what that decides. */
  readonly decidedWhens: Map<string, DecidedWhens>;
  /** Long payloads that were parsed before the transaction that needs them, by their text. */
  readonly openedPayloads: Map<string, Json>;
  /** MiB of what outside systems have sent and runs still hold, of all runs together. */
  readonly room: Semaphore;
  readonly charts: Charts;
  readonly reader: Reader;
  readonly sheets: Sheets;
  readonly scripts: Scripts;
  /** The operator's search engine. */
  readonly search: Search;
  readonly lake: Lake;
  readonly signals: Signals;
  /** What parts of the process keep in memory. */
  readonly memory: Memory;
  readonly limiter: Limiter;
  readonly providers: Providers;
  readonly executors: Executors;
  readonly runFollowers: RunFollowers;
  /** Where scheduled backups go; null: they stay in the data directory. */
  readonly away: Away | null;
  /** Absolute path, with one directory per organization. */
  readonly filesFolder: string;
  /** Where large artifacts lie, by organization. */
  readonly artifacts: BlobStore;
  /** Absolute; this process's alone. */
  readonly scratchFolder: string;
  /** The command that starts this same program. */
  readonly self: readonly string[];
  /** Names this process among those that share or shared the store. */
  readonly bootId: string;
  /** The other processes on the store; null where no other can have it. */
  readonly peers: Peers | null;
  /** Aborts when the process is asked to end: it counts as not ready, and takes in nothing new. */
  readonly stopping: AbortSignal;
  /** Aborts when the grace period is over: streams and waits end. */
  readonly closing: AbortSignal;
}

/** Who does it. A user carries email, IP and user agent; an API key its IP; system its process and version. */
export interface Actor {
  type: "user" | "system" | "automation" | "api";
  id: string;
  email?: string | null;
  ip?: string | null;
  userAgent?: string | null;
  process?: string;
  version?: string;
}

/** What one piece of work has: the process, seen from one organization, on behalf of one actor. */
export interface Context extends App {
  readonly db: ReadDb;
  readonly organizationId: string;
  readonly actor: Actor;
  /** The actor's role at this moment; work without a person has the role of who set it up. */
  readonly role: Role;
  /** Shared by every event that one outside cause leads to. */
  readonly correlationId: string;
  /** True where the credential acts in this organization alone. */
  readonly isConfined?: boolean | undefined;
  /** Of the access token of the request; null or absent: all. */
  readonly scopes?: readonly Scope[] | null | undefined;
  /** The user whose private chat this work is for. What it starts is private too. */
  readonly privateTo?: string | null | undefined;
  /** What has to hold when the work's first transaction begins; throws otherwise. */
  readonly precondition?: ((tx: WriteContext) => Promise<void>) | undefined;
  /** The chain of the request that cancels something of this chain; absent otherwise. */
  readonly requestCorrelationId?: string | undefined;
}

/** A context inside a write transaction. Functions that change rows ask for this one. */
export interface WriteContext extends Context {
  readonly db: WriteDb;
  readonly writing: true;
  /** The store's `group`: values cached by it are valid for this transaction. */
  readonly group: object;
  /** What this transaction adds to the audit trail: rows that are written together at its end. */
  readonly trail: Trail;
  /** Automation runs that this transaction has ended early, by id: what was read of them before is out of date. */
  readonly endedEarly: Set<string>;
  /** Runs `next` inside the transaction after the current work; only the first of each `key`. */
  afterWork(key: string, next: () => Promise<unknown>): void;
  /** Runs `last` inside the transaction, when all of its work is done. */
  beforeCommit(last: () => Promise<void>): void;
  /** Runs `effect` once the transaction is durable, and never when it is not. */
  afterCommit(effect: () => void): void;
}

/** The newest end of an organization's chain. */
export interface TrailHead {
  /** Number of events up to it. */
  readonly count: number;
  readonly hash: string;
  /** False once the stored head could not be authenticated: nothing that follows is authenticated then. */
  readonly isAuthentic: boolean;
}

/** Events on their way into the store, and the head of each organization's chain with them. */
interface Trail {
  readonly rows: object[];
  readonly heads: Map<string, TrailHead>;
  /** The heads as the works before this one in the same transaction have left them. */
  readonly before: ReadonlyMap<string, TrailHead>;
}

const headsByGroup = new WeakMap<object, Map<string, TrailHead>>();

/** Runs `work` in a transaction, or in the one that `ctx` is already in. Keep network calls out of it. */
export async function write<T>(ctx: Context, work: (tx: WriteContext) => Promise<T>): Promise<T> {
  if ("writing" in ctx) return work(ctx as WriteContext);
  const { precondition } = ctx;
  if (!precondition || metBy.has(precondition)) return writeFor(ctx, (inside) => work(inside(ctx)));
  return writeFor(ctx, async (inside) => {
    const tx = inside(ctx);
    await precondition(tx);
    tx.afterCommit(() => void metBy.add(precondition));
    return work(tx);
  });
}

/** Preconditions whose work has changed what they are about. */
const metBy = new WeakSet<object>();

/**
 * Thrown inside a transaction for `work` that others can't wait for: the transaction is rolled back, and done again once
 * that is done.
 */
export class DoFirst extends Error {
  override readonly name = "DoFirst";
  readonly work: () => Promise<void>;
  constructor(work: () => Promise<void>) {
    super("Work is required before this transaction.");
    this.work = work;
  }
}

/**
 * One transaction for several organizations' work: `inside` moves each context into it. Throws `DoFirst` where they may
 * not wait for what one of them needs first.
 */
export async function writeFor<T>(app: App, work: Work<T>, mayWait: () => boolean = () => true): Promise<T> {
  for (;;) {
    try {
      return await writeOnce(app, work);
    } catch (error) {
      if (!(error instanceof DoFirst) || !mayWait()) throw error;
      await error.work();
    }
  }
}

type Work<T> = (inside: (ctx: Context) => WriteContext, db: WriteDb) => Promise<T>;

async function writeOnce<T>(app: App, work: Work<T>): Promise<T> {
  let effects: (() => void)[] = [];
  const value = await app.store.write(async (db, group) => {
    const before = headsByGroup.get(group) ?? new Map<string, TrailHead>();
    headsByGroup.set(group, before);
    effects = []; // a store that tries again starts afresh
    const agenda = new Map<string, () => Promise<unknown>>();
    const lasts: (() => Promise<void>)[] = [];
    const inside = {
      db,
      writing: true as const,
      group,
      trail: { rows: [], heads: new Map<string, TrailHead>(), before },
      endedEarly: new Set<string>(),
      afterCommit: (effect: () => void) => void effects.push(effect),
      afterWork: (key: string, next: () => Promise<unknown>) => {
        if (!agenda.has(key)) agenda.set(key, next);
      },
      beforeCommit: (last: () => Promise<void>) => void lasts.push(last),
    };
    const done = await work((ctx) => ({ ...ctx, ...inside }), db);
    for (const next of agenda.values()) await next(); // what these add comes behind them
    for (const last of lasts) await last();
    for (const [organizationId, head] of inside.trail.heads) before.set(organizationId, head);
    return done;
  });
  for (const effect of effects) effect();
  return value;
}

/** A context for `organizationId`, outside of any transaction. */
export const contextFor = (
  app: App,
  who: {
    organizationId: string;
    actor: Actor;
    role: Role;
    correlationId: string;
    isConfined?: boolean | undefined;
    scopes?: readonly Scope[] | null | undefined;
    privateTo?: string | null | undefined;
  },
): Context => ({ ...app, db: app.store.db, egress: egressOf(app, who.organizationId), ...who });

/** Returns a context that acts on behalf of the one who started the run. */
export const contextForRun = (
  app: App,
  run: Pick<RunRow, "organizationId" | "actor" | "correlationId"> & { privateTo?: string | null },
): Context =>
  contextFor(app, {
    organizationId: run.organizationId,
    actor: run.actor as unknown as Actor,
    role: "member",
    correlationId: run.correlationId,
    privateTo: run.privateTo ?? null,
  });

/** The worker itself, for what no person and no automation does. */
export const SYSTEM: Actor = { type: "system", id: "worker", process: "weir", version };

/** Work within a context stays on its way out, which may be traced. */
const egressOf = (app: App & Partial<Context>, organizationId: string): Egress =>
  app.organizationId === organizationId ? app.egress : app.egressFor(organizationId);

/** Moves a context to the chain of a run that its request cancels, and keeps the request's own chain too. */
export const inChainOf = <C extends Context>(ctx: C, { correlationId }: { correlationId: string }): C => ({
  ...ctx,
  correlationId,
  requestCorrelationId: requestChainOf(ctx),
});

/** Returns the chain of the request that a cancellation goes back to. */
export const requestChainOf = (ctx: Context): string => ctx.requestCorrelationId ?? ctx.correlationId;

/** The columns of a new row that say where it belongs and who made it. */
export function created(tx: Context) {
  const at = timestamp(tx.clock);
  return {
    organizationId: tx.organizationId,
    createdAt: at,
    createdBy: tx.actor.id,
    updatedAt: at,
    updatedBy: tx.actor.id,
  };
}

/** The columns of a changed row that say when and by whom. */
export const touched = (tx: WriteContext, before: { readonly updatedAt: string }) => ({
  updatedAt: timestampAfter(tx.clock, before.updatedAt),
  updatedBy: tx.actor.id,
});
