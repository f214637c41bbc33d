import { and, asc, desc, eq, isNull, like, or, type SQL, sql } from "drizzle-orm";
import { timestamp } from "../../base/clock.ts";
import { AppError, type Fault, InvalidInput, invalid, notFound } from "../../base/errors.ts";
import { canonicalJson, isObject, type Json, type JsonObject } from "../../base/json.ts";
import { maskSecrets } from "../../base/mask.ts";
import { freeSlug, slugify } from "../../base/slug.ts";
import { type App, type Context, created, touched, type WriteContext, write } from "../../context.ts";
import { findAutomation, mine, withRun } from "../../flows/find.ts";
import { triggerState } from "../../flows/trigger.ts";
import { countOf, totalOf } from "../../store/counts.ts";
import { contains, inFolder, tagged } from "../../store/search.ts";
import { type Change, changesBetween, record } from "../events/service.ts";
import { endTrouble } from "../notices/automation-ends.ts";
import { sealNotify, withoutSlackSecrets } from "../notices/slack-addresses.ts";
import { forgetVersions, keepVersion } from "../versions/service.ts";
import type { AutomationConfig } from "./config.ts";
import { needsSecret } from "./conflicts.ts";
import { configFaults, draftFaults, withoutNulls } from "./faults.ts";
import { checkReferences } from "./references.ts";
import { refuseUnproven, sealAuth, withoutProof } from "./sender.ts";
import {
  AUTOMATION_STATUSES,
  type AutomationRow,
  automationDrafts,
  automationLayouts,
  automations,
  automationVersions,
  secretLabel,
  WEBHOOKS_TOPIC,
} from "./table.ts";
import type { AutomationCreate, AutomationPatch, AutomationQuery, AutomationWithRun } from "./wire.ts";
import { keepDefinitions } from "./wire-definitions.ts";

const entity = (id: string) => ({ type: "automation" as const, id });

const once = (tags: readonly string[]) => [...new Set(tags)];

const SECRET_BYTES = 32;

/** IDs are in order of creation. */
const SORTS = { name: automations.name, updated_at: automations.updatedAt, status: automations.status };

function orderOf({ sort_by, order }: AutomationQuery): SQL[] {
  const direction = order === "asc" ? asc : desc;
  return [...(sort_by === "created_at" ? [] : [direction(SORTS[sort_by])]), direction(automations.id)];
}

export async function listAutomations(
  ctx: Context,
  query: AutomationQuery,
): Promise<{ rows: AutomationWithRun[]; total: number }> {
  const filters: (SQL | undefined)[] = [
    query.q === undefined || query.q === ""
      ? undefined
      : contains(query.q, automations.name, automations.slug),
    query.trigger_type === undefined ? undefined : eq(automations.triggerType, query.trigger_type),
    query.status === undefined ? undefined : eq(automations.status, query.status),
    query.action_id === undefined ? undefined : sql`instr(${automations.config}, ${query.action_id}) > 0`,
    query.tag === undefined ? undefined : tagged(automations.tags, query.tag),
    query.folder === undefined ? undefined : inFolder(automations.tags, query.folder),
  ].filter((filter) => filter !== undefined);
  const where = and(
    eq(automations.organizationId, ctx.organizationId),
    isNull(automations.deletedAt),
    ...filters,
  );
  const rows = await withRun(ctx)
    .where(where)
    .orderBy(...orderOf(query))
    .limit(query.limit)
    .offset(query.offset);
  const count = () =>
    filters.length === 0
      ? countOf(ctx.db, ctx.organizationId, "automations")
      : ctx.db.$count(automations, where);
  return { rows, total: await totalOf(query, rows, count) };
}

/**
 * Creates an active automation. If a signing secret is needed and omitted, one is generated. `secret` is returned only
 * once.
 *
 * Throws `InvalidInput` naming each fault of the config, `slug_taken`, and `conflict` if the path is taken.
 */
