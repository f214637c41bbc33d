import { afterAll, beforeAll, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { startEchoHttp } from "../support/echo.ts";
import { flowToEnd, makeAutomation } from "../support/work.ts";

let app: Awaited<ReturnType<typeof startApp>>;
let echo: ReturnType<typeof startEchoHttp>;
beforeAll(async () => {
  echo = startEchoHttp("token");
  app = await startApp();
});
afterAll(async () => {
  echo.stop();
  await app[Symbol.asyncDispose]();
});

/** The URL that a request of an automation is sent to with `id` in its input. */
async function reached(id: string, path = "/ok/orders/{{input.id}}/lines?q={{input.id}}") {
  const automation = await makeAutomation(app.owner, {
    steps: [
      {
        key: "get",
        kind: "http_request",
        definition: { url: `${echo.url}${path}` },
      },
    ],
  });
  const run = await flowToEnd(app.owner, automation.id, { input: { id } });
  const [step] = run.steps;
  const { result, error } = (await app.owner("GET", `/api/v1/action-runs/${step.actionRunId}`)).body;
  return error ?? new URL(result.body.url);
}

test("an input in a request's URL reaches no other endpoint", async () => {
  const url = await reached("../../admin?all=1#");
  expect([url.pathname.split("/").length, url.searchParams.get("q")]).toEqual([5, "../../admin?all=1#"]);
});

test("an input that would leave a request's path fails the run", async () => {
  expect(await reached("..")).toMatchObject({ code: "template_error", details: { path: ["url"] } });
});

test.each([
  ["a backslash, which is read as a slash", "/ok/orders\\{{input.id}}\\lines"],
  ["a tab, which is not read", "/ok/orders/{{input.id}}\t/lines"],
  ["a line break, which is not read", "/ok/orders/\n{{input.id}}/lines"],
  ["blanks at the end, which are not read", "/ok/orders/{{input.id}}  "],
])("nor does one next to %s", async (_, path) => {
  expect(await reached("..", path)).toMatchObject({ code: "template_error", details: { path: ["url"] } });
});
