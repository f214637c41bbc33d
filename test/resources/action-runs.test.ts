import { describe, expect, test } from "bun:test";
import { appendLogs } from "../../src/queue/logs.ts";
import { startApp } from "../support/app.ts";
import { browser, join, neighbour } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import {
  ACTIONS,
  branch,
  chainOf,
  correlationOf,
  created,
  faultsOf,
  makeAction,
  makeOldAction,
  NOBODY,
  RUNS,
  runEnd,
  runToEnd,
  until,
} from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const request = (url: string, more: object = {}) => ({
  kind: "http_request",
  name: "Call",
  definition: { url, ...more },
});
const start = async (app: Started, actionId: string, body?: object) =>
  created(await app.owner("POST", `${ACTIONS}/${actionId}/run`, body));
/** A receiver that responds only when told to. */
function startHanging() {
  const open = Promise.withResolvers<void>();
  const receiver = startReceiver(async () => {
    await open.promise;
    return Response.json({ late: true });
  });
  return Object.assign(receiver, { open: () => open.resolve() });
}

describe("a run", () => {
  test("calls the real system and stores its response", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(() => {
      app.clock.turn(1_000);
      return Response.json({ total: 42 }, { status: 201 });
    });
    const action = await makeAction(
      app.owner,
      request(`${receiver.url}/orders`, { method: "POST", body: { id: "{{run.id}}" } }),
    );
    const run = await runToEnd(app.owner, action.id);
    expect(run).toMatchObject({
      status: "completed",
      displayStatus: "Completed",
      result: { status: 201, body: { total: 42 } },
      error: null,
      retryCount: 0,
      interruptCount: 0,
    });
    expect(run.durationSeconds).toBeGreaterThanOrEqual(1);
    expect(run.definition.body).toEqual({ id: run.id });
    expect(receiver.got).toHaveLength(1);
    expect(JSON.parse(receiver.got[0]?.text ?? "")).toEqual({ id: run.id });
  });

  test("goes from pending through running to its end, in words too", async () => {
    await using app = await startApp();
    await using receiver = startHanging();
    const action = await makeAction(app.owner, request(receiver.url));
    const made = await start(app, action.id);
    expect([made.status, made.displayStatus]).toEqual(["pending", "Queued"]);
    const running = await until(app.owner, `${RUNS}/${made.id}`, ({ status }) => status === "running");
    expect([running.displayStatus, running.completedAt]).toEqual(["Running", null]);
    receiver.open();
    expect((await runEnd(app.owner, made.id)).displayStatus).toBe("Completed");
  });

  test("says what triggered it", async () => {
    await using app = await startApp();
    const action = await makeAction(app.owner);
    const page = browser(app.origin);
    await page.signIn();
    const byPage = created(await page.call("POST", `${ACTIONS}/${action.id}/run`));
    expect([byPage.triggerMethod, byPage.triggerSourceType, byPage.triggerSourceId]).toEqual([
      "ui",
      "user",
      app.ids.userId,
    ]);
    expect((await start(app, action.id)).triggerMethod).toBe("api");
    const listed = await app.owner("GET", `${RUNS}?trigger_method=ui`);
    expect(listed.body.runs.map(({ id }: { id: string }) => id)).toEqual([byPage.id]);
  });

  test("that fails reports code, message and attempt", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(() => new Response("no", { status: 404 }));
    const action = await makeAction(
      app.owner,
      request(receiver.url, { retry: { maxAttempts: 5, backoffSeconds: [0] } }),
    );
    const run = await runToEnd(app.owner, action.id);
    expect(run).toMatchObject({ status: "failed", displayStatus: "Failed", result: null, retryCount: 0 });
    expect(run.error).toMatchObject({
      code: "unexpected_status",
      retryable: false,
      attempt: 1,
      message: expect.stringContaining("404"),
    });
    expect(receiver.got).toHaveLength(1);
    expect(await chainOf(app, await correlationOf(app, run.id))).toContain("action.failed");
  });

  test("names the missing template path", async () => {
    await using app = await startApp();
    const action = await makeAction(app.owner, request("http://a.test/{{input.place}}"));
    const run = await runToEnd(app.owner, action.id);
    expect(run.error).toMatchObject({
      code: "template_error",
      retryable: false,
      message: expect.stringContaining("input"),
    });
    expect(run.definition.url).toBe("http://a.test/{{input.place}}");
    const again = created(await app.owner("POST", `${RUNS}/${run.id}/retry`));
    expect((await runEnd(app.owner, again.id)).error.code).toBe("template_error");
  });

  test("to a private address is rejected, naming the setting that would allow it", async () => {
    await using app = await startApp({ env: { WEIR_EGRESS_ALLOW: "" } });
    await using receiver = startReceiver();
    const action = await makeAction(app.owner, request(receiver.url));
    const { error } = await runToEnd(app.owner, action.id);
    expect(error.code).toBe("egress_blocked");
    expect(error.message).toContain("127.0.0.1");
    expect(error.message).toContain("WEIR_EGRESS_ALLOW");
    expect(receiver.got).toEqual([]);
  });

  test("masks secrets in its definition, wherever it is shown", async () => {
    await using app = await startApp();
    await using receiver = startReceiver();
    const secret = "sk-live-0123456789abcdef";
    const headers = { authorization: `Bearer ${secret}`, "x-api-key": secret };
    const old = request(`${receiver.url}/?api_key=${secret}`, { headers });
    const action = await makeOldAction(app, old);
    const run = await runToEnd(app.owner, action.id);
    expect(receiver.got[0]?.headers.get("x-api-key")).toBe(secret);
    expect(run.definition.headers).toEqual({ authorization: "***", "x-api-key": "***" });
    const shown = [
      JSON.stringify(run),
      (await app.owner("GET", RUNS)).text,
      JSON.stringify((await app.owner("GET", `${ACTIONS}/${action.id}`)).body.latestRun),
      (await app.owner("GET", `${RUNS}/${run.id}/logs`)).text,
      (await app.owner("GET", `${RUNS}/${run.id}/stream`)).text,
      (await app.owner("GET", "/api/v1/events?order=asc")).text,
    ];
    for (const text of shown) expect(text).not.toContain(secret);
  });

  test("with a result over 256 KiB stores it as an artifact", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(() => Response.json({ rows: Array(30_000).fill("0123456789") }));
    const action = await makeAction(app.owner, request(receiver.url));
    const run = await runToEnd(app.owner, action.id);
    expect(run.status).toBe("completed");
    expect(Object.keys(run.result).sort()).toEqual(["artifactId", "summary"]);
    expect(run.result.summary.fields.status).toBe(200);
    expect(JSON.stringify(run.result).length).toBeLessThan(5_000);
    const { artifacts } = (await app.owner("GET", `/api/v1/artifacts?action_run_id=${run.id}`)).body;
    expect(artifacts).toMatchObject([{ id: run.result.artifactId, kind: "json" }]);
    const whole = await app.owner("GET", `/api/v1/artifacts/${run.result.artifactId}/content`);
    expect(JSON.parse(whole.text).body.rows).toHaveLength(30_000);
  });

  test("of another organization doesn't exist", async () => {
    await using app = await startApp();
    const other = await neighbour(app);
    const theirs = await makeAction(other.call);
    const run = await runToEnd(other.call, theirs.id);
    for (const [method, path] of [
      ["GET", ""],
      ["POST", "/cancel"],
      ["POST", "/retry"],
      ["GET", "/logs"],
      ["GET", "/stream"],
    ] as const) {
      expect((await app.owner(method, `${RUNS}/${run.id}${path}`)).status).toBe(404);
      expect((await app.owner(method, `${RUNS}/nothing${path}`)).status).toBe(422);
    }
    expect((await app.owner("GET", RUNS)).body.total).toBe(0);
  });
});

