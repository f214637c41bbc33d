import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { LOOPS, openLoop } from "../../src/engine/loops.ts";
import { automationRuns } from "../../src/resources/automations/table.ts";
import { startApp } from "../support/app.ts";
import { neighbour } from "../support/people.ts";
import { startInstallation } from "../support/process.ts";
import { startReceiver } from "../support/receiver.ts";
import { scaled } from "../support/scale.ts";
import { ACTIONS, AUTOMATIONS, branch, created, makeAction, makeAutomation, until } from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const action = { kind: "conditional_branch", definition: branch() };
const listener = (call: Started["owner"], types = ["action.created"], name = "Listener") =>
  makeAutomation(call, { event: { types }, action }, { triggerType: "event", name });

async function tickAll(loop: ReturnType<typeof openLoop>) {
  const { signal } = new AbortController();
  while ((await loop.tick(signal)) === "more");
}

/** IDs of the actions whose creation started each run, in the order of the runs. */
async function heard({ app }: Started): Promise<string[]> {
  const rows = await app.store.db
    .select({ input: automationRuns.input })
    .from(automationRuns)
    .orderBy(automationRuns.id);
  return rows.map(({ input }) => (input as { entity: { id: string } }).entity.id);
}

async function makeActions({ owner }: Pick<Started, "owner">, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) ids.push((await makeAction(owner, { name: `Action ${n}` })).id);
  return ids;
}

test("handles each event once and in order, across many batches and however many processes follow", async () => {
  await using app = await startApp({ engine: false });
  await listener(app.owner);
  const ids = await makeActions(app, 35);
  await Promise.all(
    [
      openLoop(LOOPS.eventFollower, app.app),
      openLoop(LOOPS.eventFollower, app.app),
      openLoop(LOOPS.eventFollower, app.app),
    ].map(tickAll),
  );
  expect(await heard(app)).toEqual(ids);
  const [more] = await makeActions(app, 1);
  await tickAll(openLoop(LOOPS.eventFollower, app.app));
  expect(await heard(app)).toEqual([...ids, more ?? ""]);
});

test("reads nothing of the audit log without subscribers, and begins with the first one", async () => {
  await using app = await startApp({ engine: false });
  const loop = openLoop(LOOPS.eventFollower, app.app);
  await makeActions(app, 3);
  await tickAll(loop);
  const places = sql`select count(*) as n from settings where key = 'event_triggers_followed'`;
  expect(await app.app.store.db.get<{ n: number }>(places)).toEqual({ n: 0 });
  await listener(app.owner);
  const ids = await makeActions(app, 2);
  await tickAll(loop);
  expect(await heard(app)).toEqual(ids);
});

test("events from before an automation added their type aren't for it, even after a restart", async () => {
  await using app = await startApp({ engine: false });
  const { id } = await listener(app.owner, ["connection.created"]);
  const loop = openLoop(LOOPS.eventFollower, app.app);
  await tickAll(loop);
  await makeActions(app, 3);
  await tickAll(loop);
  const config = { event: { types: ["action.created"] } };
  expect((await app.owner("PATCH", `${AUTOMATIONS}/${id}`, { config })).status).toBe(200);
  await tickAll(loop);
  await tickAll(openLoop(LOOPS.eventFollower, app.app));
  expect(await heard(app)).toEqual([]);
  const ids = await makeActions(app, 1);
  await tickAll(openLoop(LOOPS.eventFollower, app.app));
  expect(await heard(app)).toEqual(ids);
});

test("an event that can't be handled is reported, and blocks none behind it", async () => {
  await using app = await startApp({ engine: false });
  await listener(app.owner);
  const ids = await makeActions(app, 5);
  const refuse = sql.raw(
    `CREATE TRIGGER broken BEFORE INSERT ON automation_runs WHEN NEW.input LIKE '%${ids[2]}%' BEGIN SELECT RAISE(ABORT, 'broken'); END`,
  );
  await app.app.store.write((db) => db.run(refuse));
  await tickAll(openLoop(LOOPS.eventFollower, app.app));
  expect(await heard(app)).toEqual(ids.filter((id) => id !== ids[2]));
  expect(app.logged.filter((line) => line.includes("act on an event"))).toHaveLength(1);
});

test("each organization's events only reach its own automations", async () => {
  await using app = await startApp({ engine: false });
  const other = await neighbour(app);
  await listener(app.owner);
  await listener(other.call);
  const ours = await makeActions(app, 2);
  const theirs = await makeActions({ owner: other.call }, 2);
  await tickAll(openLoop(LOOPS.eventFollower, app.app));
  const rows = await app.app.store.db.select().from(automationRuns).orderBy(automationRuns.id);
  const of = (organizationId: string) =>
    rows
      .filter((row) => row.organizationId === organizationId)
      .map(({ input }) => (input as { entity: { id: string } }).entity.id);
  expect([of(app.ids.organizationId), of(other.organization.id)]).toEqual([ours, theirs]);
});

test("no event is lost or handled twice after kill -9 at any time", async () => {
  await using receiver = startReceiver();
  await using installation = await startInstallation();
  let server = await installation.serve();
  const work = {
    kind: "http_request",
    definition: { url: receiver.url, method: "POST", body: "{{payload.entity.id}}" },
  };
  const config = { event: { types: ["action.created"] }, action: work };
  const { id } = await makeAutomation(server.owner, config, { triggerType: "event" });
  const accepted: string[] = [];
  for (let round = 0; round < 4; round += scaled(2, 1)) {
    for (let n = 0; n < 12; n++) {
      accepted.push(created(await server.owner("POST", ACTIONS, { name: "a", ...work })).id);
    }
    await Bun.sleep(round * 90); // During a check of the audit log, or between two.
    await server.end("SIGKILL");
    server = await installation.serve();
  }
  const path = `${AUTOMATIONS}/${id}/runs?limit=100`;
  const isDone = ({ status }: { status: string }) => status === "completed";
  const { runs, total } = await until(
    server.owner,
    path,
    (page) => page.total >= accepted.length && page.runs.every(isDone),
  );
  const acted = runs.map(({ input }: { input: { entity: { id: string } } }) => input.entity.id).reverse();
  expect(total).toBe(accepted.length);
  expect(acted).toEqual(accepted);
  expect((await server.owner("GET", "/api/v1/events/verify")).body.valid).toBe(true);
}, 120_000);
