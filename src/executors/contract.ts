import type { Static, TSchema } from "@sinclair/typebox";
import type { Clock } from "../base/clock.ts";
import type { Egress } from "../base/egress.ts";
import type { Ids } from "../base/ids.ts";
import type { Json, JsonObject } from "../base/json.ts";
import type { SQL_FIELDS } from "../base/parameter-numbers.ts";
import type { Retry } from "../base/retry.ts";
import type { Summary } from "../base/summary.ts";
import type { Scope, TemplateOptions } from "../base/template.ts";
import type { StoredResult } from "../base/whole-scope.ts";
import type { CatalogUse } from "../catalog/contract.ts";
import type { Charts } from "../charts/contract.ts";
import type { Compute } from "../compute/contract.ts";
import type { CursorState, LakeFile, LakeLoad, LakeRead, LakeTable } from "../lake/contract.ts";
import type { Mailer } from "../mail/contract.ts";
import type { Model, ModelRoom, OpenAgent } from "../models/contract.ts";
import type { Link, Provider } from "../providers/contract.ts";
import type { Reader } from "../reader/contract.ts";
import type { Scripts } from "../scripts/contract.ts";
import type { Search } from "../search/contract.ts";
import type { Sheets } from "../sheets/contract.ts";
import type { Sql } from "../sql/contract.ts";

/** All kinds of actions, in display order. */
export const ACTION_KINDS = [
  "dlt_extract",
  "file_sync",
  "duckdb_transform",
  "run_script",
  "http_request",
  "send_message",
  "call_agent",
  "generate_query",
  "explain_schema",
  "agent_search",
  "agent_fetch_page",
  "create_flashboard",
  "approval_gate",
  "conditional_branch",
  "call_automation",
  "web_search",
  "fetch_page",
] as const;
export type ActionKind = (typeof ACTION_KINDS)[number];

/** A run's progress, without `percent` and `updatedAt`, which the run context adds. */
export interface Progress {
  phase: string;
  message?: string;
  current?: number;
  total?: number;
  unit?: string;
}

export type LogLevel = "debug" | "info" | "warn" | "error";

/** The lake as one run sees it: the tables of its organization. */
export interface RunLake {
  /** All tables, as of the last commit. */
  tables(): Promise<LakeTable[]>;
  /** Null if no load has created it yet. */
  table(layer: string, dataset: string, table: string): Promise<LakeTable | null>;
  /** A table, by its SQL name, as of a load. Throws `sql_error` if that version isn't available. */
  past(reference: { layer: string; name: string; loadId: string }): Promise<LakeTable>;
  localPath(file: Pick<LakeFile, "path">): Promise<string>;
  add(
    at: { layer: string; dataset: string; table: string; loadId: string },
    file: { path: string; rows: number; bytes: number },
  ): Promise<LakeFile>;
  /** The stored cursor of one resource of this action; null before the first load. */
  cursor(resource: string): Promise<CursorState | null>;
  /** Waits until no other run of this process writes to the dataset. Held until the run ends. */
  lock(layer: string, dataset: string): Promise<void>;
}

/** A file that a sync has copied to its destination. */
export interface ManifestEntry {
  /** Relative to the destination's folder. */
  path: string;
  sourceVersion: string;
  /** Empty if the destination reports none. */
  targetVersion: string;
  size: number;
  /** Details that the destination needs in later runs. */
  detail: JsonObject | null;
  /** The run that copied it; null for the current run. */
  runId: string | null;
}

/** Entries that this action copied before, by `pair`: a string that identifies source and destination. */
export interface SyncManifest {
  read(pair: string): Promise<Map<string, ManifestEntry>>;
  /** Durable when it resolves. Replaces an entry with the same path. */
  keep(pair: string, entries: readonly ManifestEntry[]): Promise<void>;
  forget(pair: string, paths: readonly string[]): Promise<void>;
}

/** A connection named in a definition, in addition to the action's own. */
export interface NamedConnection {
  /** Relative to the definition. */
  path: readonly string[];
  id: string;
  /** Why connections of this provider with this config can't be used here, as a sentence; null if they can. */
  refusal(provider: Provider, config: JsonObject): string | null;
}

/** `write` is anything that may change the external system. */
export type ConnectionUse = "read" | "write";

