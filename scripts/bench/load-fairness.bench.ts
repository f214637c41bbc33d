/**
 * Fairness: one organization has 20,000 queued runs, each a call to a receiver that takes 5 ms.
 * Then another organization requests one run, several times: the time from its POST to its end, while the queue lasts.
 */
import { atEnd } from "./ending.ts";
import { load, rawRequest, tell } from "./load.ts";
import { startWeir } from "./weir.ts";

const QUEUED = 20_000;
const PROBES = 10;
const CONNECTIONS = 16;

const receiver = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  async fetch() {
    if (isHeld) await door.promise;
    await Bun.sleep(5);
    return new Response("ok");
  },
});
const door = Promise.withResolvers<void>();
let isHeld = true;
atEnd(() => void receiver.stop(true));

const weir = await startWeir();
const definition = { method: "POST", url: `http://127.0.0.1:${receiver.port}/`, body: { hello: "there" } };
const call = await weir.call("POST", "/api/v1/actions", { kind: "http_request", name: "Call", definition });
const request = rawRequest(weir.origin, "POST", `/api/v1/actions/${call.id}/run`, {
  authorization: `Bearer ${weir.token}`,
  "content-type": "application/json",
});
let asked = 0;
while (asked < QUEUED) asked += (await load(weir.origin, request, CONNECTIONS, 1)).count;

/** A user of both organizations, who acts in the other one. */
const signedIn = await fetch(`${weir.origin}/api/v1/auth/login`, {
  method: "POST",
  headers: { "content-type": "application/json", "sec-fetch-site": "same-origin" },
  body: JSON.stringify({ email: "bench@example.com", password: "a long password for the benchmark" }),
});
const cookie = signedIn.headers.getSetCookie()[0]?.split(";")[0] ?? "";
const speak = async (method: string, path: string, body?: unknown, organization = "") => {
  const reply = await fetch(weir.origin + path, {
    method,
    headers: {
      cookie,
      "content-type": "application/json",
      "sec-fetch-site": "same-origin",
      ...(organization === "" ? {} : { "x-organization-id": organization }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${await reply.text()}`);
  return (await reply.json()) as { id: string; status: string };
};
const other = (await speak("POST", "/api/v1/organizations", { name: "Other" })).id;
const single = await speak(
  "POST",
  "/api/v1/actions",
  { kind: "http_request", name: "Single", definition },
  other,
);

isHeld = false;
door.resolve();
const left = async () =>
  (await weir.call("GET", "/api/v1/action-runs?statuses=pending&statuses=running&limit=1")).total as number;
const seconds: number[] = [];
for (let n = 0; n < PROBES; n++) {
  const began = performance.now();
  const { id } = await speak("POST", `/api/v1/actions/${single.id}/run`, undefined, other);
  while ((await speak("GET", `/api/v1/action-runs/${id}`, undefined, other)).status !== "completed")
    await Bun.sleep(2);
  seconds.push((performance.now() - began) / 1000);
  console.log(`  run ${n + 1}: ${seconds.at(-1)?.toFixed(3)} s, with ${await left()} of ${asked} in line`);
}
tell("another's single run beside 20,000 in line, the slowest", Math.max(...seconds), 2, 2, "s", true);
await weir.kill();
