import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { automations } from "../../src/resources/automations/table.ts";
import { startApp } from "../support/app.ts";
import { startReceiver } from "../support/receiver.ts";
import { AUTOMATIONS, faultsOf, flowToEnd, makeAutomation } from "../support/work.ts";

describe("a body with bodyType json", () => {
  test("sends a text of a template as a JSON string, whatever it says", async () => {
    await using app = await startApp();
    await using receiver = startReceiver();
    const flow = await makeAutomation(app.owner, {
      steps: [
        { body: "{{input.s}}" },
        { body: "{{ input.s + '' }}" },
        { body: "{{ items[0] }}", batch: { items: "{{ [input.s] }}" } },
      ].map((fields, index) => ({
        key: `s${index}`,
        kind: "http_request",
        definition: { method: "POST", url: receiver.url, bodyType: "json", ...fields },
      })),
    });
    const sent = async (s: unknown) => {
      receiver.got.length = 0;
      expect(await flowToEnd(app.owner, flow.id, { input: { s } })).toMatchObject({ status: "completed" });
      return new Set(receiver.got.map(({ text }) => text));
    };
    expect(await sent("abc")).toEqual(new Set(['"abc"']));
    expect(await sent("123")).toEqual(new Set(['"123"']));
    expect(await sent("null")).toEqual(new Set(['"null"']));
    expect(await sent('{"a":1}')).toEqual(new Set(['"{\\"a\\":1}"']));
    expect(receiver.got).toHaveLength(3);
  });

  test("sends a value of a template as it is, and a text that is written out as the JSON that it is", async () => {
    await using app = await startApp();
    await using receiver = startReceiver();
    const bodies = ["{{input.n}}", '{"n": {{input.n}}}', "{{ json.parse(input.text) }}", "plain {{input.n}}"];
    const flow = await makeAutomation(app.owner, {
      steps: bodies.map((body, index) => ({
        key: `s${index}`,
        kind: "http_request",
        definition: { method: "POST", url: `${receiver.url}/${index}`, body, bodyType: "json" },
      })),
    });
    await flowToEnd(app.owner, flow.id, { input: { n: 7, text: '{"a":[1]}' } });
    const sorted = receiver.got.toSorted((a, b) => a.path.localeCompare(b.path));
    expect(sorted.map(({ text }) => text)).toEqual(["7", '{"n": 7}', '{"a":[1]}', '"plain 7"']);
  });
});

describe("a template in a key", () => {
  const post = (url: string, fields: object) => ({
    kind: "http_request",
    definition: { method: "POST", url, ...fields },
  });

  test("is rejected when it is saved, with the expression that creates such an object", async () => {
    await using app = await startApp();
    await using receiver = startReceiver();
    const create = (config: object) =>
      app.owner("POST", AUTOMATIONS, { name: "x", triggerType: "manual", config });
    const body = { list: [{ "{{input.k}}": 1 }], "a {{ input.n + 1 }}": { "{{x": 1, "{{": 2, "}}": 3 } };
    const refused = await create({ action: post(receiver.url, { body, query: { "{{input.k}}": "x" } }) });
    expect(faultsOf(refused)).toEqual([
      "body.config.action.definition.body.list.0.{{input.k}} template_error",
      "body.config.action.definition.body.a {{ input.n + 1 }} template_error",
      "body.config.action.definition.query.{{input.k}} template_error",
    ]);
    expect(refused.body.detail[0].msg).toContain("{{ {input.key: input.value} }}");
    const flow = await makeAutomation(app.owner, {
      action: post(receiver.url, { body: "{{ {input.key: input.value} }}" }),
    });
    await flowToEnd(app.owner, flow.id, { input: { key: "k", value: 1 } });
    expect(receiver.got.map(({ text }) => text)).toEqual(['{"k":1}']);
    const source = "export default () => ({ '{{input.k}}': 1 })";
    await makeAutomation(app.owner, { action: { kind: "run_script", definition: { source } } });
  });

  test("that was stored earlier is sent as it is, and its automation can still be renamed", async () => {
    await using app = await startApp();
    await using receiver = startReceiver();
    const flow = await makeAutomation(app.owner, { action: post(receiver.url, { body: { k: 1 } }) });
    const config = { action: post(receiver.url, { body: { "{{input.k}}": 1 } }) };
    await app.app.store.write((db) =>
      db.update(automations).set({ config }).where(eq(automations.id, flow.id)),
    );
    expect((await app.owner("PATCH", `${AUTOMATIONS}/${flow.id}`, { name: "Renamed" })).status).toBe(200);
    await flowToEnd(app.owner, flow.id, { input: { k: "a" } });
    expect(receiver.got.map(({ text }) => text)).toEqual(['{"{{input.k}}":1}']);
  });
});
