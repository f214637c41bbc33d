import { and, asc, desc, eq, inArray, isNull, like, or, type SQL, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError, checkAll, InvalidInput, invalid, notFound } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject, mergePatch } from "../../base/json.ts";
import { maskSecrets } from "../../base/mask.ts";
import { freeSlug, slugify } from "../../base/slug.ts";
import { resolveTemplates } from "../../base/template.ts";
import { keepTyped } from "../../base/typed-secrets.ts";
import { type Context, created, touched, type WriteContext, write } from "../../context.ts";
import { keyText } from "../../queue/concurrency-key.ts";
import { checkDefinition, definitionFaults, typedFaults } from "../../queue/definition.ts";
import { enqueueRun, type Trigger } from "../../queue/enqueue.ts";
import { countOf, totalOf } from "../../store/counts.ts";
import { contains, inFolder, tagged } from "../../store/search.ts";
import { isUniqueViolation } from "../../store/store.ts";
import { requireScope } from "../access-tokens/scopes.ts";
import { changesBetween, record } from "../events/service.ts";
import { actionRuns, type RunRow } from "../runs/table.ts";
import { findVersion, forgetVersions, keepVersion } from "../versions/service.ts";
import { connectionFault, namedConnectionFaults, sourceFaults } from "./connection.ts";
import { findRunnable } from "./runnable.ts";
import { type ActionRow, actions } from "./table.ts";
import { fillAction, templateFor } from "./template.ts";
import type { ActionCreate, ActionPatch, ActionQuery, ActionWithRun, RunCreate } from "./wire.ts";

/** Every query here uses this condition: actions of other organizations and deleted actions don't exist. */
const mine = (ctx: Context, id: string) =>
  and(eq(actions.organizationId, ctx.organizationId), eq(actions.id, id), isNull(actions.deletedAt));

const entity = (id: string) => ({ type: "action" as const, id });

const once = (tags: readonly string[]) => [...new Set(tags)];

const SORTS = {
  name: actions.name,
  created_at: actions.createdAt,
  updated_at: actions.updatedAt,
  status: actions.status,
  kind: actions.kind,
};

const withRun = (ctx: Context) =>
  ctx.db
    .select({ action: actions, run: actionRuns })
    .from(actions)
    .leftJoin(actionRuns, eq(actionRuns.id, actions.latestRunId));

export async function listActions(
  ctx: Context,
  query: ActionQuery,
): Promise<{ rows: ActionWithRun[]; total: number }> {
  const ids = query.ids && JSON.stringify(query.ids);
  const filters: (SQL | undefined)[] = [
    ids === undefined ? undefined : sql`${actions.id} in (select value from json_each(${ids}))`,
    query.q === undefined || query.q === "" ? undefined : contains(query.q, actions.name, actions.slug),
    query.kinds === undefined ? undefined : inArray(actions.kind, query.kinds),
    query.statuses === undefined ? undefined : inArray(actions.status, query.statuses),
    query.tag === undefined ? undefined : tagged(actions.tags, query.tag),
    query.folder === undefined ? undefined : inFolder(actions.tags, query.folder),
  ].filter((filter) => filter !== undefined);
  const where = and(eq(actions.organizationId, ctx.organizationId), isNull(actions.deletedAt), ...filters);
  const direction = query.order === "asc" ? asc : desc;
  const rows = await withRun(ctx)
    .where(where)
    .orderBy(direction(SORTS[query.sort_by]), direction(actions.id))
    .limit(query.limit)
    .offset(query.offset);
  const count = () =>
    filters.length === 0 ? countOf(ctx.db, ctx.organizationId, "actions") : ctx.db.$count(actions, where);
  return { rows, total: await totalOf(query, rows, count) };
}

export async function findAction(ctx: Context, id: string): Promise<ActionWithRun> {
  const [found] = await withRun(ctx).where(mine(ctx, id));
  if (!found) throw notFound("action");
  return found;
}

export async function findActionBySlug(ctx: Context, slug: string): Promise<ActionWithRun> {
  const [found] = await withRun(ctx).where(
    and(eq(actions.organizationId, ctx.organizationId), eq(actions.slug, slug), isNull(actions.deletedAt)),
  );
  if (!found) throw notFound("action");
  return found;
}

/**
 * An action created from a template without its own definition gets the template's, filled in with its defaults.
 *
 * Throws `InvalidInput` for a definition that its kind rejects, `slug_taken`,
 * and `invalid_state` for a template that isn't published.
 */
