/**
 * Loaded into a server before anything else: tells whoever started it, when asked, for how long its main thread was
 * busy at most without a turn for others. It counts processor time, which other programs don't change.
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

/** A fixed piece of work, of the same sort as those that are measured. */
const yardstick = JSON.stringify(Array.from({ length: 120_000 }, (_, n) => ({ [`key ${n}`]: `text ${n}` })));

/** What it takes this thread now, in milliseconds; the best of a few rounds. */
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
