import { describe, expect, test } from "bun:test";
import { contextFor, write } from "../../src/context.ts";
import { sweeper } from "../../src/engine/sweeper.ts";
import { record } from "../../src/resources/events/service.ts";
import { calls, says } from "../peers/model.ts";
import { client, PASSWORD, type StartOptions, startApp } from "../support/app.ts";
import { allRows, type Beside, besideFile, besideOf } from "../support/beside.ts";
import { ask, makeThread, startChat } from "../support/chat.ts";
import { browser, join, neighbour, turnOnSecondFactor } from "../support/people.ts";
import { deepTest, someOf } from "../support/scale.ts";
import { startSqld } from "../support/sqld.ts";
import { isOnPostgres } from "../support/test-store.ts";
import { created, makeAction, makeAutomation } from "../support/work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const ME = "/api/v1/users/me";
const EMAIL = "grace.hopper@example.org";
const HOUR = 60 * 60 * 1000;

/** Grace, an invited member with a password, who is signed in in a browser and has left traces. */
async function grace(weir: Started) {
  const invitation = { email: EMAIL, roleSlug: "member" };
  const { inviteUrl } = created(await weir.owner("POST", "/api/v1/organizations/invitations", invitation));
  const token = new URL(inviteUrl).searchParams.get("token");
  const accepted = await weir.anonymous("POST", "/api/v1/auth/invitations/accept", {
    token,
    password: PASSWORD,
    firstName: "Gracious",
    lastName: "Hopperesque",
  });
  expect([accepted.status, accepted.text]).toEqual([201, expect.any(String)]);
  const tab = browser(weir.origin, { "user-agent": "Nanosecond/1.0" });
  expect((await tab.signIn(EMAIL)).status).toBe(200);
  const me = (await tab.call("GET", ME)).body;
  await tab.call("PATCH", `${ME}/preferences`, { locale: "cy-GB" });
  const action = created(
    await tab.call("POST", "/api/v1/actions", {
      name: "Kept",
      kind: "duckdb_transform",
      definition: { sql: "select 1 as one" },
    }),
  );
  const pat = created(await tab.call("POST", "/api/v1/access-tokens", { name: "Amazing Grace's laptop" }));
  const markdown = "---\nname: Agent\n---\nYou help.";
  const { id: agentSpecId } = created(await tab.call("POST", "/api/v1/agents/specs", { markdown }));
  const thread = created(
    await tab.call("POST", "/api/v1/chat/threads", { agentSpecId, title: "My private cobol" }),
  );
  const run = created(await tab.call("POST", `/api/v1/actions/${action.id}/run`));
  await weir.anonymous("POST", "/api/v1/auth/login", { email: EMAIL, password: "not right at all" });
  return { tab, id: me.id as string, action, pat, thread, run };
}

/** Everything about her that no row may contain afterwards. */
const TRACES = [EMAIL, "Gracious", "Hopperesque", "Nanosecond", "cy-GB", "Amazing Grace", "private cobol"];

const verify = async ({ owner }: Started) => (await owner("GET", "/api/v1/events/verify")).body;

/** Rows of every table that contain one of `traces`. */
async function leftIn(beside: Beside, traces: readonly string[]): Promise<string[]> {
  return (await allRows(beside)).filter((row) => traces.some((trace) => row.includes(trace)));
}

async function left(weir: Started, traces: readonly string[] = TRACES): Promise<string[]> {
  await using beside = await besideOf(weir);
  return await leftIn(beside, traces);
}

interface Place extends AsyncDisposable {
  options: StartOptions;
  left(weir: Started): Promise<string[]>;
}

