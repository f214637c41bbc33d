import { describe, expect, test } from "bun:test";
import { eq, sql } from "drizzle-orm";
import { contextFor, contextForRun, write } from "../../src/context.ts";
import { startEngine } from "../../src/engine/start.ts";
import { completeDue } from "../../src/queue/at-once.ts";
import { claimRuns } from "../../src/queue/claim.ts";
import { decideClaimed } from "../../src/queue/decide.ts";
import { finishRuns } from "../../src/queue/finish.ts";
import { deleteAction, runAction } from "../../src/resources/actions/service.ts";
import { events } from "../../src/resources/events/table.ts";
import { actionRuns } from "../../src/resources/runs/table.ts";
import { startApp } from "../support/app.ts";
import { startReceiver } from "../support/receiver.ts";
import {
  ACTIONS,
  branch,
  chainOf,
  correlationOf,
  created,
  makeAction,
  RUNS,
  roomFor,
  runEnd,
} from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

async function queue({ owner }: Started, actionId: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) ids.push(created(await owner("POST", `${ACTIONS}/${actionId}/run`)).id);
  return ids;
}

const rowOf = async ({ app }: Started, id: string) =>
  (await app.store.db.select().from(actionRuns).where(eq(actionRuns.id, id)))[0];

describe("runs that are decided immediately", () => {
  test("need no slot, and each has its log, its events and its own outcome", async () => {
    await using app = await startApp({ engine: false, env: { WEIR_CONCURRENCY: "1" } });
    await using receiver = startReceiver();
    const good = await makeAction(app.owner);
    const bad = await makeAction(app.owner, { definition: branch("b", "false") });
    const call = await makeAction(app.owner, { kind: "http_request", definition: { url: receiver.url } });
    const first = await queue(app, good.id, 5);
    const failing = await queue(app, bad.id, 2);
    const calls = await queue(app, call.id, 3);
    const last = await queue(app, good.id, 90);
    const [cancelled = ""] = await queue(app, good.id, 1);
    await app.app.store.write((db) =>
      db
        .update(actionRuns)
        .set({ cancelRequestedAt: app.clock.now().toISOString() })
        .where(eq(actionRuns.id, cancelled)),
    );
    const engine = await startEngine(app.app);

    for (const id of [...first, ...last]) {
      expect(await runEnd(app.owner, id)).toMatchObject({
        status: "completed",
        result: { branch: "a" },
        error: null,
        retryCount: 0,
        interruptCount: 0,
      });
      expect((await app.owner("GET", `${RUNS}/${id}/logs`)).body.items).toEqual([
        { seq: 1, level: "info", message: "Took the branch a.", timestamp: expect.any(String) },
      ]);
      expect(await rowOf(app, id)).toMatchObject({ leaseToken: null, leaseUntil: null, dueAt: null });
    }
    const [one = ""] = first;
    expect(await chainOf(app, await correlationOf(app, one))).toEqual(["action.started", "action.completed"]);
    for (const id of failing) {
      const ended = await runEnd(app.owner, id);
      expect(ended).toMatchObject({ status: "failed", error: { code: "no_branch", attempt: 1 } });
      const chain = await chainOf(app, await correlationOf(app, id));
      expect(chain).toEqual(["action.started", "action.failed"]);
    }
    for (const id of calls) expect((await runEnd(app.owner, id)).status).toBe("completed");
    expect(receiver.got).toHaveLength(3);
    expect((await runEnd(app.owner, cancelled)).status).toBe("cancelled");
    await engine.stop(0);
  });

  test("of one concurrency key go in order", async () => {
    await using app = await startApp({ engine: false });
    const definition = { ...branch(), concurrencyKey: "one" };
    const keyed = await queue(app, (await makeAction(app.owner, { definition })).id, 12);
    const engine = await startEngine(app.app);
    for (const id of keyed) expect((await runEnd(app.owner, id)).status).toBe("completed");
    await engine.stop(0);
    const told = await app.app.store.db
      .select({ data: events.data })
      .from(events)
      .where(eq(events.type, "action.completed"))
      .orderBy(events.seq);
    expect(told.map(({ data }) => data.runId)).toEqual(keyed);
  });

  test("are written except for those that another worker has", async () => {
    await using app = await startApp({ engine: false });
    const ids = await queue(app, (await makeAction(app.owner)).id, 3);
    const { runs: claimed } = await claimRuns(app.app, roomFor(10));
    expect(claimed.map(({ id }) => id)).toEqual(ids);
    const decided = await Promise.all(claimed.map((run) => decideClaimed(contextForRun(app.app, run), run)));
    const completed = decided.flatMap((each) => (each === null ? [] : { ...each, isItem: false }));
    const [, taken = ""] = ids;
    await app.app.store.write((db) =>
      db.update(actionRuns).set({ leaseToken: "another" }).where(eq(actionRuns.id, taken)),
    );
    await finishRuns(app.app, () => completed);
    const rows = await Promise.all(ids.map((id) => rowOf(app, id)));
    expect(rows.map((row) => row?.status)).toEqual(["completed", "running", "completed"]);
    expect(rows[1]).toMatchObject({ leaseToken: "another", result: null, completedAt: null });
    expect((await app.owner("GET", `${RUNS}/${taken}/logs`)).body.items).toEqual([]);
    expect(await chainOf(app, await correlationOf(app, taken))).toEqual(["action.started"]);
  });

  test("take a slot if they were queued before this process, so that none of them can crash every process", async () => {
    await using app = await startApp({ engine: false });
    const { id } = await makeAction(app.owner);
    const before = await queue(app, id, 3);
    const later = { ...app.app, bootId: app.app.ids.uuid() };
    const after = await queue(app, id, 3);
    const claimed = async (slots: number) =>
      (await claimRuns(later, roomFor(slots), completeDue)).runs.map((run) => [run.id, run.status]);
    expect(await claimed(4)).toEqual([
      ...before.map((each) => [each, "running"]),
      [after[0] ?? "", "completed"],
    ]);
    expect(await claimed(1)).toEqual(after.slice(1).map((each) => [each, "completed"]));
  });

  test("continue if the store takes longer to find them than they may take", async () => {
    await using app = await startApp({ engine: false });
    const ids = await queue(app, (await makeAction(app.owner)).id, 3);
    let passedMs = 0;
    const clock = { ...app.app.clock, now: app.app.clock.now, monotonic: () => (passedMs += 20) };
    const claimed: string[] = [];
    for (let round = 0; round < 3; round++)
      for (const { id } of (await claimRuns({ ...app.app, clock }, roomFor(8), completeDue)).runs)
        claimed.push(id);
    expect(claimed).toEqual(ids);
  });

  test("are written one by one if one of them can't be, and that one is retried once it can", async () => {
    await using app = await startApp({ engine: false, hurry: 50 });
    const ids = await queue(app, (await makeAction(app.owner)).id, 5);
    const [, stuck = ""] = ids;
    const refuse = `CREATE TRIGGER runs_full BEFORE UPDATE ON action_runs WHEN NEW.id = '${stuck}' AND NEW.completed_at IS NOT NULL BEGIN SELECT RAISE(ABORT, 'full'); END`;
    await app.app.store.write((db) => db.run(sql.raw(refuse)));
    const engine = await startEngine(app.app);
    for (const id of ids.filter((each) => each !== stuck))
      expect(await runEnd(app.owner, id)).toMatchObject({ status: "completed", interruptCount: 0 });
    expect((await rowOf(app, stuck))?.completedAt).toBeNull();
    await app.app.store.write((db) => db.run(sql.raw("DROP TRIGGER runs_full")));
    const ended = await runEnd(app.owner, stuck);
    expect(ended.interruptCount).toBeGreaterThanOrEqual(1);
    await engine.stop(0);
  });
});

test("no run is created for an action that is deleted in the same commit", async () => {
  await using app = await startApp({ engine: false });
  const action = await makeAction(app.owner);
  const ctx = contextFor(app.app, {
    organizationId: app.ids.organizationId,
    role: "owner",
    actor: { type: "user", id: app.ids.userId },
    correlationId: "test",
  });
  const trigger = { method: "api", sourceType: "system", sourceId: null } as const;
  const [deleted, run] = await Promise.allSettled([
    deleteAction(ctx, action.id),
    write(ctx, (tx) => runAction(tx, action.id, {}, trigger)),
  ]);
  expect(deleted.status).toBe("fulfilled");
  expect(run).toMatchObject({ status: "rejected", reason: { code: "not_found" } });
  expect(await app.app.store.db.$count(actionRuns)).toBe(0);
});
