import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { contextFor, write } from "../../src/context.ts";
import { enqueueRun } from "../../src/queue/enqueue.ts";
import { startApp } from "../support/app.ts";
import { join as enrol } from "../support/people.ts";

type Running = Awaited<ReturnType<typeof startApp>>;

/** A run to attach artifacts to. It is never executed. */
async function newRun(weir: Running, organizationId = weir.ids.organizationId): Promise<string> {
  const ctx = contextFor(weir.app, {
    organizationId,
    role: "member",
    actor: { type: "user", id: weir.ids.userId },
    correlationId: "test-chain",
  });
  const trigger = { method: "api", sourceType: "user", sourceId: weir.ids.userId } as const;
  const run = await write(ctx, (tx) => enqueueRun(tx, { kind: "http_request", definition: {}, trigger }));
  return run.id;
}

const filesOf = (weir: Running) =>
  readdirSync(join(weir.dataFolder, "artifacts"), { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );

let weir: Running;
let actionRunId: string;
beforeAll(async () => {
  weir = await startApp({ engine: false });
  actionRunId = await newRun(weir);
});
afterAll(() => weir[Symbol.asyncDispose]());

const create = (body: object, headers = {}) => weir.owner("POST", "/api/v1/artifacts", body, headers);
const contentOf = (id: string, headers = {}) =>
  fetch(`${weir.origin}/api/v1/artifacts/${id}/content`, {
    headers: { authorization: `Bearer ${weir.token}`, ...headers },
  });

describe("an artifact", () => {
  test("of JSON is returned as given, and recorded as an event", async () => {
    const made = await create({
      actionRunId,
      kind: "json",
      title: "Totals",
      content: { rows: [1, 2], ok: null },
    });
    expect(made.status).toBe(201);
    expect(made.body).toEqual({
      id: expect.any(String),
      actionRunId,
      kind: "json",
      storageType: "inline",
      title: "Totals",
      content: { kind: "json", storage: "inline", data: { rows: [1, 2], ok: null } },
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: made.body.createdAt,
    });
    expect((await weir.owner("GET", `/api/v1/artifacts/${made.body.id}`)).body).toEqual(made.body);
    const { items } = (await weir.owner("GET", `/api/v1/events?entityId=${made.body.id}`)).body;
    expect(items).toMatchObject([
      { type: "artifact.created", data: { actionRunId, kind: "json", title: "Totals" } },
    ]);
    const content = await contentOf(made.body.id);
    expect(content.headers.get("content-type")).toBe("application/json");
    expect(await content.json()).toEqual({ rows: [1, 2], ok: null });
  });

  test("can be given in the form in which artifacts are returned", async () => {
    const content = { kind: "json", storage: "inline", data: { rows: 2 } };
    const { status, body } = await create({ actionRunId, kind: "json", content });
    expect([status, body.content]).toEqual([201, content]);
    const other = await create({ actionRunId, kind: "json", content: { ...content, kind: "text" } });
    expect(other.body.content.data).toEqual({ ...content, kind: "text" });
  });

  test("needs no content and no title", async () => {
    const { status, body } = await create({ actionRunId, kind: "json" });
    expect([status, body.title, body.content.data]).toEqual([201, null, null]);
    expect(await (await contentOf(body.id)).text()).toBe("null");
    const text = await create({ actionRunId, kind: "text" });
    expect(await (await contentOf(text.body.id)).text()).toBe("");
  });

  test("of text is sent as text", async () => {
    const { body } = await create({ actionRunId, kind: "text", content: "héllo" });
    expect(body.content).toEqual({ kind: "text", storage: "inline", data: "héllo" });
    const content = await contentOf(body.id);
    expect(content.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(content.headers.get("content-disposition")).toContain(`${body.id}.txt`);
    expect(await content.text()).toBe("héllo");
  });

  test("that is large is stored in a file", async () => {
    const content = { text: "x".repeat(300_000) };
    const { body } = await create({ actionRunId, kind: "json", content });
    expect([body.storageType, body.content]).toEqual(["file", { kind: "json", storage: "file", data: null }]);
    expect(await (await contentOf(body.id)).json()).toEqual(content);
  });

  test("of bytes is downloaded with its name, and can do nothing in a browser", async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, n) => n);
    const file = {
      fileName: 'Größe "1".html',
      mimeType: "text/html",
      data: Buffer.from(bytes).toString("base64"),
    };
    const { status, body } = await create({ actionRunId, kind: "file", content: file });
    expect(status).toBe(201);
    expect(body.content).toEqual({
      kind: "file",
      storage: "file",
      data: { fileName: file.fileName, mimeType: "text/html", bytes: 256 },
    });
    const reply = await contentOf(body.id);
    expect(new Uint8Array(await reply.arrayBuffer())).toEqual(bytes);
    expect(Object.fromEntries(reply.headers)).toMatchObject({
      "content-type": "text/html",
      "content-length": "256",
      "content-disposition":
        "attachment; filename=\"Gr__e _1_.html\"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%20%221%22.html",
      "x-content-type-options": "nosniff",
      "content-security-policy": expect.stringContaining("sandbox"),
    });
  });

  test("is downloaded in part, and a range beyond its end is an error that names its size", async () => {
    const { body } = await create({ actionRunId, kind: "file", content: "0123456789" });
    const part = await contentOf(body.id, { range: "bytes=2-4" });
    expect([part.status, part.headers.get("content-range"), await part.text()]).toEqual([
      206,
      "bytes 2-4/10",
      "234",
    ]);
    for (const range of ["bytes=10-", "bytes=10-20", "Bytes= 99-", "bytes=-0"]) {
      const reply = await contentOf(body.id, { range });
      expect([reply.status, reply.headers.get("content-range"), reply.headers.get("content-type")]).toEqual([
        416,
        "bytes */10",
        "application/json",
      ]);
      expect(await reply.json()).toEqual({
        detail: "Range beyond the end. The content has 10 bytes.",
        code: "range_not_satisfiable",
        correlationId: reply.headers.get("x-correlation-id"),
      });
    }
    const whole = await contentOf(body.id, { range: "bytes=10-", "if-range": '"other"' });
    expect([whole.status, await whole.text()]).toEqual([200, "0123456789"]);
  });

  test.each([
    [undefined, "", "application/octet-stream"],
    [null, "", "application/octet-stream"],
    ["a,b\n1,é\n", "a,b\n1,é\n", "text/plain; charset=utf-8"],
    [{ kind: "file", storage: "inline", data: "as it is" }, "as it is", "text/plain; charset=utf-8"],
    [{ data: "aGk=" }, "hi", "application/octet-stream"],
  ])("of the kind file can also be created from %j", async (content, text, mimeType) => {
    const { status, body } = await create({ actionRunId, kind: "file", content });
    expect(status).toBe(201);
    expect(body).toMatchObject({ kind: "file", storageType: "file" });
    const bytes = Buffer.byteLength(text);
    expect(body.content).toEqual({
      kind: "file",
      storage: "file",
      data: { fileName: "file", mimeType, bytes },
    });
    const reply = await contentOf(body.id);
    expect([reply.headers.get("content-type"), await reply.text()]).toEqual([mimeType, text]);
  });

  test.each([
    [{ kind: "json" }, ["body", "actionRunId"], "missing"],
    [{ kind: "picture", actionRunId: "RUN" }, ["body", "kind"], "enum"],
    [
      { kind: "json", actionRunId: "01900000-0000-7000-8000-000000000000" },
      ["body", "actionRunId"],
      "not_found",
    ],
    [{ kind: "json", actionRunId: "RUN", title: "x".repeat(256) }, ["body", "title"], "string_too_long"],
    [{ kind: "json", actionRunId: "RUN", storageType: "file" }, ["body", "storageType"], "extra_forbidden"],
    [{ kind: "text", actionRunId: "RUN", content: 5 }, ["body", "content"], "string_type"],
    [{ kind: "file", actionRunId: "RUN", content: 5 }, ["body", "content"], "dict_type"],
    [
      { kind: "file", actionRunId: "RUN", content: { fileName: "a/b", data: "" } },
      ["body", "content", "fileName"],
      "string_pattern_mismatch",
    ],
    [
      { kind: "file", actionRunId: "RUN", content: { fileName: "a", data: "@" } },
      ["body", "content", "data"],
      "base64_parsing",
    ],
    [
      {
        kind: "file",
        actionRunId: "RUN",
        content: { fileName: "a", data: "", mimeType: "text/html\r\nx: y" },
      },
      ["body", "content", "mimeType"],
      "string_pattern_mismatch",
    ],
  ])("is rejected as %j, and nothing stays behind", async (body, loc, type) => {
    const before = filesOf(weir).length;
    const reply = await create(JSON.parse(JSON.stringify(body).replace("RUN", actionRunId)));
    expect(reply.status).toBe(422);
    expect(reply.body.detail).toEqual([{ loc, msg: expect.any(String), type }]);
    expect(filesOf(weir)).toHaveLength(before);
  });

  test("is created once per Idempotency-Key", async () => {
    const body = { actionRunId, kind: "text", content: "y".repeat(300_000) };
    const key = { "idempotency-key": "artifact-1" };
    const before = filesOf(weir).length;
    const first = await create(body, key);
    const again = await create(body, key);
    expect([first.status, again.status, again.headers.get("idempotency-replayed")]).toEqual([
      201,
      201,
      "true",
    ]);
    expect(again.text).toBe(first.text);
    expect(filesOf(weir)).toHaveLength(before + 1);
  });

  test("is deleted with its file, which is recorded", async () => {
    const { body } = await create({ actionRunId, kind: "text", content: "z".repeat(300_000) });
    const before = filesOf(weir).length;
    expect((await weir.owner("DELETE", `/api/v1/artifacts/${body.id}`)).status).toBe(204);
    while (filesOf(weir).length === before) await Bun.sleep(1);
    expect((await weir.owner("GET", `/api/v1/artifacts/${body.id}`)).status).toBe(404);
    expect((await weir.owner("DELETE", `/api/v1/artifacts/${body.id}`)).status).toBe(404);
    const { items } = (await weir.owner("GET", `/api/v1/events?entityId=${body.id}&type=artifact.deleted`))
      .body;
    expect(items).toHaveLength(1);
  });

  test("with a missing file says so", async () => {
    await using own = await startApp({ engine: false });
    const run = await newRun(own);
    const { body } = await own.owner("POST", "/api/v1/artifacts", {
      actionRunId: run,
      kind: "text",
      content: "z".repeat(300_000),
    });
    rmSync(join(own.dataFolder, "artifacts"), { recursive: true });
    const reply = await own.owner("GET", `/api/v1/artifacts/${body.id}/content`);
    expect([reply.status, reply.body.code]).toEqual([410, "gone"]);
  });
});

