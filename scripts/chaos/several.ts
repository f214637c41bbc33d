import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Figures } from "./books.ts";
import type { ChaosOptions } from "./chaos.ts";
import { DATABASES, openDatabases } from "./databases.ts";
import { calmDown, judge } from "./judge.ts";
import { newLedger } from "./ledger.ts";
import { loadUntilDead } from "./load.ts";
import { SERVERS } from "./place.ts";
import { setUp } from "./plant.ts";
import { startReceiver } from "./receiver.ts";
import { makeInstallation, SOURCE, serve, sharedSettings, type Weir } from "./weir.ts";

/** How long a process is paused at most: longer than the time after which other processes claim its work. */
const LONGEST_STILL_MS = 45_000;
const ROUND_MS = 4_000;

export interface VerdictOfSeveral extends Figures {
  processes: number;
  rounds: number;
  kills: number;
  seconds: number;
  sent: number;
  accepted: number;
  made: number;
  /** Requests that came too late, or that a server couldn't accept at the time. */
  refused: number;
  /** The longest pause of a process. */
  longestStillSeconds: number;
  faults: string[];
}

/**
 * Several processes with one database, PostgreSQL or a libSQL server, and one data directory,
 * under the load of `chaos`. In each round, one is killed and another is paused for a while; then all run again.
 */
export async function chaosOfSeveral(options: ChaosOptions): Promise<VerdictOfSeveral> {
  const { rounds, processes = 3, command = SOURCE, log = () => {} } = options;
  const began = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "weir-chaos-"));
  const clear = () => rmSync(folder, { recursive: true, force: true });
  process.once("exit", clear);
  const receiver = startReceiver();
  const opening = openDatabases(options.databases ?? DATABASES);
  const place = await SERVERS[options.server ?? "libsql"]();
  const installation = await makeInstallation(command, folder, sharedSettings(place.url));
  const ledger = newLedger();
  const kills: number[] = [];
  let longestStillMs = 0;
  const weirs: Weir[] = [];
  for (let n = 0; n < processes; n++) weirs.push(await serve(installation));
  const databases = await opening;
  const at = (n: number): Weir => weirs[n % weirs.length] as Weir;
  try {
    const plant = await setUp(at(0).call, receiver.url, databases);
    for (let round = 1; round <= rounds; round++) {
      await calmDown(place);
      const over = new AbortController();
      const { organizationId } = installation;
      const shared = { organizationId, plant, ledger, isShared: true, signal: over.signal };
      const [stays, still, dies] = [at(round), at(round + 1), at(round + 2)];
      const loads = [stays, dies].map((weir, n) => loadUntilDead({ ...shared, weir, round: round * 10 + n }));
      await Bun.sleep(Math.random() * ROUND_MS);
      still.signal("SIGSTOP");
      const stillFrom = performance.now();
      await Bun.sleep(Math.random() * ROUND_MS);
      kills.push(Date.now());
      await dies.end("SIGKILL");
      weirs[weirs.indexOf(dies)] = await serve(installation);
      await Bun.sleep(Math.random() * LONGEST_STILL_MS);
      still.signal("SIGCONT");
      longestStillMs = Math.max(longestStillMs, performance.now() - stillFrom);
      await Bun.sleep(Math.random() * ROUND_MS);
      over.abort();
      await Promise.all(loads);
      log(`round ${round}: ${ledger.webhooks.size} webhooks, ${ledger.makings.size} more`);
    }
    for (const weir of weirs.splice(1)) {
      const exit = await weir.end("SIGTERM");
      if (exit !== 0) ledger.faults.push(`SIGTERM ended with exit code ${exit}`);
    }
    const { figures, faults } = await judge(
      at(0),
      installation,
      { place, plant, ledger, receiver, kills },
      log,
    );
    const { missed } = figures.instants;
    if (missed > 0) faults.push(`${missed} instants were missed although a process was there`);
    const webhooks = [...ledger.webhooks.values()];
    return {
      processes,
      rounds,
      kills: kills.length,
      seconds: Math.round((performance.now() - began) / 1000),
      sent: webhooks.length,
      accepted: webhooks.filter(({ runId }) => runId !== null).length,
      made: [...ledger.makings.values()].filter(({ id }) => id !== null).length,
      refused: ledger.refused,
      longestStillSeconds: Math.round(longestStillMs / 1000),
      ...figures,
      faults,
    };
  } finally {
    for (const weir of weirs) await weir.end("SIGKILL");
    await receiver.stop();
    await Promise.all([place, ...databases].map(({ stop }) => stop()));
    clear();
    process.off("exit", clear);
  }
}
