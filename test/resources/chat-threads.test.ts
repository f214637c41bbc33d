import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { says } from "../peers/model.ts";
import { ask, type Chat, makeThread, SPECS, startChat, THREADS } from "../support/chat.ts";
import { browser, join, neighbour } from "../support/people.ts";
import { created, faultsOf, NOBODY } from "../support/work.ts";

let chat: Chat;
let specId: string;
beforeAll(async () => {
  chat = await startChat(() => says("Yes."), { engine: false });
  specId = (await makeThread(chat)).spec.id;
});
afterAll(() => chat[Symbol.asyncDispose]());

const owner: Chat["app"]["owner"] = (...asked) => chat.app.owner(...asked);
const make = async (more: object = {}) =>
  created(await owner("POST", THREADS, { agentSpecId: specId, ...more }));

describe("POST /chat/threads", () => {
  test("responds with all fields, before the first message", async () => {
    expect(await make({ title: "Orders" })).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      agentSpecId: specId,
      title: "Orders",
      lastTurnStatus: "pending",
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: expect.stringMatching(/Z$/),
    });
    expect((await make()).title).toBeNull();
    expect((await make({ title: null })).title).toBeNull();
    expect((await make({ title: "x".repeat(255) })).title).toHaveLength(255);
  });

  test.each([
    [{ agentSpecId: undefined }, "body.agentSpecId missing"],
    [{ agentSpecId: "no-id" }, "body.agentSpecId uuid_parsing"],
    [{ agentSpecId: NOBODY }, "body.agentSpecId not_found"],
    [{ title: "" }, "body.title string_too_short"],
    [{ title: "x".repeat(256) }, "body.title string_too_long"],
    [{ titel: "x" }, "body.titel extra_forbidden"],
  ])("rejects %j", async (more, fault) => {
    expect(faultsOf(await owner("POST", THREADS, { agentSpecId: specId, ...more }))).toEqual([fault]);
  });

  test("rejects another organization's agent like an unknown one", async () => {
    const other = await neighbour(chat.app);
    const foreign = await other.call("POST", THREADS, { agentSpecId: specId });
    const random = await other.call("POST", THREADS, { agentSpecId: NOBODY });
    expect([foreign.status, foreign.body.detail]).toEqual([422, random.body.detail]);
  });
});

describe("GET /chat/threads", () => {
  test("lists the caller's own, newest first, by cursor", async () => {
    const member = await join(chat.app, "member");
    const ids: string[] = [];
    for (let n = 0; n < 5; n++)
      ids.unshift(created(await member.call("POST", THREADS, { agentSpecId: specId })).id);
    const { body: whole } = await member.call("GET", THREADS);
    expect(Object.keys(whole)).toEqual(["items"]);
    expect(whole.items.map(({ id }: { id: string }) => id)).toEqual(ids);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const query: string = cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const { body } = await member.call("GET", `${THREADS}?limit=2${query}`);
      seen.push(...body.items.map(({ id }: { id: string }) => id));
      cursor = body.nextCursor;
      if (cursor !== undefined && seen.length === 2)
        expect((await owner("GET", `${THREADS}?cursor=${encodeURIComponent(cursor)}`)).status).toBe(422);
    } while (cursor !== undefined);
    expect(seen).toEqual(ids);
  });

  test.each([
    ["?limit=0", "query.limit greater_than_equal"],
    ["?limit=101", "query.limit less_than_equal"],
    ["?cursor=x", "query.cursor cursor_invalid"],
    ["?offset=1", "query.offset extra_forbidden"],
  ])("rejects %s", async (query, fault) => {
    expect(faultsOf(await owner("GET", THREADS + query))).toEqual([fault]);
  });
});