test("lists by run, kind and title, newest first", async () => {
  await using own = await startApp({ engine: false });
  const [one, two] = [await newRun(own), await newRun(own)];
  const make = async (run: string, kind: string) =>
    (
      await own.owner("POST", "/api/v1/artifacts", {
        actionRunId: run,
        kind,
        title: `As ${kind}`,
        content: "x",
      })
    ).body.id;
  const ids = [await make(one, "json"), await make(one, "text"), await make(two, "json")];
  const list = async (query: string) => {
    const { body } = await own.owner("GET", `/api/v1/artifacts?${query}`);
    return [
      body.artifacts.map((artifact: { id: string }) => ids.indexOf(artifact.id)),
      body.total,
      body.hasNext,
    ];
  };
  expect(await list("")).toEqual([[2, 1, 0], 3, false]);
  expect(await list(`action_run_id=${one}`)).toEqual([[1, 0], 2, false]);
  expect(await list("kind=json")).toEqual([[2, 0], 2, false]);
  expect(await list("q=AS+TEXT")).toEqual([[1], 1, false]);
  expect(await list("limit=1&offset=1")).toEqual([[1], 3, true]);
  const { body } = await own.owner("GET", "/api/v1/artifacts");
  expect([body.limit, body.offset]).toEqual([100, 0]);
  expect((await own.owner("GET", "/api/v1/artifacts?kind=picture")).status).toBe(422);
});

