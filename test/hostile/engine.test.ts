import { expect, test } from "bun:test";
import { eq, sql } from "drizzle-orm";
import { startEngine } from "../../src/engine/start.ts";
import { actionRuns } from "../../src/resources/runs/table.ts";
import { startApp } from "../support/app.ts";
import { startReceiver } from "../support/receiver.ts";
import { ACTIONS, created, makeAction, RUNS, runEnd, runToEnd, until } from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

/** Makes the store reject changes of runs until told otherwise, like a full disk. */
async function refuse({ app }: Started, condition: string) {
  const trigger = `CREATE TRIGGER refused BEFORE UPDATE ON action_runs WHEN ${condition} BEGIN SELECT RAISE(ABORT, 'refused'); END`;
  await app.store.write((db) => db.run(sql.raw(trigger)));
  return () => app.store.write((db) => db.run(sql.raw("DROP TRIGGER refused")));
}

const told = (app: Started, text: string) => app.logged.filter((line) => line.includes(text)).length;

test("a run whose end can't be written, and that can't be queued again either, continues once it can", async () => {
  await using app = await startApp({ hurry: 50 });
  await using receiver = startReceiver();
  const definition = { url: receiver.url, method: "POST" };
  const action = await makeAction(app.owner, { kind: "http_request", definition });
  const allow = await refuse(app, "OLD.status = 'running'");
  const { id } = created(await app.owner("POST", `${ACTIONS}/${action.id}/run`));
  await until(app.owner, `${RUNS}/${id}`, () => told(app, '"loop":"renewer"') > 1);
  await allow();
  expect(await runEnd(app.owner, id)).toMatchObject({ status: "completed", interruptCount: 1 });
});

test("a run that can't even be failed doesn't prevent a start, and is failed once it can be", async () => {
  await using app = await startApp({ engine: false, hurry: 50 });
  const action = await makeAction(app.owner);
  const { id } = created(await app.owner("POST", `${ACTIONS}/${action.id}/run`));
  const lost = {
    status: "running",
    dueAt: null,
    leaseToken: "dead",
    bootId: "dead",
    interruptCount: 3,
  } as const;
  await app.app.store.write(async (db) => {
    await db.update(actionRuns).set(lost).where(eq(actionRuns.id, id));
  });
  const allow = await refuse(app, `NEW.status = 'failed' AND NEW.id = '${id}'`);
  const engine = await startEngine(app.app);
  expect((await runToEnd(app.owner, (await makeAction(app.owner)).id)).status).toBe("completed");
  await until(app.owner, `${RUNS}/${id}`, () => told(app, "interrupted too often") > 1);
  await allow();
  expect(await runEnd(app.owner, id)).toMatchObject({
    status: "failed",
    error: { code: "interrupted_too_often" },
  });
  await engine.stop(0);
});
