import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { firstIdAt } from "../../src/base/ids.ts";
import { automationRuns } from "../../src/resources/automations/table.ts";
import { actionRuns } from "../../src/resources/runs/table.ts";
import { startApp } from "../support/app.ts";
import {
  AUTOMATION_RUNS,
  AUTOMATIONS,
  branch,
  flowToEnd,
  makeAction,
  makeAutomation,
  RUNS,
  runToEnd,
} from "../support/work.ts";

const COUNT = 8_000;
const MINUTE_MS = 60_000;
const BATCH = 400;
/** Recent enough that none of them is past its retention. */
const NEWEST_MS = Date.now() - 60 * MINUTE_MS;
const TRIGGERS = ["api", "webhook", "schedule"] as const;

/** Rows of a list, newest first. */
interface Listed {
  id: string;
  createdAt: string;
  automation: "Orders" | "Stock";
  trigger: (typeof TRIGGERS)[number];
  kind: "conditional_branch" | "http_request";
  error: string | null;
}

/** A whole hour's runs in one minute, and then none for a while. */
const listed = Array.from({ length: COUNT }, (_, at): Listed => {
  const ms = NEWEST_MS - (Math.floor(at / 60) * 60 * MINUTE_MS + (at % 60) * 500);
  return {
    id: `${firstIdAt(new Date(ms)).slice(0, 24)}${(COUNT - at).toString(16).padStart(12, "0")}`,
    createdAt: new Date(ms).toISOString(),
    automation: at % 8 === 0 ? "Stock" : "Orders",
    trigger: at < 5_000 ? "api" : (TRIGGERS[at % 3] ?? "api"),
    kind: at % 50 === 0 ? "http_request" : "conditional_branch",
    error: at % 40 === 0 ? `The ${at % 80 === 0 ? "door" : "stock"} is closed` : null,
  };
});

let weir: Awaited<ReturnType<typeof startApp>>;
let actionId = "";
beforeAll(async () => {
  weir = await startApp();
  const steps = [{ key: "only", kind: "conditional_branch", definition: branch() }];
  const orders = await makeAutomation(weir.owner, { steps }, { name: "Orders" });
  const stock = await makeAutomation(weir.owner, { steps }, { name: "Stock" });
  const flowRun = await flowToEnd(weir.owner, orders.id);
  actionId = (await makeAction(weir.owner)).id;
  const run = await runToEnd(weir.owner, actionId);
  const { store } = weir.app;
  const [flowRow] = await store.db.select().from(automationRuns).where(eq(automationRuns.id, flowRun.id));
  const [row] = await store.db.select().from(actionRuns).where(eq(actionRuns.id, run.id));
  if (!flowRow || !row) throw new Error("The runs are not stored");
  for (let at = 0; at < COUNT; at += BATCH) {
    const some = listed.slice(at, at + BATCH).map(({ id, createdAt, automation, trigger, kind, error }) => ({
      of: { id, createdAt, triggerMethod: trigger },
      automationId: automation === "Orders" ? orders.id : stock.id,
      kind,
      error:
        error === null
          ? null
          : { code: "closed", message: error, retryable: false, attempt: 1, details: null },
    }));
    await store.write(async (db) => {
      await db
        .insert(automationRuns)
        .values(some.map(({ of, automationId, error }) => ({ ...flowRow, ...of, automationId, error })));
      await db.insert(actionRuns).values(some.map(({ of, kind }) => ({ ...row, ...of, kind })));
    });
  }
  await store.write(async (db) => {
    await db.delete(automationRuns).where(eq(automationRuns.id, flowRow.id));
    await db.delete(actionRuns).where(eq(actionRuns.id, row.id));
  });
}, 120_000);
afterAll(() => weir[Symbol.asyncDispose]());

const BEYOND = Number.MAX_SAFE_INTEGER;

/** Requests three pages, at the start, at the end and far beyond, and compares them with what the filter keeps. */
async function expectList(path: string, query: string, keep: (run: Listed) => boolean) {
  const expected = listed.filter(keep).map(({ id }) => id);
  for (const offset of [0, Math.max(0, expected.length - 3), BEYOND]) {
    const { status, text, body } = await weir.owner("GET", `${path}?${query}&limit=5&offset=${offset}`);
    if (status !== 200) throw new Error(text);
    const found = { ids: body.runs.map(({ id }: { id: string }) => id), total: body.total };
    expect({ query, offset, ...found }).toEqual({
      query,
      offset,
      ids: expected.slice(offset, offset + 5),
      total: expected.length,
    });
  }
}

const since = listed[6_100]?.createdAt ?? "";
const until = listed[5_900]?.createdAt ?? "";
const [someId = "", partOfId = ""] = [listed[4_321]?.id, listed[4_321]?.id.slice(-5)];