describe("PATCH /chat/threads/{thread_id}", () => {
  test("changes the given fields; the audit log doesn't contain a thread's title", async () => {
    const { spec } = await makeThread(chat);
    const before = await make({ title: "Private matter" });
    const { body } = await owner("PATCH", `${THREADS}/${before.id}`, {
      agentSpecId: spec.id,
      title: "Salary",
    });
    expect(body).toEqual({ ...before, agentSpecId: spec.id, title: "Salary", updatedAt: expect.any(String) });
    const { body: trail } = await owner("GET", `/api/v1/events?entityId=${before.id}`);
    expect(trail.items[0]).toMatchObject({
      type: "chat_thread.updated",
      data: {
        changes: [
          { field: "agentSpecId", from: specId, to: spec.id },
          { field: "title", from: "***", to: "***" },
        ],
      },
    });
    expect(JSON.stringify(trail)).not.toMatch(/Private matter|Salary/);
    const cleared = await owner("PATCH", `${THREADS}/${before.id}`, { title: null });
    expect(cleared.body.title).toBeNull();
  });

  test("changes nothing if nothing is new", async () => {
    const before = await make({ title: "Same" });
    for (const patch of [{}, { title: "Same" }, { agentSpecId: specId }])
      expect((await owner("PATCH", `${THREADS}/${before.id}`, patch)).body).toEqual(before);
    const { body: trail } = await owner("GET", `/api/v1/events?entityId=${before.id}`);
    expect(trail.items).toHaveLength(1);
  });

  test.each([
    [{ agentSpecId: NOBODY }, "body.agentSpecId not_found"],
    [{ agentSpecId: null }, "body.agentSpecId string_type"],
    [{ title: "" }, "body.title string_too_short"],
    [{ lastTurnStatus: "completed" }, "body.lastTurnStatus extra_forbidden"],
  ])("rejects %j", async (patch, fault) => {
    expect(faultsOf(await owner("PATCH", `${THREADS}/${(await make()).id}`, patch))).toEqual([fault]);
  });
});

describe("the messages of a thread", () => {
  test("are returned in order, by cursor", async () => {
    const { at } = await makeThread(chat);
    for (const content of ["one", "two", "three"]) await ask(chat, at, { content });
    const { body: whole } = await owner("GET", `${at}/messages`);
    expect(whole.items.map(({ content }: { content: string }) => content)).toEqual([
      "one",
      "Yes.",
      "two",
      "Yes.",
      "three",
      "Yes.",
    ]);
    const first = await owner("GET", `${at}/messages?limit=4`);
    const rest = await owner(
      "GET",
      `${at}/messages?limit=4&cursor=${encodeURIComponent(first.body.nextCursor)}`,
    );
    expect([...first.body.items, ...rest.body.items]).toEqual(whole.items);
    expect(Object.keys(rest.body)).toEqual(["items"]);
  });

  test.each([
    ["?limit=0", "query.limit greater_than_equal"],
    ["?limit=201", "query.limit less_than_equal"],
  ])("rejects %s", async (query, fault) => {
    expect(faultsOf(await owner("GET", `${THREADS}/${(await make()).id}/messages${query}`))).toEqual([fault]);
  });
});

describe("DELETE", () => {
  test("deletes a thread with all of its messages", async () => {
    const { at } = await makeThread(chat);
    await ask(chat, at, { content: "a word that goes" });
    const gone = await owner("DELETE", at);
    expect([gone.status, gone.text]).toEqual([204, ""]);
    for (const path of [at, `${at}/messages`, `${at}/turns/stream`])
      expect((await owner("GET", path)).status).toBe(404);
    expect((await owner("DELETE", at)).status).toBe(404);
  });

  test("of several counts existing ones, and keeps those of others", async () => {
    const member = await join(chat.app, "member");
    const theirs = created(await member.call("POST", THREADS, { agentSpecId: specId }));
    const [one, two] = [await make(), await make()];
    const threadIds = [one.id, two.id, two.id, theirs.id, NOBODY];
    const { status, body } = await owner("POST", `${THREADS}/bulk-delete`, { threadIds });
    expect([status, body]).toEqual([200, { deletedCount: 2 }]);
    expect((await member.call("GET", `${THREADS}/${theirs.id}`)).status).toBe(200);
    expect((await owner("POST", `${THREADS}/bulk-delete`, {})).body).toEqual({ deletedCount: 0 });
  });

  test("of all deletes only the caller's", async () => {
    const member = await join(chat.app, "member");
    for (let n = 0; n < 3; n++) await member.call("POST", THREADS, { agentSpecId: specId });
    const { body } = await member.call("POST", `${THREADS}/bulk-delete`, { all: true, threadIds: null });
    expect(body).toEqual({ deletedCount: 3 });
    expect((await member.call("GET", THREADS)).body.items).toEqual([]);
    expect((await owner("GET", THREADS)).body.items.length).toBeGreaterThan(0);
  });

  test.each([
    [{ threadIds: Array.from({ length: 101 }, () => NOBODY) }, "body.threadIds too_long"],
    [{ threadIds: ["x"] }, "body.threadIds.0 uuid_parsing"],
    [{ all: "yes" }, "body.all bool_type"],
    [{ ids: [] }, "body.ids extra_forbidden"],
  ])("of several rejects invalid input", async (body, fault) => {
    expect(faultsOf(await owner("POST", `${THREADS}/bulk-delete`, body))).toEqual([fault]);
  });

  test("works for a hundred at once", async () => {
    const threadIds = Array.from({ length: 100 }, () => NOBODY);
    expect((await owner("POST", `${THREADS}/bulk-delete`, { threadIds })).body).toEqual({ deletedCount: 0 });
  });
});

