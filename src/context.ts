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
import type { ArtifactRow } from "./resources/artifacts/table.ts";
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
  /** Time left for all conditions together. */
  leftMs: number;
  /** By a hash of the expression and its scope. */
  results: Map<string, Json | AppError>;
}

/** Called by the queue of runs when runs change, in the same transaction. */
export interface RunFollowers {
  /** Reads the automation runs of steps without items for `ended`, by ID, in one round trip with other statements. */
  open(tx: Pick<WriteContext, "db">, runs: readonly RunRow[]): Promise<ReadonlyMap<string, OpenRun>>;
  /** The runs of steps of one automation run have ended. `open` is that automation run if it was read before. */
  ended(tx: WriteContext, runs: readonly RunRow[], open?: OpenRun | null): Promise<void>;
  /** The run of a step waits for something other than a worker, such as its next attempt. */
  waits(tx: WriteContext, run: RunRow): Promise<void>;
  /** The run of a step is queued again, or has its next attempt later. */
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

/** Manages what runs of one kind wait for. `run.waitId` is its ID. */
interface WaitService<Request> {
  /** Creates it. Can end the run immediately. An `AppError` fails the run. */
  begin(tx: WriteContext, run: RunRow, request: Request): Promise<void>;
  /** The run was cancelled, and no longer waits for it. */
  abandon(tx: WriteContext, id: string): Promise<void>;
}

/** Everything that one process has. Built once, in `app.ts`. There are no other globals. */
export interface App {
  readonly config: Config;
  /** Base of links and webhook URLs, without a trailing slash. Known once the server listens. */
  readonly baseUrl: () => string;
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Receives OpenTelemetry spans. */
  readonly tracer: Tracer;
  readonly secrets: SecretBox;
  readonly egress: Egress;
  /** Outgoing requests of an organization, with the private addresses that an operator allows it. */
  readonly egressFor: (organizationId: string) => Egress;
  /** The operator's language model. Most callers use `modelFor` of resources/usage, which counts tokens. */
  readonly models: Models;
  /** Credentials for Slack: it signs its requests with one, bots answer with the other. Null if not configured. */
  readonly slack: { readonly signingSecret: string | null; readonly botToken: string | null };
  /** Null if users sign in only with passwords. */
  readonly openid: OpenIdProvider | null;
  /** Null if no mail server is configured. Then no mail is sent. */
  readonly mailer: Mailer | null;
  readonly sql: Sql;
  readonly compute: Compute;
  /** Results of conditions that were evaluated before their transaction, by what it decides. */
  readonly decidedWhens: Map<string, DecidedWhens>;
  /** Long payloads that were parsed before the transaction that needs them, by their JSON text. */
  readonly openedPayloads: Map<string, Json>;
  /** Long results of called automations that were stored before the transaction that returns them, by run and content. */
  readonly calledResults: Map<string, ArtifactRow | AppError>;
  /** Memory for responses of external systems that runs hold, in MiB, shared by all runs. */
  readonly room: Semaphore;
  readonly charts: Charts;
  readonly reader: Reader;
  readonly sheets: Sheets;
  readonly scripts: Scripts;
  /** The operator's search engine. */
  readonly search: Search;
  readonly lake: Lake;
  readonly signals: Signals;
  /** In-memory state of modules. */
  readonly memory: Memory;
  readonly limiter: Limiter;
  readonly providers: Providers;
  readonly executors: Executors;
  readonly runFollowers: RunFollowers;
  /** Destination of scheduled backups. Null: the data directory. */
  readonly away: Away | null;
  /** Absolute path, with one directory per organization. */
  readonly filesFolder: string;
  /** Large artifacts, by organization. */
  readonly artifacts: BlobStore;
  /** Absolute path, used by this process only. */
  readonly scratchFolder: string;
  /** The command that starts this program. */
  readonly self: readonly string[];
  /** Identifies this process among all that use or used the store. */
  readonly bootId: string;
  /** The other processes on the store. Null if there can be none. */
  readonly peers: Peers | null;
  /** Aborts when the process is asked to stop. It is no longer ready, and accepts no new work. */
  readonly stopping: AbortSignal;
  /** Aborts when the grace period is over. Streams and waits end. */
  readonly closing: AbortSignal;
}

/** Who acts. A user has email, IP and user agent, an API key its IP, system its process and version. */
export interface Actor {
  type: "user" | "system" | "automation" | "api";
  id: string;
  email?: string | null;
  ip?: string | null;
  userAgent?: string | null;
  process?: string;
  version?: string;
}

/** Context of one piece of work: the process, one organization and one actor. */
export interface Context extends App {
  readonly db: ReadDb;
  readonly organizationId: string;
  readonly actor: Actor;
  /** The actor's current role. Work without a user has the role of who set it up. */
  readonly role: Role;
  /** Shared by all events with the same external cause. */
  readonly correlationId: string;
  /** True if the credential is valid in this organization only. */
  readonly isConfined?: boolean | undefined;
  /** Scopes of the request's access token. Null or absent: all. */
  readonly scopes?: readonly Scope[] | null | undefined;
  /** The user whose private chat this work belongs to. What it starts is private too. */
  readonly privateTo?: string | null | undefined;
  /** Checked when the work's first transaction begins. Throws if it doesn't hold. */
  readonly precondition?: ((tx: WriteContext) => Promise<void>) | undefined;
  /** Correlation ID of the request that cancels something of this chain. Absent otherwise. */
  readonly requestCorrelationId?: string | undefined;
}

/** A context inside a write transaction, required by functions that change rows. */
export interface WriteContext extends Context {
  readonly db: WriteDb;
  readonly writing: true;
  /** The store's `group`: values cached by it are valid for this transaction. */
  readonly group: object;
  /** Audit log entries of this transaction, inserted together at its end. */
  readonly trail: Trail;
  /** IDs of automation runs that this transaction has ended early: what was read of them before is outdated. */
  readonly endedEarly: Set<string>;
  /** Runs `next` inside the transaction after the current work. Only the first of each `key` runs. */
  afterWork(key: string, next: () => Promise<unknown>): void;
  /** Runs `last` inside the transaction when all of its work is done. */
  beforeCommit(last: () => Promise<void>): void;
  /** Runs `effect` once the transaction is durable. Never if it is rolled back. */
  afterCommit(effect: () => void): void;
  /** Runs `effect` if the transaction is rolled back, also before it is repeated, or if its outcome is unknown. */
  afterRollback(effect: () => void): void;
}

/** The newest end of an organization's hash chain. */
export interface TrailHead {
  /** Number of events up to it. */
  readonly count: number;
  readonly hash: string;
  /** False if the stored head couldn't be authenticated. Then no later head is either. */
  readonly isAuthentic: boolean;
}

/** Events to be stored, and the head of each organization's chain after them. */
interface Trail {
  readonly rows: object[];
  readonly heads: Map<string, TrailHead>;
  /** The heads after the earlier works in the same transaction. */
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

/** Preconditions that held, and whose work may have changed what they check. */
const metBy = new WeakSet<object>();

/**
 * Thrown inside a transaction if `work` would make others wait: the transaction is rolled back,
 * and repeated after `work`.
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
 * One transaction for the work of several organizations. `inside` moves each context into it.
 * Throws `DoFirst` if they mustn't wait for what one of them needs first.
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
  let attempt = openAttempt();
  const value = await app.store
    .write(async (db, group) => {
      attempt.undo(); // a store that retries the transaction starts over
      attempt = openAttempt();
      const { afterCommit, afterRollback } = attempt;
      const before = headsByGroup.get(group) ?? new Map<string, TrailHead>();
      headsByGroup.set(group, before);
      const agenda = new Map<string, () => Promise<unknown>>();
      const lasts: (() => Promise<void>)[] = [];
      const inside = {
        db,
        writing: true as const,
        group,
        trail: { rows: [], heads: new Map<string, TrailHead>(), before },
        endedEarly: new Set<string>(),
        afterCommit,
        afterRollback,
        afterWork: (key: string, next: () => Promise<unknown>) => {
          if (!agenda.has(key)) agenda.set(key, next);
        },
        beforeCommit: (last: () => Promise<void>) => void lasts.push(last),
      };
      const done = await work((ctx) => ({ ...ctx, ...inside }), db);
      for (const next of agenda.values()) await next(); // works that these add are appended
      for (const last of lasts) await last();
      for (const [organizationId, head] of inside.trail.heads) before.set(organizationId, head);
      return done;
    })
    .catch((error: unknown) => {
      attempt.undo();
      throw error;
    });
  attempt.commit(app.log);
  return value;
}

/** What follows one attempt at a transaction. */
function openAttempt() {
  const effects: (() => void)[] = [];
  const undos: (() => void)[] = [];
  let isUndone = false;
  return {
    afterCommit: (effect: () => void) => void effects.push(effect),
    /** A work that took too long may continue after it was undone. */
    afterRollback(effect: () => void) {
      if (isUndone) effect();
      else undos.push(effect);
    },
    /** The transaction is stored, so an effect that fails must not prevent the others. */
    commit(log: Log) {
      for (const effect of effects) {
        try {
          effect();
        } catch (error) {
          log.report(error, { at: "after a commit" });
        }
      }
    },
    undo() {
      isUndone = true;
      for (const undo of undos.splice(0)) undo();
    },
  };
}

/** A context for `organizationId`, outside any transaction. */
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

/** The worker itself, for work of no user or automation. */
export const SYSTEM: Actor = { type: "system", id: "worker", process: "weir", version };

/** Requests of a context belong to its trace. */
const egressOf = (app: App & Partial<Context>, organizationId: string): Egress =>
  app.organizationId === organizationId ? app.egress : app.egressFor(organizationId);

/** Moves a context to the chain of a run that its request cancels, and keeps the request's own chain. */
export const inChainOf = <C extends Context>(ctx: C, { correlationId }: { correlationId: string }): C => ({
  ...ctx,
  correlationId,
  requestCorrelationId: requestChainOf(ctx),
});

/** Returns the correlation ID of the request that cancelled. */
export const requestChainOf = (ctx: Context): string => ctx.requestCorrelationId ?? ctx.correlationId;

/** Columns of a new row: organization, time and creator. */
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

/** Columns of a changed row: time and user. */
export const touched = (tx: WriteContext, before: { readonly updatedAt: string }) => ({
  updatedAt: timestampAfter(tx.clock, before.updatedAt),
  updatedBy: tx.actor.id,
});
