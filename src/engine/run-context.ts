import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { timestamp } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { uuidOf } from "../base/ids.ts";
import type { Scope } from "../base/template.ts";
import { fill } from "../compute/fill.ts";
import type { Context } from "../context.ts";
import type { Executor, RunContext, RunLake } from "../executors/contract.ts";
import type { Link } from "../providers/contract.ts";
import type { CommonFields } from "../queue/definition.ts";
import type { NewLog } from "../queue/logs.ts";
import type { StoredDefinition } from "../queue/progress.ts";
import { openAgentNamed } from "../resources/agents/open.ts";
import { openUse } from "../resources/api-catalog/use.ts";
import { fileNameOf, openContent } from "../resources/artifacts/content.ts";
import { findArtifact } from "../resources/artifacts/service.ts";
import { type Purpose, requireApproval } from "../resources/connections/approval.ts";
import { openLink } from "../resources/connections/link.ts";
import { findCursor, ownerOf } from "../resources/datasets/cursors.ts";
import { readPast } from "../resources/datasets/past.ts";
import { readTables } from "../resources/datasets/tables.ts";
import { answersOf, approvedHash } from "../resources/decisions/approved.ts";
import { MAIL_RATE } from "../resources/mail/service.ts";
import type { RunProgress, RunRow } from "../resources/runs/table.ts";
import { refuseOpenRuns } from "../resources/runs/wire-private.ts";
import { openManifest } from "../resources/sync/manifest.ts";
import { modelFor } from "../resources/usage/model.ts";
import { withoutSlot } from "./agent-slot.ts";
import { Ended } from "./failure.ts";
import type { DatasetLocks } from "./locks.ts";
import { openDiary } from "./run-diary.ts";
import { watchFolder } from "./work-folder.ts";

/** A run context, and what the worker needs of it after the run. */
export interface OpenRunContext {
  context: RunContext;
  /** Returns collected data that wasn't saved yet. After this, nothing is saved automatically. */
  leftover(): Promise<{ progress: RunProgress | null; isProgressNew: boolean; logs: NewLog[] }>;
  /** Credentials of the connections that the run opened, for masking. */
  secrets(): readonly string[];
  /** A context for one item of a bulk step, which shares connections with the others. */
  forItem(item: ItemSetting): { context: RunContext; dispose(): Promise<void> };
  dispose(): Promise<void>;
}

interface ItemSetting {
  /** Replaces the run's own ID: the same at each attempt. */
  id: string;
  index: number;
  attempt: number;
  scope: Scope;
  signal: AbortSignal;
}

interface Setting {
  run: RunRow;
  executor: Executor;
  definition: RunRow["definition"];
  /** As in the stored row. */
  stored: StoredDefinition;
  /** Of its requests: the same in each attempt. */
  key: string;
  scope: Scope;
  kept: RunContext["kept"];
  signal: AbortSignal;
  /** Fails the run with this error. */
  end(why: AppError): void;
  locks: DatasetLocks;
  /** Does a wait during which the run takes no slot. */
  rest: NonNullable<Link["rest"]>;
  /** Waits without a slot for something that another waiting run may hold. */
  yieldTo: NonNullable<Link["rest"]>;
}

