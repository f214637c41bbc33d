import { describe, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { makeHook, send } from "../support/hook.ts";
import { join, neighbour } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { AUTOMATION_RUNS, AUTOMATIONS, branch, chainOf, faultsOf, NOBODY, until } from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const LETTERS = "/api/v1/dead-letters";
const DELIVERIES = "/api/v1/webhook-deliveries";
const body = '{"event":"order.created","order":{"id":"1001"}}';

/** A webhook whose receiver responds with `state.status`. Each failure is retried once, immediately. */
async function startDying(app: Started, path = "orders") {
  const state = { status: 503 };
  const receiver = startReceiver(() => {
    app.clock.turn(10); // So that no two attempts are at the same time.
    return Response.json({}, { status: state.status });
  });
  const definition = {
    url: receiver.url,
    method: "POST",
    body: "{{payload}}",
    headers: { topic: "{{headers.x-topic}}" },
  };
  const retries = { maxAttempts: 2, backoffSeconds: [0] };
  const hook = await makeHook(app, { action: { kind: "http_request", definition }, path, retries });
  const die = async () => {
    const answer = await send(
      app,
      body,
      { "x-topic": "orders", "x-correlation-id": "died-of-503" },
      `/webhooks/acme/${path}`,
    );
    expect(answer.status).toBe(500);
    return answer.body.deliveryId as string;
  };
  return Object.assign(receiver, { state, hook, die });
}

const letters = async ({ owner }: Started, query = "") =>
  (await owner("GET", `${LETTERS}?${query}`)).body.items;
const becomes = (app: Started, id: string, status: string) =>
  until(
    app.owner,
    LETTERS,
    ({ items }) => items.find((item: { id: string; status: string }) => item.id === id)?.status === status,
  );

describe("a dead letter", () => {
  test("describes a delivery that failed permanently", async () => {
    await using app = await startApp({ hurry: 20 });
    await using dying = await startDying(app);
    const deliveryId = await dying.die();
    const [letter] = await letters(app);
    expect(letter).toEqual({
      id: expect.any(String),
      source: "inbound",
      sourceId: dying.hook.id,
      deliveryId,
      attempts: 2,
      firstFailedAt: expect.any(String),
      lastFailedAt: expect.any(String),
      error: expect.objectContaining({ code: "unexpected_status", retryable: true }),
      replayCount: 0,
      status: "dead",
    });
    expect(letter.firstFailedAt < letter.lastFailedAt).toBe(true);
    expect(await chainOf(app, "died-of-503")).toContain("webhook.dead_lettered");
  });

  test("is listed by source, automation and status, page by page, only for its organization", async () => {
    await using app = await startApp({ hurry: 20 });
    await using one = await startDying(app, "one");
    await using two = await startDying(app, "two");
    for (const dying of [one, two, one]) await dying.die();
    const all = await letters(app);
    expect(all.map(({ sourceId }: { sourceId: string }) => sourceId)).toEqual([
      one.hook.id,
      two.hook.id,
      one.hook.id,
    ]);
    expect(await letters(app, `automation_id=${two.hook.id}`)).toEqual([all[1]]);
    expect(await letters(app, "source=outbound")).toEqual([]);
    expect(await letters(app, "status=dead")).toEqual(all);
    expect(await letters(app, "status=replaying")).toEqual([]);
    expect(await letters(app, `webhook_id=${one.hook.id}`)).toEqual([]);
    const first = (await app.owner("GET", `${LETTERS}?limit=2`)).body;
    const rest = (await app.owner("GET", `${LETTERS}?limit=2&cursor=${encodeURIComponent(first.nextCursor)}`))
      .body;
    expect([first.items, rest]).toEqual([all.slice(0, 2), { items: all.slice(2) }]);
    expect(
      faultsOf(await app.owner("GET", `${LETTERS}?source=sideways&automation_id=x&status=gone&limit=0`)),
    ).toHaveLength(4);
    expect((await (await neighbour(app)).call("GET", LETTERS)).body).toEqual({ items: [] });
  });
});

describe("a replay", () => {
  test("delivers the same content again, as a new delivery", async () => {
    await using app = await startApp({ hurry: 20 });
    await using dying = await startDying(app);
    const deliveryId = await dying.die();
    const [letter] = await letters(app);
    dying.state.status = 200;
    const chain = { "x-correlation-id": "risen-again" };
    const replayed = await app.owner("POST", `${LETTERS}/${letter.id}/replay`, undefined, chain);
    expect([replayed.status, replayed.body]).toMatchObject([
      201,
      { automationId: dying.hook.id, attempts: 1 },
    ]);
    expect(replayed.body.id).not.toBe(deliveryId);
    await becomes(app, letter.id, "replayed");
    const got = dying.got.at(-1);
    expect([got?.text, got?.headers.get("topic")]).toEqual([body, "orders"]);
    const whole = (await app.owner("GET", `${DELIVERIES}/${replayed.body.id}`)).body;
    expect(whole).toMatchObject({ status: "processed" });
    expect((await app.owner("GET", `${DELIVERIES}/${deliveryId}`)).body).toMatchObject({
      status: "dead_letter",
      payload: null,
      headers: null,
    });
    expect(await chainOf(app, "risen-again")).toContain("webhook.replayed");
    expect((await letters(app))[0]).toMatchObject({ replayCount: 1, status: "replayed" });
    expect((await letters(app, "status=replayed")).map(({ id }: { id: string }) => id)).toEqual([letter.id]);
    expect(await letters(app, "status=dead")).toEqual([]);
    const twice = await app.owner("POST", `${LETTERS}/${letter.id}/replay`);
    expect([twice.status, twice.body.code]).toEqual([409, "invalid_state"]);
  });

  test("that fails again restores the dead letter, with its duration", async () => {
    await using app = await startApp({ hurry: 20 });
    await using dying = await startDying(app);
    await dying.die();
    const [letter] = await letters(app);
    const replay = () => app.owner("POST", `${LETTERS}/${letter.id}/replay`);
    await replay();
    await until(app.owner, LETTERS, ({ items }) => items[0].attempts === 4);
    dying.state.status = 400;
    await becomes(app, letter.id, "dead");
    await replay();
    await until(app.owner, LETTERS, ({ items }) => items[0].attempts === 5);
    const all = await letters(app);
    expect(all).toMatchObject([
      { id: letter.id, status: "dead", replayCount: 2, error: { retryable: false } },
    ]);
    dying.state.status = 200;
    await replay();
    await becomes(app, letter.id, "replayed");
  });

  deepTest("whose run ends immediately updates the dead letter accordingly", async () => {
    await using app = await startApp({ hurry: 20 });
    await using dying = await startDying(app);
    await dying.die();
    const [letter] = await letters(app);
    const become = (kind: string, definition: object) =>
      app.owner("PATCH", `${AUTOMATIONS}/${dying.hook.id}`, { config: { action: { kind, definition } } });
    const replay = async () => (await app.owner("POST", `${LETTERS}/${letter.id}/replay`)).body.status;
    await become("conditional_branch", branch("a", "payload.nothing == 1"));
    expect(await replay()).toBe("failed");
    expect((await letters(app))[0]).toMatchObject({ status: "dead", replayCount: 1 });
    await become("conditional_branch", branch());
    expect(await replay()).toBe("processed");
    expect((await letters(app))[0]).toMatchObject({ status: "replayed", replayCount: 2 });
  });

  deepTest(
    "that is cancelled, or skipped because of a limit, restores the dead letter with its content",
    async () => {
      await using app = await startApp({ hurry: 20 });
      await using dying = await startDying(app);
      const deliveryId = await dying.die();
      const [letter] = await letters(app);
      const ask = { kind: "approval_gate", definition: { title: "Now?" } };
      const config = { action: ask, waitSeconds: 0, concurrency: { max: 1, policy: "skip" } };
      await app.owner("PATCH", `${AUTOMATIONS}/${dying.hook.id}`, { config });
      const replay = async () => (await app.owner("POST", `${LETTERS}/${letter.id}/replay`)).body;
      const { automationRunId } = await replay();
      expect((await letters(app))[0].status).toBe("replaying");
      await app.owner("POST", `${AUTOMATION_RUNS}/${automationRunId}/cancel`);
      expect((await letters(app))[0]).toMatchObject({ status: "dead", error: { code: "cancelled" } });
      expect((await send(app, body)).status).toBe(202);
      expect(await replay()).toMatchObject({ status: "failed", error: { code: "skipped" } });
      expect((await letters(app))[0]).toMatchObject({ status: "dead", error: { code: "skipped" } });
      expect((await app.owner("GET", `${DELIVERIES}/${deliveryId}`)).body.payload).toEqual(JSON.parse(body));
    },
  );

  test("of many replays the named ones, or all of an automation", async () => {
    await using app = await startApp({ hurry: 20 });
    await using one = await startDying(app, "one");
    await using two = await startDying(app, "two");
    for (const dying of [one, one, one, two]) await dying.die();
    const all = await letters(app);
    const many = (input: object) => app.owner("POST", `${LETTERS}/replay`, input);
    one.state.status = two.state.status = 200;
    expect(faultsOf(await many({ ids: [all[3].id, NOBODY] }))).toEqual(["body.ids.1 not_found"]);
    expect((await many({ ids: [all[3].id] })).body).toEqual({ replayed: 1 });
    await becomes(app, all[3].id, "replayed");
    expect((await many({ ids: [all[3].id] })).body).toEqual({ replayed: 0 });
    expect((await many({ automationId: one.hook.id })).body).toEqual({ replayed: 2 });
    for (const { id } of [all[1], all[2]]) await becomes(app, id, "replayed");
    expect((await letters(app, `automation_id=${two.hook.id}`))[0].status).toBe("dead");
    expect((await many({ automationId: one.hook.id })).body).toEqual({ replayed: 0 });
    expect(faultsOf(await many({}))).toEqual(["body value_error"]);
    expect(faultsOf(await many({ ids: [], automationId: one.hook.id }))).toEqual(["body.ids too_short"]);
  });

  test("sent twice with one key is one", async () => {
    await using app = await startApp({ hurry: 20 });
    await using dying = await startDying(app);
    await dying.die();
    const [letter] = await letters(app);
    dying.state.status = 200;
    const key = { "idempotency-key": "replay-1" };
    const first = await app.owner("POST", `${LETTERS}/${letter.id}/replay`, undefined, key);
    const again = await app.owner("POST", `${LETTERS}/${letter.id}/replay`, undefined, key);
    expect([again.status, again.text]).toEqual([201, first.text]);
    await becomes(app, letter.id, "replayed");
    expect(dying.got).toHaveLength(3);
  });

  test("needs the automation, and it must be active", async () => {
    await using app = await startApp({ hurry: 20 });
    await using dying = await startDying(app);
    await dying.die();
    const [letter] = await letters(app);
    const replay = async () => (await app.owner("POST", `${LETTERS}/${letter.id}/replay`)).body.code;
    for (const status of ["disabled", "draft"]) {
      await app.owner("PATCH", `${AUTOMATIONS}/${dying.hook.id}`, { status });
      expect([status, await replay()]).toEqual([status, "invalid_state"]);
    }
    await app.owner("DELETE", `${AUTOMATIONS}/${dying.hook.id}`);
    expect(await replay()).toBe("invalid_state");
    expect((await letters(app))[0]).toMatchObject({ status: "dead", replayCount: 0 });
  });

  test("is for members of the organization", async () => {
    await using app = await startApp({ hurry: 20 });
    await using dying = await startDying(app);
    await dying.die();
    const [letter] = await letters(app);
    const viewer = await join(app, "viewer");
    const other = await neighbour(app);
    for (const [method, path] of [
      ["POST", `/${letter.id}/replay`],
      ["DELETE", `/${letter.id}`],
    ] as const) {
      expect((await viewer.call(method, LETTERS + path)).status).toBe(403);
      expect((await other.call(method, LETTERS + path)).status).toBe(404);
    }
    const foreign = await other.call("POST", `${LETTERS}/replay`, { ids: [letter.id] });
    expect(faultsOf(foreign)).toEqual(["body.ids.0 not_found"]);
    expect((await viewer.call("GET", LETTERS)).body.items).toHaveLength(1);
  });
});

test("discarding a dead letter removes it from the list, and is recorded", async () => {
  await using app = await startApp({ hurry: 20 });
  await using dying = await startDying(app);
  const deliveryId = await dying.die();
  const [letter] = await letters(app);
  const gone = await app.owner("DELETE", `${LETTERS}/${letter.id}`, undefined, {
    "x-correlation-id": "let-it-be-gone",
  });
  expect([gone.status, gone.text]).toEqual([204, ""]);
  expect(await letters(app)).toEqual([]);
  expect(await chainOf(app, "let-it-be-gone")).toEqual(["webhook.discarded"]);
  expect((await app.owner("DELETE", `${LETTERS}/${letter.id}`)).status).toBe(404);
  expect((await app.owner("GET", `${DELIVERIES}/${deliveryId}`)).body.status).toBe("dead_letter");
});
