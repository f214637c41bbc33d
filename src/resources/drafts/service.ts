import { and, eq } from "drizzle-orm";
import { timestamp, timestampAfter } from "../../base/clock.ts";
import { AppError, InvalidInput, invalid, notFound } from "../../base/errors.ts";
import { canonicalJson, comparable, isObject, type Json, type JsonObject } from "../../base/json.ts";
import { type Context, type WriteContext, write } from "../../context.ts";
import { findAutomation } from "../../flows/find.ts";
import { readDependency } from "../automations/config.ts";
import { draftFaults } from "../automations/faults.ts";
import { withoutProof } from "../automations/sender.ts";
import { configChange, mergedConfig, updateAutomation } from "../automations/service.ts";
import { type AutomationRow, automationDrafts, type DraftRow } from "../automations/table.ts";
import type { AutomationWithRun } from "../automations/wire.ts";
import { withoutSlackSecrets } from "../notices/slack-addresses.ts";
import { findVersion } from "../versions/service.ts";
import { changesBetween, mergeConfigs, onlyOf, stepsOf } from "./merge.ts";

const ofAutomation = ({ organizationId }: Context, id: string) =>
  and(eq(automationDrafts.organizationId, organizationId), eq(automationDrafts.automationId, id));

async function readDraft(ctx: Context, id: string): Promise<DraftRow | null> {
  const [row] = await ctx.db.select().from(automationDrafts).where(ofAutomation(ctx, id));
  return row ?? null;
}

/** Returns an automation's draft. Throws `not_found` if it has none. */
export async function findDraft(ctx: Context, id: string): Promise<DraftRow> {
  await findAutomation(ctx, id);
  const draft = await readDraft(ctx, id);
  if (!draft) throw notFound("draft");
  return draft;
}

/**
 * Changes the given fields of the draft or, if there is none, of a copy of the published config. It can be incomplete.
 * Throws `InvalidInput`. Secrets are set on the automation itself.
 */
export function patchDraft(
  ctx: Context,
  id: string,
  { config: patch = {}, basedOn }: { config?: JsonObject; basedOn?: number },
): Promise<DraftRow> {
  return write(ctx, async (tx) => {
    const { automation } = await findAutomation(tx, id);
    const before = await readDraft(tx, id);
    const from = before?.config ?? automation.config;
    const config = draftOf(tx, automation, from, patch);
    if (basedOn !== undefined && basedOn > automation.version)
      throw invalid(["body", "basedOn"], `The latest version of the automation is ${automation.version}`);
    const based = basedOn ?? before?.basedOn ?? automation.version;
    if (before && comparable(before.config) === comparable(config) && before.basedOn === based) return before;
    const row: DraftRow = {
      automationId: id,
      organizationId: tx.organizationId,
      config,
      basedOn: based,
      changedBy: changedBy(tx, before, { from, to: config }),
      updatedAt: before ? timestampAfter(tx.clock, before.updatedAt) : timestamp(tx.clock),
    };
    await tx.db
      .insert(automationDrafts)
      .values(row)
      .onConflictDoUpdate({ target: automationDrafts.automationId, set: row });
    return row;
  });
}

function draftOf(
  tx: WriteContext,
  { triggerType }: AutomationRow,
  from: JsonObject,
  patch: JsonObject,
): JsonObject {
  const merged = mergedConfig(from, patch);
  const faults = draftFaults(tx, triggerType, merged, ["body", "config"], from);
  if (faults.length > 0) throw new InvalidInput(faults);
  const { config, proof } = withoutProof(withoutSlackSecrets(merged).config);
  const isSecret =
    patch.secret !== undefined ||
    proof !== null ||
    canonicalJson(config.alerts ?? null) !== canonicalJson(merged.alerts ?? null);
  if (isSecret)
    throw invalid(
      ["body", "config"],
      "Drafts can't contain secrets. Set them on the automation itself",
      "value_error",
    );
  return config;
}

