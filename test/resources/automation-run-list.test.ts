import { afterAll, beforeAll, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { automationRuns } from "../../src/resources/automations/table.ts";
import { startApp } from "../support/app.ts";
import { join, neighbour } from "../support/people.ts";
import {
  AUTOMATION_RUNS,
  AUTOMATIONS,
  automationRunEnd,
  branch,
  faultsOf,
  flowToEnd,
  makeAutomation,
  RUNS,
} from "../support/work.ts";

const good = { key: "good", kind: "conditional_branch", definition: branch() };
/** Fails with the name of the missing path. */
const bad = (path: string) => ({
  key: "load",
  kind: "conditional_branch",
  definition: branch("a", `payload.${path} == 1`),
  dependsOn: ["good"],
});

let app: Awaited<ReturnType<typeof startApp>>;
let orders: { id: string };
let stock: { id: string };
/** In the order in which they were started. */
const runs: { id: string; status: string; createdAt: string; error: { message: string } | null }[] = [];

beforeAll(async () => {
  app = await startApp();
  orders = await makeAutomation(app.owner, { steps: [good, bad("parcel")] }, { name: "Orders 100%" });
  stock = await makeAutomation(app.owner, { steps: [good] }, { name: "Stock" });
  for (const { id } of [orders, stock, orders, stock]) runs.push(await flowToEnd(app.owner, id));
});
afterAll(() => app[Symbol.asyncDispose]());

const list = async (query = "") => {
  const { status, text, body } = await app.owner("GET", `${AUTOMATION_RUNS}?${query}`);
  if (status !== 200) throw new Error(text);
  return body;
};
/** The indexes in `runs` of those that a query finds, in its order. */
const found = async (query: string) =>
  (await list(query)).runs.map(({ id }: { id: string }) => runs.findIndex((run) => run.id === id));

test("the runs of all automations are in one list, newest first, with their automations' names", async () => {
  expect(runs.map(({ status }) => status)).toEqual(["failed", "completed", "failed", "completed"]);
  const page = await list("limit=3");
  expect(Object.keys(page).sort()).toEqual(["hasNext", "limit", "offset", "runs", "total", "users"]);
  expect(page).toMatchObject({
    hasNext: true,
    limit: 3,
    offset: 0,
    total: 4,
    users: { [app.ids.userId]: { firstName: "Ada" } },
  });
  expect(page.runs.map(({ automationName }: { automationName: string }) => automationName)).toEqual([
    "Stock",
    "Orders 100%",
    "Stock",
  ]);
  const { automationName: _, ...run } = page.runs[0];
  const { body: alone } = await app.owner("GET", `${AUTOMATION_RUNS}/${run.id}`);
  expect(run).toEqual({ ...alone, steps: alone.steps.map((step: object) => ({ ...step, name: null })) });
  expect(await found("limit=3&offset=3")).toEqual([0]);
});

test("it is filtered by automation, status, trigger, time and the step that failed", async () => {
  expect(await found(`automation_id=${orders.id}`)).toEqual([2, 0]);
  expect(await found("statuses=completed")).toEqual([3, 1]);
  expect(await found("statuses=failed&statuses=cancelled")).toEqual([2, 0]);
  expect((await list("statuses=completed&limit=1")).total).toBe(2);
  expect((await list("statuses=failed&limit=1")).total).toBe(2);
  expect(await found("trigger_method=api")).toEqual([3, 2, 1, 0]);
  expect(await found("trigger_method=schedule")).toEqual([]);
  expect(await found(`since=${runs[3]?.createdAt}`)).toEqual([3]);
  expect(await found(`until=${runs[1]?.createdAt}`)).toEqual([0]);
  expect(await found("step=load")).toEqual([2, 0]);
  expect(await found("step=good")).toEqual([]);
  expect(faultsOf(await app.owner("GET", `${AUTOMATION_RUNS}?statuses=lost&limit=101`))).toEqual([
    "query.statuses.0 enum",
    "query.limit less_than_equal",
  ]);
});

test("q finds runs by their error's text, their automation's name and their ID", async () => {
  expect(runs[0]?.error?.message).toContain("parcel");
  expect(await found("q=PARCEL")).toEqual([2, 0]);
  expect(await found("q=100%25")).toEqual([2, 0]);
  expect(await found("q=stock")).toEqual([3, 1]);
  expect(await found(`q=${runs[1]?.id}`)).toEqual([1]);
  expect(await found("q=message")).toEqual([]);
  // Both by its name and by its error, but listed once.
  await app.owner("PATCH", `${AUTOMATIONS}/${orders.id}`, { name: "Parcels" });
  expect(await found("q=parcel&limit=1")).toEqual([2]);
  expect(await found("q=parcel&limit=1&offset=1")).toEqual([0]);
  expect(await list("q=parcel&limit=1")).toMatchObject({ total: 2, hasNext: true });
  expect(await found(`q=parcel&automation_id=${stock.id}`)).toEqual([]);
});

test("a run keeps its automation's name after that is deleted", async () => {
  const gone = await makeAutomation(app.owner, { steps: [good] }, { name: "Gone" });
  const run = await flowToEnd(app.owner, gone.id);
  await app.owner("DELETE", `${AUTOMATIONS}/${gone.id}`);
  const [first] = (await list("limit=1")).runs;
  expect([first.id, first.automationName]).toEqual([run.id, "Gone"]);
});

test("other organizations' runs aren't in it, and other users' private ones aren't searched", async () => {
  const other = await neighbour(app);
  expect((await other.call("GET", AUTOMATION_RUNS)).body).toMatchObject({ runs: [], total: 0 });
  const viewer = await join(app, "viewer");
  const ask = async (query: string) =>
    (await viewer.call("GET", `${AUTOMATION_RUNS}?${query}`)).body.runs.map(({ id }: { id: string }) => id);
  const id = runs[2]?.id ?? "";
  expect(await ask("step=load")).toContain(id);
  const makePrivate = (privateTo: string | null) =>
    app.app.store.write(
      async (db) =>
        void (await db.update(automationRuns).set({ privateTo }).where(eq(automationRuns.id, id))),
    );
  await app.owner("PATCH", `${AUTOMATIONS}/${orders.id}`, { name: "Orders" });
  await makePrivate(app.ids.userId);
  expect(await ask("step=load")).not.toContain(id);
  expect(await ask("q=parcel")).not.toContain(id);
  expect(await ask("q=orders")).toContain(id);
  expect(await found("q=parcel")).toContain(2);
});

test("lists and single runs name the steps of each run as in its version of the automation, and those of a test", async () => {
  const steps = (name: string) => [
    { ...good, name },
    { ...good, key: "plain", dependsOn: ["good"] },
  ];
  const { id } = await makeAutomation(app.owner, { steps: steps("Check") }, { name: "Named" });
  await flowToEnd(app.owner, id);
  await app.owner("PATCH", `${AUTOMATIONS}/${id}`, { config: { steps: steps("Check twice") } });
  await flowToEnd(app.owner, id);
  const tested = await app.owner("POST", `${AUTOMATIONS}/${id}/test`, { config: { steps: steps("Try") } });
  await automationRunEnd(app.owner, tested.body.id);
  const { runs: listed } = await list(`automation_id=${id}`);
  const namesOf = (run: { steps: { name: string | null }[] }) => run.steps.map(({ name }) => name);
  expect(listed.map(namesOf)).toEqual([
    ["Try", null],
    ["Check twice", null],
    ["Check", null],
  ]);
  const named = async (runId: string) =>
    (await app.owner("GET", `${RUNS}?automation_run_id=${runId}`)).body.runs.map(
      ({ stepKey, stepName }: Record<string, unknown>) => [stepKey, stepName],
    );
  const [test, second, first] = listed as { id: string }[];
  expect((await named(first?.id ?? "")).sort()).toEqual([
    ["good", "Check"],
    ["plain", null],
  ]);
  expect(await named(second?.id ?? "")).toContainEqual(["good", "Check twice"]);
  expect(await named(test?.id ?? "")).toContainEqual(["good", "Try"]);
  const { runs: ofSecond } = (await app.owner("GET", `${RUNS}?automation_run_id=${second?.id}`)).body;
  for (const run of ofSecond) expect((await app.owner("GET", `${RUNS}/${run.id}`)).body).toEqual(run);
});
