import { describe, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import {
  ACTIONS,
  created,
  faultsOf,
  flowToEnd,
  makeAction,
  makeAutomation,
  RUNS,
  runToEnd,
} from "../support/work.ts";

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);
const post = (url: string, more: object) => ({
  kind: "http_request",
  definition: { url, method: "POST", ...more },
});

describe("http_request with batch", () => {
  test("sends one request per batch, and reports what happened to every item", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(({ text }) => Response.json({ got: JSON.parse(text).length }));
    const action = await makeAction(
      app.owner,
      post(receiver.url, { batch: { items: numbers(25), size: 10 }, responseExtract: "got" }),
    );
    const run = await runToEnd(app.owner, action.id);
    expect(run).toMatchObject({ status: "completed", result: { pages: 3, extracted: [10, 10, 5] } });
    expect(run.result.outcomes).toEqual(numbers(25).map((index) => ({ index, status: 200, ok: true })));
    expect(receiver.got.map(({ text }) => JSON.parse(text))).toEqual([
      numbers(10),
      numbers(10).map((n) => n + 10),
      numbers(5).map((n) => n + 20),
    ]);
    expect(new Set(receiver.got.map(({ headers }) => headers.get("idempotency-key"))).size).toBe(3);
  });

  test("reports what was sent before an invalid JSON line in a file", async () => {
    await using app = await startApp();
    await using receiver = startReceiver();
    const first = await makeAction(app.owner, post(receiver.url, { body: {} }));
    const { id: actionRunId } = await runToEnd(app.owner, first.id);
    const data = Buffer.from("1\n2\n3\nthree\n4\n").toString("base64");
    const content = { fileName: "rows.jsonl", mimeType: "application/x-ndjson", data };
    const file = created(
      await app.owner("POST", "/api/v1/artifacts", { actionRunId, kind: "file", content }),
    );
    const batch = { items: { artifactId: file.id }, size: 2 };
    const action = await makeAction(app.owner, post(receiver.url, { batch }));
    const { error } = await runToEnd(app.owner, action.id);
    expect(error).toMatchObject({
      code: "definition_invalid",
      message: "batch.items: the file has a line that is no JSON. Items 0 to 1 were sent before.",
      details: { outcomes: numbers(2).map((index) => ({ index, status: 200, ok: true })) },
    });
  });

  test("rejects an artifact that is one object, and says what to name instead", async () => {
    await using app = await startApp();
    await using receiver = startReceiver();
    const first = await makeAction(app.owner, post(receiver.url, { body: {} }));
    const { id: actionRunId } = await runToEnd(app.owner, first.id);
    const json = { actionRunId, kind: "json", content: { rows: [1, 2] } };
    const artifact = created(await app.owner("POST", "/api/v1/artifacts", json));
    const batch = { items: { artifactId: artifact.id } };
    const action = await makeAction(app.owner, post(receiver.url, { batch }));
    expect((await runToEnd(app.owner, action.id)).error).toMatchObject({
      code: "definition_invalid",
      message: expect.stringContaining("{{steps.KEY.result.items}}"),
    });
    expect(receiver.got).toHaveLength(1);
  });

  test("fills in url, headers, query and body for each batch, next to everything else that templates see", async () => {
    await using app = await startApp();
    await using receiver = startReceiver();
    const { kind, definition } = post(`${receiver.url}/orgs/{{input.org}}/{{items[0].id}}`, {
      batch: { items: "{{input.rows}}", size: 2 },
      headers: { "X-Count": "{{size(items)}}" },
      query: { last: "{{items[size(items) - 1].id}}" },
      body: { ids: "{{items.map(i, i.id)}}", by: "{{input.org}}" },
    });
    const flow = await makeAutomation(app.owner, { steps: [{ key: "send", kind, definition }] });
    const rows = ["a", "{{input.org}}", "c/d"].map((id) => ({ id }));
    const run = await flowToEnd(app.owner, flow.id, { input: { org: "acme & co", rows } });
    expect(run.error).toBeNull();
    expect(
      receiver.got.map(({ path, headers, text }) => [path, headers.get("x-count"), JSON.parse(text)]),
    ).toEqual([
      [
        "/orgs/acme%20%26%20co/a?last=%7B%7Binput.org%7D%7D",
        "2",
        { ids: ["a", "{{input.org}}"], by: "acme & co" },
      ],
      ["/orgs/acme%20%26%20co/c%2Fd?last=c%2Fd", "1", { ids: ["c/d"], by: "acme & co" }],
    ]);
  });

  test("retries a failed batch separately, sends all others, and fails with what happened to each item", async () => {
    await using app = await startApp();
    const tries = new Map<number, number>();
    await using receiver = startReceiver(({ text }) => {
      const [first] = JSON.parse(text) as [number];
      tries.set(first, (tries.get(first) ?? 0) + 1);
      if (first === 2 && tries.get(first) === 1) return new Response("later", { status: 503 });
      return first === 4 ? new Response("no", { status: 422 }) : Response.json({});
    });
    const definition = {
      batch: { items: numbers(8), size: 2 },
      retry: { maxAttempts: 3, backoffSeconds: [0] },
    };
    const action = await makeAction(app.owner, post(receiver.url, definition));
    const run = await runToEnd(app.owner, action.id);
    expect(run).toMatchObject({
      status: "failed",
      retryCount: 0,
      error: { code: "batch_failed", retryable: false },
    });
    expect(run.error.message).toContain("422");
    expect(run.error.details.outcomes).toEqual(
      numbers(8).map((index) =>
        index === 4 || index === 5 ? { index, status: 422, ok: false } : { index, status: 200, ok: true },
      ),
    );
    expect([...tries]).toEqual([
      [0, 1],
      [2, 2],
      [4, 1],
      [6, 1],
    ]);
  });

  deepTest(
    "processes a file of JSON lines, such as the results of a step over a table",
    async () => {
      await using app = await startApp();
      const sum = { rows: 0, total: 0, requests: 0 };
      await using receiver = startReceiver(({ text }) => {
        const items = JSON.parse(text) as { twice: number }[];
        sum.requests++;
        sum.rows += items.length;
        for (const { twice } of items) sum.total += twice;
        return Response.json({});
      });
      const sql = "SELECT range AS id FROM range(1234)";
      const definition = { sql, output: { layer: "marts", dataset: "rows" } };
      const steps = [
        { key: "make", kind: "duckdb_transform", definition },
        {
          key: "each",
          dependsOn: ["make"],
          forEach: { table: "marts.rows" },
          kind: "run_script",
          definition: { source: "export default (row) => ({ twice: row.id * 2 })", input: "{{item}}" },
        },
        {
          key: "send",
          dependsOn: ["each"],
          ...post(receiver.url, {
            batch: { items: { artifactId: "{{steps.each.result.artifactId}}" }, size: 500 },
            body: "{{items.map(i, i.result.output)}}",
          }),
        },
      ];
      const flow = await makeAutomation(app.owner, { steps });
      const run = await flowToEnd(app.owner, flow.id);
      expect(run.error).toBeNull();
      expect(sum).toEqual({ requests: 3, rows: 1_234, total: 1_234 * 1_233 });
      const send = (await app.owner("GET", `${RUNS}/${run.steps[2].actionRunId}`)).body;
      expect(send.result.outcomes).toHaveLength(1_234);
    },
    120_000,
  );

  test.each<[object, string]>([
    [{ batch: { size: 10 } }, "batch"],
    [{ batch: { items: [1], size: 1_001 } }, "batch"],
    [{ batch: { items: [1] }, pagination: { type: "link_header" } }, "batch value_error"],
    [{ batch: { items: [1] }, saveAs: { title: "x" } }, "batch value_error"],
    [{ batch: { items: [1] }, body: "{{nothing.at(1)}}" }, "body template_error"],
  ])("is rejected when saved for %j", async (more, fault) => {
    await using app = await startApp({ engine: false });
    const refused = await app.owner("POST", ACTIONS, { name: "x", ...post("http://a.test", more) });
    expect(faultsOf(refused)[0]).toStartWith(`body.definition.${fault}`);
  });
});

