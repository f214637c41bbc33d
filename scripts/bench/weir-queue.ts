/**
 * Weir's queue of runs, internally:
 * `bun weir-queue.ts`, in a separate process, listens on a port like bullmq-server.mjs.
 * A run is a row with its event and commit; when drained, it has been executed, with its log and events.
 */
import { sql } from "drizzle-orm";
import { openApp } from "../../src/app.ts";
import { systemClock } from "../../src/base/clock.ts";
import { openLog } from "../../src/base/log.ts";
import { readConfig } from "../../src/config.ts";
import { contextFor, write } from "../../src/context.ts";
import { drive } from "../../src/engine/loop.ts";
import { openWorker } from "../../src/engine/worker.ts";
import { enqueueRun, RUNS_TOPIC } from "../../src/queue/enqueue.ts";
import { createAction } from "../../src/resources/actions/service.ts";
import { actionRuns } from "../../src/resources/runs/table.ts";
import { createFirstOwner } from "../../src/resources/sign-in/setup.ts";
import { tempFolder } from "./ending.ts";

const concurrency = process.argv[2] ?? "64";
const { config, secrets } = readConfig(
  { data: tempFolder(), port: "0" },
  { WEIR_CONCURRENCY: concurrency, WEIR_LOG: "error" },
  {},
);
const log = openLog({
  level: "error",
  pretty: false,
  clock: systemClock,
  sink: (line) => console.error(line),
});
const { app } = await openApp({ config, secrets, clock: systemClock, log, self: [process.execPath] });
const { organization } = await createFirstOwner(
  app,
  {
    email: "ada@example.com",
    password: "correct horse battery",
    firstName: "A",
    lastName: "L",
    organizationName: "B",
  },
  "benchmark",
);
const ctx = contextFor(app, {
  organizationId: organization.id,
  role: "owner",
  actor: { type: "system", id: "benchmark" },
  correlationId: "benchmark",
});
app.signals.keep(RUNS_TOPIC);
const definition = { branches: [{ key: "a", when: "true" }] };
const { action } = await createAction(ctx, { kind: "conditional_branch", name: "Branch", definition });
const trigger = { method: "api", sourceType: "system", sourceId: null } as const;

const countDone = () => app.store.db.$count(actionRuns, sql`${actionRuns.status} = 'completed'`);

async function isOpen(): Promise<boolean> {
  // Matches an index.
  const open = sql`${actionRuns.status} in ('pending', 'running', 'waiting') and ${actionRuns.status} <> 'completed' and ${actionRuns.organizationId} = ${organization.id}`;
  return (await app.store.db.select({ id: actionRuns.id }).from(actionRuns).where(open).limit(1)).length > 0;
}

async function enqueue(count: number, callers: number): Promise<number> {
  let left = count;
  const run = { kind: "conditional_branch", definition, trigger, actionId: action.id } as const;
  const call = async () => {
    while (left-- > 0) await write(ctx, (tx) => enqueueRun(tx, run));
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: callers }, call));
  return (count * 1000) / (performance.now() - began);
}

async function drain(count: number): Promise<number> {
  const before = await countDone();
  const stopping = new AbortController();
  const worker = openWorker(app);
  const began = performance.now();
  const loop = drive(worker, {
    idleMs: 250,
    signal: stopping.signal,
    clock: systemClock,
    rest: (ms, until) => app.signals.wait(RUNS_TOPIC, ms, until),
    report: (error) => console.error(error),
  });
  while (await isOpen()) await Bun.sleep(20);
  const perSecond = (count * 1000) / (performance.now() - began);
  stopping.abort();
  await loop;
  await worker.idle();
  const done = (await countDone()) - before;
  if (done !== count) throw new Error(`${done} of ${count} runs have completed.`);
  return perSecond;
}

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  async fetch(request) {
    const url = new URL(request.url);
    const number = (name: string) => Number(url.searchParams.get(name));
    const perSecond =
      url.pathname === "/enqueue"
        ? await enqueue(number("count"), number("callers"))
        : await drain(number("count"));
    return Response.json({ perSecond });
  },
});
console.log(JSON.stringify({ origin: `http://127.0.0.1:${server.port}` }));
