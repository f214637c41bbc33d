import { expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { startReceiver } from "../support/receiver.ts";
import { ACTIONS, created, faultsOf, makeAction, runToEnd } from "../support/work.ts";

const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 31) % 256));

test("a response is stored as a file, byte by byte", async () => {
  await using app = await startApp();
  await using receiver = startReceiver(
    ({ path }) =>
      new Response(path === "/big" ? Buffer.concat(Array(10).fill(bytes)) : bytes, {
        headers: { "content-type": "application/pdf" },
      }),
  );
  for (const path of ["/small", "/big"]) {
    const definition = { url: receiver.url + path, saveAs: { title: "Invoice 17" } };
    const run = await runToEnd(
      app.owner,
      (await makeAction(app.owner, { kind: "http_request", definition })).id,
    );
    expect(run).toMatchObject({ status: "completed", result: { status: 200, body: null } });
    const at = `/api/v1/artifacts/${run.result.artifactId}`;
    const list = (await app.owner("GET", `/api/v1/artifacts?action_run_id=${run.id}`)).body.artifacts;
    expect(list).toMatchObject([{ id: run.result.artifactId, kind: "file", title: "Invoice 17" }]);
    const content = await fetch(`${app.origin}${at}/content`, {
      headers: { authorization: `Bearer ${app.token}` },
    });
    expect(content.headers.get("content-disposition")).toContain('filename="Invoice 17.pdf"');
    const whole = path === "/big" ? Buffer.concat(Array(10).fill(bytes)) : bytes;
    const got = Buffer.from(await content.arrayBuffer());
    expect([path, got.length, got.equals(whole)]).toEqual([path, whole.length, true]);
  }
});

test("no file is cut off, or carries a credential", async () => {
  await using app = await startApp();
  await using receiver = startReceiver(
    ({ headers }) => new Response(`you said ${headers.get("authorization")}, ${"x".repeat(100)}`),
  );
  const template = created(
    await app.owner("POST", "/api/v1/templates", {
      slug: "echo",
      displayName: "Echo",
      templateType: "connection",
      definition: {
        http: {
          baseUrl: receiver.url,
          auth: { type: "bearer", token: "{{credentials.token}}" },
          verify: { path: "/" },
        },
        credentialsSchema: { type: "object", properties: { token: { type: "string" } } },
      },
    }),
  );
  await app.owner("POST", `/api/v1/templates/${template.id}/publish`);
  const connection = created(
    await app.owner("POST", "/api/v1/connections", {
      name: "Echo",
      templateId: template.id,
      credentials: { token: "a-long-secret-token" },
    }),
  );
  const run = async (more: object) => {
    const definition = { url: receiver.url, saveAs: { title: "Echo" }, ...more };
    const action = { kind: "http_request", definition, connectionId: connection.id };
    return runToEnd(app.owner, (await makeAction(app.owner, action)).id);
  };
  expect((await run({})).error).toMatchObject({
    code: "upstream",
    message: expect.stringContaining("contains a credential"),
  });
  expect((await run({ maxBytes: 10 })).error).toMatchObject({ code: "response_too_large" });
  const definition = { url: receiver.url, saveAs: { title: "x" }, responseExtract: "a" };
  const refused = await app.owner("POST", ACTIONS, { name: "x", kind: "http_request", definition });
  expect(faultsOf(refused)).toEqual(["body.definition.saveAs value_error"]);
});
