import { expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { makeHook, send } from "../support/hook.ts";
import { startReceiver } from "../support/receiver.ts";
import { ACTIONS, AUTOMATIONS, created, makeAction, runToEnd, until } from "../support/work.ts";

/** Numbers that a double can't hold, and two that it can. */
const LONG =
  '{"id":9007199254740993,"far":1e400,"fine":0.12345678901234567891,"price":1.10,"most":9007199254740991}';
const KEPT = {
  id: "9007199254740993",
  far: "1e400",
  fine: "0.12345678901234567891",
  price: 1.1,
  most: 9007199254740991,
};

const json = { "content-type": "application/json" };

test("a number that JSON numbers can't hold keeps its digits, as text", async () => {
  await using app = await startApp();
  await using system = startReceiver(() => new Response(LONG, { headers: json }));
  const { owner } = app;

  const definition = `{"url":"${system.url}","method":"POST","body":${LONG}}`;
  const action = `{"kind":"http_request","name":"Long","definition":${definition}}`;
  const made = created(await owner("POST", ACTIONS, action, json));
  expect(made.definition.body).toEqual(KEPT);
  const run = await runToEnd(owner, made.id);
  expect(JSON.parse(system.got[0]?.text ?? "")).toEqual(KEPT);
  expect(run.result.body).toEqual(KEPT);

  const artifact = `{"actionRunId":"${run.id}","kind":"json","content":${LONG}}`;
  expect(created(await owner("POST", "/api/v1/artifacts", artifact, json)).content.data).toEqual(KEPT);

  const scope = `{"input":{"text":${JSON.stringify(LONG)},"id":9007199254740993}}`;
  const evaluated = `{"text":"{{ [json.parse(input.text), int(input.id) + 1] }}","scope":${scope}}`;
  const { body } = await owner("POST", "/api/v1/expressions/evaluate", evaluated, json);
  expect(body.value).toEqual([KEPT, "9007199254740994"]);
});

test("an expression over a response compares and computes with such numbers, and returns them as text", async () => {
  await using app = await startApp();
  const rows = '{"rows":[{"id":9007199254740992},{"id":9007199254740993},{"id":7}],"next":9007199254740995}';
  const last = '{"rows":[],"next":null}';
  await using system = startReceiver(
    ({ path }) => new Response(path === "/?after=9007199254740995" ? last : rows, { headers: json }),
  );
  const extracted = async (more: object) => {
    const definition = { url: system.url, ...more };
    const action = await makeAction(app.owner, { kind: "http_request", definition });
    const { error, result } = await runToEnd(app.owner, action.id);
    return error ?? result.extracted;
  };
  const long = "9007199254740993";
  expect(await extracted({ responseExtract: `rows[?id == \`${long}\`].id` })).toEqual([long]);
  expect(await extracted({ responseExtract: `rows[?id == '${long}'].id` })).toEqual([long]);
  expect(await extracted({ responseExtract: "rows[?id > `100`].id | [max(@), sum(@)]" })).toEqual([
    long,
    "18014398509481985",
  ]);
  const pagination = { type: "cursor", cursorPath: "next", cursorParam: "after", itemsPath: "rows" };
  expect(await extracted({ pagination, responseExtract: "max_by(@, &id)" })).toEqual({ id: long });
});

test("a webhook's payload and a run's input keep such numbers too, however long they are", async () => {
  await using app = await startApp();
  await using system = startReceiver();
  const { owner } = app;
  const definition = {
    url: system.url,
    method: "POST",
    body: "{{payload.order}}",
  };
  const hook = await makeHook(app, {
    action: { kind: "http_request", definition },
  });
  for (const filler of ["", "x".repeat(300_000)]) {
    const before = system.got.length;
    expect((await send(app, `{"filler":"${filler}","order":${LONG}}`)).status).toBeLessThan(300);
    await until(owner, `${AUTOMATIONS}/${hook.id}/runs?status=completed`, ({ total }) => total > before);
    expect(JSON.parse(system.got[before]?.text ?? "")).toEqual(KEPT);
  }

  const config = {
    action: {
      kind: "http_request",
      definition: { ...definition, body: "{{input}}" },
    },
  };
  const manual = created(
    await owner("POST", AUTOMATIONS, {
      name: "By hand",
      triggerType: "manual",
      config,
    }),
  );
  const input = `{"input":${LONG}}`;
  const started = created(await owner("POST", `${AUTOMATIONS}/${manual.id}/run`, input, json));
  expect(started.input).toEqual(KEPT);
});
