/**
 * Weir and its peers: `bun scripts/bench/peers.ts [words]`, run by hand. Arguments select peers by name:
 * handler, n8n, node-red, restate, bullmq. Default: all.
 *
 * The first run installs them from the registries of npm and Debian into a temporary folder, which takes minutes;
 * later runs reuse it. Each has its own ports, Node 24, and its own SQLite or Redis.
 *
 * Webhooks: the same payload is sent to each in turn on 32 connections, for some rounds, and every response is checked.
 * Weir verifies a signature, and has stored delivery, run and events before it responds;
 * n8n keeps nothing of successful runs, Node-RED stores nothing at all, Restate has one durable step.
 *
 * Queue: internally, 32 callers each wait for their response, then a worker processes the queue, 64 at a time;
 * over HTTP, 32 connections. Weir's runs execute with their log, events and lease; BullMQ's jobs do nothing.
 * BullMQ is listed twice: with a Redis that keeps what it has acknowledged, as Weir does, and with one as shipped.
 */
import { atEnd } from "./ending.ts";
import { load, median, rawRequest, tell } from "./load.ts";
import { startPeer } from "./peer.ts";
import { type Durability, type JobQueue, startBullMq } from "./peers/bullmq.ts";
import { startN8n } from "./peers/n8n.ts";
import { startNodeRed } from "./peers/node-red.ts";
import type { Peer } from "./peers/peer.ts";
import { startRestate } from "./peers/restate.ts";
import { BODY, BRANCH_AUTOMATION, HOOK_HEADERS, startWeir } from "./weir.ts";

const CONNECTIONS = 32;
const WARM_UP_SECONDS = 2;
const SECONDS = 3;
const ROUNDS = 3;
const JOBS = 4_000;
const AT_ONCE = 64;
const POST_SECONDS = 1;

const words = process.argv.slice(2);
const isAsked = (name: string) => words.length === 0 || words.some((word) => name.includes(word));
/** The lines of the table, printed together at the end. */
const table: (() => void)[] = [];

/** Returns what `start` returns. If it fails, null and a line in the table with the reason. */
async function had<T>(name: string, start: () => Promise<T>): Promise<T | null> {
  if (!isAsked(name)) return null;
  try {
    return await start();
  } catch (error) {
    const why = (error instanceof Error ? error.message : String(error)).split("\n").slice(0, 5).join(" ");
    console.log(`  ${name} could not be had: ${why}`);
    table.push(() => console.log(`${name} could not be had: ${why}`));
    return null;
  }
}

/** A peer that receives webhooks. */
interface Runner extends Omit<Peer, "child"> {
  rates: number[];
  p50s: number[];
}

const runnerOf = (peer: Omit<Peer, "child">): Runner => ({ ...peer, rates: [], p50s: [] });

async function compareWebhooks(): Promise<void> {
  const weir = await startWeir();
  await weir.call("POST", "/api/v1/automations", BRANCH_AUTOMATION);
  const isBig = (reply: string) => reply.includes('"status":"processed"') && reply.includes('"big"');
  const own = { path: `/webhooks/${weir.organizationId}/bench`, headers: HOOK_HEADERS, isRight: isBig };
  const ours = runnerOf({ name: "Weir", origin: weir.origin, ...own });

  const rows: { runner: Runner; floor: number; target: number; stop(): Promise<void> }[] = [];
  const add = async (name: string, floor: number, target: number, start: () => Promise<Peer>) => {
    const peer = await had(name, async () => {
      const started = await start();
      const body = { method: "POST", headers: { "content-type": "application/json" }, body: BODY };
      await started.child.ready(async () => {
        const reply = await fetch(started.origin + started.path, body);
        return reply.ok && started.isRight(await reply.text());
      });
      return started;
    });
    if (peer) rows.push({ runner: runnerOf(peer), floor, target, stop: () => peer.child.stop() });
  };
  await add("n8n", 25, 80, startN8n);
  await add("node-red", 0.5, 1.2, startNodeRed);
  await add("restate", 4, 10, startRestate);
  const handler = await had("handler", () => startPeer("handler.ts"));
  if (handler) {
    const runner = runnerOf({ name: "own handler, no database", origin: handler.origin, ...own });
    rows.push({ runner, floor: 0.25, target: 0.4, stop: handler.stop });
  }

  const round = async (runner: Runner, seconds: number) => {
    const headers = { "content-type": "application/json", ...runner.headers };
    const request = rawRequest(runner.origin, "POST", runner.path, headers, BODY);
    return await load(runner.origin, request, CONNECTIONS, seconds, runner.isRight);
  };
  const all = [ours, ...rows.map(({ runner }) => runner)];
  for (const runner of all) await round(runner, WARM_UP_SECONDS);
  for (let n = 1; n <= ROUNDS; n++) {
    for (const runner of all) {
      const { perSecond, p50 } = await round(runner, SECONDS);
      runner.rates.push(perSecond);
      runner.p50s.push(p50);
    }
    console.log(
      `  webhooks, round ${n}: ${all.map(({ name, rates }) => `${name} ${rates.at(-1)?.toFixed(0)}/s`).join("; ")}`,
    );
  }
  for (const { runner, floor, target } of rows) {
    const ratio = median(ours.rates.map((rate, n) => rate / (runner.rates[n] ?? Number.NaN)));
    const figures = `Weir ${median(ours.rates).toFixed(0)}/s, p50 ${median(ours.p50s).toFixed(1)} ms; ${runner.name} ${median(runner.rates).toFixed(0)}/s, p50 ${median(runner.p50s).toFixed(1)} ms`;
    table.push(() => {
      tell(`webhook → run completed, against ${runner.name}`, ratio, floor, target);
      console.log(`  ${figures}`);
    });
  }
  await weir.stop();
  for (const { stop } of rows) await stop();
}

