/**
 * Webhook → run completed, on 32 connections, against our own handler without a database; the list of 50
 * while webhooks saturate, against alone; memory under that load. Medians of interleaved rounds.
 */
import { join } from "node:path";
import { load, median, rawRequest, tell } from "./load.ts";
import { BODY, BRANCH_AUTOMATION, SIGNATURE, startWeir } from "./weir.ts";

const CONNECTIONS = 32;
const SECONDS = 4;
const ROUNDS = 3;

const peer = Bun.spawn([process.execPath, join(import.meta.dir, "handler.ts")], { stdout: "pipe" });
const { value } = await peer.stdout.getReader().read();
const { origin: bare } = JSON.parse(new TextDecoder().decode(value)) as { origin: string };

const weir = await startWeir();
await weir.call("POST", "/api/v1/automations", BRANCH_AUTOMATION);
const idle = await weir.rssMb();

const headers = { "content-type": "application/json", "x-svc-signature": SIGNATURE };
const ours = rawRequest(weir.origin, "POST", `/webhooks/${weir.organizationId}/bench`, headers, BODY);
const theirs = rawRequest(bare, "POST", "/webhooks/x/bench", headers, BODY);

await load(weir.origin, ours, CONNECTIONS, 1);
await load(bare, theirs, CONNECTIONS, 1);
const ratios: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  const a = await load(weir.origin, ours, CONNECTIONS, SECONDS);
  const b = await load(bare, theirs, CONNECTIONS, SECONDS);
  ratios.push(a.perSecond / b.perSecond);
  console.log(
    `  round ${round + 1}: Weir ${a.perSecond.toFixed(0)}/s (p50 ${a.p50.toFixed(1)} ms, p99 ${a.p99.toFixed(1)} ms, ${JSON.stringify(a.statuses)}), bare handler ${b.perSecond.toFixed(0)}/s`,
  );
}
tell("webhook → run completed, against a handler without a database", median(ratios), 0.25, 0.4);

const list = rawRequest(weir.origin, "GET", "/api/v1/action-runs?limit=50", {
  authorization: `Bearer ${weir.token}`,
});
const factors: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  const alone = await load(weir.origin, list, 1, 2);
  const [busy] = await Promise.all([load(weir.origin, list, 1, 2), load(weir.origin, ours, CONNECTIONS, 2)]);
  factors.push(busy.p99 / alone.p99);
  console.log(
    `  round ${round + 1}: list p99 alone ${alone.p99.toFixed(2)} ms, under webhooks ${busy.p99.toFixed(2)} ms`,
  );
}
tell("list p99 while webhooks saturate, against alone", median(factors), 4, 2, "×", true);
tell("memory idle", idle, 110, 80, "MB", true);
tell("memory under webhooks", await weir.rssMb(), 200, 130, "MB", true);
await weir.stop();
peer.kill();
