/**
 * The model of turns.bench.ts: each reply pauses to think, then sends tokens at a steady pace.
 * Its first token is the time when it was written, in milliseconds since 1970.
 */
import { type Move, startModel } from "../../test/peers/model.ts";

const THINK_MS = 300;
/** About 30 tokens per second, like hosted models. */
const PACE_MS = 33;
const TOKENS = 60;

const rest = Array.from({ length: TOKENS - 1 }, (): Move[] => [{ pause: PACE_MS }, { text: " word" }]).flat();

const peer = await startModel(async () => {
  await Bun.sleep(THINK_MS * (0.5 + Math.random()));
  const now = performance.timeOrigin + performance.now();
  return { moves: [{ text: now.toFixed(2) }, ...rest], usage: { input: 100, output: TOKENS } };
});
console.log(JSON.stringify({ origin: peer.origin }));
