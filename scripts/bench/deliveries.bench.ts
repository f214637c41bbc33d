/**
 * Durable outgoing deliveries against bare sign and fetch:
 * `bun scripts/bench/deliveries.bench.ts [deliveries per round]`.
 *
 * Weir, in this process, finds that many events in its audit log, for one subscription.
 * Measured from the start of its deliverer until every one is sent, answered and durably marked as delivered:
 * rows, leases, both signatures, egress checks, excerpts. Bare is the same message, signed the same way and sent by
 * `fetch` with its response read, with the concurrency that Weir has for one subscription; nothing is stored.
 * The receiver is a separate process, the same for both. Medians of interleaved rounds; only the ratio is meaningful.
 */
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { openApp } from "../../src/app.ts";
import { systemClock } from "../../src/base/clock.ts";
import { openLog } from "../../src/base/log.ts";
import { readConfig } from "../../src/config.ts";
import { contextFor, write } from "../../src/context.ts";
import { signMessage } from "../../src/crypto/signature.ts";
import { openDeliverer } from "../../src/engine/deliverer.ts";
import { drive } from "../../src/engine/loop.ts";
import { record } from "../../src/resources/events/service.ts";
import { createFirstOwner } from "../../src/resources/sign-in/setup.ts";
import { createWebhook, deleteWebhook } from "../../src/resources/webhooks/service.ts";
import { OUTBOUND_TOPIC, outboundDeliveries } from "../../src/resources/webhooks/table.ts";
import { prepared } from "../../src/store/prepared.ts";
import type { ReadDb } from "../../src/store/store.ts";
import { tempFolder } from "./ending.ts";
import { median, tell } from "./load.ts";
import { startPeer } from "./peer.ts";

const ROUNDS = 5;
const AT_ONCE = 40;
const SECRET = "a-secret-of-the-benchmark";
const count = Number(process.argv[2] ?? 12_000);

const { config, secrets } = readConfig(
  { data: tempFolder(), port: "0" },
  { WEIR_EGRESS_ALLOW: "127.0.0.0/8", WEIR_LOG: "error" },
  {},
);
const log = openLog({
  level: "error",
  pretty: false,
  clock: systemClock,
  sink: (line) => console.error(line),
});
const main = join(import.meta.dir, "../../src/main.ts");
const { app, close } = await openApp({
  config,
  secrets,
  clock: systemClock,
  log,
  self: [process.execPath, main],
});
const { organization } = await createFirstOwner(
  app,
  {
    email: "ada@example.com",
    password: "correct horse battery",
    firstName: "A",
    lastName: "L",
    organizationName: "B",
  },
  "benchmark",
);
const ctx = contextFor(app, {
  organizationId: organization.id,
  role: "owner",
  actor: { type: "system", id: "benchmark" },
  correlationId: "benchmark",
});
const receiver = await startPeer("receiver.ts");
app.signals.keep(OUTBOUND_TOPIC);

const ofWebhook = sql`${outboundDeliveries.webhookId} = ${sql.placeholder("webhookId")}`;
/** Prepared statements, since their cost is measured too. */
const openOf = prepared((db: ReadDb) =>
  db
    .select({ id: outboundDeliveries.id })
    .from(outboundDeliveries)
    .where(sql`${ofWebhook} and ${outboundDeliveries.dueAt} is not null`)
    .limit(1)
    .prepare(),
);
const countOf = prepared((db: ReadDb) =>
  db.select({ n: sql<number>`count(*)` }).from(outboundDeliveries).where(ofWebhook).prepare(),
);

const data = { status: "completed", text: "x".repeat(300) };

/** Deliveries per second, through Weir. */
async function durable(): Promise<number> {
  const { row } = await createWebhook(ctx, {
    url: `${receiver.origin}/`,
    events: ["action.completed"],
    secret: SECRET,
  });
  for (let left = count; left > 0; left -= 200) {
    await write(ctx, async (tx) => {
      for (let n = 0; n < Math.min(left, 200); n++)
        await record(tx, "action.completed", { type: "action", id: tx.ids.uuid() }, data);
    });
  }
  const stopping = new AbortController();
  const deliverer = openDeliverer(app);
  const began = performance.now();
  const loop = drive(deliverer, {
    idleMs: 250,
    signal: stopping.signal,
    clock: systemClock,
    rest: (ms, until) => app.signals.wait(OUTBOUND_TOPIC, ms, until),
    report: (error) => console.error(error),
  });
  const { db } = app.store;
  const of = { webhookId: row.id };
  const isDone = async () =>
    (await openOf(db).all(of)).length === 0 && (await countOf(db).all(of))[0]?.n === count;
  while (!(await isDone())) await Bun.sleep(20);
  const perSecond = (count * 1000) / (performance.now() - began);
  stopping.abort();
  await loop;
  await deliverer.stop();
  await deleteWebhook(ctx, row.id);
  return perSecond;
}

/** The same without Weir. */
async function bare(): Promise<number> {
  const event = {
    id: app.ids.uuid(),
    type: "action.completed",
    timestamp: new Date().toISOString(),
    entity: { type: "action", id: app.ids.uuid() },
    actor: { type: "system", id: "benchmark" },
    data,
    metadata: { correlationId: "benchmark", organizationId: organization.id },
    hash: "0".repeat(64),
  };
  let left = count;
  const began = performance.now();
  const sender = async () => {
    while (left-- > 0) {
      const body = JSON.stringify(event);
      const headers = {
        "content-type": "application/json",
        ...signMessage([SECRET], event.id, Math.floor(Date.now() / 1000), body),
      };
      const reply = await fetch(`${receiver.origin}/`, { method: "POST", headers, body });
      await reply.arrayBuffer();
      if (reply.status !== 200) throw new Error(`The receiver returned ${reply.status}.`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sender));
  return (count * 1000) / (performance.now() - began);
}

const ratios: number[] = [];
for (let round = 0; round <= ROUNDS; round++) {
  const [ours, theirs] = [await durable(), await bare()];
  if (round === 0) continue; // Warm-up.
  ratios.push(ours / theirs);
  console.log(`  round ${round}: durable ${ours.toFixed(0)}/s, bare ${theirs.toFixed(0)}/s`);
}
tell("durable deliveries out against bare sign and fetch", median(ratios), 0.65, 0.75);
await receiver.stop();
await close();
process.exit(0);