describe("the list", () => {
  test("filters, newest first, with who created them", async () => {
    await using app = await startApp();
    const action = await makeAction(app.owner);
    const failing = await makeAction(app.owner, { definition: branch("a", "false") });
    const first = await runToEnd(app.owner, action.id);
    app.clock.turn(60_000);
    const between = app.clock.now().toISOString();
    app.clock.turn(60_000);
    const second = await runToEnd(app.owner, failing.id);
    const ids = async (query: string) =>
      (await app.owner("GET", `${RUNS}?${query}`)).body.runs.map(({ id }: { id: string }) => id);
    expect(await ids("")).toEqual([second.id, first.id]);
    expect(await ids(`action_id=${action.id}`)).toEqual([first.id]);
    expect(await ids("statuses=failed&statuses=cancelled")).toEqual([second.id]);
    expect(await ids("kinds=http_request")).toEqual([]);
    expect(await ids(`since=${between}`)).toEqual([second.id]);
    expect(await ids(`until=${between}`)).toEqual([first.id]);
    expect(await ids(`since=${encodeURIComponent("2020-01-01T00:00:00+02:00")}`)).toHaveLength(2);
    expect(await ids(`automation_run_id=${NOBODY}`)).toEqual([]);
    const { body } = await app.owner("GET", `${RUNS}?limit=1`);
    expect(body).toMatchObject({
      hasNext: true,
      limit: 1,
      offset: 0,
      total: 2,
      users: { [app.ids.userId]: { firstName: "Ada" } },
    });
    expect(
      faultsOf(await app.owner("GET", `${RUNS}?statuses=done&since=yesterday&trigger_method=x`)),
    ).toHaveLength(3);
  });
});

