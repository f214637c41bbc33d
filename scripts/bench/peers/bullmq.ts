import { cpSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../ending.ts";
import { load, rawRequest } from "../load.ts";
import { freePort } from "../weir.ts";
import { debianFolder, nodeFile, npmFolder, type Process, startProcess } from "./ground.ts";

const VERSION = "6.7.0";
const IOREDIS = "6.0.0";
/** Redis, and dependencies that a small machine may lack. */
const DEBIAN = ["redis-server", "redis-tools", "liblzf1", "libjemalloc2"];

/** `strict` does fsync before each response, as Weir promises; `shipped` is Debian's default configuration of Redis. */
export type Durability = "strict" | "shipped";

export interface JobQueue {
  /** Includes its versions. */
  name: string;
  /** Jobs per second, queued in its own process by this many callers that each wait for their response. */
  enqueue(count: number, callers: number): Promise<number>;
  /** Jobs per second that a worker completes, of exactly `count` queued ones. */
  drain(count: number, concurrency: number): Promise<number>;
  /** Jobs per second queued over HTTP. They stay queued. */
  post(connections: number, seconds: number): Promise<{ count: number; perSecond: number }>;
  stop(): Promise<void>;
}

/** BullMQ on Node with its own Redis. Its jobs do nothing, and leave nothing behind. */
export async function startBullMq(durability: Durability): Promise<JobQueue> {
  const folder = await npmFolder("bullmq", { packages: { bullmq: VERSION, ioredis: IOREDIS } });
  const redis = await startRedis(durability);
  const script = join(folder, "server.mjs"); // Next to its package.
  cpSync(join(import.meta.dir, "bullmq-server.mjs"), script);
  const port = freePort();
  const origin = `http://127.0.0.1:${port}`;
  const node = startProcess([await nodeFile(), script, String(port), String(redis.port)], {
    NODE_ENV: "production",
  });
  const ask = async (path: string): Promise<number> => {
    const reply = await fetch(origin + path, { method: "POST" });
    const body = (await reply.json()) as { perSecond?: number; error?: string };
    if (body.perSecond === undefined) throw new Error(`BullMQ: ${body.error}`);
    return body.perSecond;
  };
  await node.ready(async () => (await fetch(`${origin}/enqueue?count=0&callers=1`, { method: "POST" })).ok);
  const job = rawRequest(
    origin,
    "POST",
    "/jobs",
    { "content-type": "application/json" },
    JSON.stringify({
      kind: "conditional_branch",
      definition: { branches: [{ key: "a", when: "true" }] },
    }),
  );
  return {
    name: `BullMQ ${VERSION}, ${redis.name}`,
    enqueue: (count, callers) => ask(`/enqueue?count=${count}&callers=${callers}`),
    drain: (count, concurrency) => ask(`/drain?count=${count}&concurrency=${concurrency}`),
    post: (connections, seconds) =>
      load(origin, job, connections, seconds, (reply) => reply.includes('"status":"pending"')),
    async stop() {
      await node.stop();
      await redis.child.stop();
    },
  };
}

async function startRedis(durability: Durability): Promise<{ name: string; port: number; child: Process }> {
  const root = join(await debianFolder("redis", DEBIAN), "root");
  const server = join(root, "usr/bin/redis-server");
  const env = {
    LD_LIBRARY_PATH: join(root, `usr/lib/${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu`),
  };
  const version = /v=(\S+)/.exec(Bun.spawnSync([server, "--version"], { env }).stdout.toString())?.[1];
  const port = freePort();
  const strict = ["--appendonly", "yes", "--appendfsync", "always"];
  const child = startProcess(
    [
      ...[server, "--port", String(port), "--bind", "127.0.0.1", "--dir", tempFolder()],
      ...["--maxmemory-policy", "noeviction"],
      ...(durability === "strict" ? strict : []),
    ],
    env,
  );
  await child.ready(() => canConnect(port));
  const how = durability === "strict" ? "appendfsync always" : "as shipped, no fsync";
  return { name: `Redis ${version} (${how})`, port, child };
}

async function canConnect(port: number): Promise<boolean> {
  const socket = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } });
  socket.end();
  return true;
}
