/**
 * Webhook → run completed, on 32 connections, against Weir's own handler without a database (handler.ts);
 * and a list of 50 runs while webhooks saturate the server, against alone. Medians of interleaved rounds.
 * Also shows the CPU time per request, which varies less on a busy machine.
 */
import { load, median, rawRequest, tell } from "./load.ts";
import { startPeer } from "./peer.ts";
import { cpuSeconds } from "./process.ts";
import { BODY, BRANCH_AUTOMATION, HOOK_HEADERS, startWeir } from "./weir.ts";

const CONNECTIONS = 32;
const SECONDS = 4;
const ROUNDS = 3;

const peer = await startPeer("handler.ts");
const weir = await startWeir();
await weir.call("POST", "/api/v1/automations", BRANCH_AUTOMATION);
const ours = rawRequest(weir.origin, "POST", `/webhooks/${weir.organizationId}/bench`, HOOK_HEADERS, BODY);
const theirs = rawRequest(peer.origin, "POST", "/webhooks/x/bench", HOOK_HEADERS, BODY);

/** One round, with the microseconds of CPU time that the server spent per request. */
async function round(origin: string, request: Buffer, cpu: () => number) {
  const before = cpu();
  const result = await load(origin, request, CONNECTIONS, SECONDS);
  return { ...result, cpuUs: ((cpu() - before) * 1e6) / result.count };
}

await load(weir.origin, ours, CONNECTIONS, 1);
await load(peer.origin, theirs, CONNECTIONS, 1);
const ratios: number[] = [];
for (let n = 1; n <= ROUNDS; n++) {
  const a = await round(weir.origin, ours, weir.cpuSeconds);
  const b = await round(peer.origin, theirs, () => cpuSeconds(peer.pid));
  if (Object.keys(b.statuses).join() !== "200")
    throw new Error(`The handler answered ${JSON.stringify(b.statuses)}.`);
  ratios.push(a.perSecond / b.perSecond);
  console.log(
    `  round ${n}: Weir ${a.perSecond.toFixed(0)}/s, ${a.cpuUs.toFixed(0)} µs (p50 ${a.p50.toFixed(1)} ms, p99 ${a.p99.toFixed(1)} ms, ${JSON.stringify(a.statuses)}); bare handler ${b.perSecond.toFixed(0)}/s, ${b.cpuUs.toFixed(0)} µs`,
  );
}
tell("webhook → run completed, against a handler without a database", median(ratios), 0.35, 0.45);

const list = rawRequest(weir.origin, "GET", "/api/v1/action-runs?limit=50", {
  authorization: `Bearer ${weir.token}`,
});
const factors: number[] = [];
for (let n = 1; n <= ROUNDS; n++) {
  const alone = await load(weir.origin, list, 1, 2);
  const [busy] = await Promise.all([load(weir.origin, list, 1, 2), load(weir.origin, ours, CONNECTIONS, 2)]);
  factors.push(busy.p99 / alone.p99);
  console.log(
    `  round ${n}: list p99 alone ${alone.p99.toFixed(2)} ms, under webhooks ${busy.p99.toFixed(2)} ms`,
  );
}
tell("list p99 while webhooks saturate, against alone", median(factors), 4, 2, "×", true);
await weir.stop();
await peer.stop();