describe("cancelling", () => {
  test("a running run ends it, and disconnects from the other system", async () => {
    await using app = await startApp();
    await using receiver = startHanging();
    const action = await makeAction(app.owner, request(receiver.url));
    const run = await start(app, action.id);
    await until(app.owner, `${RUNS}/${run.id}`, () => receiver.got.length > 0);
    const cancelled = await app.owner("POST", `${RUNS}/${run.id}/cancel`);
    expect([cancelled.status, cancelled.body.status, cancelled.body.displayStatus]).toEqual([
      200,
      "cancelled",
      "Cancelled",
    ]);
    const trail = await app.owner("GET", "/api/v1/events?type=action.cancelled");
    expect(trail.body.items).toMatchObject([
      { type: "action.cancelled", actor: { type: "user", id: app.ids.userId } },
    ]);
    const again = await app.owner("POST", `${RUNS}/${run.id}/cancel`);
    expect([again.status, again.body.code]).toEqual([409, "invalid_state"]);
  });

  test("a queued run ends it before it starts", async () => {
    await using app = await startApp({ engine: false });
    const run = await start(app, (await makeAction(app.owner)).id);
    const cancelled = await app.owner("POST", `${RUNS}/${run.id}/cancel`);
    expect(cancelled.body).toMatchObject({
      status: "cancelled",
      startedAt: null,
      completedAt: expect.any(String),
    });
  });

  test("a run that waits for another attempt ends it", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(() => new Response("", { status: 503 }));
    const action = await makeAction(
      app.owner,
      request(receiver.url, { retry: { maxAttempts: 3, backoffSeconds: [3600] } }),
    );
    const run = await start(app, action.id);
    const waiting = await until(app.owner, `${RUNS}/${run.id}`, ({ status }) => status === "waiting");
    expect(waiting.displayStatus).toBe("Retrying");
    expect((await app.owner("POST", `${RUNS}/${run.id}/cancel`)).body.status).toBe("cancelled");
    app.clock.turn(7_200_000);
    await runToEnd(app.owner, (await makeAction(app.owner)).id);
    expect(receiver.got).toHaveLength(1);
  });

  test("a finished run is rejected", async () => {
    await using app = await startApp();
    const run = await runToEnd(app.owner, (await makeAction(app.owner)).id);
    expect((await app.owner("POST", `${RUNS}/${run.id}/cancel`)).body.code).toBe("invalid_state");
    expect((await (await join(app, "viewer")).call("POST", `${RUNS}/${run.id}/cancel`)).status).toBe(403);
  });
});

