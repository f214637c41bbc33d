import type { Static, TSchema } from "@sinclair/typebox";
import type { Clock } from "../base/clock.ts";
import type { Egress } from "../base/egress.ts";
import type { Ids } from "../base/ids.ts";
import type { Json, JsonObject } from "../base/json.ts";
import type { Retry } from "../base/retry.ts";
import type { Summary } from "../base/summary.ts";
import type { Scope, TemplateOptions } from "../base/template.ts";
import type { StoredResult } from "../base/whole-scope.ts";
import type { CatalogUse } from "../catalog/contract.ts";
import type { Charts } from "../charts/contract.ts";
import type { Compute } from "../compute/contract.ts";
import type { CursorState, LakeFile, LakeLoad, LakeRead, LakeTable } from "../lake/contract.ts";
import type { Mailer } from "../mail/contract.ts";
import type { Model, OpenAgent } from "../models/contract.ts";
import type { Link, Provider } from "../providers/contract.ts";
import type { Reader } from "../reader/contract.ts";
import type { Scripts } from "../scripts/contract.ts";
import type { Search } from "../search/contract.ts";
import type { Sheets } from "../sheets/contract.ts";
import type { Sql } from "../sql/contract.ts";

/** All kinds of actions, in the order in which lists show them. */
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

/** A run's progress, less `percent` and `updatedAt`, which the run context adds. */
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
  /** All tables, as the last commit left them. */
  tables(): Promise<LakeTable[]>;
  /** Null where no load has made it yet. */
  table(layer: string, dataset: string, table: string): Promise<LakeTable | null>;
  /** A table, by the name that SQL has for it, as a load left it. Throws `sql_error` where that can't be shown. */
  past(reference: { layer: string; name: string; loadId: string }): Promise<LakeTable>;
  localPath(file: Pick<LakeFile, "path">): Promise<string>;
  add(
    at: { layer: string; dataset: string; table: string; loadId: string },
    file: { path: string; rows: number; bytes: number },
  ): Promise<LakeFile>;
  /** The stored cursor of one resource of this action; null before the first load. */
  cursor(resource: string): Promise<CursorState | null>;
  /** Waits until no other run of this process writes to the dataset; held until the run ends. */
  lock(layer: string, dataset: string): Promise<void>;
}

/** A file that a sync has brought to its destination. */
export interface ManifestEntry {
  /** Below the destination's folder. */
  path: string;
  sourceVersion: string;
  /** Empty where the destination tells none. */
  targetVersion: string;
  size: number;
  /** What the destination itself wants to know again. */
  detail: JsonObject | null;
  /** The run that copied it; null is this one. */
  runId: string | null;
}

/** What this action has copied before, by `pair`: a text that names source and destination. */
export interface SyncManifest {
  read(pair: string): Promise<Map<string, ManifestEntry>>;
  /** Durable when it resolves; an entry of the same path gives way. */
  keep(pair: string, entries: readonly ManifestEntry[]): Promise<void>;
  forget(pair: string, paths: readonly string[]): Promise<void>;
}

/** A connection that a definition names, beside the action's own. */
export interface NamedConnection {
  /** Relative to the definition. */
  path: readonly string[];
  id: string;
  /** Why connections of this provider with this config can't be used here, as a sentence; null where they can. */
  refusal(provider: Provider, config: JsonObject): string | null;
}

/** `write` is whatever may change the other side. */
export type ConnectionUse = "read" | "write";

