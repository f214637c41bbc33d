/**
 * The executable: `bun scripts/bench/start.bench.ts [seconds of webhooks]`, 60 by default.
 * Builds dist/weir if it is missing or older than the source.
 *
 * Start is from process creation to the first 200 of /health, on a folder created by `weir init`, polled every 2 ms;
 * the median of several starts. Memory is resident memory, as Linux counts it: idle after 3 s; the peak in the first 10
 * s of webhooks on 32 connections; and the median of the last sixth of the time against that of the second sixth. The
 * table requires ten minutes of growth; a shorter run is reported as such, and `… start.bench.ts 600` does it in full.
 */
import { statSync } from "node:fs";
import { builtWeir } from "./executable.ts";
import { load, median, rawRequest, tell } from "./load.ts";
import { BODY, BRANCH_AUTOMATION, HOOK_HEADERS, initWeir, serveWeir, startWeir } from "./weir.ts";

const STARTS = 9;
const CONNECTIONS = 32;
const FIRST_SECONDS = 10;
const seconds = Math.max(Number(process.argv[2] ?? 60), 2 * FIRST_SECONDS);

const weirFile = builtWeir();
tell("size of the executable", statSync(weirFile).size / 1e6, 220, 150, "MB", true);
const made = initWeir([weirFile]);
const startsMs: number[] = [];
const cpuMs: number[] = [];
for (let n = 0; n < STARTS; n++) {
  const weir = await serveWeir(made);
  startsMs.push(weir.readyMs);
  cpuMs.push(weir.cpuSeconds() * 1000);
  await weir.stop();
}
console.log(
  `  starts: ${startsMs.map((ms) => ms.toFixed(0)).join(", ")} ms; processor time ${median(cpuMs).toFixed(0)} ms`,
);
tell("start of the compiled file to first 200", median(startsMs), 200, 120, "ms", true);

const weir = await startWeir([weirFile]);
await weir.call("POST", "/api/v1/automations", BRANCH_AUTOMATION);
await Bun.sleep(3000);
tell("memory idle", weir.rssMb(), 90, 80, "MB", true);

const samples: { at: number; mb: number }[] = [];
const began = performance.now();
const watch = setInterval(
  () => samples.push({ at: (performance.now() - began) / 1000, mb: weir.rssMb() }),
  100,
);
const path = `/webhooks/${weir.organizationId}/bench`;
const hook = rawRequest(weir.origin, "POST", path, HOOK_HEADERS, BODY);
const { count, perSecond, statuses } = await load(weir.origin, hook, CONNECTIONS, seconds);
clearInterval(watch);
console.log(`  ${count} webhooks in ${seconds} s, ${perSecond.toFixed(0)}/s ${JSON.stringify(statuses)}`);
const between = (from: number, to: number) =>
  samples.filter(({ at }) => at >= from && at < to).map(({ mb }) => mb);
tell("memory under webhooks, highest", Math.max(...between(0, FIRST_SECONDS)), 190, 130, "MB", true);

const window = seconds / 6;
const [early, late] = [median(between(window, 2 * window)), median(between(seconds - window, seconds))];
console.log(
  `  memory after ${(1.5 * window).toFixed(0)} s ${early.toFixed(0)} MB, after ${(seconds - window / 2).toFixed(0)} s ${late.toFixed(0)} MB`,
);
const span =
  seconds < 600 ? `${seconds} s of webhooks, of the ten minutes asked for` : `${seconds} s of webhooks`;
tell(`memory growth over ${span}`, (late / early - 1) * 100, 25, 10, "%", true);
await weir.stop();
