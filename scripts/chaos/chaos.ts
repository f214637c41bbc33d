/**
 * Kills a loaded Weir with SIGKILL at random instants, restarts it, and holds what it answered against what
 * it kept: `bun scripts/chaos/chaos.ts [rounds] [command …]`.
 *
 * The ledger has every webhook that was answered with 2xx. Afterwards each must have exactly one automation
 * run, finished; each sent key at most one; the loaded table exactly the rows of its source; and the audit
 * trail must hold.
 */
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MAIN = join(import.meta.dir, "../../src/main.ts");
const SECRET = "a secret of the chaos";
const SENDERS = 8;
const ROWS = 500;

export interface Verdict {
  rounds: number;
  sent: number;
  accepted: number;
  runs: number;
  loads: number;
  /** Runs that four kills in a row hit while they were under way: failed, told, and kept as dead letters. */
  exhausted: number;
  /** All that is wrong; empty when nothing is. */
  faults: string[];
}

export interface ChaosOptions {
  rounds: number;
  /** Starts Weir; from the source by default. */
  command?: readonly string[];
  /** Milliseconds from ready to the kill, at most. */
  longestMs?: number;
  log?: (line: string) => void;
}

export async function chaos(options: ChaosOptions): Promise<Verdict> {
  const { rounds, command = [process.execPath, MAIN], longestMs = 1500, log = () => {} } = options;
  const folder = mkdtempSync(join(tmpdir(), "weir-chaos-"));
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    WEIR_API_RATE: "off",
    WEIR_DEFAULT_PLAN: "enterprise",
    WEIR_LOG: "error",
    WEIR_EGRESS_ALLOW: "127.0.0.0/8",
  };
  const owner = await makeOwner(command, folder, env);
  const ledger = new Map<string, string>(); // key → automation run id, of what was answered 2xx
  const sentKeys = new Set<string>();
  let weir = await start(command, folder, env, owner.token);
  try {
    const hooks = await setUp(weir.call);
    for (let round = 1; round <= rounds; round++) {
      const senders = sendUntilDead(weir.origin, owner.organizationId, hooks, round, ledger, sentKeys);
      await Bun.sleep(50 + Math.random() * longestMs);
      weir.child.kill("SIGKILL");
      await weir.child.exited;
      await senders;
      weir = await start(command, folder, env, owner.token);
      log(`round ${round}: ${ledger.size} accepted of ${sentKeys.size} sent`);
    }
    return await judge({ weir, hooks, rounds, ledger, sentKeys, command, folder, env });
  } finally {
    weir.child.kill("SIGKILL");
    await weir.child.exited;
    rmSync(folder, { recursive: true, force: true });
  }
}

type Env = Record<string, string>;

async function makeOwner(command: readonly string[], folder: string, env: Env) {
  const words = [
    "init",
    "--email",
    "chaos@example.com",
    "--password-stdin",
    "--org",
    "Chaos",
    "--data",
    folder,
    "--json",
  ];
  const made = Bun.spawnSync([...command, ...words], {
    stdin: Buffer.from("a long password for chaos"),
    env,
  });
  if (made.exitCode !== 0) throw new Error(`weir init: ${made.stderr.toString()}`);
  return JSON.parse(made.stdout.toString()) as { token: string; organizationId: string };
}

type Call = (method: string, path: string, body?: unknown) => Promise<Record<string, unknown>>;

