/**
 * Kills a loaded Weir with SIGKILL at random instants, restarts it, and holds what it answered against what
 * it kept: `bun scripts/chaos/chaos.ts [rounds] [command …]`; with `--processes 3` before that, several that share a
 * database, of which one is killed and another stands still in each round (see `several.ts`). `--postgres` and `--libsql` keep all of it
 * on such a server, which in other rounds loses connections, commits and its life (`harms`) while Weir lives.
 *
 * The load is mixed: signed webhooks, calls of other systems, lists, loads into tables, approvals that two people decide
 * at once, schedules of every second, runs started by events, calls between automations, cancels, retries, a
 * subscription, and flows into tables of PostgreSQL and MariaDB, some of which read them there as well or go over a table in bulk. The ledger has all that was answered with 2xx. At the end each of it must have exactly one outcome; see
 * `audit.ts`, `reach.ts` and `rows.ts` for what is checked.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Figures } from "./books.ts";
import { DATABASES, type DatabaseName, openDatabases } from "./databases.ts";
import { calmDown, judge, strayLeases } from "./judge.ts";
import { type Ledger, newLedger } from "./ledger.ts";
import { loadUntilDead } from "./load.ts";
import { filePlace, type Place, SERVERS } from "./place.ts";
import { setUp } from "./plant.ts";
import { startReceiver } from "./receiver.ts";
import { makeInstallation, SOURCE, serve, serveBriefly, sharedSettings } from "./weir.ts";

/** The share of starts that are killed while they go on, and how long such a one lives at most. */
const KILLED_AT_START = 0.25;
const START_MS = 600;
/** How long the load goes on after it. */
const AFTER_HARM_MS = 2_000;

export interface Verdict extends Figures {
  rounds: number;
  kills: number;
  seconds: number;
  /** Webhooks that were sent, and those that were answered with 2xx. */
  sent: number;
  accepted: number;
  /** Runs and actions that were made by hand and answered with 2xx. */
  made: number;
  resent: number;
  decided: number;
  cancelled: number;
  refused: number;
  /** How often each thing happened to the database. */
  harms: Record<string, number>;
  /** The longest time from the start of the process to its first answer. */
  slowestStartMs: number;
  /** All that is wrong; empty when nothing is. */
  faults: string[];
}

export interface ChaosOptions {
  rounds: number;
  /** Of those that share a database; by default there is one. */
  processes?: number;
  /** Where the database is; by default in the data directory, or with several processes on a libSQL server. */
  server?: keyof typeof SERVERS;
  /** The share of rounds on a server in which the database comes to harm, in turn by each of `harms`, rather than Weir. */
  harmed?: number;
  /** Those whose tables are read and written; by default all that the machine has. */
  databases?: readonly DatabaseName[];
  /** Starts Weir; from the source by default. */
  command?: readonly string[];
  /** Milliseconds from ready to the kill, at most. */
  longestMs?: number;
  log?: (line: string) => void;
}