describe.each<[string, () => Promise<Place>]>(
  someOf(1, [
    [
      isOnPostgres ? "PostgreSQL" : "a local file",
      async () => ({
        options: {},
        left,
        [Symbol.asyncDispose]: async () => undefined,
      }),
    ],
    [
      "a libSQL server",
      async () => {
        const server = await startSqld();
        return {
          options: { env: { WEIR_DATABASE_URL: server.url } },
          async left() {
            await using beside = besideFile(server.file);
            return await leftIn(beside, TRACES);
          },
          [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
        };
      },
    ],
  ]),
)("in %s", (_, place) => {
  test("a user who erases themselves is gone from every row, and the audit log stays valid", async () => {
    await using database = await place();
    await using weir = await startApp({ ...database.options, engine: false });
    const { tab, id, action, pat, run } = await grace(weir);
    const before = await verify(weir);
    expect(before).toEqual({ valid: true, checked: expect.any(Number), firstBadId: null });

    const wrong = await tab.call("DELETE", ME, { confirm: "someone@example.org" });
    expect([wrong.status, wrong.body.detail[0].loc]).toEqual([422, ["body", "confirm"]]);
    const erased = await tab.call("DELETE", ME, { confirm: EMAIL.toUpperCase() });
    expect([erased.status, erased.text]).toEqual([204, ""]);

    expect((await tab.call("GET", ME)).status).toBe(401);
    const byToken = client(weir.origin, { authorization: `Bearer ${pat.token}` });
    expect((await byToken("GET", ME)).status).toBe(401);
    const login = await weir.anonymous("POST", "/api/v1/auth/login", { email: EMAIL, password: PASSWORD });
    expect(login.status).toBe(401);
    expect(await database.left(weir)).toEqual([]);

    expect((await weir.owner("GET", `/api/v1/actions/${action.id}`)).body.createdBy).toBe(id);
    expect((await weir.owner("GET", `/api/v1/action-runs/${run.id}`)).body.id).toBe(run.id);
    const { users } = (await weir.owner("GET", "/api/v1/actions")).body;
    expect(users[id]).toMatchObject({ id, firstName: "Erased person", lastName: null });
    const team = (await weir.owner("GET", "/api/v1/organizations/team")).body.members;
    expect(team.map(({ userId }: { userId: string }) => userId)).not.toContain(id);

    const after = await verify(weir);
    expect(after).toMatchObject({ valid: true, firstBadId: null });
    expect(after.redacted).toBeGreaterThan(5);
    expect(after.checked).toBeGreaterThan(before.checked);
    const { items } = (await weir.owner("GET", `/api/v1/events?actorId=${id}&limit=200`)).body;
    const made = items.find(({ type }: { type: string }) => type === "action.created");
    expect(made.actor).toEqual({ type: "user", id });
    expect(made.redactedAt).toMatch(/Z$/);
    const [told] = (await weir.owner("GET", "/api/v1/events?type=user.erased")).body.items;
    expect(told).toMatchObject({ entity: { type: "user", id }, actor: { type: "user", id }, data: {} });
    expect("redactedAt" in told).toBe(false);
  }, 120_000);

  deepTest(
    "the address can be invited again, as another user",
    async () => {
      await using database = await place();
      await using weir = await startApp({ ...database.options, engine: false });
      const first = await grace(weir);
      expect((await first.tab.call("DELETE", ME, { confirm: EMAIL })).status).toBe(204);
      const second = await grace(weir);
      expect(second.id).not.toBe(first.id);
      expect((await second.tab.call("GET", "/api/v1/chat/threads")).body.items).toHaveLength(1);
      weir.clock.turn(25 * HOUR);
      const sweep = sweeper(weir.app);
      for (let more = "more"; more === "more"; ) more = await sweep.tick(new AbortController().signal);
      const { items } = (await weir.owner("GET", `/api/v1/events?actorId=${second.id}`)).body;
      expect(items[0].actor.email).toBe(EMAIL);
      expect(await verify(weir)).toMatchObject({ valid: true });
    },
    120_000,
  );
});

test("only an operator erases a user by their address", async () => {
  await using weir = await startApp({ engine: false });
  const { tab, id } = await grace(weir);
  const admin = await join(weir, "admin");
  const there = `/api/v1/installation/users/${id}`;
  expect((await admin.call("DELETE", there, { confirm: EMAIL })).status).toBe(403);
  const wrong = await weir.owner("DELETE", there, { confirm: "ada@example.com" });
  expect([wrong.status, wrong.body.detail[0].loc]).toEqual([422, ["body", "confirm"]]);
  expect((await weir.owner("DELETE", there, { confirm: EMAIL })).status).toBe(204);
  expect((await tab.call("GET", ME)).status).toBe(401);
  expect(await left(weir)).toEqual([]);
  const [told] = (await weir.owner("GET", "/api/v1/events?type=user.erased")).body.items;
  expect([told.entity.id, told.actor.email]).toEqual([id, "ada@example.com"]);
  const listed = (await weir.owner("GET", "/api/v1/installation/users")).body.items;
  expect(listed.map((user: { id: string }) => user.id)).not.toContain(id);
  for (const again of [
    await weir.owner("DELETE", there, { confirm: EMAIL }),
    await weir.owner("PATCH", there, { isOperator: true }),
    await weir.owner("GET", `${there}/export`),
  ])
    expect(again.status).toBe(404);
});

test("for the only owner and the only operator, the error says what to do first", async () => {
  await using weir = await startApp({ engine: false });
  const alone = await weir.owner("DELETE", ME, { confirm: "ada@example.com" });
  expect([alone.status, alone.body.code]).toEqual([409, "last_owner"]);
  expect(alone.body.detail).toBe(
    'You are the only owner of "Acme". Make someone else an owner there, or remove the organization, first.',
  );
  const other = await join(weir, "owner");
  const last = await weir.owner("DELETE", ME, { confirm: "ada@example.com" });
  expect([last.status, last.body.code]).toEqual([409, "invalid_state"]);
  expect(last.body.detail).toContain("Make someone else an operator first.");
  await weir.owner("PATCH", `/api/v1/installation/users/${other.user.id}`, { isOperator: true });
  expect((await weir.owner("DELETE", ME, { confirm: "ada@example.com" })).status).toBe(204);
  expect((await other.call("GET", "/api/v1/events/verify")).body).toMatchObject({ valid: true });
});

test("a session signed in over an hour ago, and a token limited to one organization, can't erase the user", async () => {
  await using weir = await startApp({ engine: false, stands: true });
  const { tab, pat } = await grace(weir);
  const confined = client(weir.origin, { authorization: `Bearer ${pat.token}` });
  expect((await confined("DELETE", ME, { confirm: EMAIL })).status).toBe(403);
  weir.clock.turn(2 * HOUR);
  const late = await tab.call("DELETE", ME, { confirm: EMAIL });
  expect([late.status, late.body.code]).toEqual([401, "sign_in_again"]);
  await tab.call("POST", "/api/v1/auth/confirm", { password: PASSWORD });
  expect((await tab.call("DELETE", ME, { confirm: EMAIL })).status).toBe(204);
});

test("a removed organization doesn't prevent erasing its only owner, and is restored without them", async () => {
  await using weir = await startApp({ engine: false });
  const { call, user, organization } = await neighbour(weir);
  const other = await join(weir, "member", organization.id);
  await call("DELETE", "/api/v1/organizations/current", { confirm: organization.name });
  const there = `/api/v1/installation/users/${user.id}`;
  expect((await weir.owner("DELETE", there, { confirm: user.email })).status).toBe(204);
  const { id } = organization;
  expect((await weir.owner("POST", `/api/v1/installation/organizations/${id}/restore`)).status).toBe(200);
  const team = (await other.call("GET", "/api/v1/organizations/team")).body.members;
  expect(team.map(({ userId }: { userId: string }) => userId)).toEqual([other.user.id]);
  expect((await other.call("GET", "/api/v1/events/verify")).body).toMatchObject({ valid: true });
  expect(await left(weir, [user.email])).toEqual([]);
});

test("a second factor, recovery codes and known browsers are erased with the user", async () => {
  await using weir = await startApp({ engine: false });
  const { tab, id } = await grace(weir);
  await turnOnSecondFactor(weir, tab.call);
  expect((await tab.call("DELETE", ME, { confirm: EMAIL })).status).toBe(204);
  await using beside = await besideOf(weir);
  for (const table of ["second_factors", "recovery_codes", "known_browsers", "sessions", "access_tokens"])
    expect(await beside.rows(`SELECT count(*) AS n FROM ${table} WHERE user_id = ?`, id)).toEqual([{ n: 0 }]);
});

test("private chats are erased, with what their agent ran, and shared actions stay", async () => {
  const secret = "moonlighting";
  await using chat = await startChat([
    calls("action_sum", { a: secret }),
    calls("automation_weigh", { input: { a: secret, list: [secret] } }),
    says(`About ${secret}.`),
  ]);
  const { app: weir } = chat;
  const other = await join(weir, "owner");
  await weir.owner("PATCH", `/api/v1/installation/users/${other.user.id}`, { isOperator: true });
  const action = await makeAction(weir.owner, {
    slug: "sum",
    kind: "duckdb_transform",
    definition: { sql: "SELECT {{input.a}} AS told", concurrencyKey: "for-{{input.a}}" },
  });
  const definition = { branches: [{ key: "a", when: "item == input.a" }] };
  await makeAutomation(
    weir.owner,
    { steps: [{ key: "s", forEach: "{{input.list}}", kind: "conditional_branch", definition }] },
    { name: "Weigh" },
  );
  const { at, thread } = await makeThread(chat, ["action:sum", "automation:weigh"]);
  const { reply } = await ask(chat, at, { content: `Of my ${secret}` });
  expect(reply.content).toContain(secret);
  const [run] = (await other.call("GET", "/api/v1/action-runs?trigger_method=agent")).body.runs;
  expect(await left(weir, [secret])).not.toEqual([]);

  expect((await weir.owner("DELETE", ME, { confirm: "ada@example.com" })).status).toBe(204);
  expect(await left(weir, [secret, thread.title ?? secret, "ada@example.com"])).toEqual([]);
  const kept = (await other.call("GET", `/api/v1/action-runs/${run.id}`)).body;
  expect(kept).toMatchObject({ id: run.id, status: "completed" });
  expect((await other.call("GET", `/api/v1/actions/${action.id}`)).body.definition).toEqual(
    action.definition,
  );
  expect((await other.call("GET", "/api/v1/events/verify")).body).toMatchObject({ valid: true });
}, 120_000);

test("an interrupted erasure continues, and late entries are erased a day later", async () => {
  await using weir = await startApp({ engine: false });
  const { app } = weir;
  const { tab, id, action, run } = await grace(weir);
  const ctx = contextFor(app, {
    organizationId: weir.ids.organizationId,
    role: "member",
    actor: { type: "user", id, email: EMAIL, ip: "127.0.0.1", userAgent: "Nanosecond/1.0" },
    correlationId: "late-work",
  });
  const sweep = async () => {
    const loop = sweeper(app);
    for (let more = "more"; more === "more"; ) more = await loop.tick(new AbortController().signal);
  };
  await using beside = await besideOf(weir);
  await beside.run("ALTER TABLE trail_redactions RENAME TO put_away");
  expect((await tab.call("DELETE", ME, { confirm: EMAIL })).status).toBe(500);
  await beside.run("ALTER TABLE put_away RENAME TO trail_redactions");
  expect(await left(weir)).not.toEqual([]);
  await sweep();
  expect(await left(weir)).toEqual([]);

  await write(ctx, (tx) => record(tx, "action.progress", { type: "action_run", id: run.id }, {}));
  expect(await left(weir)).not.toEqual([]);
  weir.clock.turn(25 * HOUR);
  await sweep();
  expect(await left(weir)).toEqual([]);
  expect(await verify(weir)).toMatchObject({ valid: true });
  expect((await weir.owner("GET", `/api/v1/actions/${action.id}`)).status).toBe(200);
  expect(await beside.rows("SELECT count(*) AS n FROM user_erasures")).toEqual([{ n: 0 }]);
});

describe("after an erasure, verification finds", () => {
  const forgeries: [string, string][] = [
    ["a redacted event that was changed again", "UPDATE events SET data = '{\"x\":1}' WHERE seq = THE_SEQ"],
    [
      "a redacted event that is told of another person",
      "UPDATE events SET actor_id = 'eve' WHERE seq = THE_SEQ",
    ],
    ["a redaction that was removed", "DELETE FROM trail_redactions WHERE seq = THE_SEQ"],
    [
      "a redaction without the key",
      "UPDATE trail_redactions SET mac = replace(mac, substr(mac, 1, 1), '_') WHERE seq = THE_SEQ",
    ],
    [
      "a redaction of another event",
      "UPDATE trail_redactions SET mac = (SELECT mac FROM trail_redactions t WHERE t.seq <> THE_SEQ LIMIT 1) WHERE seq = THE_SEQ",
    ],
  ];
  test.each(someOf(2, forgeries))("%s", async (_, forgery) => {
    await using weir = await startApp({ engine: false });
    const { tab } = await grace(weir);
    await tab.call("DELETE", ME, { confirm: EMAIL });
    expect(await verify(weir)).toMatchObject({ valid: true });
    await using beside = await besideOf(weir);
    await beside.run("DROP TRIGGER events_no_update");
    const [row] = await beside.rows<{ seq: number; id: string }>(
      "SELECT r.seq, e.id FROM trail_redactions r JOIN events e USING (seq) ORDER BY r.seq LIMIT 1",
    );
    await beside.run(forgery.replaceAll("THE_SEQ", String(row?.seq)));
    expect(await verify(weir)).toMatchObject({ valid: false, firstBadId: row?.id, reason: "rewritten" });
  });

  test("an event that was changed before the erasure redacted it", async () => {
    await using weir = await startApp({ engine: false });
    const { tab, id } = await grace(weir);
    await using beside = await besideOf(weir);
    await beside.run("DROP TRIGGER events_no_update");
    const made = "actor_id = ? AND type = 'action.created'";
    await beside.run(`UPDATE events SET data = '{"name":"forged"}' WHERE ${made}`, id);
    const [event] = await beside.rows(`SELECT id FROM events WHERE ${made}`, id);
    expect((await tab.call("DELETE", ME, { confirm: EMAIL })).status).toBe(204);
    expect(await verify(weir)).toMatchObject({ valid: false, firstBadId: event?.id, reason: "rewritten" });
    expect(await left(weir)).toEqual([]);
  });

  test("no event of others that only mentions a longer address", async () => {
    await using weir = await startApp({ engine: false });
    const longer = { email: `the.${EMAIL}`, roleSlug: "viewer" };
    await weir.owner("POST", "/api/v1/organizations/invitations", longer);
    const { tab } = await grace(weir);
    await tab.call("DELETE", ME, { confirm: EMAIL });
    const found = (await weir.owner("GET", "/api/v1/events?type=organization.invitation_created")).body.items;
    expect(found.map(({ data }: { data: { email: string } }) => data.email)).toEqual([
      "[erased]",
      longer.email,
    ]);
  });
});
