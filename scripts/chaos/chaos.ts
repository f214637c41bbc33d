/**
 * Kills a busy Weir with SIGKILL at random times, restarts it, and compares its responses with what it stored:
 * `bun scripts/chaos/chaos.ts [rounds] [command …]`. With `--processes 3` before that,
 * several processes share a database, of which one is killed and another paused in each round (see `several.ts`).
 * `--postgres` and `--libsql` keep everything on such a server, which in other rounds loses connections,
 * loses commits or crashes (`harms`) while Weir keeps running.
 *
 * The load is mixed: signed webhooks, calls to other systems, lists, loads into tables,
 * approvals decided by two users at once, schedules that run every second, runs started by events,
 * calls between automations, cancels, retries, a subscription, and flows into tables of PostgreSQL and MariaDB,
 * some of which also read them there or process a table in bulk. The ledger has everything that was answered with 2xx.
 * At the end, each of these must have exactly one outcome; see `audit.ts`, `reach.ts` and `rows.ts` for the checks.
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

/** The share of starts that are killed while starting, and how long such a process lives at most. */
const KILLED_AT_START = 0.25;
const START_MS = 600;
/** How long the load continues after it. */
const AFTER_HARM_MS = 2_000;

export interface Verdict extends Figures {
  rounds: number;
  kills: number;
  seconds: number;
  /** Webhooks sent, and those answered with 2xx. */
  sent: number;
  accepted: number;
  /** Runs and actions that were created manually and answered with 2xx. */
  made: number;
  resent: number;
  decided: number;
  cancelled: number;
  refused: number;
  /** How often each failure of the database was caused. */
  harms: Record<string, number>;
  /** The longest time from process start to the first response. */
  slowestStartMs: number;
  /** All faults. Empty if there are none. */
  faults: string[];
}

export interface ChaosOptions {
  rounds: number;
  /** Number of processes that share a database. Default: one. */
  processes?: number;
  /** Where the database is. Default: in the data directory, or with several processes on a libSQL server. */
  server?: keyof typeof SERVERS;
  /** The share of rounds on a server in which the database fails instead of Weir, by each of `harms` in turn. */
  harmed?: number;
  /** Databases whose tables are read and written. Default: all that are installed. */
  databases?: readonly DatabaseName[];
  /** Starts Weir. Default: from source. */
  command?: readonly string[];
  /** Maximum time from ready to the kill, in milliseconds. */
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
      while (round === 1 && !hasAnswered(ledger)) await Bun.sleep(5); // Otherwise, a slow machine would test nothing.
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

/** Returns whether a webhook and a manual request were answered with 2xx. */
const hasAnswered = ({ webhooks, makings }: Ledger) =>
  [...webhooks.values()].some(({ runId }) => runId !== null) &&
  [...makings.values()].some(({ id }) => id !== null);

/** Causes the failure that was used least so far. */
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
