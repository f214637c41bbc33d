import type { Clock } from "../base/clock.ts";
import type { Egress } from "../base/egress.ts";
import type { Ids } from "../base/ids.ts";
import { send } from "../providers/s3/client.ts";
import { listPages } from "../providers/s3/list.ts";
import { ownLink, rootOf, type S3Config, type S3Credentials } from "../providers/s3/shape.ts";
import { MARKER, readMarker } from "./bucket.ts";

/** The result of checking a lake's bucket. */
export interface Probe {
  /** The installation that owns it, or null if there is none yet. */
  owner: string | null;
  /** How long it took to write and remove a small object. */
  tookMs: number;
  /** How far the store's clock is ahead, in whole seconds. Null if the store doesn't report it. */
  aheadMs: number | null;
  /** Sizes in bytes of the files below the lake's root, by path. */
  sizes: ReadonlyMap<string, number>;
}

/** Writes, lists and removes objects in the bucket as the server does, and cleans up. Throws the store's errors. */
export async function probeBucket(options: {
  config: S3Config;
  credentials: S3Credentials;
  egress: Egress;
  clock: Clock;
  ids: Ids;
  signal: AbortSignal;
}): Promise<Probe> {
  const { ids, ...linkOptions } = options;
  const { clock, config } = linkOptions;
  const link = ownLink(linkOptions);
  const root = rootOf(config);
  const key = `${root}${MARKER}-doctor-${ids.uuid()}`;
  const startedMs = clock.monotonic();
  const written = await send(link, { method: "PUT", key, body: new TextEncoder().encode("weir doctor") });
  await written.body.cancel();
  await (await send(link, { method: "DELETE", key })).body.cancel();
  const tookMs = clock.monotonic() - startedMs;
  const date = Date.parse(written.headers.get("date") ?? "");
  const sizes = new Map<string, number>();
  for await (const { entries } of listPages(link, root))
    for (const { key: name, size } of entries) sizes.set(name.slice(root.length), size ?? 0);
  return {
    owner: await readMarker(link, `${root}${MARKER}`),
    tookMs,
    aheadMs: Number.isNaN(date) ? null : date - (clock.now().getTime() - tookMs),
    sizes,
  };
}