async function start(command: readonly string[], folder: string, env: Env, token: string) {
  const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = probe;
  probe.stop(true);
  const child = Bun.spawn([...command, "serve", "--data", folder, "--port", String(port)], {
    env,
    stdout: "ignore",
    stderr: "inherit",
  });
  const origin = `http://127.0.0.1:${port}`;
  for (let tries = 0; ; tries++) {
    if ((await fetch(`${origin}/health`).catch(() => null))?.ok) break;
    if (tries > 3000 || child.exitCode !== null) throw new Error("Weir did not start again.");
    await Bun.sleep(5);
  }
  const call: Call = async (method, path, body) => {
    const raw = body instanceof Uint8Array;
    const reply = await fetch(origin + path, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(raw ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: raw ? body : JSON.stringify(body) }),
    } as RequestInit);
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`);
    return text === "" ? {} : JSON.parse(text);
  };
  return { child, origin, call };
}

interface Hooks {
  branch: { id: string; path: string };
  load: { id: string; path: string };
}

async function setUp(call: Call): Promise<Hooks> {
  await call("PATCH", "/api/v1/organizations/current", {
    webhookRate: { perMinute: 1_000_000, burst: 1_000_000 },
  });
  const connection = await call("POST", "/api/v1/connections", {
    name: "Files",
    provider: "local_files",
    config: {},
    credentials: {},
  });
  const lines = Array.from({ length: ROWS }, (_, n) =>
    JSON.stringify({ id: n, name: `row ${n}`, tags: [n, n + 1] }),
  );
  await call(
    "PUT",
    `/api/v1/connections/${connection.id}/files?path=/rows.jsonl`,
    Buffer.from(lines.join("\n")),
  );
  const branch = await call("POST", "/api/v1/automations", {
    name: "Branch",
    triggerType: "webhook",
    config: {
      path: "branch",
      secret: SECRET,
      waitSeconds: 5,
      steps: [
        {
          key: "route",
          kind: "conditional_branch",
          definition: { branches: [{ key: "big", when: "payload.n % 2 == 0" }], else: "small" },
        },
        {
          key: "again",
          kind: "conditional_branch",
          definition: { branches: [{ key: "yes", when: "true" }] },
          dependsOn: ["route"],
        },
      ],
    },
  });
  const load = await call("POST", "/api/v1/automations", {
    name: "Load",
    triggerType: "webhook",
    config: {
      path: "load",
      secret: SECRET,
      waitSeconds: 0,
      action: {
        kind: "dlt_extract",
        connectionId: connection.id,
        definition: {
          dataset: "chaos",
          resources: [{ name: "rows", spec: "rows.jsonl", primaryKey: ["id"], writeDisposition: "merge" }],
        },
      },
    },
  });
  return {
    branch: { id: String(branch.id), path: "branch" },
    load: { id: String(load.id), path: "load" },
  };
}

/** Eight senders, until the server is gone. */
async function sendUntilDead(
  origin: string,
  organization: string,
  hooks: Hooks,
  round: number,
  ledger: Map<string, string>,
  sentKeys: Set<string>,
) {
  let alive = true;
  const send = async (sender: number) => {
    for (let n = 0; alive; n++) {
      const hook = sender === 0 && n % 10 === 0 ? hooks.load : hooks.branch;
      const key = `${hook.path}-${round}-${sender}-${n}`;
      const body = JSON.stringify({ n });
      sentKeys.add(key);
      const reply = await fetch(`${origin}/webhooks/${organization}/${hook.path}`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "idempotency-key": key,
          "x-svc-signature": `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`,
        },
        body,
      }).catch(() => null);
      if (reply === null) {
        alive = false;
        return;
      }
      const answer = await reply.json().catch(() => null);
      if (reply.ok && answer) ledger.set(key, answer.automationRunId);
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, (_, sender) => send(sender)));
}

interface Case {
  weir: Awaited<ReturnType<typeof start>>;
  hooks: Hooks;
  rounds: number;
  ledger: Map<string, string>;
  sentKeys: Set<string>;
  command: readonly string[];
  folder: string;
  env: Env;
}

async function judge({
  weir,
  hooks,
  rounds,
  ledger,
  sentKeys,
  command,
  folder,
  env,
}: Case): Promise<Verdict> {
  const faults: string[] = [];
  await settle(weir.call);
  const runs = [...(await allRuns(weir.call, hooks.branch.id)), ...(await allRuns(weir.call, hooks.load.id))];
  const byId = new Map(runs.map((run) => [run.id, run]));
  let exhausted = 0;
  for (const [key, runId] of ledger) {
    const run = byId.get(runId);
    if (!run) faults.push(`${key} was accepted, and its run ${runId} is gone`);
    else if (run.error?.code === "interrupted_too_often") exhausted++;
    else if (run.status !== "completed")
      faults.push(`${key}: its run ${runId} is ${run.status}: ${JSON.stringify(run.error)}`);
  }
  if (byId.size !== runs.length) faults.push("a run is listed twice");
  if (runs.length < ledger.size || runs.length > sentKeys.size) {
    faults.push(`${runs.length} runs for ${ledger.size} accepted of ${sentKeys.size} sent webhooks`);
  }
  if (new Set(ledger.values()).size !== ledger.size) faults.push("two webhooks were answered with one run");
  const loads = runs.filter((run) => run.automationId === hooks.load.id && run.status === "completed").length;
  if (loads > 0) {
    const counted = await weir.call("POST", "/api/v1/query", {
      sql: "SELECT count(*) AS n, count(DISTINCT id) AS d FROM raw.chaos__rows",
    });
    const tags = await weir.call("POST", "/api/v1/query", {
      sql: "SELECT count(*) AS n FROM raw.chaos__rows__tags",
    });
    const [row] = counted.rows as { n: number; d: number }[];
    const [child] = tags.rows as { n: number }[];
    if (row?.n !== ROWS || row.d !== ROWS)
      faults.push(`the table has ${row?.n} rows with ${row?.d} ids; ${ROWS} were right`);
    if (child?.n !== 2 * ROWS) faults.push(`the child table has ${child?.n} rows; ${2 * ROWS} were right`);
  }
  const letters = await weir.call("GET", "/api/v1/dead-letters?limit=100");
  const buried = (letters.items as unknown[]).length;
  if (buried < exhausted)
    faults.push(`${exhausted} runs were given up, and ${buried} of them are dead letters`);
  weir.child.kill("SIGTERM");
  const exit = await weir.child.exited;
  if (exit !== 0) faults.push(`SIGTERM ended with exit code ${exit}`);
  const verified = Bun.spawnSync([...command, "events", "verify", "--data", folder], { env });
  if (verified.exitCode !== 0)
    faults.push(`the audit trail: ${verified.stdout.toString()}${verified.stderr.toString()}`);
  return { rounds, sent: sentKeys.size, accepted: ledger.size, runs: runs.length, loads, exhausted, faults };
}

async function settle(call: Call): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    const open = await call(
      "GET",
      "/api/v1/action-runs?statuses=pending&statuses=running&statuses=waiting&limit=1",
    );
    if (Number(open.total) === 0) return;
    await Bun.sleep(100);
  }
}

interface Listed {
  id: string;
  automationId: string;
  status: string;
  error: { code: string } | null;
}

async function allRuns(call: Call, automationId: string): Promise<Listed[]> {
  const runs: Listed[] = [];
  for (let offset = 0; ; offset += 100) {
    const page = await call("GET", `/api/v1/automations/${automationId}/runs?limit=100&offset=${offset}`);
    runs.push(...(page.runs as Listed[]));
    if (page.hasNext !== true) return runs;
  }
}

if (import.meta.main) {
  const [rounds = "50", ...command] = process.argv.slice(2);
  const verdict = await chaos({
    rounds: Number(rounds),
    ...(command.length > 0 ? { command } : {}),
    log: (line) => console.log(line),
  });
  console.log(JSON.stringify(verdict, null, 2));
  process.exit(verdict.faults.length === 0 ? 0 : 1);
}
