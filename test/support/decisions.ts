import type { startApp } from "./app.ts";
import { ACTIONS, created, makeAction, until } from "./work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

export const APPROVALS = "/api/v1/approvals";
export const DECISIONS = "/api/v1/decisions";

/** The definition of a gate; `more` adds to it. */
export const gate = (more: object = {}) => ({ title: "Ship it?", ...more });

/** Creates and runs an action with a gate. Returns its run and the decision that it waits for. */
export async function ask(app: Pick<Started, "owner">, more: object = {}) {
  const action = await makeAction(app.owner, { kind: "approval_gate", definition: gate(more) });
  const run = created(await app.owner("POST", `${ACTIONS}/${action.id}/run`));
  return { action, run, decision: await openDecision(app, run.id) };
}

/** The decision that a run waits for, once it does. */
export async function openDecision(app: Pick<Started, "owner">, runId: string) {
  const isIts = ({ subjectId }: { subjectId: string }) => subjectId === runId;
  const { decisions } = await until(app.owner, `${DECISIONS}/pending`, (body) => body.decisions.some(isIts));
  return decisions.find(isIts);
}
