import { and, eq, inArray, sql } from "drizzle-orm";
import { AppError } from "../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import type { Scope } from "../base/template.ts";
import type { StoredResult } from "../base/whole-scope.ts";
import type { App } from "../context.ts";
import {
  type AutomationRunRow,
  automationRuns,
  type BulkItems,
  type ItemFailure,
  type ItemsState,
  type StepState,
} from "../resources/automations/table.ts";
import { type DeliveryRow, webhookDeliveries } from "../resources/inbound/table.ts";
import { actionRuns, type RunError, type RunRow } from "../resources/runs/table.ts";
import { gathered } from "../store/gathered.ts";
import { prepared } from "../store/prepared.ts";
import type { ReadDb } from "../store/store.ts";
import { itemFailures } from "./item-failures.ts";
import { itemScope, seenResults } from "./item-results.ts";
import { firstOf } from "./lineage.ts";
import { openTrigger, type StoredTrigger } from "./long-payload.ts";
import { ALL_NAMES, type Names, namesIn } from "./names.ts";
import { openPieces, piecesOf, pinnedResult, seenResult, storedSteps } from "./stored-results.ts";

type Trigger = Pick<DeliveryRow, "payload" | "headers" | "query">;

interface Seen extends Pick<AutomationRunRow, "automationId" | "scope" | "input" | "deliveryId" | "steps"> {
  /** Its webhook delivery, if that was read with it. */
  delivery?: Trigger | null;
}

const isAmong = sql`${automationRuns.id} in (select value from json_each(${sql.placeholder("ids")}))`;

const inputFields = {
  id: automationRuns.id,
  automationId: automationRuns.automationId,
  scope: automationRuns.scope,
  input: automationRuns.input,
  deliveryId: automationRuns.deliveryId,
  steps: automationRuns.steps,
};

const seenByIds = prepared((db: ReadDb) =>
  db
    .select({
      ...inputFields,
      delivery: {
        id: webhookDeliveries.id, // first: if it is null, there is no delivery
        payload: webhookDeliveries.payload,
        headers: webhookDeliveries.headers,
        query: webhookDeliveries.query,
      },
    })
    .from(automationRuns)
    .leftJoin(webhookDeliveries, eq(webhookDeliveries.id, automationRuns.deliveryId))
    .where(isAmong)
    .prepare(),
);

/** The automation run without its webhook's payload. */
const inputByIds = prepared((db: ReadDb) =>
  db.select(inputFields).from(automationRuns).where(isAmong).prepare(),
);

/** The automation run without its long fields. */
const slimByIds = prepared((db: ReadDb) =>
  db
    .select({
      ...inputFields,
      scope: sql<JsonObject>`'{}'`.mapWith(automationRuns.scope),
      input: sql<Json>`null`,
    })
    .from(automationRuns)
    .where(isAmong)
    .prepare(),
);

const byId = <R extends { id: string }>(rows: readonly R[]) => new Map(rows.map((row) => [row.id, row]));

/** Runs that begin together are read together. */
const seenOf = gathered(async (db, ids) => byId(await seenByIds(db).all({ ids: JSON.stringify(ids) })));
const inputOf = gathered(async (db, ids) => byId(await inputByIds(db).all({ ids: JSON.stringify(ids) })));
const slimOf = gathered(async (db, ids) => byId(await slimByIds(db).all({ ids: JSON.stringify(ids) })));

/** A webhook's body is stored only in its delivery, since it is deleted after processing. */
const deliveryById = prepared((db: ReadDb) =>
  db
    .select({
      payload: webhookDeliveries.payload,
      headers: webhookDeliveries.headers,
      query: webhookDeliveries.query,
    })
    .from(webhookDeliveries)
    .where(eq(webhookDeliveries.id, sql.placeholder("id")))
    .prepare(),
);

