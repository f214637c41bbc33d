/**
 * A tenant next to a hostile tenant: p99 of list, webhook and SQL of one organization,
 * alone and during another's attacks (neighbour-peer.ts): SQL that never ends, 100 MB of nested JSON in 180 KB of gzip,
 * JMESPath that takes the square of its input, 10,000 conditions, 10,000 queued runs, 8,000 slow sockets,
 * deliveries to a dead host, and scripts that loop and allocate memory. Also the server's memory, without its children.
 * Arguments select attacks: statements, bombs, pages, conditions, queue, sockets, deliveries, scripts.
 */
import { builtWeir } from "./executable.ts";
import { tell } from "./load.ts";
import { startPeer } from "./peer.ts";
import { BODY, BRANCH_AUTOMATION, HOOK_HEADERS, startWeir } from "./weir.ts";

const SECONDS = Number(process.env.BENCH_SECONDS ?? 40);
const PAUSE_MS = 20;

const weir = await startWeir([builtWeir()]);
await weir.call("POST", "/api/v1/automations", BRANCH_AUTOMATION);

const signedIn = await fetch(`${weir.origin}/api/v1/auth/login`, {
  method: "POST",
  headers: { "content-type": "application/json", "sec-fetch-site": "same-origin" },
  body: JSON.stringify({ email: "bench@example.com", password: "a long password for the benchmark" }),
});
const cookie = signedIn.headers.getSetCookie()[0]?.split(";")[0] ?? "";
const made = await fetch(`${weir.origin}/api/v1/organizations`, {
  method: "POST",
  headers: { cookie, "content-type": "application/json", "sec-fetch-site": "same-origin" },
  body: JSON.stringify({ name: "Hostile" }),
});
const hostile = ((await made.json()) as { id: string }).id;

const bearer = { authorization: `Bearer ${weir.token}`, "content-type": "application/json" };
const PROBES = {
  list: () => fetch(`${weir.origin}/api/v1/action-runs?limit=50`, { headers: bearer }),
  webhook: () =>
    fetch(`${weir.origin}/webhooks/${weir.organizationId}/bench`, {
      method: "POST",
      headers: HOOK_HEADERS,
      body: BODY,
    }),
  SQL: () =>
    fetch(`${weir.origin}/api/v1/query`, {
      method: "POST",
      headers: bearer,
      body: JSON.stringify({ sql: "SELECT sum(i) AS n FROM range(1000) t(i)" }),
    }),
};
type Probe = keyof typeof PROBES;
const NAMES = Object.keys(PROBES) as Probe[];

interface Round {
  p50: number;
  p99: number;
  errors: number;
  count: number;
}

/** Sends one request after the other, of each kind, for this long. */
async function probe(name: Probe, seconds: number): Promise<Round> {
  const until = performance.now() + seconds * 1000;
  const times: number[] = [];
  let errors = 0;
  while (performance.now() < until) {
    const from = performance.now();
    const reply = await PROBES[name]().catch(() => null);
    await reply?.arrayBuffer();
    times.push(performance.now() - from);
    if (reply?.status !== 200) errors++;
    await Bun.sleep(PAUSE_MS);
  }
  times.sort((a, b) => a - b);
  const share = (part: number) => times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0;
  return { p50: share(0.5), p99: share(0.99), errors, count: times.length };
}

async function probeAll(what: string, seconds: number): Promise<Record<Probe, Round>> {
  const rounds = await Promise.all(NAMES.map((name) => probe(name, seconds)));
  for (const [n, { p50, p99, errors, count }] of rounds.entries())
    console.log(
      `  ${what}, ${NAMES[n]}: ${count} requests, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${errors} errors`,
    );
  return Object.fromEntries(rounds.map((round, n) => [NAMES[n], round])) as Record<Probe, Round>;
}

await probeAll("warming up", 3);
const quiet = await probeAll("quiet", SECONDS);
let peakMb = 0;
const watch = setInterval(() => {
  peakMb = Math.max(peakMb, weir.rssMb());
}, 100);
const peer = await startPeer("neighbour-peer.ts", weir.origin, cookie, hostile, ...process.argv.slice(2));
const beside = await probeAll("beside the neighbour", SECONDS);
clearInterval(watch);
const told = await fetch(peer.origin).then((reply) => reply.json());
console.log(`  the neighbour's work: ${JSON.stringify(told)}`);
for (const name of NAMES)
  tell(
    `${name} p99 beside a hostile neighbour, against alone`,
    beside[name].p99 / quiet[name].p99,
    3,
    2,
    "×",
    true,
  );
const errors = NAMES.reduce((sum, name) => sum + beside[name].errors, 0);
tell("errors of others beside a hostile neighbour", errors, 0, 0, "", true);
tell("the server's memory beside a hostile neighbour", peakMb, 400, 300, "MB", true);
await peer.stop();
await weir.kill();