export async function createAction(ctx: Context, input: ActionCreate): Promise<ActionWithRun> {
  const template = input.templateId ? await templateFor(ctx, input.kind, input.templateId) : null;
  const ofTemplate = () => (template ? fillAction(ctx, template, {}, ["body", "definition"]) : {});
  return insertAction(ctx, { ...input, definition: input.definition ?? ofTemplate() }, template?.id ?? null);
}

/** Stores an action, created from a template unless that is null. Throws as `createAction` does. */
export async function insertAction(
  ctx: Context,
  input: ActionCreate,
  templateId: string | null,
): Promise<ActionWithRun> {
  const definition = input.definition ?? {};
  checkDefinition(ctx, input.kind, definition);
  return write(ctx, async (tx) => {
    await checkConnection(tx, input.kind, input.connectionId ?? null);
    await checkNamed(tx, input.kind, definition);
    await checkSource(tx, { ...input, definition });
    const row: ActionRow = {
      id: tx.ids.uuid(),
      ...created(tx),
      kind: input.kind,
      name: input.name,
      slug: await slugFor(tx, input.slug ?? undefined, input.name),
      status: "active",
      connectionId: input.connectionId ?? null,
      templateId,
      tags: once(input.tags ?? []),
      definition,
      version: 1,
      latestRunId: null,
      deletedAt: null,
    };
    await tx.db.insert(actions).values(row);
    await keepVersion(tx, entity(row.id), { version: row.version, content: contentOf(row) });
    await record(tx, "action.created", entity(row.id), { name: row.name, kind: row.kind });
    return { action: row, run: null };
  });
}

/** Creates a copy of an action. Throws what creating it throws, for example for secrets in an old definition. */
export async function duplicateAction(tx: WriteContext, id: string, name?: string): Promise<ActionWithRun> {
  const { action } = await findAction(tx, id);
  const { kind, definition, connectionId, templateId, tags } = action;
  const copy = { kind, definition, connectionId, tags, name: name ?? `${action.name.slice(0, 248)} (copy)` };
  return insertAction(tx, copy, templateId);
}

/** A given slug must be free. A slug derived from the name gets a number if it is taken. */
async function slugFor(tx: WriteContext, slug: string | undefined, name: string): Promise<string> {
  const wanted = slug ?? slugify(name, "action");
  const near = await tx.db
    .select({ slug: actions.slug })
    .from(actions)
    .where(
      and(
        eq(actions.organizationId, tx.organizationId),
        isNull(actions.deletedAt),
        slug === undefined
          ? or(eq(actions.slug, wanted), like(actions.slug, `${wanted.slice(0, 90)}%`))
          : eq(actions.slug, wanted),
      ),
    );
  const taken = new Set(near.map((row) => row.slug));
  if (slug !== undefined && taken.has(slug)) throw slugTaken(slug);
  return freeSlug(wanted, taken);
}

const slugTaken = (slug: string) =>
  new AppError("slug_taken", `The slug ${slug} is already in use by another action. Choose another.`);

async function checkConnection(tx: WriteContext, kind: ActionRow["kind"], id: string | null): Promise<void> {
  const fault = id === null ? null : await connectionFault(tx, id, kind);
  if (fault) throw invalid(["body", "connectionId"], fault.msg, fault.type);
}

/** Throws `InvalidInput` for connections that a definition names and can't use. */
async function checkNamed(
  tx: WriteContext,
  kind: ActionRow["kind"],
  definition: JsonObject,
  loc: readonly string[] = ["body", "definition"],
): Promise<void> {
  const faults = await namedConnectionFaults(tx, kind, definition, loc);
  if (faults.length > 0) throw new InvalidInput(faults);
}

/** Throws `InvalidInput` for a definition that doesn't suit its connection. */
async function checkSource(
  tx: WriteContext,
  work: Pick<ActionRow, "kind" | "definition"> & { connectionId?: string | null },
  loc: readonly string[] = ["body", "definition"],
): Promise<void> {
  const faults = await sourceFaults(tx, work, loc);
  if (faults.length > 0) throw new InvalidInput(faults);
}