/** What an executor may reach while it runs: its context, and nothing beyond it. */
export interface RunContext {
  readonly run: { id: string; organizationId: string; attempt: number; startedAt: string };
  /** Aborts on cancel, on timeout and when the process stops. Pass it on to whatever waits. */
  readonly signal: AbortSignal;
  /** The names that templates and conditions see. */
  readonly scope: Scope;
  /** Results of steps that are too long to stand in `scope`: to be read in a child. */
  readonly kept: readonly StoredResult[];
  /** What the definition says of further tries, for an executor that does parts of its work again. */
  readonly retry: Retry;
  readonly clock: Clock;
  readonly egress: Egress;
  readonly sql: Sql;
  readonly compute: Compute;
  /** Fills in templates with these names, and with `kept`; throws `template_error`. */
  fill(definition: JsonObject, scope: Scope, options: TemplateOptions): Promise<JsonObject>;
  /**
   * Waits until there is room for so many bytes of what outside systems send, and holds it until the run ends; asked
   * again it gives no more. Runs of all organizations share it.
   */
  room(bytes: number): Promise<void>;
  /** The operator's language model, within the organization's budget; `stream` throws `llm_not_configured` where there is none. */
  readonly model: Model;
  /** Opens an agent by the id or slug of its spec, to act for whoever set the run off; throws `definition_invalid`. */
  agent(named: string): Promise<OpenAgent>;
  readonly charts: Charts;
  readonly reader: Reader;
  readonly sheets: Sheets;
  readonly scripts: Pick<Scripts, "run">;
  readonly search: Search;
  readonly ids: Ids;
  readonly lake: RunLake;
  /** A fresh 0700 folder that goes when the run ends. */
  workFolder(): Promise<string>;
  /**
   * Opens the connection of the action or step, to read or to change the other side; throws `connection_disabled`,
   * `not_found`, or `definition_invalid` when it has none. Where that needs approval it throws what lets the run wait:
   * open what is needed before anything is done.
   */
  connection(purpose: ConnectionUse): Promise<{ provider: Provider; link: Link }>;
  /** Opens another connection of the organization, that the definition names; throws as `connection` does. */
  openConnection(id: string, purpose: ConnectionUse): Promise<{ provider: Provider; link: Link }>;
  readonly manifest: SyncManifest;
  /** An endpoint or tool of the API catalog; throws `not_found`, and `invalid_state` for what may not be called. */
  catalog(reference: ApiReference): Promise<CatalogUse>;
  /** The `hash` in the context of the approval that this run has; null where it has none. */
  approvedHash(): Promise<string | null>;
  /** What people have entered into forms that this run asked for, by the `question` in their context. */
  answers(): Promise<ReadonlyMap<string, JsonObject>>;
  /** The installation's mail server, within the organization's rate; null where there is none. */
  readonly mailer: Mailer | null;
  /** The content of an artifact; throws `not_found`, and `gone` where its file is not there. */
  artifact(id: string): Promise<{ fileName: string; mimeType: string; content: Blob }>;
  /** True where the action or step names a connection. */
  readonly hasConnection: boolean;
  /** Shown to people at once and kept as the run's `progress`. Cheap: writes are gathered. */
  progress(progress: Progress): void;
  /** A line of the run's log. Never put credentials in it. */
  log(level: LogLevel, message: string): void;
}

/** Something that the run leaves behind, stored in the transaction that completes it. */
export type NewArtifact = {
  /** Where the result speaks of it; made by `ctx.ids`. */
  id?: string;
  title: string;
} & (
  | { kind: "json" | "text"; data: Json }
  | { kind: "file"; fileName: string; mimeType: string; bytes: Uint8Array }
);

/** How an execution ended well. All of it becomes visible in one transaction. */
export interface Done {
  result: JsonObject;
  /** The JSON of a result that is too long to be read here; `result` has the fields of its summary then. */
  whole?: { json: Uint8Array; summary: Summary };
  load?: LakeLoad;
  /** Tables of the lake that it was made of. */
  reads?: LakeRead[];
  artifacts?: NewArtifact[];
}

/** Which endpoint or tool of the API catalog is meant. */
export interface ApiReference {
  apiId: string;
  endpoint?: string;
  tool?: string;
}

/** What ends a wait, and what has to be known to set it up. To add one: its line here, its service in `queue/waits.ts`. */
export interface Waits {
  decision: DecisionRequest;
  /** A decision after which the run goes on where it was: it is executed again, and `approvedHash` tells of the yes. */
  approval: DecisionRequest;
  automation: AutomationCall;
}
export type WaitKind = keyof Waits;

/** What people are asked, and what follows from each answer. */
export interface DecisionRequest {
  title: string;
  description: string | null;
  decisionType: "approve_reject" | "form_input";
  formSchema: JsonObject | null;
  context: JsonObject | null;
  /** The id or the email of a member. */
  assignedTo: string | null;
  expiresInSeconds: number | null;
  onReject: "fail" | "continue";
  onExpire: "reject" | "fail" | "cancel";
}

/** Which automation is called, by one of the two, and with what. */
export interface AutomationCall {
  automationId: string | null;
  slug: string | null;
  input: Json;
  /** False where the caller does not wait for its end. */
  wait: boolean;
}

