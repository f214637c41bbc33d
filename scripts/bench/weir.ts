import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MAIN = join(import.meta.dir, "../../src/main.ts");
export const SECRET = "a secret of the benchmark";

/** A Weir in a process of its own, with an owner. */
export async function startWeir(
  command: readonly string[] = [process.execPath, MAIN],
  env: Record<string, string> = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "weir-bench-"));
  const settings = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    WEIR_API_RATE: "off",
    WEIR_DEFAULT_PLAN: "enterprise",
    WEIR_LOG: "warn",
    WEIR_EGRESS_ALLOW: "127.0.0.0/8",
    ...env,
  };
  const made = Bun.spawnSync(
    [
      ...command,
      "init",
      "--email",
      "bench@example.com",
      "--password-stdin",
      "--org",
      "Bench",
      "--data",
      folder,
      "--json",
    ],
    {
      stdin: Buffer.from("a long password for the benchmark"),
      env: settings,
    },
  );
  if (made.exitCode !== 0) throw new Error(`weir init: ${made.stderr.toString()}`);
  const { token, organizationId } = JSON.parse(made.stdout.toString()) as {
    token: string;
    organizationId: string;
  };
  const port = freePort();
  const began = performance.now();
  const child = Bun.spawn([...command, "serve", "--data", folder, "--port", String(port)], {
    env: settings,
    stdout: "ignore",
    stderr: "inherit",
  });
  const origin = `http://127.0.0.1:${port}`;
  process.on("exit", () => child.kill("SIGKILL"));
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
  await call("PATCH", "/api/v1/organizations/current", {
    webhookRate: { perMinute: 1_000_000, burst: 1_000_000 },
  });
  return {
    origin,
    token,
    organizationId,
    folder,
    readyMs,
    child,
    call,
    rssMb: () => rssOf(child.pid),
    async stop() {
      child.kill("SIGTERM");
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type Weir = Awaited<ReturnType<typeof startWeir>>;

function freePort(): number {
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

/** Resident memory of a process in MB, by Linux's count. */
export async function rssOf(pid: number): Promise<number> {
  const pages = Number((await Bun.file(`/proc/${pid}/statm`).text()).split(" ")[1]);
  return (pages * 4096) / 1e6;
}

/** The automation that the webhook benchmarks run: one branch over the payload. */
export const BRANCH_AUTOMATION = {
  name: "Bench",
  triggerType: "webhook",
  config: {
    path: "bench",
    secret: SECRET,
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
export const SIGNATURE = `sha256=${createHmac("sha256", SECRET).update(BODY).digest("hex")}`;