export async function createAutomation(
  ctx: Context,
  input: AutomationCreate,
  templateId: string | null = null,
): Promise<AutomationWithRun & { secret: string | null }> {
  const { status = "active" } = input;
  const newConfig = withoutNulls(input.config);
  const faultsOf = status === "draft" ? draftFaults : configFaults;
  const faults = faultsOf(ctx, input.triggerType, newConfig, ["body", "config"]);
  if (faults.length > 0) throw new InvalidInput(faults);
  const { secret: ownSecret, ...rest } = newConfig;
  const slack = withoutSlackSecrets(rest);
  const wanted = withoutProof(slack.config);
  const { config } = wanted;
  const isSigned = needsSecret(input.triggerType, config);
  const secret = !isSigned ? null : typeof ownSecret === "string" ? ownSecret : makeSecret(ctx, config);
  return write(ctx, async (tx) => {
    const id = tx.ids.uuid();
    const slug = await slugFor(tx, input.slug ?? undefined, input.name);
    await checkReferences(tx, { id, slug, name: input.name, config });
    const sealedAuth = sealAuth(tx, { id, organizationId: tx.organizationId }, wanted, null);
    if (status !== "draft") refuseUnproven(config.auth, sealedAuth);
    const row: AutomationRow = {
      id,
      ...created(tx),
      name: input.name,
      slug,
      description: input.description ?? null,
      config,
      version: 1,
      sealedSecret:
        secret === null
          ? null
          : tx.secrets.seal(secret, secretLabel({ id, organizationId: tx.organizationId })),
      sealedAuth,
      sealedNotify: sealNotify(tx, { id, organizationId: tx.organizationId }, slack.addresses, null),
      timestampRule: config.requireTimestamp === false ? null : "new",
      webhookPath: await freePath(tx, { id, slug, config, triggerType: input.triggerType }),
      orchestratorType: "local",
      status,
      triggerType: input.triggerType,
      templateId,
      tags: once(input.tags ?? []),
      deletedAt: null,
      ...(await triggerState(tx, { status, triggerType: input.triggerType, config })),
    };
    await tx.db.insert(automations).values(row);
    forgetWebhooks(tx);
    await keep(tx, row);
    await record(tx, "automation.created", entity(id), { name: row.name, triggerType: row.triggerType });
    return { automation: row, run: null, secret };
  });
}

function makeSecret(ctx: Context, { signaturePreset }: AutomationConfig): string {
  const encoding = signaturePreset === "telegram" ? "base64url" : "base64";
  return `whsec_${Buffer.from(ctx.ids.bytes(SECRET_BYTES)).toString(encoding)}`;
}

/** Stores a version, for runs that started with it and for users. */
async function keep(tx: WriteContext, row: AutomationRow, changes: readonly Change[] = []): Promise<void> {
  const { id, version, name, description, config } = row;
  await tx.db
    .insert(automationVersions)
    .values({ automationId: id, version, config, createdAt: timestamp(tx.clock) });
  await keepVersion(tx, entity(id), { version, content: { name, description, config }, changes });
}

async function slugFor(tx: WriteContext, slug: string | undefined, name: string): Promise<string> {
  const wanted = slug ?? slugify(name, "automation");
  const near = await tx.db
    .select({ slug: automations.slug })
    .from(automations)
    .where(
      and(
        eq(automations.organizationId, tx.organizationId),
        isNull(automations.deletedAt),
        or(eq(automations.slug, wanted), like(automations.slug, `${wanted.slice(0, 90)}%`)),
      ),
    );
  const taken = new Set(near.map((row) => row.slug));
  if (slug !== undefined && taken.has(slug)) {
    throw new AppError(
      "slug_taken",
      `The slug ${slug} is already in use by another automation. Choose another.`,
    );
  }
  return freeSlug(wanted, taken);
}

/** Returns the path of a webhook or form. Null for a draft without one. */
async function freePath(
  tx: WriteContext,
  { id, slug, config, triggerType }: Pick<AutomationRow, "id" | "slug" | "config" | "triggerType">,
): Promise<string | null> {
  const wantedPath = config.path ?? (triggerType === "form" ? slug : undefined);
  if (wantedPath === undefined || !["webhook", "form"].includes(triggerType)) return null;
  const path = String(wantedPath);
  const [other] = await tx.db
    .select({ id: automations.id, name: automations.name })
    .from(automations)
    .where(
      and(
        eq(automations.organizationId, tx.organizationId),
        eq(automations.webhookPath, path),
        isNull(automations.deletedAt),
      ),
    );
  if (other && other.id !== id) {
    throw new AppError(
      "conflict",
      `The path ${path} is already in use by the automation ${other.name}. Choose another.`,
    );
  }
  return path;
}