/**
 * How an execution ends that can't go on by itself: the run waits, holding no worker, until what it waits for ends
 * it. That is set up in the transaction that puts the run to `waiting`; the executor is not asked again.
 */
export type Waiting = { [K in WaitKind]: { wait: K; request: Waits[K] } }[WaitKind];

/** How one kind of action is carried out. To add one: its file, and one line in `registry.ts`. */
export interface Executor<Ended extends Done | Waiting = Done | Waiting> {
  readonly kind: ActionKind;
  readonly title: string;
  readonly description: string;
  /** What `definition` looks like; the common fields (`retry`, `timeoutSeconds`, `concurrencyKey`) are added to it. */
  readonly definition: TSchema;
  readonly result: TSchema;
  /** Providers whose connections it takes; empty where it takes none, null where any. */
  readonly providers: readonly string[] | null;
  /**
   * The dataset, `layer.dataset`, that a run writes to; null for none, and where only a template knows it.
   * Runs that write to one dataset are carried out one at a time, and wait for each other in the queue.
   */
  writes?(definition: JsonObject): string | null;
  /** Fields of SQL text, as paths with `*` for list items: templates in them become bound parameters. */
  readonly sqlFields?: readonly string[];
  /** Fields of URLs, as paths with `*` for list items: what templates put inside of text is percent-encoded. */
  readonly urlFields?: readonly string[];
  /** Fields that are conditions, not templates, as paths with `*` for list items. */
  readonly conditionFields?: readonly string[];
  /** Fields of code, as paths with `*` for list items: no templates are filled in there. */
  readonly codeFields?: readonly string[];
  /** Fields whose templates it fills in by itself, from `ctx.scope`. */
  lateFields?(definition: JsonObject): readonly string[];
  /** Connections that the definition names by their ids; looked up when the action is saved. Templates are left out. */
  connections?(definition: JsonObject): NamedConnection[];
  /** Fields of which one has to be there; the first is told as missing. The schema has all of them optional. */
  readonly oneOf?: readonly string[];
  /**
   * Whether a run of this writes somewhere, or sends words to an address that whoever gives the input chooses: then a
   * person has to agree before an agent sets it off. Absent where it always does.
   */
  hasEffects?(definition: JsonObject): boolean;
  /** Faults that the schema cannot say, told when the action is saved; paths are relative to the definition. */
  check?(definition: JsonObject): { path: readonly string[]; message: string }[];
  /**
   * Every fault that `check` tells and those that depend on what the connection is, told when an action or step is
   * saved; null where it names none.
   */
  checkSource?(
    definition: JsonObject,
    provider: Provider | null,
  ): { path: readonly string[]; message: string }[];
  /** True where nobody outside of the organization hears what it is given. */
  readonly isInside?: boolean;
  /**
   * True where one run may carry out many items of a list: each leaves a result alone, and waits for nobody. False or
   * absent where each needs a run of its own. Rows of a table always go in one run, or not at all.
   */
  inBulk?(definition: JsonObject, of: "list" | "table"): boolean;
  /**
   * For kinds that only compute for microseconds: the result at once, small enough for the run's row. As a step of an
   * automation they are decided inside the transaction that reaches them; queued ones are decided many
   * at a time, with no context. They need no slot.
   */
  decide?(definition: JsonObject, scope: Scope): JsonObject;
  /** What the log of a run says that was decided so. */
  decided?(result: JsonObject): string;
  /** Throws `AppError` for a failure that the user can act on; `retryable` ones are tried again. */
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

/** Lets an executor's file state its definition once and have `execute` typed from it. */
export const defineExecutor = <D extends TSchema, Ended extends Done | Waiting>(
  executor: TypedExecutor<D, Ended>,
): Executor<Ended extends Done ? Done : Waiting> => executor as never;

/** `layer.dataset` of a definition, where both are plain names. */
export function datasetOf(layer: unknown, dataset: unknown): string | null {
  const isPlain = (name: unknown): name is string => typeof name === "string" && !name.includes("{{");
  return isPlain(layer) && isPlain(dataset) ? `${layer}.${dataset}` : null;
}

/** A kind without an executor does not compile. */
export type Executors = Readonly<Record<ActionKind, Executor>>;
