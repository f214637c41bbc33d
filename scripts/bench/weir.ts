import { createHmac } from "node:crypto";
import { join } from "node:path";
import { atEnd, tempFolder } from "./ending.ts";
import { cpuSeconds, rssMb } from "./process.ts";

const MAIN = join(import.meta.dir, "../../src/main.ts");
export const SECRET = "a secret of the benchmark";

/**
 * Creates a data directory with an owner and an organization, by `weir init`. `settings` are added to the usual ones.
 */
export function initWeir(
  command: readonly string[] = [process.execPath, MAIN],
  settings: Record<string, string> = {},
) {
  const folder = tempFolder();
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    WEIR_API_RATE: "off",
    WEIR_DEFAULT_PLAN: "enterprise",
    WEIR_LOG: "warn",
    WEIR_EGRESS_ALLOW: "127.0.0.0/8",
    ...settings,
  };
  const owner = ["--email", "bench@example.com", "--password-stdin", "--org", "Bench"];
  const made = Bun.spawnSync([...command, "init", ...owner, "--data", folder, "--json"], {
    stdin: Buffer.from("a long password for the benchmark"),
    env,
  });
  if (made.exitCode !== 0) throw new Error(`weir init: ${made.stderr.toString()}`);
  const { token, organizationId } = JSON.parse(made.stdout.toString()) as {
    token: string;
    organizationId: string;
  };
  return { command, folder, env, token, organizationId };
}

/** Runs `weir serve` on such a folder, in a separate process. `readyMs` is from its start to the first 200. */
export async function serveWeir({
  command,
  folder,
  env,
  token,
  organizationId,
}: ReturnType<typeof initWeir>) {
  const port = freePort();
  const origin = `http://127.0.0.1:${port}`;
  const began = performance.now();
  const child = Bun.spawn([...command, "serve", "--data", folder, "--port", String(port)], {
    env,
    stdio: ["ignore", "ignore", "inherit"],
  });
  atEnd(() => child.kill("SIGKILL"));
  await untilHealthy(origin);
  const readyMs = performance.now() - began;
  const call = async (method: string, path: string, body?: unknown) => {
    const reply = await fetch(origin + path, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`);
    return text === "" ? null : JSON.parse(text);
  };
  return {
    origin,
    token,
    organizationId,
    folder,
    readyMs,
    call,
    rssMb: () => rssMb(child.pid),
    cpuSeconds: () => cpuSeconds(child.pid),
    pid: child.pid,
    async stop() {
      child.kill("SIGTERM");
      await child.exited;
    },
    /** Kills it with SIGKILL. */
    async kill() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

export type Weir = Awaited<ReturnType<typeof serveWeir>>;

/** Raises the rate limit of webhooks beyond what a benchmark can reach. */
export const takeAllWebhooks = ({ call }: Weir): Promise<unknown> =>
  call("PATCH", "/api/v1/organizations/current", { webhookRate: { perMinute: 1_000_000, burst: 1_000_000 } });

/** Starts a server whose rate limit of webhooks benchmarks can't reach. */
export async function startWeir(command?: readonly string[]): Promise<Weir> {
  const weir = await serveWeir(initWeir(command));
  await takeAllWebhooks(weir);
  return weir;
}

/** Returns a port that is currently free. */
export function freePort(): number {
  const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = probe;
  probe.stop(true);
  return port;
}

async function untilHealthy(origin: string): Promise<void> {
  for (let tries = 0; tries < 2000; tries++) {
    const reply = await fetch(`${origin}/health`).catch(() => null);
    if (reply?.ok) return;
    await Bun.sleep(2);
  }
  throw new Error("Weir did not become ready.");
}

/** The automation that the webhook benchmarks run: one branch over the payload. */
export const BRANCH_AUTOMATION = {
  name: "Bench",
  triggerType: "webhook",
  config: {
    path: "bench",
    secret: SECRET,
    requireTimestamp: false,
    action: {
      kind: "conditional_branch",
      definition: { branches: [{ key: "big", when: "payload.order.total > 100" }], else: "small" },
    },
  },
};

export const BODY = JSON.stringify({
  event: "order.created",
  order: { id: "1001", total: 142.5, items: [{ sku: "A-1", quantity: 2 }] },
});
const SIGNATURE = `sha256=${createHmac("sha256", SECRET).update(BODY).digest("hex")}`;

/** The headers of a webhook with this body. */
export const HOOK_HEADERS = { "content-type": "application/json", "x-svc-signature": SIGNATURE };
