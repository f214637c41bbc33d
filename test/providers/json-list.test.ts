import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { cutList, pastValue } from "../../src/providers/api/json-list.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const cut = async (text: string, path: string[] = ["rows"]) => {
  const found = await cutList(bytesOf(text), path);
  if (found === null) return null;
  const { bytes, from, to, rows } = found.list;
  return { rows, text: new TextDecoder().decode(bytes.subarray(from, to)), around: found.around };
};

describe("a list in a JSON text", () => {
  test("is found with the text around it", async () => {
    expect(await cut('{"rows":[{"a":1},{"a":2}],"next":"x"}')).toEqual({
      rows: 2,
      text: '{"a":1},{"a":2}',
      around: '{"rows":[],"next":"x"}',
    });
    expect(await cut('[{"a":[]}]', [])).toEqual({ rows: 1, text: '{"a":[]}', around: "[]" });
    expect(await cut(' {"n": null, "data" :\n{"x":"]}","rows": [ {} ]\t} } ', ["data", "rows"])).toEqual({
      rows: 1,
      text: " {} ",
      around: ' {"n": null, "data" :\n{"x":"]}","rows": []\t} } ',
    });
  });

  test.each([
    ["an empty list", '{"rows":[]}'],
    ["no list", '{"rows":{}}'],
    ["nothing", ""],
    ["a list elsewhere", '{"data":{"rows":[{}]}}'],
    ["an item that is no object", '{"rows":[{},null]}'],
    ["an item too few", '{"rows":[{},]}'],
    ["its name twice", '{"rows":[{}],"rows":[{}]}'],
    ["its name in other letters", '{"rows":[{}],"\\u0072ows":[{}]}'],
    ["a text that breaks off", '{"rows":[{"a":1},{"a":2}'],
    ["a text that breaks off after it", '{"rows":[{"a":1}],"next":'],
    ["a text that goes on", '{"rows":[{}]} {}'],
    ["a mark at its start", '\ufeff{"rows":[{}]}'],
    ["a thousand levels", `{"rows":[{"a":${"[".repeat(1000)}${"]".repeat(1000)}}]}`],
    ["a row of more than four megabytes", `{"rows":[{"a":"${"x".repeat(4_000_000)}"}]}`],
  ])("is left to others if there is %s", async (_, text) => {
    expect(await cut(text)).toBeNull();
  });

  test("is left to others if the text isn't UTF-8", async () => {
    expect(await cutList(Buffer.from('{"rows":[{"a":"\xfc"}]}', "latin1"), ["rows"])).toBeNull();
  });

  test("has all rows, and the text around it everything else, whatever these are", async () => {
    const rows = fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { minLength: 1 });
    const more = fc.dictionary(fc.constantFrom("rows", "data", "a", "Ä", "]"), fc.jsonValue());
    const written = fc.constantFrom(undefined, 1, "\t");
    await fc.assert(
      fc.asyncProperty(rows, more, fc.boolean(), written, async (rows, more, isDeep, gap) => {
        const place = isDeep ? ["data", "rows"] : ["rows"];
        const around = (list: unknown) =>
          isDeep ? { ...more, data: { ...more, rows: list } } : { ...more, rows: list };
        const found = await cut(JSON.stringify(around(rows), null, gap), place);
        expect(found?.rows).toBe(rows.length);
        expect(JSON.stringify(JSON.parse(`[${found?.text}]`))).toBe(JSON.stringify(rows));
        expect(JSON.stringify(JSON.parse(found?.around ?? ""))).toBe(JSON.stringify(around([])));
      }),
    );
  });

  test("is found after and before long content", async () => {
    const long = JSON.stringify(Array.from({ length: 40_000 }, (_, n) => ({ n, text: "]}" })));
    expect(await cut(`{"before":${long},"rows":[{"a":1}],"after":${long}}`)).toEqual({
      rows: 1,
      text: '{"a":1}',
      around: `{"before":${long},"rows":[],"after":${long}}`,
    });
    expect(await cut(`{"before":${long}`)).toBeNull();
  });

  test("ends its values where JSON ends them", () => {
    for (const value of ['"a\\"b"', "12.5", "null", '{"a":"}"}', "[[],{}]"])
      for (const after of [",", "]", "}", " ", "\n"])
        expect(pastValue(bytesOf(` ${value}${after}`), 0)).toBe(1 + value.length);
  });
});
