import { expect, test } from "bun:test";
import { type Beside, besideServer } from "../support/beside.ts";
import { stamped } from "../support/hook.ts";
import { startReceiver } from "../support/receiver.ts";
import { scaled } from "../support/scale.ts";
import { type Member, startSeveral } from "../support/several.ts";
import { isOnPostgres } from "../support/test-store.ts";
import { ACTIONS, AUTOMATIONS, branch, created, makeAction, makeAutomation, until } from "../support/work.ts";

const SECRET = "a-secret-of-the-sender";

const always = { kind: "conditional_branch", definition: branch() };

/** Creates what the processes work on. */
async function plant({ owner }: Member, receiver: string) {
  const effect = {
    kind: "http_request",
    definition: { url: `${receiver}/effect`, method: "POST", body: {} },
  };
  const held = { url: `${receiver}/slow`, method: "POST", body: {}, timeoutSeconds: 300 };
  const slow = { kind: "http_request", definition: held };
  const hook = { path: "hook", secret: SECRET, waitSeconds: 0, action: effect };
  await makeAutomation(owner, hook, { name: "Hook", triggerType: "webhook" });
  const schedule = { schedule: { cron: "* * * * * *" }, action: always };
  const every = await makeAutomation(owner, schedule, { name: "Every second", triggerType: "schedule" });
  const event = { event: { types: ["action.created"] }, action: always };
  const listener = await makeAutomation(owner, event, { name: "Listener", triggerType: "event" });
  const definition = { title: "Ship it?", expiresInSeconds: 2, onExpire: "reject" };
  const gate = await makeAutomation(owner, { action: { kind: "approval_gate", definition } });
  const long = await makeAction(owner, slow);
  const hooks = { url: `${receiver}/event`, events: ["action.created", "decision.expired"] };
  created(await owner("POST", "/api/v1/webhooks", hooks));
  return { every: every.id, listener: listener.id, gate: gate.id, long: long.id };
}

async function sendHook({ origin }: Member, n: number): Promise<string | null> {
  const body = JSON.stringify({ n });
  const headers = { ...stamped(body, SECRET), "idempotency-key": `hook-${n}` };
  const reply = await fetch(`${origin}/webhooks/acme/hook`, { method: "POST", headers, body }).catch(
    () => null,
  );
  if (reply?.status !== 202) return null;
  return ((await reply.json()) as { automationRunId: string }).automationRunId;
}

/**
 * Processes that are killed or paused are given up after 20 s, and their work is taken over within 5 s after that;
 * later on a busy machine.
 */
async function eventually(done: () => Promise<boolean>): Promise<void> {
  for (const start = performance.now(); performance.now() - start < 100_000; await Bun.sleep(250)) {
    if (await done()) return;
  }
  throw new Error("It did not come.");
}