describe("retrying", () => {
  test("manually creates a new run with the same definition", async () => {
    await using app = await startApp();
    let status = 404;
    await using receiver = startReceiver(() => Response.json({}, { status }));
    const action = await makeOldAction(
      app,
      request(receiver.url, { headers: { "x-token": "a-secret-token" } }),
    );
    const failed = await runToEnd(app.owner, action.id, { definitionOverrides: { query: { a: 1 } } });
    status = 200;
    const made = await app.owner("POST", `${RUNS}/${failed.id}/retry`);
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      parentActionRunId: failed.id,
      actionId: action.id,
      triggerMethod: "retry",
      triggerSourceId: app.ids.userId,
    });
    expect((await runEnd(app.owner, made.body.id)).status).toBe("completed");
    expect(receiver.got.map(({ path, headers }) => [path, headers.get("x-token")])).toEqual([
      ["/?a=1", "a-secret-token"],
      ["/?a=1", "a-secret-token"],
    ]);
    expect((await app.owner("GET", `${RUNS}/${failed.id}`)).body.status).toBe("failed");
  });

  test("by hand is refused for a completed run", async () => {
    await using app = await startApp();
    const completed = await runToEnd(app.owner, (await makeAction(app.owner)).id);
    const refused = await app.owner("POST", `${RUNS}/${completed.id}/retry`);
    expect([refused.status, refused.body.code]).toEqual([409, "invalid_state"]);
    expect(refused.body.detail).toContain("run its action");
  });

  test("manually is rejected while the run continues, and for an action that is disabled or deleted", async () => {
    await using app = await startApp({ engine: false });
    const action = await makeAction(app.owner);
    const run = await start(app, action.id);
    expect((await app.owner("POST", `${RUNS}/${run.id}/retry`)).body.code).toBe("invalid_state");
    await app.owner("POST", `${RUNS}/${run.id}/cancel`);
    await app.owner("PATCH", `${ACTIONS}/${action.id}`, { status: "disabled" });
    expect((await app.owner("POST", `${RUNS}/${run.id}/retry`)).body.code).toBe("invalid_state");
    await app.owner("DELETE", `${ACTIONS}/${action.id}`);
    expect((await app.owner("POST", `${RUNS}/${run.id}/retry`)).body.code).toBe("invalid_state");
  });

  test("by the definition's policy waits each pause, and the result is that of the last attempt", async () => {
    await using app = await startApp();
    await using receiver = startReceiver((_, count) =>
      Response.json({ count }, { status: count < 3 ? 503 : 200 }),
    );
    const retry = { maxAttempts: 4, backoffSeconds: [60, 600] };
    const run = await start(app, (await makeAction(app.owner, request(receiver.url, { retry }))).id);
    const waits = (tries: number) =>
      until(
        app.owner,
        `${RUNS}/${run.id}`,
        ({ status, retryCount }) => status === "waiting" && retryCount === tries,
      );
    expect((await waits(1)).error).toMatchObject({ retryable: true, attempt: 1 });
    app.clock.turn(30_000);
    await Bun.sleep(300);
    expect(receiver.got).toHaveLength(1);
    app.clock.turn(31_000);
    expect((await waits(2)).error.attempt).toBe(2);
    app.clock.turn(601_000);
    const ended = await runEnd(app.owner, run.id);
    expect(ended).toMatchObject({
      status: "completed",
      retryCount: 2,
      error: null,
      result: { body: { count: 3 } },
    });
    const keys = new Set(receiver.got.map(({ headers }) => headers.get("idempotency-key")));
    expect(keys.size).toBe(1);
    expect(
      (await chainOf(app, await correlationOf(app, run.id))).filter((type) => type === "action.started"),
    ).toHaveLength(3);
  });

  test("by the policy ends with the last failure", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(() => new Response("", { status: 500 }));
    const retry = { maxAttempts: 3, backoffSeconds: [0] };
    const run = await runToEnd(app.owner, (await makeAction(app.owner, request(receiver.url, { retry }))).id);
    expect(run).toMatchObject({ status: "failed", retryCount: 2, error: { attempt: 3, retryable: true } });
    expect(receiver.got).toHaveLength(3);
  });

  test("waits as long as the other system asks for", async () => {
    await using app = await startApp();
    await using receiver = startReceiver((_, count) =>
      count > 1 ? Response.json({}) : new Response("", { status: 503, headers: { "retry-after": "120" } }),
    );
    const retry = { maxAttempts: 2, backoffSeconds: [1] };
    const run = await start(app, (await makeAction(app.owner, request(receiver.url, { retry }))).id);
    await until(app.owner, `${RUNS}/${run.id}`, ({ status }) => status === "waiting");
    app.clock.turn(100_000);
    await Bun.sleep(300);
    expect(receiver.got).toHaveLength(1);
    app.clock.turn(21_000);
    expect((await runEnd(app.owner, run.id)).status).toBe("completed");
  });

  test("an attempt that takes longer than timeoutSeconds ends there, and is retried", async () => {
    await using app = await startApp();
    await using receiver = startReceiver((_, count) =>
      count === 1 ? new Promise<Response>(() => undefined) : Response.json({ count }),
    );
    const more = { timeoutSeconds: 3, retry: { maxAttempts: 2, backoffSeconds: [0] } };
    const run = await start(app, (await makeAction(app.owner, request(receiver.url, more))).id);
    const ended = await runEnd(app.owner, run.id);
    expect(ended).toMatchObject({ status: "completed", retryCount: 1 });
    const alone = await runToEnd(
      app.owner,
      (await makeAction(app.owner, request(`${receiver.url}/`, { timeoutSeconds: 30 }))).id,
    );
    expect(alone.status).toBe("completed");
  });

  deepTest("a timeout names the limit", async () => {
    await using app = await startApp();
    await using receiver = startHanging();
    const run = await runToEnd(
      app.owner,
      (await makeAction(app.owner, request(receiver.url, { timeoutSeconds: 1 }))).id,
    );
    expect(run.error).toMatchObject({
      code: "timeout",
      retryable: true,
      message: expect.stringContaining("1 s"),
    });
  });
});

