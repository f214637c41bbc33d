import { describe, expect, test } from "bun:test";
import { actions } from "../../src/resources/actions/table.ts";
import { actionRuns } from "../../src/resources/runs/table.ts";
import { client, PASSWORD, startApp } from "../support/app.ts";
import { browser, join, neighbour } from "../support/people.ts";
import {
  ACTIONS,
  AUTOMATIONS,
  branch,
  created,
  faultsOf,
  makeAction,
  makeAutomation,
  RUNS,
  runToEnd,
} from "../support/work.ts";

const body = { kind: "conditional_branch", name: "Once", definition: branch() };
const key = { "idempotency-key": "order-4711" };
const TOKENS = "/api/v1/access-tokens";
const ORGANIZATIONS = "/api/v1/organizations";

/** A signed-in user who has left their only organization. */
async function stranded(app: Awaited<ReturnType<typeof startApp>>) {
  const email = "grace@example.com";
  const invited = await app.owner("POST", `${ORGANIZATIONS}/invitations`, { email });
  const token = new URL(invited.body.inviteUrl).searchParams.get("token");
  const page = browser(app.origin);
  await page.call("POST", "/api/v1/auth/invitations/accept", { token, password: PASSWORD });
  const { members } = (await app.owner("GET", `${ORGANIZATIONS}/team`)).body;
  const own = members.find((member: { email: string }) => member.email === email);
  await app.owner("DELETE", `${ORGANIZATIONS}/team/members/${own.membershipId}`);
  return page;
}

describe("repeating the same key", () => {
  test("returns the first response again, and does nothing", async () => {
    await using app = await startApp({ engine: false });
    const first = await app.owner("POST", ACTIONS, body, key);
    expect(first.headers.has("idempotency-replayed")).toBe(false);
    const again = await app.owner("POST", ACTIONS, body, key);
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(await app.app.store.db.$count(actions)).toBe(1);

    const run = `${ACTIONS}/${first.body.id}/run`;
    const other = { "idempotency-key": "run-1" };
    const started = await app.owner("POST", run, undefined, other);
    expect(started.body.idempotencyKey).toBe("run-1");
    expect((await app.owner("POST", run, undefined, other)).text).toBe(started.text);
    expect(await app.app.store.db.$count(actionRuns)).toBe(1);
  });

  test("ignores the order of the body's fields", async () => {
    await using app = await startApp({ engine: false });
    const first = await app.owner("POST", ACTIONS, body, key);
    const turned = Object.fromEntries(Object.entries(body).reverse());
    expect((await app.owner("POST", ACTIONS, turned, key)).text).toBe(first.text);
  });

  test("with another body or for another resource is rejected", async () => {
    await using app = await startApp({ engine: false });
    const action = created(await app.owner("POST", ACTIONS, body, key));
    for (const [path, input] of [
      [ACTIONS, { ...body, name: "Other" }],
      [AUTOMATIONS, { name: "x", config: { action: { actionId: action.id } } }],
      [`${ACTIONS}/${action.id}/run`, undefined],
    ] as const) {
      const refused = await app.owner("POST", path, input, key);
      expect([refused.status, refused.body.code]).toEqual([409, "idempotency_mismatch"]);
    }
  });

  test("by someone else, or in another organization, is another key", async () => {
    await using app = await startApp({ engine: false });
    const member = await join(app, "member");
    const other = await neighbour(app);
    const ids = new Set();
    for (const call of [app.owner, member.call, other.call])
      ids.add(created(await call("POST", ACTIONS, body, key)).id);
    expect(ids.size).toBe(3);
  });

  test("gives a token with fewer scopes nothing that another of the same user created", async () => {
    await using app = await startApp({ engine: false });
    const narrow = created(await app.owner("POST", TOKENS, { name: "narrow", scopes: ["admin"] }));
    const call = client(app.origin, { authorization: `Bearer ${narrow.token}` });
    created(await app.owner("POST", TOKENS, { name: "full" }, key));
    const refused = await call("POST", TOKENS, { name: "full" }, key);
    expect([refused.status, refused.body.code]).toEqual([409, "idempotency_mismatch"]);
  });

  test("by a user who joins their first organization with it is the same key there", async () => {
    await using app = await startApp({ engine: false, env: { WEIR_ORGANIZATIONS: "anyone" } });
    const { call } = await stranded(app);
    const first = created(await call("POST", ORGANIZATIONS, { name: "Own" }, key));
    const again = await call("POST", ORGANIZATIONS, { name: "Own" }, key);
    expect([again.body.id, again.headers.get("idempotency-replayed")]).toEqual([first.id, "true"]);
    const other = await call("POST", ORGANIZATIONS, { name: "Other" }, key);
    expect([other.status, other.body.code]).toEqual([409, "idempotency_mismatch"]);
    const mine = (await call("GET", "/api/v1/organizations")).body.items;
    expect(mine.map(({ id }: { id: string }) => id)).toEqual([first.id]);
  });

  test("twenty times at once does it once", async () => {
    await using app = await startApp({ engine: false });
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => app.owner("POST", ACTIONS, body, key)),
    );
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers.has("idempotency-replayed"))).toHaveLength(19);
    expect(await app.app.store.db.$count(actions)).toBe(1);
  });

  test("for twenty invitations at once creates one, whose link works", async () => {
    await using app = await startApp({ engine: false });
    const invite = () => app.owner("POST", `${ORGANIZATIONS}/invitations`, { email: "eve@example.com" }, key);
    const answers = await Promise.all(Array.from({ length: 20 }, invite));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    const told = await app.owner("GET", "/api/v1/events?type=organization.invitation_created");
    expect(told.body.items).toHaveLength(1);
    const token = new URL(answers[0]?.body.inviteUrl).searchParams.get("token");
    const joined = await app.anonymous("POST", "/api/v1/auth/invitations/accept", {
      token,
      password: PASSWORD,
    });
    expect(joined.status).toBe(201);
  });

  test("after a day isn't recognized", async () => {
    await using app = await startApp({ engine: false });
    const first = await app.owner("POST", ACTIONS, body, key);
    app.clock.turn(24 * 3_600_000 + 1000);
    const page = browser(app.origin);
    await page.signIn();
    const fresh = await page.call("POST", ACTIONS, body, key);
    expect([fresh.status, fresh.body.id === first.body.id]).toEqual([201, false]);
    expect((await page.call("POST", ACTIONS, body, key)).text).toBe(fresh.text);
  });
});