test("three processes share all work: one is killed and one is paused, and everything is done once", async () => {
  const [slow, effects, told] = [
    new Map<string, number>(),
    new Map<string, number>(),
    new Map<string, number>(),
  ];
  const answers = new Map<string, () => void>();
  await using receiver = startReceiver(async ({ path, headers }) => {
    const key = headers.get(path === "/event" ? "webhook-id" : "idempotency-key") ?? "";
    const seen = path === "/event" ? told : path === "/slow" ? slow : effects;
    seen.set(key, (seen.get(key) ?? 0) + 1);
    if (path === "/slow" && slow.get(key) === 1)
      await new Promise<void>((resolve) => answers.set(key, resolve));
    return Response.json({ ok: true });
  });
  await using several = await startSeveral({ WEIR_SHUTDOWN_GRACE: "2", WEIR_CONCURRENCY: "8" });
  await using beside = await besideServer(several.database);
  const [stays, dies, stalls] = await Promise.all([several.join(), several.join(), several.join()]);
  if (!(stays && dies && stalls)) throw new Error("They did not start.");
  const made = await plant(stays, receiver.url);
  const accepted = new Set<string>();
  let sent = 0;
  let approvals = 0;
  const load = async (who: readonly Member[], count: number) => {
    const one = async (member: Member) => {
      for (let turn = 0; turn < count; turn++) {
        const n = sent++;
        const runId = await sendHook(member, n);
        if (runId !== null) accepted.add(runId);
        if (n % 4 === 0) await makeAction(member.owner, { name: `Action ${n}` });
        if (n % 8 !== 0) continue;
        created(await member.owner("POST", `${AUTOMATIONS}/${made.gate}/run`));
        approvals++;
      }
    };
    await Promise.all(who.map(one));
  };
  await load([stays, dies, stalls], scaled(4, 30));
  const long: string[] = [];
  for (let n = 0; n < 20; n++)
    long.push(created(await stays.owner("POST", `${ACTIONS}/${made.long}/run`)).id);
  await until(stays.owner, ACTIONS, () => slow.size === long.length);
  const held = await beside.rows<{ id: string; pid: number }>(
    "select r.id, p.pid from action_runs r join processes p on p.id = r.boot_id where r.status = 'running'",
  );
  expect(new Set(held.map(({ pid }) => pid)).size).toBe(3);
  stalls.signal("SIGSTOP");
  await dies.end("SIGKILL");
  const from = new Date().toISOString();
  for (const { id, pid } of held) if (pid === stays.pid) answers.get(id)?.();
  await load([stays], scaled(4, 30));
  const isTakenUp = `select id from action_runs where id in (select value from json_each(?)) and status = 'completed'`;
  await eventually(async () => (await beside.rows(isTakenUp, JSON.stringify(long))).length === long.length);
  expect(await beside.rows("select id from processes")).toHaveLength(1);
  stalls.signal("SIGCONT");
  for (const answer of answers.values()) answer();
  await load([stalls, stays], scaled(4, 20));
  await rest(beside, stays, made.every);

  // Nothing is left, nothing is duplicated, nothing is lost.
  const none = async (sql: string, ...values: string[]) =>
    expect(await beside.rows(sql, ...values)).toEqual([]);
  await none("select id, status, error from automation_runs where status not in ('completed', 'failed')");
  const runs = await beside.rows<{ id: string }>(
    "select id from automation_runs where delivery_id is not null",
  );
  const ids = new Set(runs.map(({ id }) => id));
  expect([...accepted].filter((id) => !ids.has(id))).toEqual([]);
  await none(`select payload, count(*) as n from webhook_deliveries group by id having count(*) > 1`);
  await none(
    "select scheduled_at, count(*) as n from automation_runs where automation_id = ? group by 1 having count(*) > 1",
    made.every,
  );
  await none("select data from events where type = 'automation.schedule_missed'");
  const [instants] = await beside.rows<{ n: number; first: string; last: string }>(
    "select count(*) as n, min(scheduled_at) as first, max(scheduled_at) as last from automation_runs where automation_id = ?",
    made.every,
  );
  const { n = 0, first = "", last = "" } = instants ?? {};
  expect(n).toBe((Date.parse(last) - Date.parse(first)) / 1000 + 1);
  await none(
    `select e.id, count(r.id) as n from events e left join automation_runs r
      on r.trigger_source_id = e.id and r.automation_id = ? where e.type = 'action.created' group by e.id having count(r.id) <> 1`,
    made.listener,
  );
  await none(
    "select d.id, count(e.id) as n from decisions d left join events e on e.entity_id = d.id and e.type = 'decision.expired' group by d.id having count(e.id) <> 1",
  );
  expect(await beside.rows("select id from decisions where status = 'expired'")).toHaveLength(approvals);

  // Another system receives a run's request as often as the run was started.
  const begun = await beside.rows<{ id: string; n: number; kind: string }>(
    "select id, 1 + interrupt_count + retry_count as n from action_runs where kind = 'http_request'",
  );
  const heard = new Map([...effects, ...slow]);
  expect(begun.filter(({ id, n }) => (heard.get(id) ?? 0) > n || !heard.has(id))).toEqual([]);
  const interrupted = begun.filter(({ id, n }) => long.includes(id) && n === 2);
  expect(interrupted.length).toBeGreaterThan(0);
  await none("select id, status from action_runs where kind = 'http_request' and status <> 'completed'");

  // A delivery is repeated only if the process that sent it couldn't record so.
  const sends = await beside.rows<{ eventId: string; attempts: number; completedAt: string; status: string }>(
    `select event_id as "eventId", attempts, completed_at as "completedAt", status from outbound_deliveries`,
  );
  const wanted = await beside.rows(
    "select id from events where type in ('action.created', 'decision.expired') and seq > (select after_seq from webhooks)",
  );
  expect(sends).toHaveLength(wanted.length);
  expect(sends.filter(({ status }) => status !== "delivered")).toEqual([]);
  expect(
    sends.filter(({ eventId, attempts, completedAt }) => {
      const times = told.get(eventId) ?? 0;
      return times !== attempts && !(times === attempts + 1 && completedAt > from);
    }),
  ).toEqual([]);

  expect((await stalls.owner("GET", "/api/v1/events/verify")).body.valid).toBe(true);
  if (!isOnPostgres) expect(await beside.rows("pragma integrity_check")).toEqual([{ integrity_check: "ok" }]);
  await eventually(async () => (await beside.rows("select id from processes")).length === 2);
}, 300_000);

/** Disables the schedule, and waits until nothing is in progress. */
async function rest(beside: Beside, { owner }: Member, every: string): Promise<void> {
  await owner("PATCH", `${AUTOMATIONS}/${every}`, { status: "disabled" });
  const open = `select id from automation_runs where completed_at is null
    union all select id from action_runs where status in ('pending', 'running', 'waiting')
    union all select id from outbound_deliveries where status in ('pending', 'retrying')
    union all select e.id from events e, webhooks w where e.seq > w.after_seq and e.type in ('action.created', 'decision.expired')
      and not exists (select 1 from outbound_deliveries d where d.event_seq = e.seq)`;
  await eventually(async () => (await beside.rows(open)).length === 0);
}
