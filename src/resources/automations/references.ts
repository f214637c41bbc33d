import { and, eq, isNull } from "drizzle-orm";
import { type Fault, InvalidInput } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { WriteContext } from "../../context.ts";
import { MAX_DEPTH } from "../../flows/lineage.ts";
import { connectionFault, namedConnectionFaults, sourceFaults } from "../actions/connection.ts";
import { actions } from "../actions/table.ts";
import { type AutomationConfig, type Step, stepsOf } from "./config.ts";
import { automations } from "./table.ts";

/** An automation that is being saved. */
interface Saved {
  id: string;
  slug: string;
  name: string;
  config: JsonObject;
}

/**
 * Checks that the resources that a config names belong to the organization,
 * and that calls don't lead back to the automation itself. Throws `InvalidInput` naming each fault.
 */
export async function checkReferences(tx: WriteContext, saved: Saved): Promise<void> {
  const { action, steps } = saved.config as AutomationConfig;
  const at = ["body", "config"];
  const works = action
    ? [{ work: { key: "action", ...action }, loc: [...at, "action"] }]
    : (steps ?? []).map((work, index) => ({ work, loc: [...at, "steps", String(index)] }));
  const faults: Fault[] = [];
  for (const { work, loc } of works) {
    if (work.actionId && !(await isAction(tx, work.actionId))) {
      const msg = "Action not found";
      faults.push({ loc: [...loc, "actionId"], msg, type: "not_found" });
    }
    const fault = work.connectionId ? await connectionFault(tx, work.connectionId, work.kind) : null;
    if (fault) faults.push({ loc: [...loc, "connectionId"], ...fault });
    faults.push(...(await sourceFaults(tx, work, [...loc, "definition"])));
    faults.push(...(await namedConnectionFaults(tx, work.kind, work.definition, [...loc, "definition"])));
    faults.push(...(await callFaults(tx, saved, work, loc)));
  }
  if (faults.length > 0) throw new InvalidInput(faults);
}

async function isAction(tx: WriteContext, id: string): Promise<boolean> {
  const where = and(
    eq(actions.organizationId, tx.organizationId),
    eq(actions.id, id),
    isNull(actions.deletedAt),
  );
  return (await tx.db.select({ id: actions.id }).from(actions).where(where)).length > 0;
}

async function callFaults(
  tx: WriteContext,
  saved: Saved,
  step: Step,
  loc: readonly string[],
): Promise<Fault[]> {
  const call = await callOf(tx, step);
  if (call === null) return [];
  const path = step.actionId === undefined ? [...loc, "definition", call.by] : [...loc, "actionId"];
  const circle = await circleFrom(tx, saved, call, { trail: [saved.name], seen: new Set() });
  if (circle) {
    const msg = `This automation would call itself without end: ${circle.join(" → ")}`;
    return [{ loc: path, msg, type: "value_error" }];
  }
  // A slug can be reassigned later, an ID can't.
  if (call.by === "slug" || step.actionId !== undefined || (await findCalled(tx, call))) return [];
  return [{ loc: path, msg: "Automation not found", type: "not_found" }];
}

/** An automation that a definition names without a template. */
interface Call {
  by: "automationId" | "slug";
  name: string;
}

async function callOf(tx: WriteContext, step: Step): Promise<Call | null> {
  const work = step.actionId === undefined ? step : await definitionOf(tx, step.actionId);
  if (work?.kind !== "call_automation") return null;
  const { automationId, slug } = work.definition ?? {};
  const isPlain = (name: unknown): name is string => typeof name === "string" && !name.includes("{{");
  if (isPlain(automationId)) return { by: "automationId", name: automationId };
  return isPlain(slug) ? { by: "slug", name: slug } : null;
}

async function definitionOf(tx: WriteContext, actionId: string) {
  const [action] = await tx.db
    .select({ kind: actions.kind, definition: actions.definition })
    .from(actions)
    .where(and(eq(actions.organizationId, tx.organizationId), eq(actions.id, actionId)));
  return action;
}

async function findCalled(tx: WriteContext, { by, name }: Call): Promise<Saved | null> {
  const { id, slug, config } = automations;
  const [row] = await tx.db
    .select({ id, slug, name: automations.name, config })
    .from(automations)
    .where(
      and(
        eq(automations.organizationId, tx.organizationId),
        eq(by === "slug" ? slug : id, name),
        isNull(automations.deletedAt),
      ),
    );
  return row ?? null;
}

/** Returns the names on the way from a call back to the automation that is being saved. Null if there is none. */
async function circleFrom(
  tx: WriteContext,
  saved: Saved,
  call: Call,
  { trail, seen }: { trail: readonly string[]; seen: Set<string> },
): Promise<string[] | null> {
  if (call.name === (call.by === "slug" ? saved.slug : saved.id)) return [...trail, saved.name];
  if (trail.length > MAX_DEPTH) return null; // Deeper levels are rejected at run time.
  const called = await findCalled(tx, call);
  if (!called || seen.has(called.id)) return null;
  seen.add(called.id);
  for (const step of stepsOf(called.config as AutomationConfig)) {
    const next = await callOf(tx, step);
    const circle = next && (await circleFrom(tx, saved, next, { trail: [...trail, called.name], seen }));
    if (circle) return circle;
  }
  return null;
}
