/**
 * Recovery: 1,000 runs that call a receiver which never responds are running when the server is killed with SIGKILL.
 * The verdict is on the time from the start of the next process until it has leased the last of them,
 * according to their rows. Also shown is the time from its first 200.
 * After a second kill, these runs share 20 s in which they start one at a time.
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

const RUNNING = "select count(*) from action_runs where status = 'running' and interrupt_count = ?";

/** Waits until all runs are running in a process after this many kills. */
async function untilTaken(folder: string, kills: number): Promise<void> {
  const until = performance.now() + LIMIT_SECONDS * 1000;
  using db = new Database(join(folder, "weir.db"), { readonly: true });
  const taken = db.query(RUNNING);
  for (let count = 0; count < RUNS; await Bun.sleep(5)) {
    count = Number(taken.values(kills)[0]?.[0]);
    if (performance.now() > until) throw new Error(`${count} of ${RUNS} runs were taken up.`);
  }
}

/** Seconds from process start until all runs are running, after one kill and after another. */
async function recover(round: number): Promise<{ once: number; twice: number }> {
  const made = initWeir();
  const place = { ...made, env: { ...made.env, WEIR_CONCURRENCY: "1024" } };
  let weir = await serveWeir(place);
  const action = await weir.call("POST", "/api/v1/actions", {
    kind: "http_request",
    name: "Never",
    definition: { method: "POST", url: `http://127.0.0.1:${receiver.port}/`, body: { hello: "there" } },
  });
  const began = performance.now();
  for (let n = 0; n < RUNS; n += 50) {
    await Promise.all(
      Array.from({ length: 50 }, () => weir.call("POST", `/api/v1/actions/${action.id}/run`)),
    );
  }
  await untilTaken(weir.folder, 0);
  console.log(`  ${RUNS} runs under way after ${((performance.now() - began) / 1000).toFixed(2)} s`);
  const seconds: number[] = [];
  for (const kills of [1, 2]) {
    await weir.kill();
    const startedAt = performance.now();
    weir = await serveWeir(place);
    await untilTaken(weir.folder, kills);
    const all = (performance.now() - startedAt) / 1000;
    seconds.push(all);
    const ready = all - weir.readyMs / 1000;
    console.log(
      `  round ${round}, kill ${kills}: all taken up ${all.toFixed(2)} s after the start, ${ready.toFixed(2)} s after the first 200`,
    );
  }
  await weir.kill();
  const [once = Number.NaN, twice = Number.NaN] = seconds;
  return { once, twice };
}

const rounds = [];
for (let round = 1; round <= ROUNDS; round++) rounds.push(await recover(round));
tell("1,000 running runs taken up after kill -9", median(rounds.map(({ once }) => once)), 5, 5, "s", true);
tell(
  "the same after a second one, with their 20 s alone",
  median(rounds.map(({ twice }) => twice)),
  25,
  25,
  "s",
  true,
);
