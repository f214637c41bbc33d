/**
 * Waiting: 10,000 runs of an approval gate are queued and wait for a user. Measures resident memory,
 * as Linux counts it, after 10 s of rest, above that of the same server when idle before any of them; the same for a
 * server started with them; and the time that another run takes from its POST to its end, with one slot for all runs.
 */
import { load, median, rawRequest, tell } from "./load.ts";
import { initWeir, serveWeir } from "./weir.ts";

const APPROVALS = 10_000;
const CONNECTIONS = 16;
const REST_MS = 10_000;

const made = initWeir();
const place = { ...made, env: { ...made.env, WEIR_CONCURRENCY: "1" } };
let weir = await serveWeir(place);
const make = (body: object) => weir.call("POST", "/api/v1/actions", body);
const gate = await make({ kind: "approval_gate", name: "Gate", definition: { title: "Ship it?" } });
const branch = await make({
  kind: "conditional_branch",
  name: "Branch",
  definition: { branches: [{ key: "a", when: "true" }] },
});
await Bun.sleep(REST_MS / 2);
const idleMb = weir.rssMb();

const request = rawRequest(weir.origin, "POST", `/api/v1/actions/${gate.id}/run`, {
  authorization: `Bearer ${weir.token}`,
  "content-type": "application/json",
});
let asked = 0;
while (asked < APPROVALS) asked += (await load(weir.origin, request, CONNECTIONS, 1)).count;
const waiting = async () => (await weir.call("GET", "/api/v1/action-runs?statuses=waiting&limit=1")).total;
while ((await waiting()) < asked) await Bun.sleep(200);
await Bun.sleep(REST_MS);
const withMb = weir.rssMb();
console.log(`  idle ${idleMb.toFixed(0)} MB, with ${asked} waiting approvals ${withMb.toFixed(0)} MB`);

/** Milliseconds from the request for a run to its end. */
async function oneRun(): Promise<number> {
  const began = performance.now();
  const { id } = await weir.call("POST", `/api/v1/actions/${branch.id}/run`);
  while ((await weir.call("GET", `/api/v1/action-runs/${id}`)).status !== "completed") await Bun.sleep(1);
  return performance.now() - began;
}
const runs: number[] = [];
for (let n = 0; n < 50; n++) runs.push(await oneRun());
tell("another run beside 10,000 waiting approvals, one place", median(runs), 100, 100, "ms", true);
tell("memory with 10,000 waiting approvals above idle", withMb - idleMb, 50, 50, "MB", true);

await weir.stop();
weir = await serveWeir(place);
await Bun.sleep(REST_MS);
tell("memory when started with 10,000 of them, above idle", weir.rssMb() - idleMb, 50, 50, "MB", true);
await weir.stop();