test("a long list of automation runs has every run that its filters keep, in order, and their number", async () => {
  const list = (query: string, keep: (run: Listed) => boolean) => expectList(AUTOMATION_RUNS, query, keep);
  await list("trigger_method=webhook", ({ trigger }) => trigger === "webhook");
  await list("trigger_method=event", () => false);
  await list("statuses=completed&statuses=failed", () => true);
  await list("statuses=failed", () => false);
  await list("trigger_method=webhook&statuses=completed", ({ trigger }) => trigger === "webhook");
  await list(`until=${until}`, ({ createdAt }) => createdAt < until);
  await list(`since=${since}`, ({ createdAt }) => createdAt >= since);
  await list(`since=${since}&until=${until}`, (run) => run.createdAt >= since && run.createdAt < until);
});

test("a long list of an automation's runs has those of each status, and their number", async () => {
  const isStock = ({ automation }: Listed) => automation === "Stock";
  const [first, second] = listed.filter(isStock);
  const { store } = weir.app;
  const set = (id = "", status: "failed" | "completed") =>
    store.write(
      async (db) => void (await db.update(automationRuns).set({ status }).where(eq(automationRuns.id, id))),
    );
  await set(second?.id, "failed");
  const [row] = await store.db
    .select({ id: automationRuns.automationId })
    .from(automationRuns)
    .where(eq(automationRuns.id, first?.id ?? ""));
  const path = `${AUTOMATIONS}/${row?.id}/runs`;
  await expectList(path, "", isStock);
  await expectList(path, "status=failed", ({ id }) => id === second?.id);
  await expectList(path, "status=completed", (run) => isStock(run) && run.id !== second?.id);
  await expectList(path, "status=cancelled", () => false);
  await set(second?.id, "completed");
});

test("a search in a long list finds runs by automation, error and ID, once each", async () => {
  const list = (query: string, keep: (run: Listed) => boolean) => expectList(AUTOMATION_RUNS, query, keep);
  const isOrders = ({ automation }: Listed) => automation === "Orders";
  await list("q=orders", isOrders);
  await list("q=orders&trigger_method=schedule", (run) => isOrders(run) && run.trigger === "schedule");
  await list("q=stock", (run) => !isOrders(run) || /stock/.test(run.error ?? ""));
  await list("q=door", ({ error }) => /door/.test(error ?? ""));
  await list("q=nothing+like+this", () => false);
  await list(`q=${someId.toUpperCase()}`, ({ id }) => id === someId);
  await list(`q=${partOfId}`, ({ id }) => id.includes(partOfId));
  await list(`q=${partOfId}&since=${since}`, (run) => run.createdAt >= since && run.id.includes(partOfId));
});

test("a search in a long list finds runs by action, error and ID, once each", async () => {
  const list = (query: string, keep: (run: Listed) => boolean) => expectList(RUNS, query, keep);
  await list("q=branch", () => true);
  await list("q=branch&kinds=http_request", ({ kind }) => kind === "http_request");
  await list("q=nothing+like+this", () => false);
  await list(`q=${someId.toUpperCase()}`, ({ id }) => id === someId);
  await list(`q=${partOfId}`, ({ id }) => id.includes(partOfId));
});

test("a long list of action runs has every run that its filters keep, in order, and their number", async () => {
  const list = (query: string, keep: (run: Listed) => boolean) => expectList(RUNS, query, keep);
  await list("kinds=http_request", ({ kind }) => kind === "http_request");
  await list(
    "kinds=http_request&trigger_method=webhook",
    (run) => run.kind === "http_request" && run.trigger === "webhook",
  );
  await list("kinds=run_script", () => false);
  await list(`action_id=${actionId}`, () => true);
  await list(`action_id=${actionId}&kinds=http_request`, ({ kind }) => kind === "http_request");
  await list(
    `action_id=${actionId}&q=${partOfId}&since=${since}`,
    (run) => run.createdAt >= since && run.id.includes(partOfId),
  );
  await list(`until=${until}&statuses=completed`, ({ createdAt }) => createdAt < until);
  await list(`ids=${listed[7_000]?.id}&ids=${someId}`, ({ id }) => [listed[7_000]?.id, someId].includes(id));
});

test("a long list scans each run once: no statement has a second bound that reaches further", async () => {
  if (weir.app.store.remote) return; // PostgreSQL uses both.
  const compile = Database.prototype.prepare;
  const statements: string[] = [];
  Database.prototype.prepare = function (this: Database, sql: string, ...rest: never[]) {
    statements.push(sql);
    return compile.call(this, sql, ...rest) as never;
  };
  try {
    const oldest = listed.at(-1)?.createdAt;
    for (const path of [RUNS, AUTOMATION_RUNS])
      expect((await weir.owner("GET", `${path}?since=${oldest}&until=${listed[1]?.createdAt}`)).status).toBe(
        200,
      );
  } finally {
    Database.prototype.prepare = compile;
  }
  const bounds = statements.map((sql) =>
    [/"id" >= \?/g, /"id" < \?/g].map((bound) => sql.match(bound)?.length ?? 0),
  );
  expect(bounds.filter(([from = 0]) => from === 1).length).toBeGreaterThan(1);
  expect(bounds.filter(([from = 0, to = 0]) => from > 1 || to > 1)).toEqual([]);
});
