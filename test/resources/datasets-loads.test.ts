import { afterAll, beforeAll, expect, test } from "bun:test";
import { contextFor } from "../../src/context.ts";
import { startApp } from "../support/app.ts";
import { loadTable } from "../support/lake.ts";
import { neighbour } from "../support/people.ts";
import { faultsOf, flowToEnd, makeAction, makeAutomation, runToEnd } from "../support/work.ts";

let app: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const contextOf = () =>
  contextFor(app.app, {
    organizationId: app.ids.organizationId,
    role: "owner",
    actor: { type: "user", id: app.ids.userId },
    correlationId: "test-loads",
  });
const get = async (path: string) => {
  const { status, text, body } = await app.owner("GET", `/api/v1/datasets/${path}`);
  if (status !== 200) throw new Error(text);
  return body;
};
const transform = (sql: string, writeDisposition: string) => ({
  kind: "duckdb_transform",
  definition: { sql, output: { layer: "marts", dataset: "days", writeDisposition } },
});

test("a dataset lists its loads, each with its changes and source, and its freshness", async () => {
  const action = await makeAction(app.owner, {
    name: "Fill",
    ...transform("SELECT i FROM range(10) t(i)", "append"),
  });
  const filled = await runToEnd(app.owner, action.id);
  app.clock.turn(3_600_000);
  const step = { key: "again", ...transform("SELECT 1 AS i", "replace") };
  const flow = await makeAutomation(app.owner, { steps: [step] }, { name: "Nightly" });
  await flowToEnd(app.owner, flow.id);
  const page = await get("marts/days/loads");
  expect(page).toMatchObject({ hasNext: false, limit: 50, offset: 0, total: 2 });
  expect(page.freshness).toMatchObject({ usualSeconds: null, expectedAt: null, isLate: false });
  expect(page.loads[0]).toMatchObject({
    kind: "duckdb_transform",
    automationId: flow.id,
    automationName: "Nightly",
    actionName: null,
    isKept: true,
    tables: [{ table: "days", rows: 1, rowsChange: -9, rowsWritten: 1 }],
  });
  expect(page.loads[1]).toMatchObject({
    actionRunId: filled.id,
    actionId: action.id,
    actionName: "Fill",
    automationId: null,
    tables: [{ table: "days", rows: 10, rowsChange: 10, rowsWritten: 10 }],
  });
  expect(page.loads[1].loadId).toBe(filled.result.loadId ?? page.loads[1].loadId);
  expect((await get("marts/days/loads?limit=1&offset=1")).loads).toEqual([page.loads[1]]);

  app.clock.turn(3_600_000);
  await runToEnd(app.owner, action.id);
  const { freshness } = await get("marts/days/loads");
  expect(freshness.usualSeconds).toBeGreaterThan(3_500);
  expect(freshness.isLate).toBe(false);
  app.clock.turn(3 * 3_600_000);
  expect((await get("marts/days/loads")).freshness.isLate).toBe(true);
  const other = await neighbour(app);
  expect((await other.call("GET", "/api/v1/datasets/marts/days/loads")).status).toBe(404);
});

test("a profile shows nulls, distinct values, the minimum and the maximum of each column", async () => {
  await loadTable(contextOf(), {
    layer: "raw",
    dataset: "people",
    table: "people",
    select: `SELECT i AS id, CASE WHEN i % 2 = 0 THEN NULL ELSE 'n' || (i % 4) END AS name,
      DATE '2026-01-01' + CAST(i AS INTEGER) AS day, 12345678901234567.89::DECIMAL(38, 2) + i AS amount,
      [i] AS list, CASE WHEN i = 0 THEN repeat('z', 300) ELSE 'a' END AS "long text" FROM range(8) t(i)`,
  });
  const profile = await get("raw/people/profile");
  expect(profile).toMatchObject({ table: "people", rows: 8, isApproximate: false });
  const [id, name, day, amount, list, long] = profile.columns;
  expect(id).toMatchObject({
    name: "id",
    dataType: "BIGINT",
    nulls: 0,
    distinct: 8,
    min: 0,
    max: 7,
    isCut: false,
  });
  expect(name).toMatchObject({ nulls: 4, distinct: 2, min: "n1", max: "n3" });
  expect(day).toMatchObject({ min: "2026-01-01", max: "2026-01-08" });
  expect(amount).toMatchObject({ min: "12345678901234567.89", max: "12345678901234574.89" });
  expect(list).toMatchObject({ nulls: 0, distinct: 8, min: null, max: null });
  expect([long.max.length, long.isCut]).toEqual([200, true]);

  await loadTable(contextOf(), {
    layer: "raw",
    dataset: "two",
    table: "one",
    select: "SELECT 1 AS x WHERE false",
  });
  await loadTable(contextOf(), { layer: "raw", dataset: "two", table: "other", select: "SELECT 1 AS x" });
  expect(faultsOf(await app.owner("GET", "/api/v1/datasets/raw/two/profile"))).toEqual([
    "query.table missing",
  ]);
  expect((await get("raw/two/profile?table=one")).columns[0]).toMatchObject({
    nulls: 0,
    distinct: 0,
    min: null,
    max: null,
  });
  const other = await neighbour(app);
  expect((await other.call("GET", "/api/v1/datasets/raw/people/profile")).status).toBe(404);
});
