/**
 * One object of 64 MB from one S3 store to another: `bun scripts/bench/s3-copy.bench.ts [rounds]`.
 * Copied as in `file_sync`, in parts that appear together at the end, against a bare `fetch` whose response is the body
 * of the next one. The stores are separate processes. Medians of interleaved rounds.
 */

import type { S3Link } from "../../src/providers/s3/shape.ts";
import { s3Tree } from "../../src/providers/s3/tree.ts";
import { link } from "../../test/support/link.ts";
import { median, tell } from "./load.ts";
import { startPeer } from "./peer.ts";

const BYTES = 64e6;
const AT_ONCE = 4;
const rounds = Number(process.argv[2] ?? 7);
const from = await startPeer("s3-peer.ts", "0", "1", String(BYTES));
const to = await startPeer("s3-peer.ts");
const place = (origin: string, bucket: string) =>
  link(
    { bucket, endpointUrl: origin, forcePathStyle: true },
    { accessKeyId: "bench", secretAccessKey: "bench-secret-key" },
  ) as unknown as S3Link;
const [source, target] = [place(from.origin, "large"), place(to.origin, "copies")];

/** Passes the bytes on as they arrive, unsigned and unchecked. */
async function bare(): Promise<number> {
  const began = performance.now();
  const { body } = await fetch(`${from.origin}/large/part-0.bin`);
  const reply = await fetch(`${to.origin}/copies/bare.bin`, {
    method: "PUT",
    body,
    headers: { "content-length": String(BYTES) },
  });
  await reply.arrayBuffer();
  return performance.now() - began;
}

async function ours(name: string): Promise<number> {
  const began = performance.now();
  for await (const file of s3Tree.walk(source, "/")) {
    const stamp = await s3Tree.writes?.put(target, `/${name}`, await s3Tree.open(source, file), file.size);
    if (stamp?.size !== BYTES) throw new Error(`${stamp?.size} bytes arrived.`);
  }
  return performance.now() - began;
}

const ratios: number[] = [];
const together: number[] = [];
for (let round = 0; round <= rounds; round++) {
  const theirs = await bare();
  const one = await ours("ours.bin");
  const began = performance.now();
  await Promise.all(Array.from({ length: AT_ONCE }, bare));
  const manyTheirs = performance.now() - began;
  const then = performance.now();
  await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => ours(`ours-${at}.bin`)));
  const many = performance.now() - then;
  if (round === 0) continue; // Warm-up.
  ratios.push(theirs / one);
  together.push(manyTheirs / many);
  console.log(
    `  round ${round}: fetch ${theirs.toFixed(0)} ms, Weir ${one.toFixed(0)} ms; ${AT_ONCE} at once: ${manyTheirs.toFixed(0)} ms, ${many.toFixed(0)} ms`,
  );
}
tell("S3 → S3, 64 MB, against raw fetch passthrough", median(ratios), 0.45, 0.8);
tell(`the same, ${AT_ONCE} at once`, median(together), 0.45, 0.8);
await from.stop();
await to.stop();
process.exit(0);
