/**
 * `file_sync` between two buckets: `bun scripts/bench/file-sync.bench.ts [--files 10000] [--bytes 2GB] [--rounds 3]`.
 *
 * Small files, and large ones of 64 MB with this total size, within one store (which copies server-side)
 * and between two (the bytes pass through here). Compared with a plain loop with the same client and concurrency:
 * it lists the source and copies each object, small ones whole and large ones in parts of the same size,
 * without further checks. Weir's side is a run of a separate server, from start to end. Medians of interleaved rounds.
 * Then the same sync again without changes: it may not write anything.
 */
import { parseArgs } from "node:util";
import { send } from "../../src/providers/s3/client.ts";
import { listPages } from "../../src/providers/s3/list.ts";
import type { S3Link } from "../../src/providers/s3/shape.ts";
import { upload, uploadWhole } from "../../src/providers/s3/upload.ts";
import { link } from "../../test/support/link.ts";
import { median, tell } from "./load.ts";
import { startPeer } from "./peer.ts";
import { startWeir } from "./weir.ts";

const { values } = parseArgs({
  options: {
    files: { type: "string", default: "2000" },
    bytes: { type: "string", default: "512MB" },
    rounds: { type: "string", default: "3" },
  },
});
const files = Number(values.files);
const rounds = Number(values.rounds);
const LARGE_BYTES = 64e6;
const [, amount = "0", unit = ""] = /^([\d.]+)(MB|GB)?$/.exec(values.bytes) ?? [];
const large = Math.max(
  1,
  Math.round((Number(amount) * (unit === "GB" ? 1e9 : unit === "MB" ? 1e6 : 1)) / LARGE_BYTES),
);
const SMALL_AT_ONCE = 16;
const LARGE_AT_ONCE = 4;
const KEYS = { accessKeyId: "bench", secretAccessKey: "bench-secret-key" };

const [near, far] = [
  await startPeer("s3-peer.ts", String(files), String(large), String(LARGE_BYTES)),
  await startPeer("s3-peer.ts"),
];
const weir = await startWeir();

const config = (origin: string, bucket: string) => ({ bucket, endpointUrl: origin, forcePathStyle: true });
const connect = async (origin: string, bucket: string): Promise<string> =>
  (
    await weir.call("POST", "/api/v1/connections", {
      name: `${origin} ${bucket}`,
      provider: "s3",
      config: config(origin, bucket),
      credentials: KEYS,
    })
  ).id;

/** Seconds of one `file_sync` run, as reported by the run. */
async function run(actionId: string) {
  const { id } = await weir.call("POST", `/api/v1/actions/${actionId}/run`);
  for (;;) {
    const run = await weir.call("GET", `/api/v1/action-runs/${id}`);
    if (run.status === "failed") throw new Error(JSON.stringify(run.error));
    if (run.status === "completed") return { seconds: run.durationSeconds as number, result: run.result };
    await Bun.sleep(250); // The run reports its own time; polling more often would slow it down.
  }
}

/** The loop that someone would write: seconds for all objects of a bucket. */
async function loop(from: S3Link, to: S3Link, prefix: string): Promise<number> {
  const began = performance.now();
  const isNear = from.config.endpointUrl === to.config.endpointUrl;
  const keys: { key: string; size: number }[] = [];
  for await (const { entries } of listPages(from, ""))
    for (const { key, size } of entries) keys.push({ key, size: size ?? 0 });
  const queue = keys.values();
  const isLarge = (keys[0]?.size ?? 0) >= LARGE_BYTES;
  const work = async () => {
    for (const { key, size } of queue) {
      const target = `${prefix}${key}`;
      if (isNear) {
        const headers = { "x-amz-copy-source": `/${from.config.bucket}/${key}` };
        await (await send(to, { method: "PUT", key: target, headers })).bytes(1e6);
        continue;
      }
      const reply = await send(from, { method: "GET", key, long: true });
      if (size < LARGE_BYTES)
        await uploadWhole(to, target, (await reply.bytes(1e7)).bytes as Uint8Array<ArrayBuffer>);
      else await upload(to, target, reply.body, Number.MAX_SAFE_INTEGER);
    }
  };
  await Promise.all(Array.from({ length: isLarge ? LARGE_AT_ONCE : SMALL_AT_ONCE }, work));
  return (performance.now() - began) / 1000;
}

for (const [where, target] of [
  ["within a store", near],
  ["between two stores", far],
] as const) {
  for (const [what, bucket] of [
    [`${files} small files`, "small"],
    [`${large} files of 64 MB`, "large"],
  ] as const) {
    if (target === near && bucket === "large") continue; // There, the peer would only store lengths.
    const source = await connect(near.origin, bucket);
    const destination = await connect(target.origin, `to-${bucket}`);
    const place = (bucketName: string, origin: string) =>
      link(config(origin, bucketName), KEYS) as unknown as S3Link;
    const ratios: number[] = [];
    let last = "";
    for (let round = 0; round <= rounds; round++) {
      const theirs = await loop(
        place(bucket, near.origin),
        place(`loop-${bucket}`, target.origin),
        `${round}/`,
      );
      const action = await weir.call("POST", "/api/v1/actions", {
        kind: "file_sync",
        name: `${where} ${bucket} ${round}`,
        definition: {
          source: { connectionId: source },
          destination: { connectionId: destination, path: `/${round}` },
        },
      });
      const ours = await run(action.id);
      last = action.id;
      if (round === 0) continue; // Warm-up.
      ratios.push(theirs / ours.seconds);
      console.log(
        `  round ${round}: ${what} ${where}: loop ${theirs.toFixed(2)} s, file_sync ${ours.seconds.toFixed(2)} s`,
      );
    }
    tell(`file_sync, ${what} ${where}, of a plain loop`, median(ratios), 0.8, 1);
    await fetch(`${target.origin}/counts`);
    const again = await run(last);
    const { writes } = (await (await fetch(`${target.origin}/counts`)).json()) as { writes: number };
    console.log(`  again, nothing changed: ${again.seconds.toFixed(2)} s`);
    tell(`  writes of a second run, ${bucket} ${where}`, writes, 0, 0, "", true);
  }
}
console.log(`  Weir's memory at the end: ${weir.rssMb().toFixed(0)} MB`);
await weir.stop();
await near.stop();
await far.stop();
