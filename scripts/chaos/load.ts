import { createHmac } from "node:crypto";
import type { Ledger, Making } from "./ledger.ts";
import { type Plant, SECRET } from "./plant.ts";
import type { TableFlows } from "./tables.ts";
import type { Answer, Weir } from "./weir.ts";

/** Maximum number of requests without a response that are repeated after a restart, of each kind. */
const RESENT_AT_ONCE = 50;

interface Load {
  weir: Weir;
  organizationId: string;
  plant: Plant;
  ledger: Ledger;
  round: number;
  /** Factor for all pauses. Default: 1. */
  calm?: number;
  /** Ends the load while the server continues. */
  signal?: AbortSignal;
  /** Several servers share the database. While one waits for a dead one's transaction, it may respond with 503. */
  isShared?: boolean;
}

/** False once the server is gone. */
type Work = (load: Load, n: number) => Promise<boolean>;

/** Runs work concurrently until the server is gone, with a random pause after each request. */
export async function loadUntilDead(load: Load): Promise<void> {
  const workers: [work: Work, restMs: number][] = [
    ...Array.from({ length: 3 }, (): [Work, number] => [sendBranch, 20]),
    [sendEffect, 40],
    [sendEach, 120],
    [sendLoad, 5000],
    [runCaller, 80],
    [askApproval, 50],
    [decide, 40],
    [cancel, 90],
    [retry, 90],
    [makeAction, 60],
    [sendAgain, 60],
    ...load.plant.tables.flatMap(tableWorks),
  ];
  await Promise.all(
    workers.map(async ([work, restMs], worker) => {
      for (let n = 0; !load.signal?.aborted && (await work(load, worker * 100_000 + n)); n++)
        await Bun.sleep(Math.random() * restMs * (load.calm ?? 1));
    }),
  );
}

const sendBranch: Work = (load, n) => newWebhook(load, "branch", n, {});
const sendEffect: Work = (load, n) => newWebhook(load, "effect", n, {});
const sendEach: Work = (load, n) =>
  newWebhook(load, "each", n, { items: Array.from({ length: n % 6 }, (_, i) => i) });
const sendLoad: Work = (load, n) => newWebhook(load, "load", n, {});

/** These take longer than the others: from the second round on, the first request has to wait too. */
const tableWorks = ({ append, bulk, tally, back }: TableFlows): [Work, number][] => {
  const late =
    (work: Work): Work =>
    async (load, n) =>
      (load.round > 1 && n % 100_000 === 0) || work(load, n);
  return [
    [late((load, n) => newWebhook(load, append, n, {})), 2000],
    [late((load, n) => newWebhook(load, bulk, n, {})), 5000],
    [late((load, n) => startRun(load, `tally-${tally}`, tally, n)), 4000],
    [late((load, n) => startRun(load, `back-${back}`, back, n)), 5000],
  ];
};

function newWebhook(load: Load, hook: string, n: number, payload: object): Promise<boolean> {
  const key = `${hook}-${load.round}-${n}`;
  // A signature is accepted once, so no two webhooks within one second may have the same body.
  const body = JSON.stringify({ n, round: load.round, ...payload });
  load.ledger.webhooks.set(key, { hook, body, runId: null });
  return sendWebhook(load, key);
}