/** Creates what an executor works with. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a list of all that a run may use
export function openRunContext(ctx: Context, setting: Setting): OpenRunContext {
  const { run, executor, scope, kept, signal } = setting;
  const secrets: string[] = [];
  const diary = openDiary(ctx, run, setting.stored, () => secrets);
  const undo = openUndo();
  let folder: Promise<string> | null = null;
  const links = new Map<string, ReturnType<typeof openLink>>();
  const open = (connectionId: string | null, purpose: Purpose) => {
    const key = `${connectionId} ${purpose}`;
    const known = links.get(key);
    if (known) return known;
    const opening = openLink(ctx, {
      runId: run.id,
      connectionId,
      providers: executor.providers,
      signal,
      purpose,
      requireApproval: (row) =>
        requireApproval(ctx, row, {
          runId: run.id,
          kind: run.kind,
          definition: setting.definition,
          purpose,
        }),
    }).then(({ link, ...opened }) => {
      secrets.push(...Object.values(link.credentials));
      return { ...opened, link: { ...link, rest: setting.rest } };
    });
    links.set(key, opening);
    return opening;
  };

  const context: RunContext = {
    run: {
      id: run.id,
      organizationId: run.organizationId,
      attempt: run.retryCount + 1,
      startedAt: run.startedAt ?? timestamp(ctx.clock),
      key: setting.key,
    },
    signal,
    scope,
    kept,
    retry: (setting.definition as CommonFields).retry ?? {},
    clock: ctx.clock,
    egress: ctx.egress,
    sql: sqlFor(ctx),
    compute: ctx.compute,
    fill: (definition, scope, options) => {
      const { organizationId } = ctx;
      return fill(ctx.compute, { definition, options }, { scope, kept }, { organizationId, signal });
    },
    room: roomFor(ctx, { signal, undo, progress: diary.progress }),
    model: modelFor(ctx),
    modelRoom: { known: ctx.config.modelContext, ask: ctx.models.roomOf },
    agent: async (named) => withoutSlot(await openAgentNamed(ctx, named), setting.rest),
    charts: { draw: (charts, signal) => ctx.charts.draw(charts, signal, ctx.organizationId) },
    reader: { read: (source, signal) => ctx.reader.read(source, signal, ctx.organizationId) },
    sheets: { read: (source) => ctx.sheets.read({ ...source, organizationId: ctx.organizationId }) },
    scripts: ctx.scripts,
    search: ctx.search,
    ids: ctx.ids,
    lake: lakeContext(ctx, setting, undo),
    workFolder() {
      folder ??= ctx.lake.workFolder(run.id).then(async ({ path, dispose }) => {
        await undo.add(dispose);
        const report = (error: unknown) =>
          ctx.log.report(error, { runId: run.id, at: "watch the work folder" });
        await undo.add(watchFolder({ path, limit: ctx.config.workLimit, end: setting.end, report }));
        return path;
      });
      return folder;
    },
    hasConnection: run.connectionId !== null,
    connection: (purpose) => open(run.connectionId, purpose),
    openConnection: open,
    catalog: (reference) => {
      const openOwn = async (id: string | null) => {
        const connectionId = id ?? run.connectionId;
        return connectionId === null ? null : open(connectionId, "approved"); // a catalog call checks itself
      };
      return openUse(ctx, reference, openOwn);
    },
    mailer: mailerFor(ctx),
    async artifact(id) {
      const row = await findArtifact(ctx, id);
      refuseOpenRuns(run, row);
      return {
        fileName: fileNameOf(row),
        mimeType: row.mimeType ?? "application/octet-stream",
        content: await openContent(ctx, row),
      };
    },
    once: onceFor(run, signal, diary),
    approvedHash: () => approvedHash(ctx, run.id),
    answers: () => answersOf(ctx, run.id),
    manifest: openManifest(ctx, ownerOf(run), run.id),
    progress: diary.progress,
    log: diary.log,
  };
  return {
    context,
    leftover: diary.close,
    secrets: () => secrets,
    forItem: (item) => itemContext(ctx, context, item),
    dispose: undo.all,
  };
}

const CALLING = "calling";

/** A run whose stored phase is still that of its call was interrupted during it: any other end changes the phase. */
function onceFor(
  { progress }: RunRow,
  signal: AbortSignal,
  diary: ReturnType<typeof openDiary>,
): RunContext["once"] {
  const isInterrupted = () =>
    signal.reason instanceof Ended && (signal.reason.why === "stopped" || signal.reason.why === "lost");
  return {
    check() {
      if (progress?.phase === CALLING)
        throw new AppError(
          "interrupted",
          "The process stopped during this call, which may already have been done. Check that first: a retry of the run calls again.",
        );
    },
    async make(call) {
      await diary.keep({ phase: CALLING });
      try {
        return await call();
      } finally {
        if (!isInterrupted()) diary.progress({ phase: "called" });
      }
    },
  };
}

