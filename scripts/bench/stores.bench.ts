/**
 * Webhook → a run of one request, completed, on each store: the local file, PostgreSQL on the same machine with one
 * process and with three, and PostgreSQL over a network with a round trip of 2 ms.
 * 16 senders, one organization; a round ends when every run has completed. PostgreSQL has fsync on.
 * Medians of interleaved rounds, with the CPU time per webhook, in Weir and in PostgreSQL.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startPostgres, type TestPostgres } from "../../test/support/postgres.ts";
import { atEnd, tempFolder } from "./ending.ts";
import { load, median, rawRequest, tell } from "./load.ts";
import { startPeer } from "./peer.ts";
import { cpuSeconds, treeSeconds } from "./process.ts";
import { BODY, HOOK_HEADERS, initWeir, SECRET, serveWeir, takeAllWebhooks, type Weir } from "./weir.ts";

const SENDERS = 16;
const SECONDS = 4;
const ROUNDS = 3;
const WIRE_MS = 2;
const SETTLE_MS = 120_000;

const receiver = await startPeer("receiver.ts");

interface Place {
  name: string;
  processes: readonly Weir[];
  /** Seconds of CPU time of the database server. */
  databaseSeconds(): number;
  rates: number[];
}

async function placeOf(
  name: string,
  url: string | null,
  count: number,
  databaseSeconds = () => 0,
): Promise<Place> {
  const settings: Record<string, string> =
    url === null ? {} : { WEIR_DATABASE_URL: url, WEIR_SECRET_KEY: Buffer.alloc(32, 7).toString("base64") };
  const made = initWeir(undefined, settings);
  const processes = [await serveWeir(made)];
  while (processes.length < count) processes.push(await serveWeir({ ...made, folder: tempFolder() }));
  const [first] = processes as [Weir];
  await takeAllWebhooks(first);
  await first.call("POST", "/api/v1/automations", {
    name: "Bench",
    triggerType: "webhook",
    config: {
      path: "bench",
      secret: SECRET,
      requireTimestamp: false,
      action: {
        kind: "http_request",
        definition: { method: "POST", url: receiver.origin, body: "{{payload}}" },
      },
    },
  });
  return { name, processes, databaseSeconds, rates: [] };
}

/** Starts a PostgreSQL with a database for each setup. */
async function startServer() {
  const server = await startPostgres({ flags: ["-c", "fsync=on", "-c", "max_connections=100"] });
  const pid = pidOf(server);
  let isStopped = false;
  atEnd(() => isStopped || process.kill(pid, "SIGQUIT"));
  return {
    seconds: () => treeSeconds(pid),
    port: server.port,
    async stop() {
      await server[Symbol.asyncDispose]();
      isStopped = true;
    },
    async url(name: string, port = server.port) {
      await server.sql.unsafe(`CREATE DATABASE ${name}`).simple();
      return `postgres://${server.user}:${encodeURIComponent(server.password)}@127.0.0.1:${port}/${name}?sslmode=disable`;
    },
  };
}

const pidOf = ({ databaseDir }: TestPostgres) =>
  Number(readFileSync(join(databaseDir, "postmaster.pid"), "utf8").split("\n")[0]);

const hasOpenRuns = async ({ processes }: Place): Promise<boolean> => {
  const [first] = processes as [Weir];
  const path = "/api/v1/automation-runs?statuses=pending&statuses=running&limit=1";
  return (await first.call("GET", path)).runs.length > 0;
};

/** Completed runs per second. */
async function round(place: Place): Promise<number> {
  const { processes } = place;
  const weirSeconds = () => processes.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0);
  const [weirBefore, databaseBefore, began] = [weirSeconds(), place.databaseSeconds(), performance.now()];
  const loads = await Promise.all(
    processes.map(({ origin, organizationId }) =>
      load(
        origin,
        rawRequest(origin, "POST", `/webhooks/${organizationId}/bench`, HOOK_HEADERS, BODY),
        Math.ceil(SENDERS / processes.length),
        SECONDS,
      ),
    ),
  );
  const sent = loads.reduce((sum, { count }) => sum + count, 0);
  while (await hasOpenRuns(place)) {
    if (performance.now() - began > SETTLE_MS) throw new Error(`${place.name}: its runs did not complete.`);
    await Bun.sleep(20);
  }
  const perSecond = (sent * 1000) / (performance.now() - began);
  const us = (seconds: number) => `${((seconds * 1e6) / sent).toFixed(0)} µs`;
  console.log(
    `  ${place.name}: ${perSecond.toFixed(0)}/s of ${sent}; a webhook costs Weir ${us(weirSeconds() - weirBefore)}, PostgreSQL ${us(place.databaseSeconds() - databaseBefore)}`,
  );
  return perSecond;
}

const server = await startServer();
const { seconds, url } = server;
const wire = await startPeer("wire-peer.ts", String(server.port), String(WIRE_MS));
const places = [
  await placeOf("the local file", null, 1),
  await placeOf("PostgreSQL", await url("one"), 1, seconds),
  await placeOf("PostgreSQL, three processes", await url("three"), 3, seconds),
  await placeOf("PostgreSQL over 2 ms", await url("far", Number(new URL(wire.origin).port)), 1, seconds),
] as const;
for (let n = 0; n <= ROUNDS; n++)
  for (const place of places) {
    const rate = await round(place);
    if (n > 0) place.rates.push(rate); // The first one is a warm-up.
  }
const [file, one, three, far] = places.map(({ rates }) => median(rates)) as [number, number, number, number];
tell("webhook → one request on PostgreSQL, against the local file", one / file, 0.6, 0.8);
tell("webhook → one request on PostgreSQL, three processes against one", three / one, 1, 1.5);
tell("webhook → one request on PostgreSQL over 2 ms, runs in a second", far, 120, 400, "/s");
for (const { processes } of places) for (const weir of processes) await weir.stop();
await Promise.all([receiver.stop(), wire.stop()]);
await server.stop();
process.exit(0);
