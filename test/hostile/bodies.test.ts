import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { MAX_FAULTS } from "../../src/base/errors.ts";
import { startApp } from "../support/app.ts";
import { ACTIONS, AUTOMATIONS, branch, NOBODY } from "../support/work.ts";

let app: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  app = await startApp({ engine: false });
});
afterAll(() => app[Symbol.asyncDispose]());

const MANY = 100_000;
const unknownFields = Object.fromEntries(Array.from({ length: MANY }, (_, i) => [`k${i}`, 1]));
const badTemplates = Object.fromEntries(Array.from({ length: MANY }, (_, i) => [`h${i}`, "{{"]));
const manual = (config: object) => ({ name: "a", triggerType: "manual", config });

/** Comparing each fault with all others took minutes of the only thread; these tests then time out. */
describe("a body with a hundred thousand faults is rejected quickly, with the first thousand of them", () => {
  test.each([
    ["unknown fields", ACTIONS, { name: "a", kind: "http_request", ...unknownFields }],
    ["of a definition", ACTIONS, { name: "a", kind: "http_request", definition: unknownFields }],
    [
      "bad templates",
      ACTIONS,
      { name: "a", kind: "http_request", definition: { url: "http://a.example", headers: badTemplates } },
    ],
    ["of a config", AUTOMATIONS, manual(unknownFields)],
    [
      "of the steps of an automation",
      AUTOMATIONS,
      manual({
        steps: Array.from({ length: 200 }, (_, i) => ({
          key: `s${i}`,
          kind: "conditional_branch",
          definition: Object.fromEntries(Object.entries(unknownFields).slice(0, 500)),
        })),
      }),
    ],
    ["of a list", "/api/v1/dead-letters/replay", { ids: Array.from({ length: MANY }, () => 1) }],
  ])("%s", async (_, path, body) => {
    const answer = await app.owner("POST", path, body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail.length).toBeLessThanOrEqual(2 * MAX_FAULTS);
  });
});

test("every fault of a body with a few is still reported", async () => {
  const answer = await app.owner("POST", ACTIONS, {
    kind: "conditional_branch",
    definition: { branches: Array.from({ length: 50 }, () => ({ key: 1 })) },
  });
  expect(answer.body.detail.length).toBe(101); // The name, and for each branch its key and what it lacks.
});

test.each([
  ["no length of four", "AAA"],
  ["padding within", "AA=A"],
  ["too much padding", "A==="],
  ["another alphabet", "AA-_"],
  ["nine million signs and a wrong one", `${"A".repeat(8_999_999)}!`],
])("invalid base64 is rejected: %s", async (_, data) => {
  const content = { fileName: "a.bin", mimeType: "text/plain", data };
  const answer = await app.owner("POST", "/api/v1/artifacts", { actionRunId: NOBODY, kind: "file", content });
  expect(answer.body.detail[0]).toMatchObject({ loc: ["body", "content", "data"], type: "base64_parsing" });
});

test("names that every object has are fields like any other", async () => {
  for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
    const text = `{"kind":"conditional_branch","name":"x","definition":${JSON.stringify(branch())},"${name}":{"a":1}}`;
    const answer = await app.owner("POST", ACTIONS, text, { "content-type": "application/json" });
    expect(answer.body.detail).toEqual([
      { loc: ["body", name], msg: expect.any(String), type: "extra_forbidden" },
    ]);
  }
});

test("a body with more template expressions than are parsed at once is rejected", async () => {
  const of = (count: number) => ({
    name: "many",
    kind: "http_request",
    definition: { url: "http://a.example", method: "POST", body: "{{input.a}}".repeat(count) },
  });
  expect((await app.owner("POST", ACTIONS, of(10_000))).status).toBe(201);
  const refused = await app.owner("POST", ACTIONS, of(10_001));
  expect([refused.status, refused.body.detail]).toEqual([
    422,
    [
      {
        loc: ["body"],
        msg: "A request body can have at most 10,000 template expressions.",
        type: "json_too_large",
      },
    ],
  ]);
});

test("a template can be deeper than any value, up to a limit", async () => {
  const of = (count: number) => ({
    name: "deep",
    kind: "http_request",
    definition: { url: `http://a.example/{{input${".a".repeat(count)}}}` },
  });
  expect((await app.owner("POST", ACTIONS, of(999))).status).toBe(201);
  const refused = await app.owner("POST", ACTIONS, of(1_000));
  expect([refused.status, refused.body.detail[0]?.type]).toEqual([422, "template_error"]);
});

test("a body of millions of lists is rejected before they take memory", async () => {
  const nested = `{"name":"a","kind":"http_request","definition":{"body":[${"[],".repeat(3_000_000)}[]]}}`;
  const answer = await app.owner("POST", ACTIONS, nested, { "content-type": "application/json" });
  expect(answer.status).toBe(422);
  expect(answer.body.detail).toEqual([
    {
      loc: ["body"],
      msg: "JSON can have at most 25,000 values. Send fewer at a time.",
      type: "json_too_large",
    },
  ]);
});
