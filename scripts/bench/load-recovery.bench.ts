/**
 * Recovery: 1,000 runs that call a receiver which never answers are under way at once when the server is killed with
 * SIGKILL. What has the verdict is the time from the start of the next process until it has leased the last of them,
 * as its rows say. Beside it the time from its first 200.
 */
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { atEnd } from "./ending.ts";
import { median, tell } from "./load.ts";
import { initWeir, serveWeir } from "./weir.ts";

const RUNS = 1000;
const ROUNDS = 3;
const LIMIT_SECONDS = 60;

const receiver = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  fetch: () => new Promise<Response>(() => {}),
});
atEnd(() => void receiver.stop(true));

const made = initWeir();
const place = { ...made, env: { ...made.env, WEIR_CONCURRENCY: "1024" } };
let weir = await serveWeir(place);
const db = new Database(join(weir.folder, "weir.db"), { readonly: true });
const taken = db.query("select count(*) from action_runs where status = 'running' and interrupt_count = ?");

/** Until all runs are under way in a process after so many kills. */
async function untilTaken(kills: number): Promise<void> {
  const until = performance.now() + LIMIT_SECONDS * 1000;
  for (let count = 0; count < RUNS; await Bun.sleep(5)) {
    count = Number(taken.values(kills)[0]?.[0]);
    if (performance.now() > until) throw new Error(`${count} of ${RUNS} runs were taken up.`);
  }
}

const action = await weir.call("POST", "/api/v1/actions", {
  kind: "http_request",
  name: "Never",
  definition: { method: "POST", url: `http://127.0.0.1:${receiver.port}/`, body: { hello: "there" } },
});
const began = performance.now();
for (let n = 0; n < RUNS; n += 50) {
  await Promise.all(Array.from({ length: 50 }, () => weir.call("POST", `/api/v1/actions/${action.id}/run`)));
}
await untilTaken(0);
console.log(`  ${RUNS} runs under way after ${((performance.now() - began) / 1000).toFixed(2)} s`);

const whole: number[] = [];
for (let round = 1; round <= ROUNDS; round++) {
  await weir.kill();
  const startedAt = performance.now();
  weir = await serveWeir(place);
  await untilTaken(round);
  const seconds = (performance.now() - startedAt) / 1000;
  whole.push(seconds);
  const ready = seconds - weir.readyMs / 1000;
  console.log(
    `  round ${round}: all taken up ${seconds.toFixed(2)} s after the start, ${ready.toFixed(2)} s after the first 200`,
  );
}
tell("1,000 running runs taken up after kill -9", median(whole), 5, 5, "s", true);
await weir.kill();
