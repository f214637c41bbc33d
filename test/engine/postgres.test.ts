import { expect, test } from "bun:test";
import { join } from "node:path";
import postgres from "postgres";
import { openSignals } from "../../src/base/signals.ts";
import { backup } from "../../src/cli/backup.ts";
import { config } from "../../src/cli/config.ts";
import { doctor } from "../../src/cli/doctor.ts";
import { migrations } from "../../src/store/migrations.ts";
import { openRemoteStore } from "../../src/store/store.ts";
import { client, startApp, turnableClock } from "../support/app.ts";
import { DECISIONS } from "../support/decisions.ts";
import { SECRET, stamped } from "../support/hook.ts";
import { makeMigrated, sharedPostgres, stopPostgresAfterAll } from "../support/postgres-store.ts";
import { startInstallation } from "../support/process.ts";
import { startReceiver } from "../support/receiver.ts";
import { refusalOf } from "../support/refusal.ts";
import { deepTest } from "../support/scale.ts";
import { shell } from "../support/shell.ts";
import {
  ACTIONS,
  AUTOMATION_RUNS,
  AUTOMATIONS,
  automationRunEnd,
  branch,
  created,
  makeAction,
  makeAutomation,
  runEnd,
  until,
} from "../support/work.ts";

stopPostgresAfterAll();

const KEY = Buffer.alloc(32, 7).toString("base64");

/** An installation with a PostgreSQL database, for several servers. */
async function startShared() {
  const { url, name } = await makeMigrated();
  const env = {
    WEIR_DATABASE_URL: url,
    WEIR_SECRET_KEY: KEY,
    WEIR_SHUTDOWN_GRACE: "2",
    WEIR_DEFAULT_PLAN: "enterprise",
  };
  const installation = await startInstallation(env);
  return {
    ...installation,
    url,
    name,
    env,
    [Symbol.asyncDispose]: () => installation[Symbol.asyncDispose](),
  };
}

type Shared = Awaited<ReturnType<typeof startShared>>;
type Member = Awaited<ReturnType<Shared["serve"]>>;

/** A webhook whose run asks for approval, and then calls another system. */
const withApproval = (receiver: string) => ({
  path: "orders",
  secret: SECRET,
  waitSeconds: 0,
  steps: [
    { key: "ask", kind: "approval_gate", definition: { title: "Ship {{payload.id}}?" } },
    {
      key: "tell",
      dependsOn: ["ask"],
      kind: "http_request",
      definition: { url: `${receiver}/ship`, method: "POST", body: { id: "{{payload.id}}" } },
    },
  ],
});

async function sendHook({ origin }: Member, path: string, body: object): Promise<string> {
  const text = JSON.stringify(body);
  const reply = await fetch(`${origin}/webhooks/acme/${path}`, {
    method: "POST",
    headers: stamped(text),
    body: text,
  });
  expect(reply.status).toBe(202);
  return ((await reply.json()) as { automationRunId: string }).automationRunId;
}

test("runs are found by index from the start, when PostgreSQL has no statistics about how large tables will become", async () => {
  await using receiver = startReceiver(async () => Response.json({ ok: true }));
  await using shared = await startShared();
  const one = await shared.serve();
  const request = { kind: "http_request", definition: { url: receiver.url } };
  const config = { path: "orders", secret: SECRET, waitSeconds: 20, action: request };
  await makeAutomation(one.owner, config, { name: "Orders", triggerType: "webhook" });
  const send = async (n: number) => {
    const text = JSON.stringify({ id: n });
    const url = `${one.origin}/webhooks/acme/orders`;
    expect((await fetch(url, { method: "POST", headers: stamped(text), body: text })).status).toBe(200);
  };
  for (let n = 0; n < 80; n += 16) await Promise.all(Array.from({ length: 16 }, (_, k) => send(n + k)));
  await one.end("SIGTERM"); // Its connections report what they read.

  const sql = postgres(shared.url, { max: 1 });
  const tables = await sql`select relname, n_tup_ins::int as rows, seq_tup_read::int as scanned
    from pg_stat_user_tables where relname in ('automation_runs', 'action_runs', 'webhook_deliveries') order by 1`;
  await sql.end();
  expect(tables.map(({ relname, rows }) => [relname, rows])).toEqual([
    ["action_runs", 80],
    ["automation_runs", 80],
    ["webhook_deliveries", 80],
  ]);
  for (const { relname, scanned } of tables) expect({ relname, scanned }).toEqual({ relname, scanned: 0 });
});