/**
 * Changes only the given fields, also inside `config`, where `null` removes a field. A new secret is never returned.
 * Running runs keep the config that they started with.
 */
export async function updateAutomation(
  ctx: Context,
  id: string,
  patch: AutomationPatch,
): Promise<AutomationWithRun> {
  return write(ctx, async (tx) => {
    const found = await findAutomation(tx, id);
    const before = found.automation;
    const { status = before.status } = patch;
    const { config, isSecretNew, isNotifyNew, ...kept } = patchConfig(
      tx,
      { ...before, status },
      patch.config,
    );
    const isFinished = before.status === "draft" && status !== "draft";
    if (isFinished) refuseUnfinished(tx, before, config);
    if (status !== "draft") refuseUnproven(config.auth, kept.sealedAuth);
    const next = { ...patch, ...(patch.tags ? { tags: once(patch.tags) } : {}), config };
    const changes: Change[] = changesBetween(before, next).filter(({ field }) => field !== "status");
    if (isSecretNew) changes.push({ field: "config.secret", from: "***", to: "***" });
    if (isNotifyNew && !changes.some(({ field }) => field === "config"))
      changes.push({ field: "config.alerts.notify", from: "***", to: "***" });
    if (kept.timestampRule === null && before.timestampRule !== null)
      changes.push({ field: "config.requireTimestamp", from: true, to: false });
    const statusChanges = patch.status !== undefined && patch.status !== before.status;
    if (changes.length === 0 && !statusChanges) return found;
    // Tags are neither used by runs nor restored.
    const isVersion = changes.some(({ field }) => field !== "tags");
    const configChanges = changes.some(({ field }) => field === "config");
    if (configChanges || isFinished) await checkReferences(tx, { ...before, config });
    const restarts = statusChanges || isOtherSchedule(before.config, config);
    const [row] = await tx.db
      .update(automations)
      .set({
        ...next,
        ...(restarts ? await triggerState(tx, { ...before, status, config }, before.nextRunAt) : {}),
        ...kept,
        version: before.version + (isVersion ? 1 : 0),
        webhookPath: await freePath(tx, { ...before, config }),
        ...touched(tx, before),
      })
      .where(mine(tx, id))
      .returning();
    if (!row) throw notFound("automation");
    if (isVersion) await keep(tx, row, changes);
    if (configChanges && config.alerts === undefined) await endTrouble(tx, id);
    forgetWebhooks(tx);
    if (changes.length > 0)
      await record(tx, "automation.updated", entity(id), {
        changes: maskSecrets(changes as unknown as Json),
      });
    if (statusChanges)
      await record(tx, row.status === "active" ? "automation.enabled" : "automation.disabled", entity(id), {
        name: row.name,
        ...(row.status === "draft" ? { status: row.status } : {}),
      });
    return { automation: row, run: found.run };
  });
}

const isOtherSchedule = (before: JsonObject, after: JsonObject) =>
  canonicalJson(before.schedule ?? null) !== canonicalJson(after.schedule ?? null);

/** Applies the patch to the config, and to what is stored next to it. */
function patchConfig(tx: WriteContext, before: AutomationRow, patch: JsonObject | undefined) {
  const { sealedSecret, sealedAuth, sealedNotify, timestampRule } = before;
  if (patch === undefined)
    return {
      config: before.config,
      sealedSecret,
      sealedAuth,
      sealedNotify,
      timestampRule,
      isSecretNew: false,
      isNotifyNew: false,
    };
  const { secret, ...rest } = patch;
  const kept = mergedConfig(before.config, rest);
  const slack = withoutSlackSecrets(kept);
  const wanted = withoutProof(slack.config);
  const { config } = wanted;
  const faults = changeFaults(tx, before, typeof secret === "string" ? { ...kept, secret } : kept);
  if (faults.length > 0) throw new InvalidInput(faults);
  const auth = sealAuth(tx, before, wanted, before);
  const sealed = secretAfter(tx, before, config, secret);
  const notify = sealNotify(tx, before, slack.addresses, sealedNotify);
  return {
    config,
    sealedSecret: sealed,
    sealedAuth: auth,
    sealedNotify: notify,
    isNotifyNew: notify !== sealedNotify,
    timestampRule: timestampRuleAfter(before, config, rest.requireTimestamp === false),
    isSecretNew: (secret !== undefined && sealed !== sealedSecret) || (auth !== null && auth !== sealedAuth),
  };
}

