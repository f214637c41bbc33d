/**
 * A step with `forEach` over 10,000 items, from the request that starts the run to its end:
 * once with a kind that only computes, once with requests to a receiver in a separate process,
 * compared with the same requests sent without Weir at the same concurrency. Then 100,000 rows of a table,
 * one by one through a script and out to the receiver in batches of 500, with the server's memory growth.
 */
import { median, tell } from "./load.ts";
import { startPeer } from "./peer.ts";
import { startWeir } from "./weir.ts";

const MANY = 10_000;
const FEW = 1_000;
const PARALLEL = 10;
const ROUNDS = 3;
const LOOK_MS = 100;

const weir = await startWeir();
const receiver = await startPeer("receiver.ts");
const branch = {
  kind: "conditional_branch",
  definition: { branches: [{ key: "even", when: "item.n % 2 == 0" }], else: "odd" },
};
const post = {
  kind: "http_request",
  definition: { method: "POST", url: `${receiver.origin}/`, body: { n: "{{item.n}}", index: "{{index}}" } },
};

async function automation(name: string, work: object): Promise<string> {
  const step = { key: "each", forEach: "{{input}}", maxParallel: PARALLEL, ...work };
  return (await weir.call("POST", "/api/v1/automations", { name, config: { steps: [step] } })).id;
}

/** One run over `count` items: seconds from start to end, and the server's CPU time per item in ms. */
async function over(id: string, count: number) {
  const input = Array.from({ length: count }, (_, n) => ({ n, name: `item ${n}` }));
  const cpu = weir.cpuSeconds();
  const began = performance.now();
  const { id: runId } = await weir.call("POST", `/api/v1/automations/${id}/run`, { input });
  for (;;) {
    // An event is small, whereas the run itself contains its long input.
    const { items } = await weir.call("GET", "/api/v1/events?type=automation.completed&limit=1");
    if (items[0]?.data.runId === runId) break;
    await Bun.sleep(LOOK_MS);
  }
  const seconds = (performance.now() - began) / 1000;
  const run = await weir.call("GET", `/api/v1/automation-runs/${runId}`);
  if (run.steps[0].items.completed !== count) throw new Error(JSON.stringify(run.steps));
  return { seconds, cpuMs: ((weir.cpuSeconds() - cpu) * 1000) / count };
}

/** The same requests without Weir, in seconds. */
async function bare(count: number): Promise<number> {
  let next = 0;
  const began = performance.now();
  const one = async () => {
    while (next < count) {
      const n = next++;
      const body = JSON.stringify({ n, index: n });
      const headers = { "content-type": "application/json" };
      await (await fetch(`${receiver.origin}/`, { method: "POST", headers, body })).text();
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, one));
  return (performance.now() - began) / 1000;
}

for (const [name, work] of [
  ["branches", branch],
  ["requests", post],
] as const) {
  const id = await automation(name, work);
  await over(id, FEW); // Warm-up.
  const few: number[] = [];
  for (let n = 0; n < ROUNDS; n++) few.push((await over(id, FEW)).cpuMs);
  const { seconds, cpuMs } = await over(id, MANY);
  const [floor, target] = work === post ? [800, 1_500] : [2_000, 5_000];
  tell(`forEach over ${MANY} ${name}, items a second`, MANY / seconds, floor, target, "/s");
  if (work === post) console.log(`  the same requests without Weir: ${(await bare(MANY)).toFixed(1)} s`);
  tell(`forEach over ${MANY} ${name}, processor time of an item`, cpuMs, 3, 1.5, "ms", true);
  tell(`forEach over ${MANY} ${name}, against ${FEW}`, cpuMs / median(few), 1.5, 1.1, "×", true);
}
const ROWS = 100_000;
const sql = `SELECT range AS id, range * 2 AS net, 'row ' || range AS name FROM range(${ROWS})`;
const made = await automationOf("make", [
  { key: "make", kind: "duckdb_transform", definition: { sql, output: { layer: "marts", dataset: "rows" } } },
]);
const flow = await automationOf("rows", [
  {
    key: "each",
    forEach: { table: "marts.rows", orderBy: "id" },
    kind: "run_script",
    definition: { source: "export default (r) => ({ id: r.id, gross: r.net * 1.2 })", input: "{{item}}" },
  },
  {
    key: "send",
    dependsOn: ["each"],
    kind: "http_request",
    definition: {
      method: "POST",
      url: `${receiver.origin}/`,
      batch: { items: { artifactId: "{{steps.each.result.artifactId}}" }, size: 500 },
      body: "{{items.map(i, i.result.output)}}",
    },
  },
]);
await ended(made);
await Bun.sleep(3_000);
const before = weir.rssMb();
const { seconds, mostMb } = await ended(flow);
tell(`${ROWS} rows of a table through a script and out, rows a second`, ROWS / seconds, 200, 800, "/s");
tell("and what the server's memory grew by", mostMb - before, 50, 30, "MB", true);
await weir.stop();
process.exit(0);

async function automationOf(name: string, steps: readonly object[]): Promise<string> {
  return (await weir.call("POST", "/api/v1/automations", { name, config: { steps } })).id;
}

/** Seconds of one run, and the server's peak memory during it. */
async function ended(id: string) {
  const began = performance.now();
  const { id: runId } = await weir.call("POST", `/api/v1/automations/${id}/run`, {});
  for (let mostMb = 0; ; await Bun.sleep(LOOK_MS)) {
    mostMb = Math.max(mostMb, weir.rssMb());
    const run = await weir.call("GET", `/api/v1/automation-runs/${runId}`);
    if (run.status === "failed") throw new Error(JSON.stringify(run.error));
    if (run.status === "completed") return { seconds: (performance.now() - began) / 1000, mostMb };
  }
}
