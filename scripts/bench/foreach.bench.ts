/**
 * A step with `forEach` over 10,000 items, from the request that starts the run to its end: once with a kind that only
 * computes, once with requests to a receiver in a process of its own. The disk of the machine decides over the seconds,
 * so the verdict is on the server's processor time for each item, and on what an item of 10,000 takes compared with one
 * of 1,000: 1 means that the length of the list makes no difference. The same requests sent from here without Weir, as
 * many at once, stand beside the second.
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

/** One run over `count` items: seconds from the start to the end, and the server's processor time for each item in ms. */
async function over(id: string, count: number) {
  const input = Array.from({ length: count }, (_, n) => ({ n, name: `item ${n}` }));
  const cpu = weir.cpuSeconds();
  const began = performance.now();
  const { id: runId } = await weir.call("POST", `/api/v1/automations/${id}/run`, { input });
  for (;;) {
    // An event is small, while the run itself carries its long input.
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
  await over(id, FEW); // to warm up
  const few: number[] = [];
  for (let n = 0; n < ROUNDS; n++) few.push((await over(id, FEW)).cpuMs);
  const { seconds, cpuMs } = await over(id, MANY);
  console.log(`  ${MANY} ${name}: ${seconds.toFixed(1)} s, ${(MANY / seconds).toFixed(0)} a second`);
  if (work === post) console.log(`  the same requests without Weir: ${(await bare(MANY)).toFixed(1)} s`);
  tell(`forEach over ${MANY} ${name}, processor time of an item`, cpuMs, 3, 1.5, "ms", true);
  tell(`forEach over ${MANY} ${name}, against ${FEW}`, cpuMs / median(few), 1.5, 1.1, "×", true);
}
await weir.stop();
process.exit(0);