describe("runs of one concurrency key", () => {
  test("run one at a time and in order; others don't wait for them", async () => {
    await using app = await startApp();
    let atOnce = 0;
    let most = 0;
    await using receiver = startReceiver(async ({ path }) => {
      if (path === "/free") return Response.json({});
      most = Math.max(most, ++atOnce);
      await Bun.sleep(20);
      atOnce--;
      return Response.json({});
    });
    const keyed = await makeAction(
      app.owner,
      request(`${receiver.url}/keyed`, { method: "POST", concurrencyKey: "shop-1" }),
    );
    const free = await makeAction(app.owner, request(`${receiver.url}/free`));
    const runs = [];
    for (let i = 0; i < 6; i++)
      runs.push(await start(app, keyed.id, { definitionOverrides: { query: { i } } }));
    expect(runs[0].concurrencyKey).toBe("shop-1");
    await runToEnd(app.owner, free.id);
    for (const run of runs) expect((await runEnd(app.owner, run.id)).status).toBe("completed");
    expect(most).toBe(1);
    const order = receiver.got.filter(({ path }) => path.startsWith("/keyed")).map(({ path }) => path.at(-1));
    expect(order.join("")).toBe("012345");
  });

  test("wait for an older one that waits for its next attempt, and continue when it is cancelled", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(({ path }) =>
      Response.json({}, { status: path === "/bad" ? 503 : 200 }),
    );
    const more = { concurrencyKey: "k", retry: { maxAttempts: 2, backoffSeconds: [3600] } };
    const bad = await start(app, (await makeAction(app.owner, request(`${receiver.url}/bad`, more))).id);
    await until(app.owner, `${RUNS}/${bad.id}`, ({ status }) => status === "waiting");
    const good = await start(app, (await makeAction(app.owner, request(`${receiver.url}/good`, more))).id);
    await Bun.sleep(300);
    expect((await app.owner("GET", `${RUNS}/${good.id}`)).body.status).toBe("pending");
    await app.owner("POST", `${RUNS}/${bad.id}/cancel`);
    expect((await runEnd(app.owner, good.id)).status).toBe("completed");
  });
});