/** Everything that an executor can access while it runs. */
export interface RunContext {
  readonly run: { id: string; organizationId: string; attempt: number; startedAt: string; key?: string };
  /** Aborted on cancel, on timeout and when the process stops. Pass it on to everything that waits. */
  readonly signal: AbortSignal;
  /** The variables of templates and conditions. */
  readonly scope: Scope;
  /** Results of steps that are too long for `scope`. They are read in a child process. */
  readonly kept: readonly StoredResult[];
  /** The definition's retries, for an executor that repeats parts of its own work. */
  readonly retry: Retry;
  readonly clock: Clock;
  readonly egress: Egress;
  readonly sql: Sql;
  readonly compute: Compute;
  /** Evaluates templates with this scope and with `kept`; throws `template_error`. */
  fill(definition: JsonObject, scope: Scope, options: TemplateOptions): Promise<JsonObject>;
  /**
   * Waits until there is room for this many bytes of responses from external systems, and reserves it until the run
   * ends. A second call reserves nothing more. Runs of all organizations share it.
   */
  room(bytes: number): Promise<void>;
  /**
   * The operator's language model, within the organization's budget. `stream` throws `llm_not_configured` if there is
   * none.
   */
  readonly model: Model;
  readonly modelRoom: ModelRoom;
  /**
   * Opens an agent by the ID or slug of its spec, to act for the user who started the run. Throws `definition_invalid`.
   */
  agent(named: string): Promise<OpenAgent>;
  readonly charts: Charts;
  readonly reader: Reader;
  readonly sheets: Sheets;
  readonly scripts: Pick<Scripts, "run">;
  readonly search: Search;
  readonly ids: Ids;
  readonly lake: RunLake;
  /** A new folder with mode 0700, deleted when the run ends. */
  workFolder(): Promise<string>;
  /**
   * Opens the connection of the action or step, to read or to write. Throws `connection_disabled`, `not_found`, or
   * `definition_invalid` if there is none. If approval is needed, it throws what makes the run wait, so open everything
   * before you change anything.
   */
  connection(purpose: ConnectionUse): Promise<{ provider: Provider; link: Link }>;
  /** Opens another connection of the organization, named in the definition; throws as `connection` does. */
  openConnection(id: string, purpose: ConnectionUse): Promise<{ provider: Provider; link: Link }>;
  readonly manifest: SyncManifest;
  /** Returns an endpoint or tool of the API catalog. Throws `not_found`, and `invalid_state` if it can't be called. */
  catalog(reference: ApiReference): Promise<CatalogUse>;
  /** For calls that may not be made twice, since the other side can't recognize the second one. */
  readonly once: {
    /** Throws `interrupted` if an earlier attempt was interrupted during its call. Call it first. */
    check(): void;
    /** Makes the call, once it is stored that it begins. */
    make<T>(call: () => Promise<T>): Promise<T>;
  };
  /** The `hash` in the context of this run's approval. Null if it has none. */
  approvedHash(): Promise<string | null>;
  /** Answers to forms that this run asked for, by the `question` in their context. */
  answers(): Promise<ReadonlyMap<string, JsonObject>>;
  /** The installation's mail server, within the organization's rate limit. Null if there is none. */
  readonly mailer: Mailer | null;
  /** Returns the content of an artifact. Throws `not_found`, and `gone` if its file is missing. */
  artifact(id: string): Promise<{ fileName: string; mimeType: string; content: Blob }>;
  /** Whether the action or step names a connection. */
  readonly hasConnection: boolean;
  /** Shows progress immediately and stores it as the run's `progress`. Cheap: writes are batched. */
  progress(progress: Progress): void;
  /** A line of the run's log. Never put credentials in it. */
  log(level: LogLevel, message: string): void;
}

/** An artifact of the run, stored in the transaction that completes it. */
export type NewArtifact = {
  /** Set if the result refers to it. Created by `ctx.ids`. */
  id?: string;
  title: string;
} & (
  | { kind: "json" | "text"; data: Json }
  | { kind: "file"; fileName: string; mimeType: string; bytes: Uint8Array }
);

/** A successful execution. Everything in it becomes visible in one transaction. */
export interface Done {
  result: JsonObject;
  /** The JSON of a result that is too long to be parsed here; `result` then has the fields of its summary. */
  whole?: { json: Uint8Array; summary: Summary };
  load?: LakeLoad;
  /** Tables of the lake that were read for it. */
  reads?: LakeRead[];
  artifacts?: NewArtifact[];
}

/** Identifies an endpoint or tool of the API catalog. */
export interface ApiReference {
  apiId: string;
  endpoint?: string;
  tool?: string;
}

/**
 * What a run can wait for, and what is needed to set it up. To add one, add its line here and its service in
 * `queue/waits.ts`.
 */
export interface Waits {
  decision: DecisionRequest;
  /** A decision after which the run resumes: it is executed again, and `approvedHash` has the approval. */
  approval: DecisionRequest;
  automation: AutomationCall;
}
export type WaitKind = keyof Waits;

/** What an approval asks, and the effect of each decision. */
export interface DecisionRequest {
  title: string;
  description: string | null;
  decisionType: "approve_reject" | "form_input";
  formSchema: JsonObject | null;
  context: JsonObject | null;
  /** The ID or the email of a member. */
  assignedTo: string | null;
  expiresInSeconds: number | null;
  onReject: "fail" | "continue";
  onExpire: "reject" | "fail" | "cancel";
}

/** The automation to call, by ID or slug, and its input. */
export interface AutomationCall {
  automationId: string | null;
  slug: string | null;
  input: Json;
  /** False if the caller doesn't wait for the result. */
  wait: boolean;
}