/** Keeps only warnings and errors of an item's log: there may be a million items. */
function itemContext(ctx: Context, of: RunContext, { id, index, attempt, scope, signal }: ItemSetting) {
  const undo = openUndo();
  let folder: Promise<string> | null = null;
  const makeFolder = async () => {
    const path = join(await of.workFolder(), String(index));
    await mkdir(path, { mode: 0o700 });
    await undo.add(() => rm(path, { recursive: true, force: true }));
    return path;
  };
  const context: RunContext = {
    ...of,
    run: { ...of.run, id, attempt, key: uuidOf(`${of.run.key}:${index}`) },
    scope,
    signal,
    room: roomFor(ctx, { signal, undo, progress: of.progress }),
    workFolder() {
      folder ??= makeFolder();
      return folder;
    },
    progress: () => {},
    log(level, message) {
      if (level === "warn" || level === "error") of.log(level, `Item ${index}: ${message}`);
    },
  };
  return { context, dispose: undo.all };
}

const MIB = 1024 * 1024;
const TELL_WAIT_MS = 250;

/** Reserves memory once, and releases it with the run. */
function roomFor(
  { room, organizationId }: Context,
  { signal, undo, progress }: Pick<RunContext, "signal" | "progress"> & { undo: ReturnType<typeof openUndo> },
): RunContext["room"] {
  let taking: Promise<void> | null = null;
  const take = async (bytes: number) => {
    const message = "Waiting for memory: other runs are reading large responses.";
    const wait = setTimeout(() => progress({ phase: "waiting", message }), TELL_WAIT_MS);
    const amount = Math.ceil(bytes / MIB);
    const leave = await room.enter(signal, { organizationId, amount }).finally(() => clearTimeout(wait));
    await undo.add(leave);
  };
  return (bytes) => {
    taking ??= take(bytes);
    return taking;
  };
}

/** Sends mail within the organization's rate limit. */
function mailerFor({ mailer, limiter, organizationId }: Context): RunContext["mailer"] {
  if (mailer === null) return null;
  return {
    async send(letter) {
      const { retryAfterSeconds } = limiter.take(`mail:run:${organizationId}`, MAIL_RATE);
      if (retryAfterSeconds > 0) {
        const message = `Email limit reached for this organization. Try again in ${retryAfterSeconds} seconds, or use an smtp connection.`;
        throw new AppError("rate_limited", message, { retryable: true, retryAfterSeconds });
      }
      return mailer.send(letter);
    },
  };
}

/** SQL whose statements wait in the organization's own queue. */
function sqlFor({ sql, organizationId }: Context): RunContext["sql"] {
  return {
    ...sql,
    query: (job, limit) => sql.query({ ...job, organizationId }, limit),
    queryText: (job, limit) => sql.queryText({ ...job, organizationId }, limit),
    explain: (job) => sql.explain({ ...job, organizationId }),
    materialize: (job, into, options) => sql.materialize({ ...job, organizationId }, into, options),
    save: (job, into, options) => sql.save({ ...job, organizationId }, into, options),
  };
}

type Step = () => Promise<void> | void;

/**
 * Collects cleanup functions to run at the end. Those added later, by an executor that was abandoned, run
 * immediately.
 */
function openUndo() {
  let steps: Step[] | null = [];
  return {
    async add(step: Step): Promise<void> {
      if (steps) steps.push(step);
      else await step();
    },
    async all(): Promise<void> {
      const last = steps?.reverse() ?? [];
      steps = null;
      for (const step of last) await step();
    },
  };
}

function lakeContext(
  ctx: Context,
  { run, locks, yieldTo }: Setting,
  undo: ReturnType<typeof openUndo>,
): RunLake {
  const { organizationId } = run;
  return {
    tables: () => readTables(ctx.db, { organizationId }),
    table: async (layer, dataset, table) =>
      (await readTables(ctx.db, { organizationId, layer, dataset, table }))[0] ?? null,
    past: (reference) => readPast(ctx.db, organizationId, reference),
    localPath: (file) => ctx.lake.localPath(file, (release) => void undo.add(release)),
    add: (at, file) => ctx.lake.add({ organizationId, ...at }, file),
    cursor: (resource) => findCursor(ctx, ownerOf(run), resource),
    async lock(layer, dataset) {
      const name = `${organizationId}/${layer}/${dataset}`;
      const take = async () => undo.add(await locks.take(name));
      await (locks.isHeld(name) ? yieldTo(take) : take());
    },
  };
}
