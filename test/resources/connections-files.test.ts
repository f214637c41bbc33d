import { describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { connect as dial } from "node:net";
import { join as path } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { startApp } from "../support/app.ts";
import { CONNECTIONS, connect, faultsOf, localFiles, trailOf } from "../support/connections.ts";
import { eventually } from "../support/outbound.ts";
import { neighbour } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

async function openFiles(started: Started, config: object = {}) {
  const { id } = await connect(started.owner, localFiles("Files", { config }));
  const at = `${CONNECTIONS}/${id}/files`;
  return {
    id,
    at,
    /** Folder of the organization's files on disk. */
    folder: path(started.dataFolder, "files", started.ids.organizationId),
    list: (query = "") => started.owner("GET", at + query),
    put: (name: string, body: string | Uint8Array, headers = {}) =>
      started.owner("PUT", `${at}?path=${encodeURIComponent(name)}`, body, headers),
    validate: (body: object) => started.owner("POST", `${at}/validate`, body),
  };
}

describe("uploading", () => {
  test("writes the raw body to the organization's own folder and responds with the file", async () => {
    await using started = await startApp({ engine: false });
    const files = await openFiles(started, { root: "/inbox" });
    const put = await files.put("/2026/größe & co.csv", "id,name\n1,a\n", {
      "content-type": "application/json",
    });
    expect([put.status, put.body]).toEqual([
      201,
      {
        id: "/2026/größe & co.csv",
        name: "größe & co.csv",
        kind: "file",
        mimeType: "text/csv",
        size: 12,
        modifiedAt: expect.stringMatching(/Z$/),
      },
    ]);
    const place = path(files.folder, "inbox/2026/größe & co.csv");
    expect(readFileSync(place, "utf8")).toBe("id,name\n1,a\n");
    expect((await files.put("2026/größe & co.csv", "")).body.size).toBe(0);
    expect(readFileSync(place, "utf8")).toBe("");
    expect((await trailOf(started, files.id)).at(-1)).toMatchObject({
      type: "connection.updated",
      data: { changes: [{ field: "files", from: null, to: { id: "/2026/größe & co.csv", size: 0 } }] },
    });
    const other = await neighbour(started);
    const theirs = await connect(other.call, localFiles("Files", { config: { root: "/inbox" } }));
    expect((await other.call("GET", `${CONNECTIONS}/${theirs.id}/files`)).body.items).toEqual([]);
  });

  test("streams what is larger than a JSON body may be", async () => {
    await using started = await startApp({ engine: false, env: { WEIR_MAX_BODY_BYTES: "100000" } });
    const files = await openFiles(started);
    const bytes = new Uint8Array(3_000_000).fill(7);
    expect((await files.put("/big.bin", bytes)).body.size).toBe(3_000_000);
    expect(new Uint8Array(readFileSync(path(files.folder, "big.bin")))).toEqual(bytes);
  });

  test("rejects paths that lead outside, compressed and oversized bodies, and leaves nothing behind", async () => {
    await using started = await startApp({ engine: false });
    const files = await openFiles(started);
    await files.put("/folder/a.txt", "a");
    for (const [name, status] of [
      ["/../outside.txt", 422],
      ["/a/../../outside.txt", 422],
      ["..\\outside.txt", 422],
      ["/folder/", 400],
      ["/", 400],
      ["/nul\u0000.txt", 422],
      ["/folder", 409],
      ["/folder/a.txt/b.txt", 409],
      ["", 422],
      ["x".repeat(1025), 422],
    ] as const) {
      expect([name, (await files.put(name, "x")).status]).toEqual([name, status]);
    }
    expect((await started.owner("PUT", files.at, "x")).status).toBe(422);
    const compressed = await files.put("/c.txt", "x", { "content-encoding": "gzip" });
    expect([compressed.status, compressed.body.code]).toEqual([415, "unsupported_media_type"]);
    await started.owner("POST", `${CONNECTIONS}/${files.id}/disable`);
    expect((await files.put("/d.txt", "x")).body.code).toBe("connection_disabled");
    const database = await connect(started.owner, {
      name: "db",
      provider: "postgres",
      config: { host: "db.example.com", database: "d" },
      credentials: { user: "u" },
    });
    const none = await started.owner("PUT", `${CONNECTIONS}/${database.id}/files?path=/a`, "x");
    expect([none.status, none.body.code]).toEqual([400, "bad_request"]);
    expect(readdirSync(files.folder).filter((name) => !name.startsWith("."))).toEqual(["folder"]);
    expect(readdirSync(path(started.dataFolder, "files"))).toEqual([started.ids.organizationId]);
  });

  test("rejects more than 1 GiB by the announced size, before a byte is read", async () => {
    await using started = await startApp({ engine: false });
    const files = await openFiles(started);
    const reply = await rawPut(
      started,
      `${files.at}?path=/huge.bin`,
      `Content-Length: ${1024 ** 3 + 1}`,
      "x",
    );
    expect(reply).toStartWith("HTTP/1.1 413");
    expect(existsSync(path(files.folder, "huge.bin"))).toBe(false);
  });

  test("keeps nothing of an interrupted body", async () => {
    await using started = await startApp({ engine: false });
    const files = await openFiles(started);
    await files.put("/kept.txt", "old");
    for (const framing of ["Content-Length: 1000", "Transfer-Encoding: chunked"]) {
      await rawPut(started, `${files.at}?path=/kept.txt`, framing, "3\r\nnew\r\n", "end");
    }
    await files.put("/later.txt", "x");
    expect(readFileSync(path(files.folder, "kept.txt"), "utf8")).toBe("old");
    const parts = path(files.folder, ".weir-parts");
    await eventually(() => !existsSync(parts) || readdirSync(parts).length === 0);
  });

  test("gives up on a sender that is silent for 30 seconds", async () => {
    const silent = Promise.withResolvers<void>();
    const clock = {
      ...systemClock,
      limit: (ms: number, signal?: AbortSignal) =>
        ms === 30_000 ? silent.promise : systemClock.limit(ms, signal),
    };
    await using started = await startApp({ engine: false, overrides: { clock } });
    const files = await openFiles(started);
    const answered = rawPut(started, `${files.at}?path=/slow.txt`, "Content-Length: 1000", "abc");
    silent.resolve();
    const reply = await answered;
    expect(reply).toStartWith("HTTP/1.1 408");
    expect(reply).toContain('"code":"request_timeout"');
    expect(existsSync(path(files.folder, "slow.txt"))).toBe(false);
  });
});

/** Sends a raw request, and returns the response. With `end`, the sender disconnects after it. */
function rawPut(
  started: Started,
  target: string,
  framing: string,
  body: string,
  then: "wait" | "end" = "wait",
) {
  const { promise, resolve } = Promise.withResolvers<string>();
  const { hostname, port } = new URL(started.origin);
  let reply = "";
  const socket = dial(Number(port), hostname, () => {
    const head = `PUT ${target} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${started.token}\r\n${framing}\r\n\r\n`;
    socket.write(head + body, () => then === "end" && socket.end());
  });
  socket.on("data", (data) => {
    reply += String(data);
    if (reply.includes("}")) socket.destroy();
  });
  socket.on("error", () => resolve(reply));
  socket.on("close", () => resolve(reply));
  return promise;
}

describe("browsing", () => {
  test("lists a folder page by page, folders first", async () => {
    await using started = await startApp({ engine: false });
    const files = await openFiles(started);
    expect((await files.list()).body).toEqual({ items: [], path: "/" });
    await files.put("/b.csv", "1");
    await files.put("/z/a.json", "{}");
    const { body } = await files.list();
    expect(body).toEqual({
      path: "/",
      items: [
        { id: "/z", name: "z", kind: "folder", mimeType: null, size: null, modifiedAt: expect.any(String) },
        {
          id: "/b.csv",
          name: "b.csv",
          kind: "file",
          mimeType: "text/csv",
          size: 1,
          modifiedAt: expect.any(String),
        },
      ],
    });
    const inside = await files.list("?path=/z");
    expect([inside.body.path, inside.body.items.length]).toEqual(["/z", 1]);

    for (let n = 0; n < 1001; n++) writeFileSync(path(files.folder, "z", `${n}`), "");
    const first = await files.list("?path=/z");
    expect(first.body.items.length).toBe(1000);
    const rest = await files.list(`?path=/z&page_token=${first.body.nextPageToken}`);
    expect([rest.body.items.length, "nextPageToken" in rest.body]).toEqual([2, false]);
    const elsewhere = await files.list(`?path=/&page_token=${first.body.nextPageToken}`);
    expect([elsewhere.status, faultsOf(elsewhere)]).toEqual([422, ["query.page_token cursor_invalid"]]);
  });

  test("reports what doesn't exist, and shows nothing outside its folder", async () => {
    await using started = await startApp({ engine: false });
    const files = await openFiles(started);
    await files.put("/a.txt", "x");
    symlinkSync("/etc", path(files.folder, "link"));
    for (const [query, status, code] of [
      ["?path=/nope", 404, "not_found"],
      ["?path=/../..", 422, undefined],
      ["?path=/link", 403, "forbidden"],
      ["?page_token=abc", 422, undefined],
    ] as const) {
      const { status: told, body } = await files.list(query);
      expect([query, told, body.code]).toEqual([query, status, code]);
    }
    expect((await files.list()).body.items.map(({ name }: { name: string }) => name)).toEqual(["a.txt"]);
    expect(faultsOf(await files.list("?folder=/"))).toEqual(["query.folder extra_forbidden"]);
  });

  test("lists a file as itself", async () => {
    await using started = await startApp({ engine: false });
    const files = await openFiles(started);
    await files.put("/in/a.txt", "x");
    expect((await files.list("?path=/in/a.txt")).body).toMatchObject({
      items: [{ id: "/in/a.txt", name: "a.txt", kind: "file", size: 1 }],
      path: "/in/a.txt",
    });
  });
});

test("a path that leads up is rejected when it is requested, and when it is saved", async () => {
  await using started = await startApp({ engine: false });
  const files = await openFiles(started);
  for (const [method, at] of [
    ["GET", "?path=../a.csv"],
    ["GET", "/content?path=a/../../b.csv"],
    ["GET", "/preview?path=.."],
    ["DELETE", "?path=../a.csv"],
  ] as const) {
    const answer = await started.owner(method, files.at + at);
    expect([at, answer.status, faultsOf(answer)]).toEqual([at, 422, ["query.path value_error"]]);
  }
  const file = { connectionId: files.id, path: "../a.csv" };
  for (const [kind, place, definition] of [
    ["file_sync", "source.path", { source: file, destination: { connectionId: files.id, path: "/copy" } }],
    ["file_sync", "destination.path", { source: { ...file, path: "/" }, destination: file }],
    ["dlt_extract", "resources.0.spec", { dataset: "shop", resources: [{ spec: "../*.csv" }] }],
    ["duckdb_transform", "output.path", { sql: "SELECT 1", output: { ...file, format: "csv" } }],
    ["http_request", "body.file", { url: "https://api.test", method: "POST", body: { file } }],
    [
      "send_message",
      "attachments.0.path",
      { to: ["a@example.com"], subject: "s", text: "t", attachments: [file] },
    ],
  ] as const) {
    const answer = await started.owner("POST", "/api/v1/actions", {
      kind,
      name: kind,
      definition,
      ...(kind === "dlt_extract" ? { connectionId: files.id } : {}),
    });
    const places = faultsOf(answer).map((fault: string) => fault.split(" ")[0]);
    expect([kind, answer.status, places]).toEqual([kind, 422, [`body.definition.${place}`]]);
  }
});

describe("validating a selection", () => {
  test("counts files and folders once, with their bytes and levels", async () => {
    await using started = await startApp({ engine: false });
    const files = await openFiles(started);
    await files.put("/a/b/one.csv", "12345");
    await files.put("/a/two.csv", "123");
    await files.put("/three.csv", "1");
    const all = { valid: true, maxDepth: 3, totalBytes: 8, totalItems: 4, violations: [] };
    expect((await files.validate({ selectedItems: ["/a"] })).body).toEqual(all);
    expect((await files.validate({ selectedItems: ["/a/two.csv", "/a/b", "/a", "a/"] })).body).toEqual(all);
    expect((await files.validate({ selectedItems: [{ id: "/a" }, { path: "/a/b" }] })).body).toEqual(all);
    const { items } = (await files.list()).body;
    expect((await files.validate({ selectedItems: items })).body).toMatchObject({
      totalItems: 5,
      totalBytes: 9,
    });
    expect((await files.validate({ selectedItems: ["two.csv", "/a/b"], rootPath: "/a" })).body).toEqual({
      ...all,
      maxDepth: 2,
      totalItems: 3,
    });
    expect((await files.validate({ selectedItems: [] })).body).toEqual({
      ...all,
      maxDepth: 0,
      totalBytes: 0,
      totalItems: 0,
    });
  });

  test("names each item that is missing, outside or too deep", async () => {
    await using started = await startApp({ engine: false });
    const files = await openFiles(started);
    const levels = (count: number) => Array.from({ length: count }, (_, n) => `/d${n}`).join("");
    await files.put(`${levels(9)}/ten.csv`, "1");
    expect((await files.validate({ selectedItems: ["/d0"] })).body).toMatchObject({
      valid: true,
      maxDepth: 10,
    });
    await files.put(`${levels(10)}/eleven.csv`, "1");
    symlinkSync("/etc", path(files.folder, "link"));
    const { body } = await files.validate({
      selectedItems: ["/d0", "/nope", "/../x", "/link", "/d0/d1"],
      rootPath: "/",
    });
    expect(body.valid).toBe(false);
    expect(body.violations.map(({ item, rule }: { item: string; rule: string }) => [item, rule])).toEqual([
      [`${levels(10)}/eleven.csv`, "too_deep"],
      ["/nope", "not_found"],
      ["/../x", "outside_root"],
      ["/link", "outside_root"],
    ]);
    expect(body.violations.every(({ message }: { message: string }) => message.length > 10)).toBe(true);
    const outside = await files.validate({ selectedItems: ["/d0", "/elsewhere"], rootPath: "/d0/d1" });
    expect(outside.body.violations.map(({ rule }: { rule: string }) => rule)).toEqual([
      "outside_root",
      "outside_root",
    ]);
  });

  deepTest(
    "stops at the first item past 10,000 and at the first byte past 10 GiB",
    async () => {
      await using started = await startApp({ engine: false });
      const files = await openFiles(started);
      await files.put("/sparse/big.bin", "x");
      truncateSync(path(files.folder, "sparse/big.bin"), 10 * 1024 ** 3);
      expect((await files.validate({ selectedItems: ["/sparse"] })).body).toMatchObject({
        valid: true,
        totalBytes: 10 * 1024 ** 3,
      });
      await files.put("/sparse/small.bin", "x");
      const heavy = (await files.validate({ selectedItems: ["/sparse"] })).body;
      expect([heavy.valid, heavy.violations[0]]).toMatchObject([
        false,
        { item: "/sparse/small.bin", rule: "too_many_bytes" },
      ]);

      // One folder of 110 files, with a hundred paths to it.
      mkdirSync(path(files.folder, "many/once"), { recursive: true });
      for (let n = 0; n < 110; n++) writeFileSync(path(files.folder, "many/once", `${n}`), "");
      for (let n = 0; n < 100; n++) symlinkSync("once", path(files.folder, "many", `again-${n}`));
      const many = (await files.validate({ selectedItems: ["/many", "/sparse"] })).body;
      expect([many.valid, many.totalItems, many.totalBytes]).toEqual([false, 10_001, 0]);
      expect(many.violations).toMatchObject([{ rule: "too_many_items" }]);
      const selectedItems = Array.from({ length: 10_001 }, (_, index) => `/no/such/${index}`);
      const long = await files.validate({ selectedItems });
      expect([long.status, long.body.valid, long.body.totalItems]).toEqual([200, false, 10_001]);
      expect(long.body.violations).toMatchObject([{ item: "/no/such/10000", rule: "too_many_items" }]);
    },
    120_000,
  );

  test("rejects a body of another shape", async () => {
    await using started = await startApp({ engine: false });
    const files = await openFiles(started);
    for (const [body, fault] of [
      [{}, "body.selectedItems missing"],
      [{ selectedItems: "/a" }, "body.selectedItems list_type"],
      [{ selectedItems: [7] }, "body.selectedItems.0 string_type"],
      [{ selectedItems: [{ name: "a" }] }, "body.selectedItems.0.id missing"],
      [{ selectedItems: [{ path: "/a", file: 1 }] }, "body.selectedItems.0.file extra_forbidden"],
      [{ selectedItems: ["/a"], rootPath: 7 }, "body.rootPath string_type"],
    ] as const) {
      const answer = await files.validate(body);
      expect([answer.status, faultsOf(answer)]).toEqual([422, [fault]]);
    }
  });
});

test("a file is downloaded unchanged, and deleted", async () => {
  await using weir = await startApp({ engine: false });
  const { id } = await connect(weir.owner, localFiles("Downloads"));
  const at = `${CONNECTIONS}/${id}/files`;
  const headers = { authorization: `Bearer ${weir.token}`, "content-type": "application/octet-stream" };
  const bytes = crypto.getRandomValues(new Uint8Array(300_000));
  const path = `path=/in/${encodeURIComponent('ré"port.bin')}`;
  await fetch(`${weir.origin}${at}?${path}`, { method: "PUT", headers, body: bytes });
  const reply = await fetch(`${weir.origin}${at}/content?${path}`, { headers });
  expect(reply.status).toBe(200);
  expect(Object.fromEntries(reply.headers)).toMatchObject({
    "content-type": "application/octet-stream",
    "content-disposition": `attachment; filename="r__port.bin"; filename*=UTF-8''r%C3%A9%22port.bin`,
    "x-content-type-options": "nosniff",
  });
  expect(Buffer.from(await reply.arrayBuffer()).equals(bytes)).toBe(true);
  expect((await weir.owner("GET", `${at}/content?path=/in`)).status).toBe(400);
  expect((await weir.owner("DELETE", `${at}?path=/in`)).status).toBe(400);
  expect((await weir.owner("DELETE", `${at}?${path}`)).status).toBe(204);
  expect((await weir.owner("GET", `${at}/content?${path}`)).status).toBe(404);
  expect((await weir.owner("DELETE", `${at}?${path}`)).status).toBe(404);
});
