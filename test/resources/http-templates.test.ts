import { describe, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { startReceiver } from "../support/receiver.ts";
import { flowToEnd, makeAutomation } from "../support/work.ts";

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