const PARTS = ["enqueue", "drain", "enqueue over HTTP"] as const;
type Rates = Record<(typeof PARTS)[number], number[]>;
const noRates = (): Rates => ({ enqueue: [], drain: [], "enqueue over HTTP": [] });

/** Weir's queue: internally in a separate process, over HTTP as a whole server. */
async function startWeirQueue(): Promise<JobQueue> {
  const inside = await startPeer("weir-queue.ts", String(AT_ONCE));
  const weir = await startWeir();
  const action = await weir.call("POST", "/api/v1/actions", {
    kind: "conditional_branch",
    name: "Branch",
    definition: { branches: [{ key: "a", when: "true" }] },
  });
  const headers = { authorization: `Bearer ${weir.token}`, "content-type": "application/json" };
  const run = rawRequest(weir.origin, "POST", `/api/v1/actions/${action.id}/run`, headers);
  const ask = async (path: string) => {
    const reply = await fetch(inside.origin + path, { method: "POST" });
    return ((await reply.json()) as { perSecond: number }).perSecond;
  };
  return {
    name: "Weir",
    enqueue: (count, callers) => ask(`/enqueue?count=${count}&callers=${callers}`),
    drain: (count) => ask(`/drain?count=${count}`),
    async post(connections, seconds) {
      const posted = await load(weir.origin, run, connections, seconds, (reply) => reply.includes('"id":'));
      const open = "statuses=pending&statuses=running&limit=1";
      while ((await weir.call("GET", `/api/v1/action-runs?${open}`)).total > 0) await Bun.sleep(20);
      return posted;
    },
    async stop() {
      await inside.stop();
      await weir.stop();
    },
  };
}

async function compareQueues(): Promise<void> {
  const peers: JobQueue[] = [];
  for (const durability of ["strict", "shipped"] satisfies Durability[]) {
    const peer = await had("bullmq", () => startBullMq(durability));
    if (peer) peers.push(peer);
  }
  if (peers.length === 0) return;
  const all = [await startWeirQueue(), ...peers].map((queue) => ({ queue, rates: noRates() }));
  for (let n = 0; n <= ROUNDS; n++) {
    for (const { queue, rates } of all) {
      const enqueued = await queue.enqueue(JOBS, CONNECTIONS);
      const drained = await queue.drain(JOBS, AT_ONCE);
      const posted = await queue.post(CONNECTIONS, POST_SECONDS);
      if (queue.name !== "Weir") await queue.drain(posted.count, AT_ONCE); // Weir's worker has already done so.
      if (n === 0) continue; // Warm-up.
      rates.enqueue.push(enqueued);
      rates.drain.push(drained);
      rates["enqueue over HTTP"].push(posted.perSecond);
    }
    if (n > 0)
      console.log(
        `  queue, round ${n}: ${all.map(({ queue, rates }) => `${queue.name}: ${PARTS.map((part) => `${part} ${rates[part].at(-1)?.toFixed(0)}/s`).join(", ")}`).join("; ")}`,
      );
  }
  const [ours, ...theirs] = all;
  for (const { queue, rates } of theirs) {
    for (const part of PARTS) {
      const own = ours?.rates[part] ?? [];
      const ratio = median(own.map((rate, n) => rate / (rates[part][n] ?? Number.NaN)));
      const figures = `Weir ${median(own).toFixed(0)}/s; ${queue.name} ${median(rates[part]).toFixed(0)}/s`;
      table.push(() => {
        tell(`queue: ${part}, against ${queue.name}`, ratio, 2, part === "drain" ? 6 : 5);
        console.log(`  ${figures}`);
      });
    }
  }
  for (const { queue } of all) await queue.stop();
}

atEnd(() => {
  console.log(`\nWeir beside its peers, medians of ${ROUNDS} interleaved rounds`);
  for (const print of table) print();
});
if (["handler", "n8n", "node-red", "restate"].some(isAsked)) await compareWebhooks();
if (isAsked("bullmq")) await compareQueues();
process.exit(0);