/** Setting `requireTimestamp` to false ends the rule. Once that is removed, the automation is like a new one. */
function timestampRuleAfter(before: AutomationRow, config: JsonObject, isSetFalse: boolean) {
  if (isSetFalse) return null;
  const isRemoved = before.config.requireTimestamp === false && config.requireTimestamp === undefined;
  return before.timestampRule ?? (isRemoved ? "new" : null);
}

/** Applies the patch to a config; `null` removes a field. */
export function mergedConfig(before: JsonObject, patch: JsonObject): JsonObject {
  const merged: JsonObject = { ...before };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else merged[name] = value;
  }
  // `action` and `steps` exclude each other: the given one replaces the other.
  if (isObject(patch.action ?? null) && !("steps" in patch)) delete merged.steps;
  if (Array.isArray(patch.steps) && !("action" in patch)) delete merged.action;
  return keepDefinitions(merged, before);
}

/** Returns the patch that turns `from` into `to`. */
export const configChange = (from: JsonObject, to: JsonObject): JsonObject => ({
  ...Object.fromEntries(
    Object.keys(from)
      .filter((field) => !Object.hasOwn(to, field))
      .map((field): [string, Json] => [field, null]),
  ),
  ...to,
});

/** Returns each error in a config that differs from the stored one. */
function changeFaults(app: App, before: AutomationRow, config: JsonObject): Fault[] {
  if (canonicalJson(config) === canonicalJson(before.config)) return [];
  const faultsOf = before.status === "draft" ? draftFaults : configFaults;
  return faultsOf(app, before.triggerType, config, ["body", "config"], before.config);
}

/** Returns the errors in the config of an update that has others. */
export async function updateFaults(ctx: Context, id: string, raw: JsonObject): Promise<Fault[]> {
  const [before] = await ctx.db.select().from(automations).where(mine(ctx, id));
  if (!before || !isObject(raw.config)) return [];
  const status = AUTOMATION_STATUSES.find((each) => each === raw.status) ?? before.status;
  return changeFaults(ctx, { ...before, status }, mergedConfig(before.config, raw.config));
}

/** Throws `InvalidInput` for a draft that can't become active yet. */
function refuseUnfinished(tx: WriteContext, { triggerType }: AutomationRow, config: JsonObject): void {
  const faults = configFaults(tx, triggerType, config, ["body", "config"], config);
  if (faults.length > 0) throw new InvalidInput(faults);
}

/** Returns the encrypted secret of a changed config: the existing one, unless the request has another. */
function secretAfter(
  tx: WriteContext,
  before: AutomationRow,
  config: JsonObject,
  newSecret: Json | undefined,
): string | null {
  const { sealedSecret } = before;
  const isSigned = needsSecret(before.triggerType, config);
  if (newSecret === undefined) {
    if (!isSigned || sealedSecret !== null) return sealedSecret;
    throw invalid(["body", "config", "secret"], "Give the signing secret", "missing");
  }
  if (!isSigned || typeof newSecret !== "string" || newSecret.length < 16 || newSecret.length > 512) {
    const msg = "Give the secret of a webhook or of its notices, 16 to 512 characters";
    throw invalid(["body", "config", "secret"], msg, "string_too_short");
  }
  if (sealedSecret !== null && tx.secrets.open(sealedSecret, secretLabel(before)) === newSecret)
    return sealedSecret;
  return tx.secrets.seal(newSecret, secretLabel(before));
}

/** Its runs stay readable. */
export async function deleteAutomation(ctx: Context, id: string): Promise<void> {
  await write(ctx, async (tx) => {
    const { automation } = await findAutomation(tx, id);
    await tx.db
      .update(automations)
      .set({
        deletedAt: timestamp(tx.clock),
        nextRunAt: null,
        eventAfterSeq: null,
        ...touched(tx, automation),
      })
      .where(mine(tx, id));
    forgetWebhooks(tx);
    await forgetVersions(tx, entity(id));
    await tx.db.delete(automationDrafts).where(eq(automationDrafts.automationId, id));
    await tx.db.delete(automationLayouts).where(eq(automationLayouts.automationId, id));
    await record(tx, "automation.deleted", entity(id), { name: automation.name });
  });
}

const forgetWebhooks = (tx: WriteContext) => tx.afterCommit(() => tx.signals.notify(WEBHOOKS_TOPIC));
