import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { addHttp, CATALOG, httpApi } from "../support/catalog.ts";

/** What a server understood of a form: fields as texts, files by name, type and content. */
interface Form {
  type: string;
  fields: [string, string | { name: string; type: string; text: string }][];
}

let weir: Awaited<ReturnType<typeof startApp>>;
let owner: typeof weir.owner;
const got: Form[] = [];
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    const type = request.headers.get("content-type") ?? "";
    const fields: Form["fields"] = [];
    for (const [name, value] of await request.formData())
      fields.push(
        typeof value === "string"
          ? [name, value]
          : [name, { name: value.name, type: value.type, text: await value.text() }],
      );
    got.push({ type, fields });
    return Response.json({ ok: true });
  },
});
const baseUrl = `http://127.0.0.1:${server.port}`;
beforeAll(async () => {
  weir = await startApp();
  owner = weir.owner;
});
afterAll(async () => {
  await server.stop(true);
  await weir[Symbol.asyncDispose]();
});

let count = 0;

/** Imports `content` into an entry. Returns the result, and a function that calls its first endpoint. */
async function imported(content: string) {
  const { status, body } = await owner("POST", `${CATALOG}/ai-import`, { content, baseUrl });
  expect([status, body.warnings]).toEqual([200, []]);
  const entry = await addHttp(owner, httpApi(`Uploads ${++count}`, { baseUrl, endpoints: body.endpoints }));
  const [endpoint] = entry.endpoints;
  const call = (input: object) =>
    owner("POST", `${CATALOG}/${entry.id}/endpoints/${endpoint.name}/test`, { input });
  return { endpoint, call };
}

const media = (properties: object, required: string[] = []) => ({
  "multipart/form-data": { schema: { type: "object", properties, required } },
});
const openapi = (version: string, content: object) =>
  JSON.stringify({
    openapi: version,
    info: { title: "Uploads", version: "1" },
    servers: [{ url: baseUrl }],
    paths: { "/files": { post: { operationId: "upload", requestBody: { required: true, content } } } },
  });

describe("a multipart form", () => {
  test("of OpenAPI 3.0 is sent with its fields, lists, objects and files, as the other side parses them", async () => {
    const file = { type: "string", format: "binary", description: "The invoice" };
    const { endpoint, call } = await imported(
      openapi(
        "3.0.3",
        media(
          {
            title: { type: "string" },
            count: { type: "integer" },
            tags: { type: "array", items: { type: "string" } },
            about: { type: "object", properties: { a: { type: "integer" } } },
            file,
            more: { type: "array", items: file },
          },
          ["title", "file"],
        ),
      ),
    );
    expect(endpoint.inputSchema.required).toEqual(["title", "file"]);
    expect(endpoint.inputSchema.properties.file.description).toStartWith("The invoice. A file: ");
    const reply = await call({
      title: 'Ünïcode "and"\r\nlines',
      count: 3,
      tags: ["a", "b"],
      about: { a: 1 },
      file: { filename: 'in"voice\r\nX: y.pdf', contentType: "application/pdf", base64: btoa("%PDF") },
      more: ["plain", { filename: "b.csv", contentType: "text/csv", content: "a,b\n1,2" }],
    });
    expect([reply.status, reply.body.status]).toEqual([200, 200]);
    expect(got.at(-1)?.type).toMatch(/^multipart\/form-data; boundary=weir-[0-9a-f]{48}$/);
    expect(got.at(-1)?.fields).toEqual([
      ["title", 'Ünïcode "and"\r\nlines'],
      ["count", "3"],
      ["tags", "a"],
      ["tags", "b"],
      ["about", '{"a":1}'],
      ["file", { name: "in%22voice%0D%0AX: y.pdf", type: "application/pdf", text: "%PDF" }],
      ["more", { name: "more", type: expect.any(String), text: "plain" }],
      ["more", { name: "b.csv", type: expect.stringMatching(/^text\/csv/), text: "a,b\n1,2" }],
    ]);
  });

  const plain = { name: "x.bin", type: "application/octet-stream", text: "bytes" };
  const given = { filename: "x.bin", base64: btoa("bytes") };
  test.each([
    [
      "OpenAPI 3.1",
      openapi("3.1.0", media({ file: { type: "string", contentMediaType: "application/octet-stream" } })),
    ],
    [
      "Swagger 2",
      JSON.stringify({
        swagger: "2.0",
        info: { title: "Uploads", version: "1" },
        paths: {
          "/files": {
            post: {
              operationId: "upload",
              consumes: ["multipart/form-data"],
              parameters: [{ name: "file", in: "formData", type: "file", required: true }],
            },
          },
        },
      }),
    ],
    ["curl", `curl -F 'file=@x.bin' ${baseUrl}/files`],
    [
      "Postman",
      JSON.stringify({
        info: {
          name: "Uploads",
          schema: "https://schema.getpostman.com/json/collection/v2.1.0/collection.json",
        },
        item: [
          {
            name: "upload",
            request: {
              method: "POST",
              url: `${baseUrl}/files`,
              body: { mode: "formdata", formdata: [{ key: "file", type: "file", src: "x.bin" }] },
            },
          },
        ],
      }),
    ],
  ])("of %s has its file", async (_, content) => {
    const { call } = await imported(content);
    expect((await call({ file: given })).body.status).toBe(200);
    expect(got.at(-1)?.fields).toEqual([["file", plain]]);
  });

  test("is the same to the byte for the same arguments, so that a retry is recognized", async () => {
    const { call } = await imported(openapi("3.0.3", media({ title: { type: "string" } })));
    await call({ title: "same" });
    await call({ title: "same" });
    await call({ title: "other" });
    const [first, second, third] = got.slice(-3).map(({ type }) => type);
    expect([second === first, third === first]).toEqual([true, false]);
  });

  test("isn't sent with an invalid type or base64, or a file that is something else", async () => {
    const { call } = await imported(openapi("3.0.3", media({ file: { type: "string", format: "binary" } })));
    const before = got.length;
    for (const [file, message] of [
      [{ base64: "***" }, "invalid base64"],
      [{ content: "x", contentType: "text/plain\r\nX-Evil: 1" }, "not a valid content type"],
      [{ content: "x", path: "/etc/passwd" }, "arguments"],
      [7, "arguments"],
    ] as const) {
      const { status, text } = await call({ file });
      expect(status).toBeGreaterThanOrEqual(400);
      if (message !== "arguments") expect(text).toContain(message);
    }
    expect(got.length).toBe(before);
  });
});

test("a body that can't be sent is reported at the import, by its type", async () => {
  const content = openapi("3.0.3", { "application/octet-stream": { schema: { type: "string" } } });
  const { body } = await owner("POST", `${CATALOG}/ai-import`, { content, baseUrl });
  expect(body.warnings.join(" ")).toContain("application/octet-stream can't be sent yet");
});
