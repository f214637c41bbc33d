/**
 * Loaded into a server before anything else. On request, it reports to its parent how long its main thread was blocked
 * at most. It counts CPU time, which other programs don't affect.
 */
const TURN_MS = 1;
const ROUNDS = 2;

const busyMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

let last = busyMs();
let longestMs = 0;
setInterval(() => {
  const now = busyMs();
  longestMs = Math.max(longestMs, now - last);
  last = now;
}, TURN_MS).unref();

/** A fixed task, of the same kind as those that are measured. */
const yardstick = JSON.stringify(Array.from({ length: 120_000 }, (_, n) => ({ [`key ${n}`]: `text ${n}` })));

/** How long it takes this thread now, in milliseconds; the best of a few rounds. */
function measureYardstick(): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const from = busyMs();
    JSON.parse(yardstick);
    best = Math.min(best, busyMs() - from);
  }
  return best;
}

process.on("message", (message) => {
  if (message === "yardstick") process.send?.(measureYardstick());
  if (message === "longest") process.send?.(longestMs);
  last = busyMs();
  longestMs = 0;
});