/** Returns payload, headers and query of the trigger; empty if there is none, or it is no longer stored. */
async function triggerScope(
  db: ReadDb,
  { scope, deliveryId, delivery: known }: Pick<Seen, "scope" | "deliveryId" | "delivery">,
): Promise<StoredTrigger> {
  if (deliveryId === null || Object.keys(scope).length > 0) return scope;
  const [delivery] = known === undefined ? await deliveryById(db).all({ id: deliveryId }) : [known];
  if (!delivery || delivery.headers === null) return {};
  const { payload, headers, query } = delivery;
  return { payload, headers, query };
}

/**
 * Returns the trigger of a run that is started again, or that another run is started like. A retry has that of the run
 * it retries. Throws `gone` with this message if that of a webhook or form is no longer stored.
 */
export async function triggerAgain(db: ReadDb, run: AutomationRunRow, gone: string): Promise<StoredTrigger> {
  const { deliveryId } = await firstOf(db, run);
  const trigger = await triggerScope(db, { scope: run.scope, deliveryId });
  if (deliveryId !== null && Object.keys(trigger).length === 0) throw new AppError("gone", gone);
  return trigger;
}

/** Results of finished steps. A run that continues a failed one refers to that one's action runs. */
const stepResults = prepared((db: ReadDb) =>
  db
    .select({
      id: actionRuns.id,
      key: actionRuns.stepKey,
      status: actionRuns.status,
      result: actionRuns.result,
      error: actionRuns.error,
    })
    .from(actionRuns)
    .where(
      and(
        sql`${actionRuns.id} in (select value from json_each(${sql.placeholder("ids")}))`,
        inArray(actionRuns.status, ["completed", "failed", "cancelled"]),
      ),
    )
    .prepare(),
);

/**
 * Returns the names that templates of a step's run see, limited to those in its definition,
 * so that an item's run doesn't read the results of all items. A result stored as an artifact is included whole.
 * Throws `gone` if the artifact was deleted. A result that is too long to parse here is in `kept` instead.
 */
export async function stepScope(
  ctx: App & { db: ReadDb },
  run: RunRow,
): Promise<{ scope: Scope; kept: StoredResult[]; bulk?: ItemsState }> {
  const names = namesIn(JSON.stringify(run.definition));
  const withoutTrigger = names.input ? inputOf : slimOf;
  const seen: Seen | undefined = await (names.trigger ? seenOf : withoutTrigger)(
    ctx.db,
    run.automationRunId ?? "",
  );
  if (!seen) throw new AppError("internal", "The automation run of this step no longer exists.");
  const scope = await automationScope(ctx.db, seen, openTrigger, names);
  const state = seen.steps.find(({ key }) => key === run.stepKey);
  const { steps, kept } = await wholeSteps(ctx, run.organizationId, scope.steps, names);
  if (state?.items?.bulk) return { scope: { ...scope, steps }, kept, bulk: state.items };
  const item = await itemScope(ctx.db, state, run.id);
  return { scope: { ...scope, ...item, steps }, kept };
}

/** Returns, in the same way, what templates see that are evaluated once all steps have ended. */
export async function seenByAll(
  ctx: App & { db: ReadDb },
  run: Seen & Pick<AutomationRunRow, "id" | "organizationId" | "startedAt">,
  definition: JsonObject,
): Promise<{ scope: Scope; kept: StoredResult[] }> {
  const names = namesIn(JSON.stringify(definition));
  const scope = await automationScope(ctx.db, run, openTrigger, names);
  const { steps, kept } = await wholeSteps(ctx, run.organizationId, scope.steps, names);
  const { id, startedAt } = run;
  return { scope: { ...scope, steps, run: { id, startedAt }, now: startedAt }, kept };
}

/** A stored result up to this length is parsed where it is read. */
const MAX_PARSED_BYTES = 1024 * 1024;

async function wholeSteps(
  ctx: App & { db: ReadDb },
  organizationId: string,
  steps: Json | undefined,
  names: Names,
): Promise<{ steps: JsonObject; kept: StoredResult[] }> {
  const whole: JsonObject = { ...(isObject(steps) ? steps : {}) };
  const long: StoredResult[] = [];
  for (const stored of storedSteps(steps, names.steps)) {
    const { step } = stored;
    const json = await openPieces(ctx, await piecesOf(ctx.db, organizationId, stored));
    const seen = whole[step];
    if (json.size > MAX_PARSED_BYTES) long.push({ step, json });
    else if (isObject(seen)) whole[step] = { ...seen, result: await json.json() };
  }
  return { steps: whole, kept: long };
}

