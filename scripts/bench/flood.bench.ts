/**
 * Webhooks next to a flood: 8 senders of webhooks, alone and next to 1,000 connections that queue runs over the API.
 * A fair server gives webhooks their share of its time, regardless of the number of other connections.
 */
import { load, rawRequest, tell } from "./load.ts";
import { BODY, BRANCH_AUTOMATION, HOOK_HEADERS, startWeir } from "./weir.ts";

const SENDERS = 8;
const FLOOD = 1_000;
const SECONDS = 8;

const weir = await startWeir();
await weir.call("POST", "/api/v1/automations", BRANCH_AUTOMATION);
const action = await weir.call("POST", "/api/v1/actions", {
  kind: "conditional_branch",
  name: "Flood",
  definition: { branches: [{ key: "a", when: "true" }] },
});
const hook = rawRequest(weir.origin, "POST", `/webhooks/${weir.organizationId}/bench`, HOOK_HEADERS, BODY);
const run = rawRequest(weir.origin, "POST", `/api/v1/actions/${action.id}/run`, {
  authorization: `Bearer ${weir.token}`,
  "content-type": "application/json",
});

await load(weir.origin, hook, SENDERS, 1);
const alone = await load(weir.origin, hook, SENDERS, SECONDS);
const [beside, flood] = await Promise.all([
  load(weir.origin, hook, SENDERS, SECONDS),
  load(weir.origin, run, FLOOD, SECONDS),
]);
const told = (round: typeof alone) =>
  `${round.perSecond.toFixed(0)}/s, p50 ${round.p50.toFixed(1)} ms, p99 ${round.p99.toFixed(1)} ms, ${JSON.stringify(round.statuses)}`;
console.log(`  webhooks alone ${told(alone)}`);
console.log(`  webhooks beside ${told(beside)}; the flood ${told(flood)}; ${weir.rssMb().toFixed(0)} MB`);
tell(
  "webhooks of 8 senders beside 1,000 API senders, against alone",
  beside.perSecond / alone.perSecond,
  0.1,
  0.25,
);
await weir.stop();