async function sendWebhook(load: Load, key: string): Promise<boolean> {
  const { weir, organizationId, ledger } = load;
  const sent = ledger.webhooks.get(key);
  if (!sent) return true;
  const sentAt = String(Math.floor(Date.now() / 1000));
  const reply = await fetch(`${weir.origin}/webhooks/${organizationId}/${sent.hook}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "idempotency-key": key,
      "x-svc-timestamp": sentAt,
      "x-svc-signature": `sha256=${createHmac("sha256", SECRET).update(`${sentAt}.${sent.body}`).digest("hex")}`,
    },
    body: sent.body,
  }).catch(() => null);
  const answer = (await reply?.json().catch(() => null)) as { automationRunId: string } | null | undefined;
  if (!reply || !answer) return false;
  if (isBusy(load, reply.status)) return true;
  // Also in the 500 for a run that was cancelled in the meantime.
  const hasRun = typeof answer.automationRunId === "string";
  if (!hasRun) ledger.faults.push(`the webhook ${key} was answered ${reply.status}`);
  else if (sent.runId !== null && sent.runId !== answer.automationRunId)
    ledger.faults.push(`the webhook ${key} ran twice: ${sent.runId} and ${answer.automationRunId}`);
  else sent.runId = answer.automationRunId;
  return true;
}

function isBusy({ isShared, ledger }: Load, status: number): boolean {
  if (!isShared || status !== 503) return false;
  ledger.refused++;
  return true;
}

const runCaller: Work = (load, n) => startRun(load, "caller", load.plant.caller, n);

const startRun = (load: Load, name: string, automation: string, n: number): Promise<boolean> =>
  make(load, `${name}-${load.round}-${n}`, {
    kind: "run",
    path: `/api/v1/automations/${automation}/run`,
    body: {},
    id: null,
  });

/** Every fourth has a timeout so short that it may expire first. */
const askApproval: Work = (load, n) =>
  make(load, `approval-${load.round}-${n}`, {
    kind: "run",
    path: `/api/v1/automations/${load.plant.approval}/run`,
    body: { input: { seconds: n % 4 === 0 ? 1 : 3600 } },
    id: null,
  });

const makeAction: Work = (load, n) => {
  const name = `action ${load.round} ${n}`;
  const definition = { branches: [{ key: "yes", when: "true" }] };
  return make(load, `action-${load.round}-${n}`, {
    kind: "action",
    path: "/api/v1/actions",
    body: { kind: "conditional_branch", name, definition },
    id: null,
  });
};

function make(load: Load, key: string, making: Making): Promise<boolean> {
  load.ledger.makings.set(key, making);
  return sendMaking(load, key, making);
}

async function sendMaking(load: Load, key: string, making: Making): Promise<boolean> {
  const { weir, ledger } = load;
  const answer = await weir.call("POST", making.path, making.body, { "idempotency-key": key });
  if (answer === null) return false;
  if (isBusy(load, answer.status)) return true;
  if ([409, 410].includes(answer.status) && making.kind === "retry") {
    ledger.refused++;
    ledger.makings.delete(key);
  } else if (answer.status !== 201) {
    ledger.faults.push(`${making.path} with ${key} was answered ${told(answer)}`);
  } else if (making.id !== null && making.id !== answer.body.id) {
    ledger.faults.push(`${key} made two: ${making.id} and ${answer.body.id}`);
  } else making.id = answer.body.id;
  return true;
}

/** Repeats requests without a response before the kill, and sometimes others: neither may take effect twice. */
const sendAgain: Work = async (load, n) => {
  const { ledger } = load;
  if (n % 100_000 === 0) {
    const webhooks = [...ledger.webhooks].filter(([, { runId }]) => runId === null).slice(-RESENT_AT_ONCE);
    const makings = [...ledger.makings].filter(([, { id }]) => id === null).slice(-RESENT_AT_ONCE);
    for (const [key] of webhooks) {
      ledger.resent++;
      if (!(await sendWebhook(load, key))) return false;
    }
    for (const [key, making] of makings) {
      ledger.resent++;
      if (!(await sendMaking(load, key, making))) return false;
    }
  }
  const key = anyOf([...ledger.webhooks.keys()].slice(-200));
  return key === undefined ? true : sendWebhook(load, key);
};

/** Two users decide at once, often differently. */
const decide: Work = async (load) => {
  const { weir, ledger } = load;
  const pending = await weir.call("GET", "/api/v1/decisions/pending");
  if (pending === null) return false;
  if (isBusy(load, pending.status)) return true;
  if (pending.status !== 200) return noteFault(ledger, "the pending decisions were", pending);
  const decision = anyOf(pending.body.decisions as { id: string }[]);
  if (!decision) return true;
  const answers = await Promise.all(
    [0, 1].map(async () => {
      const decisionValue = Math.random() < 0.7 ? "approved" : "rejected";
      const rejectionReason = decisionValue === "rejected" ? "No." : null;
      const path = `/api/v1/decisions/${decision.id}/decide`;
      return [
        decisionValue,
        await weir.call("POST", path, { decisionValue, ...(rejectionReason ? { rejectionReason } : {}) }),
      ] as const;
    }),
  );
  for (const [value, answer] of answers)
    if (!answer || !isBusy(load, answer.status)) noteDecision(ledger, decision.id, value, answer);
  return answers.every(([, answer]) => answer !== null);
};

function noteDecision(ledger: Ledger, id: string, value: string, answer: Answer | null): void {
  if (answer === null) return;
  if (answer.status === 409) ledger.refused++;
  else if (answer.status !== 200) ledger.faults.push(`the decision ${id} was answered ${told(answer)}`);
  else if ((ledger.decided.get(id) ?? value) !== value)
    ledger.faults.push(`the decision ${id} has two winners`);
  else ledger.decided.set(id, value);
}

const cancel: Work = async (load) => {
  const { weir, plant, ledger } = load;
  const id = await anyRun(load, anyOf([plant.approval, plant.caller, plant.effect, plant.each]), [
    "running",
    "waiting",
  ]);
  if (id === null) return false;
  if (id === undefined) return true;
  const answer = await weir.call("POST", `/api/v1/automation-runs/${id}/cancel`);
  if (answer === null) return false;
  if (isBusy(load, answer.status)) return true;
  if (answer.status === 409) ledger.refused++;
  else if (answer.status !== 200) ledger.faults.push(`the cancel of ${id} was answered ${told(answer)}`);
  else ledger.cancelled.add(id);
  return true;
};

const retry: Work = async (load, n) => {
  const { plant } = load;
  const id = await anyRun(load, anyOf([plant.approval, plant.caller, plant.each]), ["failed", "cancelled"]);
  if (id === null) return false;
  if (id === undefined) return true;
  return make(load, `retry-${load.round}-${n}`, {
    kind: "retry",
    path: `/api/v1/automation-runs/${id}/retry`,
    body: { fromFailed: Math.random() < 0.7 },
    id: null,
  });
};

/** Returns one of the newest runs of an automation in one of these statuses. Null if the server is gone. */
async function anyRun(
  load: Load,
  automation: string | undefined,
  statuses: readonly string[],
): Promise<string | undefined | null> {
  const path = `/api/v1/automations/${automation}/runs?limit=10&status=${anyOf(statuses)}`;
  const answer = await load.weir.call("GET", path);
  if (answer === null) return null;
  if (isBusy(load, answer.status)) return undefined;
  if (answer.status !== 200) throw new Error(`${path}: ${told(answer)}`);
  return anyOf(answer.body.runs as { id: string }[])?.id;
}

function noteFault(ledger: Ledger, what: string, answer: Answer): true {
  ledger.faults.push(`${what} answered ${told(answer)}`);
  return true;
}

const anyOf = <T>(all: readonly T[]): T | undefined => all[Math.floor(Math.random() * all.length)];

const told = ({ status, body }: Answer) => `${status} ${JSON.stringify(body)}`;
