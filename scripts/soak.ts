/**
 * A long mixed load without kills, and its effect on memory, log and disk: `bun scripts/soak.ts [minutes] [command …]`.
 *
 * The load is that of the chaos test (webhooks, calls, lists, loads, approvals, schedules, events, cancels, retries,
 * a subscription) at a calmer pace. At the end, everything that was answered must have exactly one outcome,
 * memory may not have grown by more than 1 MB in ten minutes in the second half,
 * the write-ahead log may not have exceeded 64 MB, and SIGTERM must end it with 0.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rssMb } from "./bench/process.ts";
import { judge } from "./chaos/judge.ts";
import { newLedger } from "./chaos/ledger.ts";
import { loadUntilDead } from "./chaos/load.ts";
import { filePlace } from "./chaos/place.ts";
import { setUp } from "./chaos/plant.ts";
import { startReceiver } from "./chaos/receiver.ts";
import { makeInstallation, SOURCE, serve } from "./chaos/weir.ts";

const SAMPLE_MS = 5_000;
/** Factor for pauses between requests, compared with the chaos test. */
const CALM = 8;
const MOST_SLOPE_MB = 1;
const MOST_WAL_MB = 64;

interface Sample {
  minutes: number;
  rssMb: number;
  walMb: number;
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(1));
const [minutes = "60", ...command] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "weir-soak-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const receiver = startReceiver();
const installation = await makeInstallation(command.length > 0 ? command : SOURCE, folder);
const ledger = newLedger();
const weir = await serve(installation);
const plant = await setUp(weir.call, receiver.url);

const control = new AbortController();
const { organizationId } = installation;
const load = loadUntilDead({
  weir,
  organizationId,
  plant,
  ledger,
  round: 1,
  calm: CALM,
  signal: control.signal,
});
const samples = await watch(Number(minutes));
control.abort();
await load;

const { figures, faults } = await judge(
  weir,
  installation,
  { place: filePlace(folder), plant, ledger, receiver, kills: [] },
  () => {},
);
await receiver.stop();

const settled = samples.slice(Math.floor(samples.length / 2));
const slopeMb = slopeOf(settled) * 10;
const walMb = Math.max(...samples.map((sample) => sample.walMb));
if (slopeMb > MOST_SLOPE_MB) faults.push(`memory grew by ${slopeMb.toFixed(2)} MB in ten minutes`);
if (walMb > MOST_WAL_MB) faults.push(`the write-ahead log came to ${walMb.toFixed(0)} MB`);
console.log(
  JSON.stringify(
    {
      minutes: Number(minutes),
      webhooks: ledger.webhooks.size,
      made: ledger.makings.size,
      ...figures,
      firstMb: round(samples[0]?.rssMb ?? 0),
      middleMb: round(settled[0]?.rssMb ?? 0),
      lastMb: round(settled.at(-1)?.rssMb ?? 0),
      highestMb: round(Math.max(...samples.map((sample) => sample.rssMb))),
      slopeMbIn10Minutes: round(slopeMb),
      highestWalMb: round(walMb),
      faults,
    },
    null,
    2,
  ),
);
process.exit(faults.length === 0 ? 0 : 1);

async function watch(length: number): Promise<Sample[]> {
  const began = performance.now();
  const taken: Sample[] = [];
  for (let told = 0; ; ) {
    const passed = (performance.now() - began) / 60_000;
    if (passed > length) return taken;
    taken.push({ minutes: passed, rssMb: rssMb(weir.pid), walMb: sizeOf(join(folder, "weir.db-wal")) / 1e6 });
    if (passed >= told) {
      const last = taken.at(-1);
      console.log(
        `${told} min: ${last?.rssMb.toFixed(0)} MB, log ${last?.walMb.toFixed(0)} MB, ${ledger.webhooks.size} webhooks`,
      );
      told += Math.max(1, Math.round(length / 20));
    }
    await Bun.sleep(SAMPLE_MS);
  }
}

/** MB a minute, by least squares. */
function slopeOf(points: readonly Sample[]): number {
  const mean = (of: (sample: Sample) => number) =>
    points.reduce((sum, each) => sum + of(each), 0) / points.length;
  const [x, y] = [mean((each) => each.minutes), mean((each) => each.rssMb)];
  const over = points.reduce((sum, each) => sum + (each.minutes - x) * (each.rssMb - y), 0);
  return over / points.reduce((sum, each) => sum + (each.minutes - x) ** 2, 0);
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
