import { expect, setDefaultTimeout, test } from "bun:test";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { flowToEnd, makeAutomation, RUNS } from "../support/work.ts";
import { startData } from "./place.ts";

setDefaultTimeout(120_000);

test("templates of later steps see all of a result that is stored as an artifact", async () => {
  const items = Array.from({ length: 4000 }, (_, id) => ({ id, text: "x".repeat(100) }));
  await using receiver = startReceiver(({ method }) =>
    Response.json(method === "GET" ? { items } : { ok: true }),
  );
  await using data = await startData();
  const post = (body: unknown) => ({ method: "POST", url: receiver.url, body });
  const flow = await makeAutomation(data.owner, {
    steps: [
      { key: "large", kind: "http_request", definition: { url: receiver.url } },
      {
        key: "one",
        kind: "http_request",
        dependsOn: ["large"],
        definition: post({
          text: "{{steps.large.result.body.items[3999].text}}",
          status: "{{steps.large.result.status}}",
        }),
      },
      {
        key: "sum",
        kind: "duckdb_transform",
        dependsOn: ["large"],
        definition: {
          sql: "select count(*) as n, sum((i->>'id')::int) as ids from (select unnest(cast({{steps.large.result.body.items}} as json[])) as i)",
          output: { layer: "marts", dataset: "large" },
        },
      },
      {
        key: "well",
        kind: "conditional_branch",
        dependsOn: ["large"],
        when: "steps.large.result.status == 200",
        definition: {
          branches: [
            {
              key: "yes",
              when: "steps.large.result.status == 200 && size(steps.large.result.body.items) == 4000",
            },
          ],
          else: "no",
        },
      },
      {
        key: "all",
        kind: "http_request",
        dependsOn: ["one"],
        definition: post("{{steps.large.result.body}}"),
      },
      {
        key: "gone",
        kind: "http_request",
        dependsOn: ["all"],
        definition: post("{{steps.large.result.body.nothing}}"),
        onError: "continue",
      },
    ],
  });
  const run = await flowToEnd(data.owner, flow.id);
  expect([run.status, run.error]).toEqual(["completed", null]);
  const posted = receiver.got.filter(({ method }) => method === "POST").map(({ text }) => JSON.parse(text));
  expect(posted).toEqual([{ text: "x".repeat(100), status: 200 }, { items }]);
  expect(await data.rows("select n, ids from marts.large")).toEqual([{ n: 4000, ids: (3999 * 4000) / 2 }]);

  const step = (key: string) => run.steps.find((each: { key: string }) => each.key === key);
  const { result } = (await data.owner("GET", `${RUNS}/${step("large").actionRunId}`)).body;
  expect(Object.keys(result)).toEqual(["artifactId", "summary"]);
  expect((await data.owner("GET", `${RUNS}/${step("well").actionRunId}`)).body.result).toEqual({
    branch: "yes",
  });
  expect(step("gone").error).toMatchObject({ code: "template_error" });
});

deepTest(
  "a template in SQL is a parameter even if it reads a result too long for the server to parse",
  async () => {
    const text = "it's; drop table x --";
    const items = Array.from({ length: 12_000 }, (_, id) => ({
      id,
      text: id === 0 ? text : "x".repeat(100),
    }));
    await using receiver = startReceiver(() => Response.json({ items }));
    await using data = await startData();
    const sql =
      "select {{steps.large.result.body.items[0].text}} as a, '<{{steps.large.result.body.items[0].text}}>' as b";
    const flow = await makeAutomation(data.owner, {
      steps: [
        { key: "large", kind: "http_request", definition: { url: receiver.url } },
        { key: "rows", kind: "duckdb_transform", dependsOn: ["large"], definition: { sql } },
      ],
    });
    const run = await flowToEnd(data.owner, flow.id);
    expect([run.status, run.error]).toEqual(["completed", null]);
    expect(run.result.rows.items).toEqual([{ a: text, b: `<${text}>` }]);
  },
);
