/**
 * Small scripts per second in warm processes: `bun scripts/bench/scripts.bench.ts`. First one after the other and two
 * at once, of two organizations; then as runs of one action, started over HTTP and run to their end. 1,000 each.
 */
import { startApp } from "../../test/support/app.ts";
import { ACTIONS, makeAction, RUNS } from "../../test/support/work.ts";
import { tell } from "./load.ts";

const COUNT = 1_000;
const AT_ONCE = 20;
const source = "export default ({ a, b }: { a: number; b: number }) => ({ sum: a + b })";

await using weir = await startApp({ env: { WEIR_LOG: "error" } });
const work = {
  source,
  input: [Buffer.from('{"a":1,"b":2}')],
  memoryMb: 64,
  timeoutMs: 10_000,
  now: 0,
  seed: 1,
};
const { signal } = new AbortController();

/** Runs this many scripts of one organization. */
async function scripts(organizationId: string, count: number): Promise<void> {
  const host = { organizationId, signal, call: async () => [], log: () => undefined };
  for (let done = 0; done < count; done++) await weir.app.scripts.run(work, host);
}

async function rate(count: number, act: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await act();
  return (count * 1000) / (performance.now() - begun);
}

await Promise.all([scripts("one", 50), scripts("two", 50)]);
tell("scripts a second, one at a time", await rate(COUNT, () => scripts("one", COUNT)), 200, 500, "/s");
const both = () => Promise.all([scripts("one", COUNT / 2), scripts("two", COUNT / 2)]);
tell("scripts a second, two at once", await rate(COUNT, both), 200, 700, "/s");

const action = await makeAction(weir.owner, {
  kind: "run_script",
  name: "Sum",
  definition: { source, input: { a: 1, b: 2 } },
});
const path = `${RUNS}?action_id=${action.id}&statuses=completed&limit=1`;
const runs = async () => {
  let left = COUNT;
  const starters = Array.from({ length: AT_ONCE }, async () => {
    while (left-- > 0) await weir.owner("POST", `${ACTIONS}/${action.id}/run`);
  });
  await Promise.all(starters);
  while ((await weir.owner("GET", path)).body.total < COUNT) await Bun.sleep(10);
};
tell("runs of run_script a second, from POST to end", await rate(COUNT, runs), 50, 200, "/s");
