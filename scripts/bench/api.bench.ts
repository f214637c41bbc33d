/**
 * Two operations of the API, medians of interleaved rounds:
 * - a list of 50 connections of 200, with credentials, organization and total, against raw Elysia over bun:sqlite
 *   on the same file, without either (raw-list.ts);
 * - a POST whose body is checked like that of a new action, against the same handler without the check. Both are one
 *   Elysia without a database (raw-post.ts), so that they differ only in the check.
 */
import { join } from "node:path";
import { load, median, rawRequest, tell } from "./load.ts";
import { startPeer } from "./peer.ts";
import { startWeir } from "./weir.ts";

const ROUNDS = 5;
const SECONDS = 2;
const CONNECTIONS = 8;

/** Median ratio of Weir's rate to the peer's. */
async function compare(names: [string, string], origins: [string, string], requests: [Buffer, Buffer]) {
  const ratios: number[] = [];
  for (let n = 0; n <= ROUNDS; n++) {
    const a = await load(origins[0], requests[0], CONNECTIONS, n === 0 ? 1 : SECONDS);
    const b = await load(origins[1], requests[1], CONNECTIONS, n === 0 ? 1 : SECONDS);
    if (n === 0) continue; // Warm-up.
    ratios.push(a.perSecond / b.perSecond);
    console.log(
      `  round ${n}: ${names[0]} ${a.perSecond.toFixed(0)}/s ${JSON.stringify(a.statuses)}, ${names[1]} ${b.perSecond.toFixed(0)}/s`,
    );
  }
  return median(ratios);
}

const weir = await startWeir();
for (let n = 0; n < 200; n++) {
  const files = { name: `Files ${n}`, provider: "local_files", config: {}, credentials: {} };
  await weir.call("POST", "/api/v1/connections", files);
}
const list = await startPeer("raw-list.ts", join(weir.folder, "weir.db"));
const authorization = { authorization: `Bearer ${weir.token}` };
const listed = await compare(
  ["Weir", "raw"],
  [weir.origin, list.origin],
  [
    rawRequest(weir.origin, "GET", "/api/v1/connections?limit=50", authorization),
    rawRequest(list.origin, "GET", "/connections?limit=50", {}),
  ],
);
tell("list of 50 against raw Elysia + bun:sqlite", listed, 0.4, 0.6);
await weir.stop();
await list.stop();

const checked = await startPeer("raw-post.ts", "checked");
const bare = await startPeer("raw-post.ts");
const body = JSON.stringify({
  kind: "http_request",
  name: "Tell the warehouse",
  slug: "tell-the-warehouse",
  connectionId: "01900000-0000-7000-8000-000000000001",
  definition: {
    method: "POST",
    url: "https://warehouse.example.com/orders",
    headers: { "x-source": "weir" },
    body: { order: "{{ payload.order.id }}", total: "{{ payload.order.total }}" },
  },
});
const post = (origin: string) =>
  rawRequest(origin, "POST", "/actions", { "content-type": "application/json" }, body);
const posted = await compare(
  ["checked", "unchecked"],
  [checked.origin, bare.origin],
  [post(checked.origin), post(bare.origin)],
);
tell("validated POST against unvalidated", posted, 0.55, 0.65);
await checked.stop();
await bare.stop();
