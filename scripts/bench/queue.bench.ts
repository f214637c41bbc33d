/**
 * The queue of runs, medians of rounds.
 *
 * Enqueue to start: 50 runs of an `http_request` action are requested per second. The verdict is on the time from the
 * response to the POST, when the run is durably queued, to the arrival of the run's own request at a receiver here:
 * it includes the claim with its commit, the start of the executor, and a new outbound connection.
 * Also shown are the time from sending the POST, and the time from the creation of the run's row, before its commit,
 * to its claim (`createdAt` to `startedAt`, whole milliseconds of the server's clock).
 *
 * Enqueue and drain: runs that only take a branch are requested on 32 connections until all have completed,
 * each with its checks, events, log and durable commits, over HTTP; against a bare queue in bun:sqlite here,
 * which inserts and deletes one row for each with a durable commit each time.
 * BullMQ needs Redis and is in peers.ts, so this has no verdict.
 */
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { atEnd, tempFolder } from "./ending.ts";
import { load, median, rawRequest, shareOf, tell } from "./load.ts";
import { startWeir } from "./weir.ts";

const ROUNDS = 3;
const PER_SECOND = 50;
const SECONDS = 4;
const DRAIN_SECONDS = 2;

const weir = await startWeir();
const arrivals = new Map<string, number>();
const receiver = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch(request) {
    arrivals.set(request.headers.get("idempotency-key") ?? "", performance.now());
    return new Response("ok");
  },
});
atEnd(() => void receiver.stop(true));
const call = await weir.call("POST", "/api/v1/actions", {
  kind: "http_request",
  name: "Call",
  definition: { method: "POST", url: `http://127.0.0.1:${receiver.port}/`, body: { hello: "there" } },
});
const branch = await weir.call("POST", "/api/v1/actions", {
  kind: "conditional_branch",
  name: "Branch",
  definition: { branches: [{ key: "a", when: "true" }] },
});

const SPANS = ["claim", "sent", "replied"] as const;
type Spans = Record<(typeof SPANS)[number], number[]>;
const noSpans = (): Spans => ({ claim: [], sent: [], replied: [] });

/** One round: the times of all runs in milliseconds. */
async function starts(): Promise<Spans> {
  const asked: Promise<{ id: string; sentAt: number; repliedAt: number }>[] = [];
  const ask = async () => {
    const sentAt = performance.now();
    const { id } = await weir.call("POST", `/api/v1/actions/${call.id}/run`);
    return { id, sentAt, repliedAt: performance.now() };
  };
  const began = performance.now();
  for (let n = 0; n < PER_SECOND * SECONDS; n++) {
    await Bun.sleep(Math.max(0, began + (n * 1000) / PER_SECOND - performance.now()));
    asked.push(ask());
  }
  const all = await Promise.all(asked);
  await untilDrained();
  const spans = noSpans();
  for (const { id, sentAt, repliedAt } of all) {
    const run = await weir.call("GET", `/api/v1/action-runs/${id}`);
    if (run.status !== "completed") throw new Error(`Run ${id}: ${run.status} ${JSON.stringify(run.error)}`);
    const arrivedAt = arrivals.get(id) ?? Number.NaN;
    spans.claim.push(Date.parse(run.startedAt) - Date.parse(run.createdAt));
    spans.sent.push(arrivedAt - sentAt);
    spans.replied.push(Math.max(0, arrivedAt - repliedAt));
  }
  return spans;
}

async function untilDrained(): Promise<void> {
  const open = "statuses=pending&statuses=running&statuses=waiting&limit=1";
  while ((await weir.call("GET", `/api/v1/action-runs?${open}`)).total > 0) await Bun.sleep(5);
}

const p50s = noSpans();
const p99s = noSpans();
for (let n = 0; n <= ROUNDS; n++) {
  const round = await starts();
  if (n === 0) continue; // Warm-up.
  for (const name of SPANS) {
    p50s[name].push(shareOf(round[name], 0.5));
    p99s[name].push(shareOf(round[name], 0.99));
  }
  const shown = (name: (typeof SPANS)[number]) =>
    `${p50s[name].at(-1)?.toFixed(2)} / ${p99s[name].at(-1)?.toFixed(2)} ms`;
  console.log(
    `  round ${n}, p50 / p99: reply to the run's request ${shown("replied")}, POST to the run's request ${shown("sent")}, row to claim ${shown("claim")}`,
  );
}
tell("enqueue to start, p50", median(p50s.replied), 3, 1, "ms", true);
tell("enqueue to start, p99", median(p99s.replied), 15, 5, "ms", true);

/** Runs per second, through Weir. */
async function drained() {
  const request = rawRequest(weir.origin, "POST", `/api/v1/actions/${branch.id}/run`, {
    authorization: `Bearer ${weir.token}`,
    "content-type": "application/json",
  });
  const began = performance.now();
  const { count, perSecond } = await load(weir.origin, request, 32, DRAIN_SECONDS);
  await untilDrained();
  return { enqueued: perSecond, drained: (count * 1000) / (performance.now() - began) };
}

const queue = new Database(join(tempFolder(), "queue.db"));
queue.run("PRAGMA journal_mode = WAL");
queue.run("PRAGMA synchronous = FULL");
queue.run("CREATE TABLE jobs (id INTEGER PRIMARY KEY, data TEXT NOT NULL)");
const insert = queue.query("INSERT INTO jobs (data) VALUES (?)");
const remove = queue.query("DELETE FROM jobs WHERE id = (SELECT min(id) FROM jobs) RETURNING data");

/** Jobs per second, through the bare queue. */
function bareDrained(): number {
  const data = JSON.stringify({ definition: { branches: [{ key: "a", when: "true" }] } });
  const began = performance.now();
  let count = 0;
  while (performance.now() - began < DRAIN_SECONDS * 500) {
    for (let n = 0; n < 100; n++) insert.run(data);
    for (let n = 0; n < 100; n++) remove.get();
    count += 100;
  }
  return (count * 1000) / (performance.now() - began);
}

const ratios: number[] = [];
for (let n = 1; n <= ROUNDS; n++) {
  const ours = await drained();
  const bare = bareDrained();
  ratios.push(ours.drained / bare);
  console.log(
    `  round ${n}: enqueued ${ours.enqueued.toFixed(0)}/s, enqueued and drained ${ours.drained.toFixed(0)}/s; bare bun:sqlite ${bare.toFixed(0)}/s`,
  );
}
console.log(
  `enqueue and drain against a bare bun:sqlite queue: ${median(ratios).toFixed(2)} × (no verdict: peers.ts has BullMQ)`,
);
queue.close();
await weir.stop();
await receiver.stop(true);