/** Responds with more than the run keeps, which adds a line to its log. */
const long = () => new Response("x".repeat(100));

describe("the log", () => {
  test("ends with why the run failed, and with why an attempt did", async () => {
    await using app = await startApp();
    const definition = {
      url: "http://127.0.0.1:1/nobody",
      retry: { maxAttempts: 2, backoffSeconds: [0] },
    };
    const run = await runToEnd(
      app.owner,
      (await makeAction(app.owner, { kind: "http_request", definition })).id,
    );
    const { items } = (await app.owner("GET", `${RUNS}/${run.id}/logs`)).body;
    expect(items.map(({ level, message }: { level: string; message: string }) => [level, message])).toEqual([
      ["warn", expect.stringMatching(/^127\.0\.0\.1:1 refused the connection\. Next attempt at 20\S+Z\.$/)],
      ["error", "127.0.0.1:1 refused the connection."],
    ]);
  });

  test("is paged in order, and a cursor is valid for its run and for a day", async () => {
    await using app = await startApp();
    const run = await runToEnd(app.owner, (await makeAction(app.owner)).id);
    const logs = `${RUNS}/${run.id}/logs`;
    const all = (await app.owner("GET", logs)).body;
    expect(all).toEqual({
      items: [{ seq: 1, level: "info", message: "Took the branch a.", timestamp: expect.any(String) }],
    });
    const line = { timestamp: run.completedAt, level: "info" as const, message: "more" };
    await app.app.store.write((db) => appendLogs(db, run.id, Array(6).fill(line)));
    const seen: number[] = [];
    let cursor = "";
    for (let page = 1; page <= 4; page++) {
      const { items, nextCursor } = (await app.owner("GET", `${logs}?limit=2${cursor}`)).body;
      seen.push(...items.map(({ seq }: { seq: number }) => seq));
      expect(nextCursor === undefined).toBe(page === 4);
      if (nextCursor) cursor = `&cursor=${encodeURIComponent(nextCursor)}`;
    }
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7]);

    const other = await runToEnd(app.owner, (await makeAction(app.owner)).id);
    expect(faultsOf(await app.owner("GET", `${RUNS}/${other.id}/logs?${cursor}`))).toEqual([
      "query.cursor cursor_invalid",
    ]);
    expect(faultsOf(await app.owner("GET", `${logs}?limit=1001`))).toEqual(["query.limit less_than_equal"]);
    app.clock.turn(25 * 3_600_000);
    const page = browser(app.origin);
    await page.signIn();
    const late = await page.call("GET", `${logs}?${cursor}`);
    expect([late.status, late.body.code]).toEqual([410, "cursor_expired"]);
  });

  test("numbers its lines without gaps, however many arrive at once", async () => {
    await using app = await startApp();
    const run = await runToEnd(app.owner, (await makeAction(app.owner)).id);
    const lines = Array.from({ length: 151 }, (_, index) => ({
      timestamp: run.completedAt,
      level: "info" as const,
      message: `line ${index + 2}`,
    }));
    await app.app.store.write((db) => appendLogs(db, run.id, lines));
    const { items } = (await app.owner("GET", `${RUNS}/${run.id}/logs?limit=500`)).body;
    expect(items.map(({ seq }: { seq: number }) => seq)).toEqual(
      Array.from({ length: 152 }, (_, n) => n + 1),
    );
    expect(items.slice(1).map(({ message }: { message: string }) => message)).toEqual(
      lines.map(({ message }) => message),
    );
  });

  test("with follow waits for new lines, and returns a cursor as long as the run continues", async () => {
    await using app = await startApp();
    const open = Promise.withResolvers<void>();
    await using receiver = startReceiver(() => open.promise.then(long));
    const run = await start(app, (await makeAction(app.owner, request(receiver.url, { maxBytes: 10 }))).id);
    const logs = `${RUNS}/${run.id}/logs`;
    expect((await app.owner("GET", logs)).body).toEqual({ items: [] });
    const following = app.owner("GET", `${logs}?follow=true`);
    await until(app.owner, `${RUNS}/${run.id}`, () => receiver.got.length > 0);
    open.resolve();
    const { items, nextCursor } = (await following).body;
    expect(items.map(({ seq, level }: { seq: number; level: string }) => [seq, level])).toEqual([
      [1, "info"],
      [2, "warn"],
    ]);
    await runEnd(app.owner, run.id);
    if (nextCursor) {
      const rest = await app.owner("GET", `${logs}?follow=true&cursor=${encodeURIComponent(nextCursor)}`);
      expect(rest.body).toEqual({ items: [] });
    }
    expect((await app.owner("GET", `${logs}?follow=true`)).body.items).toHaveLength(2);
  });
});