test("a failed request isn't stored: the next with its key may succeed", async () => {
  await using app = await startApp({ engine: false });
  expect((await app.owner("POST", ACTIONS, { ...body, name: "" }, key)).status).toBe(422);
  await makeAction(app.owner, { slug: "taken" });
  expect((await app.owner("POST", ACTIONS, { ...body, slug: "taken" }, key)).status).toBe(409);
  expect((await app.owner("POST", ACTIONS, body, key)).status).toBe(201);
});

test("every operation that starts or creates something accepts a key", async () => {
  await using app = await startApp();
  const action = await makeAction(app.owner, { definition: branch("a", "false") });
  const failed = await runToEnd(app.owner, action.id);
  const automation = await makeAutomation(app.owner, { action: { actionId: action.id } });
  for (const [index, [path, input]] of (
    [
      [`${RUNS}/${failed.id}/retry`, undefined],
      [`${AUTOMATIONS}/${automation.id}/run`, { input: 1 }],
      [
        AUTOMATIONS,
        { name: "x", triggerType: "webhook", config: { path: "p", action: { actionId: action.id } } },
      ],
    ] as const
  ).entries()) {
    const own = { "idempotency-key": `key-${index}` };
    const first = await app.owner("POST", path, input, own);
    const again = await app.owner("POST", path, input, own);
    expect([path, first.status, again.text]).toEqual([path, 201, first.text]);
  }
});

test("a key has 1 to 255 visible characters", async () => {
  await using app = await startApp({ engine: false });
  for (const wrong of ["k".repeat(256), "with space", "é"]) {
    const refused = await app.owner("POST", ACTIONS, body, { "idempotency-key": wrong });
    expect(faultsOf(refused)).toEqual(["header.Idempotency-Key string_pattern_mismatch"]);
  }
});