/** Changes only the given fields. If nothing changed, there is no event, and `updatedAt` stays. */
export async function updateAction(ctx: Context, id: string, fields: ActionPatch): Promise<ActionWithRun> {
  return write(ctx, async (tx) => {
    const found = await findAction(tx, id);
    const { action } = found;
    const { definition, ...others } = fields;
    const before = action.definition;
    const wanted = definition === undefined ? {} : { definition: keepTyped(definition ?? {}, before) };
    const tags = others.tags ? { tags: once(others.tags) } : {};
    const patch = { ...others, ...tags, ...(wanted as { definition?: JsonObject }) };
    await checkAll(
      () => patch.definition && checkDefinition(tx, action.kind, patch.definition, { before }),
      () => patch.definition && checkNamed(tx, action.kind, patch.definition),
      () => checkConnection(tx, action.kind, patch.connectionId ?? null),
    );
    if (patch.definition !== undefined || patch.connectionId !== undefined)
      await checkSource(tx, { ...action, ...patch });
    const changes = changesBetween(action, patch);
    if (changes.length === 0) return found;
    // A restore doesn't change tags.
    const isVersion = changes.some(({ field }) => field !== "tags");
    const [row] = await tx.db
      .update(actions)
      .set({ ...patch, version: action.version + (isVersion ? 1 : 0), ...touched(tx, action) })
      .where(mine(tx, id))
      .returning()
      .catch((error: unknown) => {
        throw isUniqueViolation(error) && patch.slug ? slugTaken(patch.slug) : error;
      });
    if (!row) throw notFound("action");
    if (isVersion)
      await keepVersion(tx, entity(id), { version: row.version, content: contentOf(row), changes });
    await record(tx, "action.updated", entity(id), { changes: maskSecrets(changes as unknown as Json) });
    return { action: row, run: found.run };
  });
}

/** The fields that restoring a version sets. */
const contentOf = ({ name, slug, connectionId, definition }: ActionRow): JsonObject => ({
  name,
  slug,
  connectionId,
  definition,
});

/** Makes a new version with the fields of an earlier one. Throws `not_found`, and what `updateAction` throws. */
export async function restoreAction(ctx: Context, id: string, version: number): Promise<ActionWithRun> {
  await findAction(ctx, id);
  const { content } = await findVersion(ctx, entity(id), version);
  return updateAction(ctx, id, content as ActionPatch);
}

/** An action with runs is kept for them, but hidden. */
export async function deleteAction(ctx: Context, id: string): Promise<void> {
  await write(ctx, async (tx) => {
    const { action, run } = await findAction(tx, id);
    await forgetVersions(tx, entity(id));
    if (run === null) await tx.db.delete(actions).where(mine(tx, id));
    else
      await tx.db
        .update(actions)
        .set({ deletedAt: timestamp(tx.clock), ...touched(tx, action) })
        .where(mine(tx, id));
    await record(tx, "action.deleted", entity(id), { name: action.name, kind: action.kind });
  });
}

/**
 * Queues a run of the action, in a transaction that hasn't changed it. `definitionOverrides` is a JSON Merge Patch for
 * the definition. `given` is what templates see as `input`.
 *
 * Throws `invalid_state` for a disabled action, `InvalidInput` for a definition that can't run, and `scope_missing` for
 * overrides with a token that can't write definitions.
 */
export async function runAction(
  tx: WriteContext,
  id: string,
  input: RunCreate,
  trigger: Trigger,
  idempotencyKey: string | null = null,
  runInput: Json = null,
): Promise<RunRow> {
  const action = await findRunnable(tx, id);
  if (Object.keys(input.definitionOverrides ?? {}).length > 0) requireScope(tx, "write");
  const before = action.definition;
  const definition = merge(before, input.definitionOverrides ?? null);
  const loc = ["body", input.definitionOverrides ? "definitionOverrides" : "definition"];
  const faults = [
    ...definitionFaults(tx, action.kind, definition, loc).filter(({ type }) => type !== "ambiguous_path"),
    ...typedFaults(definition, loc, before),
  ];
  if (faults.length > 0) throw new InvalidInput(faults);
  if (input.definitionOverrides) {
    await checkNamed(tx, action.kind, definition, loc);
    await checkSource(tx, { ...action, definition }, loc);
  }
  return enqueueRun(tx, {
    kind: action.kind,
    definition,
    trigger,
    actionId: action.id,
    actionVersion: action.version,
    connectionId: action.connectionId,
    concurrencyKey: concurrencyKeyOf(tx, definition, runInput, loc),
    idempotencyKey,
    input: runInput,
  });
}

function merge(definition: JsonObject, patch: JsonObject | null): JsonObject {
  const merged = patch === null ? definition : keepTyped(mergePatch(definition, patch), definition);
  return isObject(merged) ? merged : {};
}

function concurrencyKeyOf(
  tx: WriteContext,
  definition: JsonObject,
  input: Json,
  loc: readonly string[],
): string | null {
  const key = definition.concurrencyKey;
  if (typeof key !== "string") return null;
  try {
    const filled = resolveTemplates(key, { now: timestamp(tx.clock), ...(input === null ? {} : { input }) });
    return keyText(key, filled);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "template_error") throw error;
    throw invalid([...loc, "concurrencyKey"], error.message, "template_error");
  }
}