deepTest("a list's total matches what it shows, even while runs are added and removed", async () => {
  await using app = await startApp();
  const action = await makeAction(app.owner);
  let isOver = false;
  const work = (async () => {
    for (let n = 0; n < 60; n++) await runToEnd(app.owner, action.id);
  })().finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const { body } = await app.owner(
      "GET",
      `${RUNS}?statuses=running&statuses=completed&kinds=conditional_branch`,
    );
    if (body.total !== body.runs.length) expect(body.runs).toHaveLength(body.limit);
  }
  await work;
  const { body } = await app.owner("GET", `${RUNS}?statuses=completed&limit=7&offset=56`);
  expect([body.runs.length, body.total, body.hasNext]).toEqual([4, 60, false]);
  const past = await app.owner("GET", `${RUNS}?limit=7&offset=63`);
  expect([past.body.runs.length, past.body.total, past.body.hasNext]).toEqual([0, 60, false]);
});

describe("the list of runs", () => {
  test("is searched by the action's name and slug, the run's ID and the error, with the other filters", async () => {
    await using app = await startApp();
    const broken = branch("a", "run.parcel == 1");
    const weigh = await makeAction(app.owner, { name: "Weigh 100%", slug: "scale", definition: broken });
    const count = await makeAction(app.owner, { name: "Count" });
    const runs: { id: string; error: { message: string } | null }[] = [];
    for (const { id } of [weigh, count, weigh]) runs.push(await runToEnd(app.owner, id));
    const [first, counted] = runs;
    const found = async (q: string, more = "") => {
      const { body } = await app.owner("GET", `${RUNS}?q=${encodeURIComponent(q)}${more}`);
      expect(body.total).toBe(body.runs.length);
      return body.runs.map(({ id }: { id: string }) => runs.findIndex((run) => run.id === id));
    };
    expect(first?.error?.message).toContain("parcel");
    expect(await found("weigh 100%")).toEqual([2, 0]);
    expect(await found("SCALE")).toEqual([2, 0]);
    expect(await found("parcel")).toEqual([2, 0]);
    expect(await found("count")).toEqual([1]);
    expect(await found(counted?.id.slice(-12).toUpperCase() ?? "")).toEqual([1]);
    expect(await found("no such")).toEqual([]);
    expect(await found("a", "&statuses=completed")).toEqual([1]);
    expect(await found("weigh", `&action_id=${count.id}`)).toEqual([]);
    const page = (await app.owner("GET", `${RUNS}?q=parcel&limit=1&offset=1`)).body;
    expect(page.runs.map(({ id }: { id: string }) => id)).toEqual([first?.id]);
    expect([page.total, page.hasNext]).toEqual([2, false]);
    const other = await neighbour(app);
    expect((await other.call("GET", `${RUNS}?q=parcel`)).body.runs).toEqual([]);
  });
});
