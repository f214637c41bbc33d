/**
 * Concurrent chat turns with a model that writes 30 tokens per second (turns-peer.ts):
 * how long after the model's own first token the user gets it, whether all turns complete,
 * and how much memory that takes. Model, server and readers share the machine.
 */
import { median, shareOf, tell } from "./load.ts";
import { startPeer } from "./peer.ts";
import { initWeir, serveWeir, type Weir } from "./weir.ts";

const MODERATE = 20;
const MANY = 200;
const ROUNDS = 3;
const LOOK_MS = 100;

const peer = await startPeer("turns-peer.ts");
const home = initWeir();
const weir = await serveWeir({
  ...home,
  env: { ...home.env, WEIR_LLM_BASE_URL: `${peer.origin}/v1`, WEIR_LLM_MODEL: "peer" } as typeof home.env,
});
const markdown = "---\nname: Bench\n---\nYou answer.\n";
const { id: agentSpecId } = await weir.call("POST", "/api/v1/agents/specs", { markdown });
const threads: string[] = [];
for (let n = 0; n < MANY; n++)
  threads.push((await weir.call("POST", "/api/v1/chat/threads", { agentSpecId })).id);

const now = () => performance.timeOrigin + performance.now();

/** One turn, read to its end: milliseconds from the model's first token to Weir's, and whether it is complete. */
async function turn(thread: string) {
  const asked = now();
  const reply = await fetch(`${weir.origin}/api/v1/chat/threads/${thread}/turns/stream`, {
    method: "POST",
    headers: { authorization: `Bearer ${weir.token}`, "content-type": "application/json" },
    body: JSON.stringify({ content: "Say something" }),
  });
  if (reply.status !== 200 || !reply.body) throw new Error(`${reply.status} ${await reply.text()}`);
  const headersMs = now() - asked;
  const decoder = new TextDecoder();
  let text = "";
  let firstMs: number | null = null;
  for await (const bytes of reply.body) {
    text += decoder.decode(bytes, { stream: true });
    if (firstMs !== null) continue;
    const at = /"delta":"(\d+\.\d+)/.exec(text)?.[1];
    if (at !== undefined) firstMs = now() - Number(at);
  }
  const words = text.match(/ word/g)?.length ?? 0;
  const isWhole = words === 59 && text.includes('"finishReason":"stop"') && text.endsWith("data: [DONE]\n\n");
  return { firstMs: firstMs ?? Number.POSITIVE_INFINITY, headersMs, isWhole };
}

async function round(weir: Weir, count: number) {
  let peak = 0;
  const watch = setInterval(() => {
    peak = Math.max(peak, weir.rssMb());
  }, LOOK_MS);
  const cpu = weir.cpuSeconds();
  const began = performance.now();
  const turns = await Promise.all(threads.slice(0, count).map(turn));
  clearInterval(watch);
  const seconds = (performance.now() - began) / 1000;
  const first = turns.map(({ firstMs }) => firstMs);
  const headers = turns.map(({ headersMs }) => headersMs);
  const whole = turns.filter(({ isWhole }) => isWhole).length;
  const result = { p50: shareOf(first, 0.5), p99: shareOf(first, 0.99), whole, peak };
  console.log(
    `  ${count} at once: first token p50 ${result.p50.toFixed(1)} ms, p99 ${result.p99.toFixed(1)} ms after the model's; headers p50 ${shareOf(headers, 0.5).toFixed(0)} ms, p99 ${shareOf(headers, 0.99).toFixed(0)} ms; ${whole} whole in ${seconds.toFixed(1)} s, ${((weir.cpuSeconds() - cpu) / seconds).toFixed(2)} processors; memory ${peak.toFixed(0)} MB`,
  );
  return result;
}

await round(weir, 5);
const idle = weir.rssMb();
const moderate = [];
const many = [];
for (let n = 0; n < ROUNDS; n++) moderate.push(await round(weir, MODERATE));
for (let n = 0; n < ROUNDS; n++) many.push(await round(weir, MANY));
const p99 = median(moderate.map((each) => each.p99));
tell(`first token of ${MODERATE} turns at once, p99 after the model's`, p99, 50, 25, "ms", true);
tell(`of ${MANY} turns at once, p50`, median(many.map((each) => each.p50)), 250, 50, "ms", true);
tell(`turns of ${MANY} that come whole`, Math.min(...many.map(({ whole }) => whole)), MANY, MANY, "");
tell(`memory of ${MANY} turns`, Math.max(...many.map(({ peak }) => peak)) - idle, 200, 100, "MB", true);
await weir.stop();
await peer.stop();