export async function chaos(options: ChaosOptions): Promise<Verdict> {
  const { rounds, command = SOURCE, harmed = 0.6, longestMs = 1500, log = () => {} } = options;
  const began = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "weir-chaos-"));
  const clear = () => rmSync(folder, { recursive: true, force: true });
  process.once("exit", clear);
  const receiver = startReceiver();
  const opening = openDatabases(options.databases ?? DATABASES);
  const server = options.server ? await SERVERS[options.server]() : null;
  const place = server ?? filePlace(join(folder, "weir.db"));
  const installation = await makeInstallation(command, folder, server ? sharedSettings(server.url) : {});
  const ledger = newLedger();
  const kills: number[] = [];
  const harms: Record<string, number> = {};
  const strays: string[] = [];
  let slowestStartMs = 0;
  let weir = await serve(installation);
  const databases = await opening;
  try {
    const plant = await setUp(weir.call, receiver.url, databases);
    for (let round = 1; round <= rounds; round++) {
      await calmDown(place);
      const { organizationId } = installation;
      const shared = { organizationId, plant, ledger, round, isShared: place.isShared };
      if (server !== null && hasAnswered(ledger) && Math.random() < harmed) {
        const over = new AbortController();
        const load = loadUntilDead({ ...shared, weir, signal: over.signal });
        await Bun.sleep(Math.random() * longestMs);
        kills.push(Date.now());
        const what = await harm(server.harms, harms);
        harms[what] = (harms[what] ?? 0) + 1;
        await Bun.sleep(Math.random() * AFTER_HARM_MS);
        kills.push(Date.now());
        over.abort();
        await load;
        log(`round ${round}: ${what}, ${ledger.webhooks.size} webhooks, ${ledger.refused} refused`);
        continue;
      }
      const load = loadUntilDead({ ...shared, weir });
      await Bun.sleep(20 + Math.random() * longestMs);
      while (round === 1 && !hasAnswered(ledger)) await Bun.sleep(5); // else a slow machine would show nothing
      kills.push(Date.now());
      await weir.end("SIGKILL");
      await load;
      while (Math.random() < KILLED_AT_START) {
        await serveBriefly(installation, Math.random() * START_MS);
        kills.push(Date.now());
      }
      const startMs = performance.now();
      weir = await serve(installation);
      slowestStartMs = Math.max(slowestStartMs, performance.now() - startMs);
      strays.push(...(await strayLeases(place)));
      log(`round ${round}: ${ledger.webhooks.size} webhooks, ${ledger.makings.size} more`);
    }
    const { figures, faults } = await judge(
      weir,
      installation,
      { place, plant, ledger, receiver, kills },
      log,
    );
    const webhooks = [...ledger.webhooks.values()];
    return {
      rounds,
      kills: kills.length,
      seconds: Math.round((performance.now() - began) / 1000),
      sent: webhooks.length,
      accepted: webhooks.filter(({ runId }) => runId !== null).length,
      made: [...ledger.makings.values()].filter(({ id }) => id !== null).length,
      resent: ledger.resent,
      decided: ledger.decided.size,
      cancelled: ledger.cancelled.size,
      refused: ledger.refused,
      harms,
      slowestStartMs: Math.round(slowestStartMs),
      ...figures,
      faults: [...strays, ...faults],
    };
  } finally {
    await weir.end("SIGKILL");
    await receiver.stop();
    await Promise.all([place, ...databases].map(({ stop }) => stop()));
    clear();
    process.off("exit", clear);
  }
}

/** True once a webhook and something made by hand were answered with 2xx. */
const hasAnswered = ({ webhooks, makings }: Ledger) =>
  [...webhooks.values()].some(({ runId }) => runId !== null) &&
  [...makings.values()].some(({ id }) => id !== null);

/** Does what was done least often so far. */
async function harm(harms: Place["harms"], done: Readonly<Record<string, number>>): Promise<string> {
  const all = Object.entries(harms).sort(([one], [other]) => (done[one] ?? 0) - (done[other] ?? 0));
  const [what, does] = all[0] as (typeof all)[number];
  await does();
  return what;
}

if (import.meta.main) {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(1));
  const words = process.argv.slice(2);
  const processes = words[0] === "--processes" ? Number(words.splice(0, 2)[1]) : 1;
  const server = (["postgres", "libsql"] as const).find((name) => words[0] === `--${name}`);
  if (server) words.shift();
  const [rounds = "50", ...command] = words;
  const { chaosOfSeveral } = await import("./several.ts");
  const verdict = await (processes > 1 ? chaosOfSeveral : chaos)({
    processes,
    ...(server ? { server } : {}),
    rounds: Number(rounds),
    ...(command.length > 0 ? { command } : {}),
    log: (line) => console.log(line),
  });
  console.log(JSON.stringify(verdict, null, 2));
  process.exit(verdict.faults.length === 0 ? 0 : 1);
}