test("two processes share PostgreSQL: a webhook at one is approved at the other, and the audit log is valid", async () => {
  const shipped: string[] = [];
  await using receiver = startReceiver(async ({ text }) => {
    shipped.push(text);
    return Response.json({ ok: true });
  });
  await using shared = await startShared();
  const one = await shared.serve();
  const two = await shared.serve({ dataFolder: join(shared.dataFolder, "two") });
  await makeAutomation(one.owner, withApproval(receiver.url), { name: "Orders", triggerType: "webhook" });

  const runId = await sendHook(two, "orders", { id: "a-1" });
  await until(one.owner, `${AUTOMATION_RUNS}/${runId}`, ({ status }) => status === "waiting");
  const [{ id }] = (await one.owner("GET", `${DECISIONS}/pending`)).body.decisions;
  expect((await one.owner("POST", `${DECISIONS}/${id}/decide`, { decisionValue: "approved" })).status).toBe(
    200,
  );
  expect(await automationRunEnd(two.owner, runId)).toMatchObject({ status: "completed" });
  expect(shipped.map((text) => JSON.parse(text))).toEqual([{ id: "a-1" }]);
  expect((await two.owner("GET", "/api/v1/events/verify")).body).toMatchObject({ valid: true });

  await one.end("SIGKILL");
  const next = await sendHook(two, "orders", { id: "a-2" });
  await until(two.owner, `${AUTOMATION_RUNS}/${next}`, ({ status }) => status === "waiting");
  for (const { log } of [one, two]) expect(log.join("")).not.toContain("correct%20horse");
});