const content = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 31) % 256));

/** A run that creates an artifact with the bytes. */
async function makeArtifact(app: Awaited<ReturnType<typeof startApp>>): Promise<string> {
  await using server = startReceiver(
    () => new Response(content, { headers: { "content-type": "image/png" } }),
  );
  const definition = { url: server.url, saveAs: { title: "logo.png" } };
  const run = await runToEnd(
    app.owner,
    (await makeAction(app.owner, { kind: "http_request", definition })).id,
  );
  return run.result.artifactId;
}

/** A server that records the bytes that it receives. */
function startBytes() {
  const got: { type: string | null; bytes: Buffer; form: FormData | null }[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const type = request.headers.get("content-type");
      const bytes = Buffer.from(await request.arrayBuffer());
      const isForm = type?.startsWith("multipart/") === true;
      const form = isForm
        ? await new Response(bytes, { headers: { "content-type": type ?? "" } }).formData()
        : null;
      got.push({ type, bytes, form: form as FormData | null });
      return Response.json({});
    },
  });
  return { got, url: `http://127.0.0.1:${server.port}`, [Symbol.asyncDispose]: () => server.stop(true) };
}

describe("http_request with files", () => {
  test("sends an artifact or a file of a connection as its body, byte by byte", async () => {
    await using app = await startApp();
    await using server = startBytes();
    const artifactId = await makeArtifact(app);
    const connection = created(
      await app.owner("POST", "/api/v1/connections", {
        name: "Files",
        provider: "local_files",
        config: { root: "in" },
        credentials: {},
      }),
    );
    await fetch(`${app.origin}/api/v1/connections/${connection.id}/files?path=a/data.csv`, {
      method: "PUT",
      headers: { authorization: `Bearer ${app.token}` },
      body: content,
    });
    await app.owner("POST", `/api/v1/connections/${connection.id}/verify`);
    for (const file of [{ artifactId }, { connectionId: connection.id, path: "a/data.csv" }]) {
      const run = await runToEnd(
        app.owner,
        (await makeAction(app.owner, post(server.url, { body: { file } }))).id,
      );
      expect([run.status, run.error]).toEqual(["completed", null]);
    }
    expect(server.got.map(({ type, bytes }) => [type, bytes.equals(content)])).toEqual([
      ["image/png", true],
      ["text/csv", true],
    ]);
  });

  test("sends a form of fields and files", async () => {
    await using app = await startApp();
    await using server = startBytes();
    const artifactId = await makeArtifact(app);
    const body = {
      title: 'Ann\'s "logo"',
      tags: ["a", "b"],
      meta: { n: 1 },
      logo: { file: { artifactId } },
      copies: [{ file: { artifactId }, filename: "copy.bin", contentType: "application/octet-stream" }],
    };
    const run = await runToEnd(
      app.owner,
      (await makeAction(app.owner, post(server.url, { body, bodyType: "multipart" }))).id,
    );
    expect([run.status, run.error]).toEqual(["completed", null]);
    const form = server.got[0]?.form;
    expect([form?.get("title"), form?.getAll("tags")]).toEqual(['Ann\'s "logo"', ["a", "b"]]);
    for (const [field, name, type] of [
      ["logo", "logo.png", "image/png"],
      ["copies", "copy.bin", "application/octet-stream"],
    ] as const) {
      const file = form?.get(field) as unknown as File;
      expect([file.name, file.type]).toEqual([name, type]);
      expect(Buffer.from(await file.arrayBuffer()).equals(content)).toBe(true);
    }
  });

  test("fails with a sentence for a missing file, and is rejected for what isn't one", async () => {
    await using app = await startApp();
    const body = { file: { artifactId: "01900000-0000-7000-8000-00000000abcd" } };
    const run = await runToEnd(
      app.owner,
      (await makeAction(app.owner, post("http://127.0.0.1:9", { body }))).id,
    );
    expect(run).toMatchObject({ status: "failed", error: { code: "not_found" } });
    const refused = await app.owner("POST", ACTIONS, {
      name: "x",
      ...post("http://a.test", { body: { file: { path: "a" } } }),
    });
    expect(faultsOf(refused)).toEqual(["body.definition.body.file value_error"]);
  });
});
