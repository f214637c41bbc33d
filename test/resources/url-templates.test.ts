import { expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { startReceiver } from "../support/receiver.ts";
import { flowToEnd, makeAutomation } from "../support/work.ts";

test("a request isn't sent if a template leaves a segment of its path empty", async () => {
  await using app = await startApp();
  await using receiver = startReceiver();
  const definition = { method: "DELETE", url: `${receiver.url}/users/{{input.id}}?by={{input.by}}` };
  const flow = await makeAutomation(app.owner, { action: { kind: "http_request", definition } });
  for (const id of [null, ""]) {
    expect((await flowToEnd(app.owner, flow.id, { input: { id, by: null } })).error).toMatchObject({
      code: "template_error",
      message: expect.stringContaining("{{input.id}} is empty"),
      retryable: false,
    });
  }
  expect(receiver.got).toHaveLength(0);
  await flowToEnd(app.owner, flow.id, { input: { id: 7, by: null } });
  expect(receiver.got.map(({ path }) => path)).toEqual(["/users/7?by="]);
});