deepTest(
  "a restart of PostgreSQL under load ends, loses and duplicates no run",
  async () => {
    const heard = new Map<string, number>();
    await using receiver = startReceiver(async ({ headers }) => {
      const key = headers.get("idempotency-key") ?? "";
      heard.set(key, (heard.get(key) ?? 0) + 1);
      return Response.json({ ok: true });
    });
    await using shared = await startShared();
    const weir = await shared.serve();
    const definition = { url: `${receiver.url}/effect`, method: "POST", body: {} };
    const config = {
      path: "load",
      secret: SECRET,
      waitSeconds: 0,
      action: { kind: "http_request", definition },
    };
    await makeAutomation(weir.owner, config, { name: "Load", triggerType: "webhook" });
    const server = await sharedPostgres();
    const accepted: string[] = [];
    const refused: number[] = [];
    let isOver = false;
    const sender = async (who: number) => {
      for (let n = 0; !isOver; n++) {
        const text = JSON.stringify({ who, n });
        const reply = await fetch(`${weir.origin}/webhooks/acme/load`, {
          method: "POST",
          headers: { ...stamped(text), "idempotency-key": `${who}-${n}` },
          body: text,
        });
        if (reply.status === 202)
          accepted.push(((await reply.json()) as { automationRunId: string }).automationRunId);
        else refused.push(reply.status);
      }
    };
    const senders = [0, 1, 2, 3].map(sender);
    const has = async (count: number) => {
      while (accepted.length < count) await Bun.sleep(20);
    };
    await has(20);
    for (let round = 1; round <= 3; round++) {
      const cut =
        await server.sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${shared.name}`;
      expect(cut.length).toBeGreaterThan(0);
      await has(accepted.length + 20);
    }
    isOver = true;
    await Promise.all(senders);

    expect(refused.filter((status) => status !== 503)).toEqual([]);
    expect(new Set(accepted).size).toBe(accepted.length);
    for (const id of accepted)
      expect(await automationRunEnd(weir.owner, id)).toMatchObject({ status: "completed" });
    const all = await weir.owner("GET", `${AUTOMATION_RUNS}?limit=1`);
    expect(all.body.total).toBeLessThanOrEqual(accepted.length + refused.length);
    expect((await weir.owner("GET", "/api/v1/events/verify")).body).toMatchObject({ valid: true });
  },
  120_000,
);

test("a run that one process has no slot for starts immediately at another, and each sees the other's events", async () => {
  const signals = openSignals();
  const patient = {
    ...signals,
    wait: (topic: string, _: number, until?: AbortSignal) => signals.wait(topic, 2 ** 30, until),
  };
  const open = Promise.withResolvers<void>();
  await using receiver = startReceiver(async () => {
    await open.promise;
    return Response.json({});
  });
  await using shared = await startShared();
  const env = { ...shared.env, WEIR_CONCURRENCY: "1" };
  await using other = await startApp({ env, owner: false, overrides: { signals: patient } });
  await using full = await startApp({ env, owner: false });
  const [there, here] = [other, full].map(({ origin }) =>
    client(origin, { authorization: `Bearer ${shared.token}` }),
  );
  if (!(there && here)) throw new Error("There are two.");
  const gone = new AbortController();
  const stream = await fetch(`${other.origin}/api/v1/events/stream?type=action.created`, {
    headers: { authorization: `Bearer ${shared.token}` },
    signal: gone.signal,
  });
  const action = await makeAction(here, {
    kind: "http_request",
    definition: { url: receiver.url, timeoutSeconds: 300 },
  });
  const reader = stream.body?.getReader();
  for (let told = ""; !told.includes(action.id); )
    told += Buffer.from((await reader?.read())?.value ?? []).toString();
  gone.abort();
  const start = async () => created(await here("POST", `${ACTIONS}/${action.id}/run`)).id as string;
  const runs = [await start()];
  await until(here, "/health", () => receiver.got.length === 1);
  runs.push(await start());
  await until(here, "/health", () => receiver.got.length === 2);
  open.resolve();
  for (const id of runs) expect((await runEnd(there, id)).status).toBe("completed");
});

test("a version that changes the database waits for others to end, or is rejected; an older one no longer starts", async () => {
  await using shared = await startShared();
  const weir = await shared.serve();
  const more = { name: "9999_more", sql: "CREATE TABLE more (id TEXT PRIMARY KEY) STRICT" };
  const newer = { url: shared.url, migrations: [...migrations, more] };
  expect(await refusalOf(openRemoteStore({ ...newer, clock: turnableClock(1_000) }))).toMatch(
    new RegExp(`another process uses \\(.*, process ${weir.pid}, version .*Stop all processes`),
  );
  expect((await weir.owner("GET", AUTOMATION_RUNS)).status).toBe(200);
  const opening = openRemoteStore(newer);
  await weir.end("SIGTERM");
  await (await opening).close();
  expect(await refusalOf(openRemoteStore({ url: shared.url, migrations }))).toContain(
    "newer version of Weir",
  );
});

deepTest(
  "one whose clock is an hour off does nothing early or late, and takes nothing from others",
  async () => {
    const open = Promise.withResolvers<void>();
    const heard = new Map<string, number>();
    await using receiver = startReceiver(async ({ headers }) => {
      const key = headers.get("idempotency-key") ?? "";
      heard.set(key, (heard.get(key) ?? 0) + 1);
      await open.promise;
      return Response.json({});
    });
    await using shared = await startShared();
    const HOUR = 3_600_000;
    const folder = (name: string) => join(shared.dataFolder, name);
    const members = [
      await shared.serve(),
      await shared.serve({ dataFolder: folder("ahead"), aheadMs: HOUR }),
      await shared.serve({ dataFolder: folder("behind"), aheadMs: -HOUR }),
    ] as const;
    const definition = { url: receiver.url, method: "POST", body: {}, timeoutSeconds: 300 };
    const action = await makeAction(members[0].owner, { kind: "http_request", definition });
    const cron = {
      schedule: { cron: "* * * * * *" },
      action: { kind: "conditional_branch", definition: branch() },
    };
    const every = await makeAutomation(members[1].owner, cron, { name: "Every", triggerType: "schedule" });
    const runs: string[] = [];
    for (const { owner } of [...members, ...members, ...members]) {
      const made = created(await owner("POST", `${ACTIONS}/${action.id}/run`));
      expect(Math.abs(Date.parse(made.createdAt) - Date.now())).toBeLessThan(30_000);
      runs.push(made.id);
    }
    await until(members[0].owner, "/health", () => heard.size === runs.length);
    await Bun.sleep(11_000); // Each has checked twice for expired leases.
    open.resolve();
    for (const id of runs) {
      const run = await runEnd(members[2].owner, id);
      expect([run.status, run.interruptCount, heard.get(id)]).toEqual(["completed", 0, 1]);
    }
    const path = `${AUTOMATIONS}/${every.id}/runs?limit=100`;
    const { runs: instants } = await until(members[0].owner, path, ({ total }) => total > 8);
    const seconds = instants.map(({ createdAt }: { createdAt: string }) => Date.parse(createdAt));
    for (const at of seconds) expect(Math.abs(at - Date.now())).toBeLessThan(HOUR / 10);
    const events = (await members[0].owner("GET", "/api/v1/events?type=automation.schedule_missed")).body;
    expect(events.items).toEqual([]);
  },
  120_000,
);

test("weir doctor checks PostgreSQL, weir backup names pg_dump, and no command prints the password", async () => {
  await using shared = await startShared();
  const here = shell(shared.env);
  const told: string[] = [];
  const run = async (command: typeof doctor, ...words: string[]) => {
    const ran = await here(command, ...words, "--data", shared.dataFolder);
    told.push(ran.out, ran.err);
    return ran;
  };
  const messages = (await run(doctor, "--json")).json.findings as {
    check: string;
    ok: boolean;
    message: string;
  }[];
  expect(messages.find(({ check }) => check === "database")?.message).toMatch(
    /^The PostgreSQL server responds in/,
  );
  for (const check of ["writes", "triggers"])
    expect(messages.find((one) => one.check === check)?.ok).toBe(true);
  const refused = await run(backup, "create");
  expect(refused.code).not.toBe(0);
  expect(refused.err).toContain("pg_dump");
  expect((await run(config)).out).toContain("WEIR_DATABASE_URL");
  expect(told.join("")).not.toMatch(/correct%20horse|correct horse(?! battery)/);
});