test("another organization's artifact doesn't exist, and its runs accept none", async () => {
  const { body: beta } = await weir.owner("POST", "/api/v1/organizations", { name: "Beta" });
  const inBeta = { "x-organization-id": beta.id };
  const { body: made } = await create({ actionRunId, kind: "json", content: 1 });
  expect((await weir.owner("GET", "/api/v1/artifacts", undefined, inBeta)).body.total).toBe(0);
  for (const [method, path] of [
    ["GET", ""],
    ["DELETE", ""],
    ["GET", "/content"],
  ] as const) {
    expect((await weir.owner(method, `/api/v1/artifacts/${made.id}${path}`, undefined, inBeta)).status).toBe(
      404,
    );
  }
  expect((await create({ actionRunId, kind: "json", content: 1 }, inBeta)).status).toBe(422);
});

test("viewers can read artifacts, but not change any", async () => {
  const { call } = await enrol(weir, "viewer");
  const { body: made } = await create({ actionRunId, kind: "json", content: 1 });
  expect((await call("GET", `/api/v1/artifacts/${made.id}`)).status).toBe(200);
  expect((await call("DELETE", `/api/v1/artifacts/${made.id}`)).status).toBe(403);
  expect((await call("POST", "/api/v1/artifacts", { actionRunId, kind: "json" })).status).toBe(403);
  expect((await weir.anonymous("GET", `/api/v1/artifacts/${made.id}/content`)).status).toBe(401);
});