test("a thread is only visible to its owner: admins and others get the same 404", async () => {
  const { at } = await makeThread(chat);
  await ask(chat, at, { content: "between us" });
  const [admin, other] = [await join(chat.app, "admin"), await neighbour(chat.app)];
  const asked: [string, string, unknown?][] = [
    ["GET", ""],
    ["PATCH", "", { title: "x" }],
    ["DELETE", ""],
    ["GET", "/messages"],
    ["GET", "/turns/stream"],
    ["POST", "/turns/stream", { content: "x" }],
    ["POST", "/turns/cancel", {}],
  ];
  for (const { call } of [admin, other]) {
    for (const [method, path, body] of asked) {
      const foreign = await call(method, at + path, body);
      const random = await call(method, `${THREADS}/${NOBODY}${path}`, body);
      expect([method, path, foreign.status, foreign.body.detail]).toEqual([
        method,
        path,
        404,
        random.body.detail,
      ]);
    }
    expect(JSON.stringify((await call("GET", THREADS)).body)).not.toContain(at.slice(-36));
  }
  expect((await owner("GET", at)).status).toBe(200);
});

test("viewers can read, but not ask; API keys have no threads", async () => {
  const viewer = await join(chat.app, "viewer");
  expect((await viewer.call("GET", THREADS)).body).toEqual({ items: [] });
  expect((await viewer.call("POST", THREADS, { agentSpecId: specId })).status).toBe(403);
  const { key } = created(await owner("POST", "/api/v1/api-keys", { name: "k" }));
  const reply = await fetch(chat.app.origin + THREADS, { headers: { "x-api-key": key } });
  expect(reply.status).toBe(403);
  await reply.text();
});

test("a browser can ask with its cookie, only from Weir's own page", async () => {
  const page = browser(chat.app.origin);
  await page.signIn();
  const { at } = await makeThread(chat);
  const good = await page.call("POST", `${at}/turns/stream`, { content: "Hi" });
  expect([good.status, good.text.includes(`"delta":"Yes"`)]).toEqual([200, true]);
  const bad = await page.call(
    "POST",
    `${at}/turns/stream`,
    { content: "Hi" },
    { "sec-fetch-site": "cross-site" },
  );
  expect([bad.status, bad.body.code]).toEqual([403, "csrf"]);
});

test("a thread outlives its agent, and continues with another", async () => {
  const { at, spec } = await makeThread(chat);
  await ask(chat, at);
  await owner("DELETE", `${SPECS}/${spec.id}`);
  const refused = await owner("POST", `${at}/turns/stream`, { content: "Still there?" });
  expect([refused.status, refused.body.code]).toEqual([409, "invalid_state"]);
  expect((await owner("GET", `${at}/messages`)).body.items).toHaveLength(2);
  await owner("PATCH", at, { agentSpecId: specId });
  expect((await ask(chat, at, { content: "And now?" })).reply.content).toBe("Yes.");
});
