import { eq } from "drizzle-orm";
import type { JsonObject } from "../../src/base/json.ts";
import { actions } from "../../src/resources/actions/table.ts";
import { automationRuns } from "../../src/resources/automations/table.ts";
import { events } from "../../src/resources/events/table.ts";
import { actionRuns } from "../../src/resources/runs/table.ts";
import type { Answer, Client, startApp } from "./app.ts";
import { pause } from "./pause.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

export const ACTIONS = "/api/v1/actions";
export const RUNS = "/api/v1/action-runs";
export const AUTOMATIONS = "/api/v1/automations";
export const AUTOMATION_RUNS = "/api/v1/automation-runs";

/** An unknown ID. */
export const NOBODY = "01900000-0000-7000-8000-00000000abcd";

/** A branch that is always taken: work that needs nothing and ends immediately. */
export const branch = (key = "a", when = "true") => ({ branches: [{ key, when }] });

/** Creates a quick action; `more` replaces fields of the body. */
export async function makeAction(call: Client, more: object = {}) {
  const body = { kind: "conditional_branch", name: "Branch", definition: branch(), ...more };
  return created(await call("POST", ACTIONS, body));
}

/** The same, with a definition stored before secrets in definitions were rejected. */
export async function makeOldAction(
  { app, owner }: Started,
  more: { definition: JsonObject; [field: string]: unknown },
) {
  const { definition, ...rest } = more;
  const made = await makeAction(owner, { ...rest, definition: {} });
  await app.store.write(
    async (db) => void (await db.update(actions).set({ definition }).where(eq(actions.id, made.id))),
  );
  return made;
}

export async function makeAutomation(call: Client, config: object, more: object = {}) {
  return created(await call("POST", AUTOMATIONS, { name: "Flow", triggerType: "manual", config, ...more }));
}

/** The body of a 201. Anything else fails the test with the response. */
export function created({ status, text, body }: Answer) {
  if (status !== 201) throw new Error(`${status} ${text}`);
  return body;
}

const FINAL = ["completed", "failed", "cancelled"];

/** Polls `path` until `done` accepts the response, and returns it. Fails after a minute. */
export async function until(call: Client, path: string, done: (body: Answer["body"]) => boolean) {
  for (const start = performance.now(); performance.now() - start < 100_000; await pause(start)) {
    const { body } = await call("GET", path);
    if (done(body)) return body;
  }
  throw new Error(`It did not come: ${(await call("GET", path)).text}`);
}

export const runEnd = (call: Client, id: string) =>
  until(call, `${RUNS}/${id}`, ({ status }) => FINAL.includes(status));

export const automationRunEnd = (call: Client, id: string) =>
  until(call, `${AUTOMATION_RUNS}/${id}`, ({ status }) => FINAL.includes(status));

/** Runs an action and waits for its end. */
export async function runToEnd(call: Client, actionId: string, body?: object) {
  return runEnd(call, created(await call("POST", `${ACTIONS}/${actionId}/run`, body)).id);
}

/** Runs an automation and waits for its end. */
export async function flowToEnd(call: Client, automationId: string, body?: object) {
  return automationRunEnd(call, created(await call("POST", `${AUTOMATIONS}/${automationId}/run`, body)).id);
}

/** Types of the events of one chain, in order. */
export const chainOf = async ({ app }: Started, correlationId: string) =>
  (
    await app.store.db
      .select()
      .from(events)
      .where(eq(events.correlationId, correlationId))
      .orderBy(events.seq)
  ).map(({ type }) => type);

/** The chain that an action run or an automation run belongs to, which responses don't contain. */
export async function correlationOf({ app }: Started, runId: string): Promise<string> {
  for (const table of [actionRuns, automationRuns]) {
    const [row] = await app.store.db.select().from(table).where(eq(table.id, runId));
    if (row) return row.correlationId;
  }
  throw new Error(`There is no run ${runId}.`);
}

/** `loc` and `type` of each fault of a 422. */
export const faultsOf = (answer: Answer) => {
  if (answer.status !== 422) throw new Error(`${answer.status} ${answer.text}`);
  return answer.body.detail.map(
    ({ loc, type }: { loc: string[]; type: string }) => `${loc.join(".")} ${type}`,
  );
};

/** What a worker with this many slots, all free, can take. */
export const roomFor = (slots: number) => ({
  slots,
  of: slots,
  ahead: 0,
  heldSlots: () => new Map<string, number>(),
  isolates: true,
  isQuiet: () => true,
});