/**
 * An execution that can't continue by itself. The run waits, without a worker, until what it waits for ends it. That is
 * set up in the transaction that sets the run to `waiting`. The executor isn't called again.
 */
export type Waiting = { [K in WaitKind]: { wait: K; request: Waits[K] } }[WaitKind];

/** Executor of one kind of action. To add one, write its file and add a line in `registry.ts`. */
export interface Executor<Ended extends Done | Waiting = Done | Waiting> {
  readonly kind: ActionKind;
  readonly title: string;
  readonly description: string;
  /** Shape of `definition`. The common fields (`retry`, `timeoutSeconds`, `concurrencyKey`) are added. */
  readonly definition: TSchema;
  readonly result: TSchema;
  /** Providers whose connections it accepts. Empty: none. Null: any. */
  readonly providers: readonly string[] | null;
  /**
   * The dataset, `layer.dataset`, that a run writes to; null if there is none or a template names it. Runs that write
   * to one dataset are executed one at a time and wait for each other in the queue.
   */
  writes?(definition: JsonObject): string | null;
  /** Names of the resources whose cursors it stores, as far as the definition names them. */
  resources?(definition: JsonObject): readonly string[];
  /** Fields of SQL text, as paths with `*` for list items: templates in them become bound parameters. */
  readonly sqlFields?: readonly (typeof SQL_FIELDS)[number][];
  /** URL fields, as paths with `*` for list items: values of templates inside text are percent-encoded. */
  readonly urlFields?: readonly string[];
  /** Fields that are conditions, not templates, as paths with `*` for list items. */
  readonly conditionFields?: readonly string[];
  /** Fields of code, as paths with `*` for list items: no templates are filled in there. */
  readonly codeFields?: readonly string[];
  /** Fields whose templates it evaluates itself, from `ctx.scope`. */
  lateFields?(definition: JsonObject): readonly string[];
  /** Adjusts a filled-in definition, for values that depend on whether they were written out or come from a template. */
  filledIn?(written: JsonObject, filled: JsonObject): JsonObject;
  /** Connections named in the definition by ID; resolved when the action is saved. Templates are omitted. */
  connections?(definition: JsonObject): NamedConnection[];
  /** Fields of which one is required. The first is reported as missing. All are optional in the schema. */
  readonly oneOf?: readonly string[];
  /**
   * Returns whether a run writes somewhere, or sends text to an address chosen by the input. An agent then needs
   * approval to run it. Default: always.
   */
  hasEffects?(definition: JsonObject): boolean;
  /** Errors that the schema can't express, reported when the action is saved. Paths are relative to the definition. */
  check?(definition: JsonObject): { path: readonly string[]; message: string }[];
  /**
   * All errors of `check`, and those that depend on the connection, reported when an action or step is saved. The
   * connection is null if none is named.
   */
  checkSource?(
    definition: JsonObject,
    provider: Provider | null,
  ): { path: readonly string[]; message: string }[];
  /** True if none of the input leaves the organization. */
  readonly isInside?: boolean;
  /**
   * Returns whether one run can process many items of a list: each produces only a result and waits for nobody.
   * Otherwise each item needs a run of its own. Rows of a table are always processed by one run, or not at all.
   */
  inBulk?(definition: JsonObject, of: "list" | "table"): boolean;
  /**
   * For kinds that only compute for microseconds: returns the result immediately, small enough for the run's row. As a
   * step, it is decided inside the transaction that reaches it. Queued runs are decided in batches, without a context.
   * Needs no slot.
   */
  decide?(definition: JsonObject, scope: Scope): JsonObject;
  /** Log line of a run that was decided this way. */
  decided?(result: JsonObject): string;
  /** Throws `AppError` for a failure that the user can act on. `retryable` ones are retried. */
  execute(ctx: RunContext, definition: JsonObject): Promise<Ended>;
}

interface TypedExecutor<D extends TSchema, Ended extends Done | Waiting>
  extends Omit<Executor, "definition" | "check" | "checkSource" | "decide" | "execute"> {
  definition: D;
  check?(definition: Static<D>): { path: readonly string[]; message: string }[];
  checkSource?(
    definition: Static<D>,
    provider: Provider | null,
  ): { path: readonly string[]; message: string }[];
  decide?(definition: Static<D>, scope: Scope): JsonObject;
  execute(ctx: RunContext, definition: Static<D>): Promise<Ended>;
}

/** Types `execute` from the definition's schema. */
export const defineExecutor = <D extends TSchema, Ended extends Done | Waiting>(
  executor: TypedExecutor<D, Ended>,
): Executor<Ended extends Done ? Done : Waiting> => executor as never;

/** `layer.dataset` of a definition, if both are literal names. */
export function datasetOf(layer: unknown, dataset: unknown): string | null {
  const isPlain = (name: unknown): name is string => typeof name === "string" && !name.includes("{{");
  return isPlain(layer) && isPlain(dataset) ? `${layer}.${dataset}` : null;
}

/** A kind without an executor doesn't compile. */
export type Executors = Readonly<Record<ActionKind, Executor>>;