const ENDED_WITH_RESULTS: readonly string[] = ["completed", "failed", "cancelled"];

type OpenTrigger = (trigger: StoredTrigger) => JsonObject | Promise<JsonObject>;

/**
 * Returns what all steps of an automation run see: the trigger, which `open` parses, and the finished steps.
 * Conditions, which are evaluated inside a transaction, see the same: of a result stored as an artifact, its small
 * values, `artifactId` and `summary`. What isn't in `names` can be left out.
 */
export async function automationScope(
  db: ReadDb,
  seen: Seen,
  open: OpenTrigger,
  names: Names = ALL_NAMES,
): Promise<Record<string, Json>> {
  const steps: JsonObject = {};
  const named = seen.steps.filter(({ key }) => names.steps(key));
  const ids = named.flatMap(({ actionRunId }) => (actionRunId === null ? [] : [actionRunId]));
  for (const row of ids.length === 0 ? [] : await stepResults(db).all({ ids: JSON.stringify(ids) })) {
    if (row.key !== null) steps[row.key] = seenStep(row);
  }
  for (const state of named) {
    const known = steps[state.key];
    if (state.items?.bulk) {
      if (isObject(known)) steps[state.key] = seenBulk(known, state.items.bulk);
    } else if (state.items && ENDED_WITH_RESULTS.includes(state.status))
      steps[state.key] = await seenItems(db, state, state.items);
    else if (failedUnbegun(state)) steps[state.key] = seenFailure(state);
    else if (state.pinned !== undefined) {
      const result = await pinnedResult(db, state.pinned);
      steps[state.key] = { status: state.status, actionRunId: null, result, error: null };
    }
  }
  return {
    ...(names.trigger ? await open(await triggerScope(db, seen)) : {}),
    ...(names.input ? { input: seen.input } : {}),
    steps,
    automation: { id: seen.automationId },
  };
}

/** What conditions and templates see of a step that has ended. */
export const seenStep = (run: Pick<RunRow, "id" | "status" | "result" | "error">): JsonObject => ({
  status: run.status,
  actionRunId: run.id,
  result: seenResult(run.result),
  error: run.error && { code: run.error.code, message: run.error.message },
});

/** Returns whether a step failed before it could run, such as without its list or action. */
export const failedUnbegun = ({ status, actionRunId, items }: StepState): boolean =>
  status === "failed" && actionRunId === null && !items;

/** Returns what later steps see of a step that failed before it started. */
export const seenFailure = ({ status, error }: StepState): JsonObject => ({
  status,
  actionRunId: null,
  result: null,
  error: error && { code: error.code, message: error.message },
});

/**
 * Returns what later steps see of a step with `forEach`: the list of its items' results, null for those in `failures`.
 */
export async function seenItems(
  db: ReadDb,
  { key, status, error }: StepState,
  items: ItemsState,
): Promise<JsonObject> {
  const failures = await itemFailures(db, items, key);
  return {
    status,
    actionRunId: null,
    result: await seenResults(db, items, key),
    failures: failures.map(({ index, error }) => ({ index, error: seenError(error) })),
    error: error && seenError(error),
  };
}

const seenError = ({ code, message }: RunError) => ({ code, message });

/** For a list, the result is the list of its items' results, as if each had a run. */
export function seenBulk(seen: JsonObject, { of }: BulkItems): JsonObject {
  const { result = null } = seen;
  if (of === "table" || !isObject(result)) return seen;
  const { results, failures, ...kept } = result;
  const named = (Array.isArray(failures) ? failures : []) as unknown as ItemFailure[];
  const visibleFailures = named.map(({ index, error }) => ({ index, error: seenError(error) }));
  return { ...seen, actionRunId: null, result: results ?? kept, failures: visibleFailures };
}