/** Updates who last changed or removed each step and setting. */
function changedBy(
  { actor }: Context,
  before: DraftRow | null,
  { from, to }: { from: JsonObject; to: JsonObject },
): Record<string, string> {
  const authors = changesBetween(from, to).map((name) => [name, actor.id] as const);
  return { ...before?.changedBy, ...Object.fromEntries(authors.filter(([, by]) => by !== null)) };
}

export async function deleteDraft(ctx: Context, id: string): Promise<void> {
  await write(ctx, async (tx) => {
    await findDraft(tx, id);
    await tx.db.delete(automationDrafts).where(ofAutomation(tx, id));
  });
}

/**
 * Publishes the draft as a new version of the config. With `only`, publishes the named changes, and the rest stays in
 * the draft. Changes that others published in the meantime are merged step by step. Throws `conflict`, naming them, if
 * both sides changed the same step or field, and `depends_on_others` if a named step needs another that stays.
 */
export function publishDraft(ctx: Context, id: string, only?: readonly string[]): Promise<AutomationWithRun> {
  return write(ctx, async (tx) => {
    const draft = await findDraft(tx, id);
    const { automation } = await findAutomation(tx, id);
    const config = await publishable(tx, automation, draft);
    const chosen = only ? chosenOf(automation.config, config, only) : config;
    const published = await updateAutomation(tx, id, { config: configChange(automation.config, chosen) });
    const rest = changesBetween(chosen, config);
    if (rest.length === 0) await tx.db.delete(automationDrafts).where(ofAutomation(tx, id));
    else
      await tx.db
        .update(automationDrafts)
        .set({
          config,
          basedOn: published.automation.version,
          changedBy: Object.fromEntries(
            Object.entries(draft.changedBy).filter(([name]) => rest.includes(name)),
          ),
          updatedAt: timestampAfter(tx.clock, draft.updatedAt),
        })
        .where(ofAutomation(tx, id));
    return published;
  });
}

function chosenOf(active: JsonObject, draft: JsonObject, only: readonly string[]): JsonObject {
  const changes = changesBetween(active, draft);
  const faults = only.flatMap((name, at) =>
    changes.includes(name)
      ? []
      : [{ loc: ["body", "only", String(at)], msg: `The draft doesn't change ${name}`, type: "value_error" }],
  );
  if (faults.length > 0) throw new InvalidInput(faults);
  const names = new Set(only);
  const config = onlyOf(draft, active, names);
  const steps = stepsOf(config);
  const needs = [...steps].flatMap(([key, step]) => {
    const depends = dependenciesOf(step);
    return [
      ...depends.filter((other) => !steps.has(other)),
      ...(names.has(key)
        ? changes.filter((other) => !names.has(other) && (depends.includes(other) || namesStep(step, other)))
        : []),
    ].map((other) => `${key} needs ${other}`);
  });
  if (needs.length === 0) return config;
  throw new AppError(
    "depends_on_others",
    `These steps need changes that would stay in the draft: ${[...new Set(needs)].join(", ")}. Publish those too.`,
  );
}

const dependenciesOf = (step: Json): string[] =>
  isObject(step) && Array.isArray(step.dependsOn)
    ? step.dependsOn.map((text) => readDependency(String(text)).key)
    : [];

/** Returns whether a template or condition in a step refers to another step. */
const namesStep = (step: Json, key: string): boolean =>
  new RegExp(`\\bsteps\\s*(?:\\.\\s*|\\[\\s*\\\\?["'])${key.replace(/[$-]/g, "\\$&")}(?![\\w-])`).test(
    JSON.stringify(step),
  );

async function publishable(
  tx: WriteContext,
  automation: AutomationRow,
  draft: DraftRow,
): Promise<JsonObject> {
  if (draft.basedOn === automation.version) return draft.config;
  const { content } = await findVersion(tx, { type: "automation", id: automation.id }, draft.basedOn);
  const base = (content as { config: JsonObject }).config;
  const merged = mergeConfigs(base, draft.config, automation.config);
  if ("config" in merged) return merged.config;
  const both = merged.conflicts.join(", ");
  throw new AppError(
    "conflict",
    `Version ${automation.version} was published in the meantime and changed the same fields: ${both}. Review it, then send the draft again with basedOn: ${automation.version}.`,
  );
}
