import { describe, expect, test } from "bun:test";
import { canonicalJson, parseJson, parseJsonInSlices, SHORT_CHARACTERS } from "../../src/base/json.ts";
import { parseLong } from "../../src/base/json-parse.ts";
import { writeCanonical, writeJson } from "../../src/base/json-write.ts";
import { LONG_JSON } from "../support/long-json.ts";
import { someOf } from "../support/scale.ts";

const SIZE = 2_000_000;
const long = "x".repeat(SHORT_CHARACTERS);

const odd: Record<string, string> = {
  "a long text": JSON.stringify(`"${'\\\\"'.repeat(200_000)}`),
  "blanks around everything": ` [ { "a" : [ ${'{ "b" : 1 } , '.repeat(40_000)} null ] } , true ] \n`,
  "names that mean something to JavaScript": `{"__proto__":{"a":1},"list":["${long}"],"constructor":2,"7":3,"1":4}`,
  "lists of lists of lists": JSON.stringify(
    Array.from({ length: 60 }, (_, a) => Array.from({ length: 60 }, (_, b) => Array(60).fill(a + b))),
  ),
  "long members beside short ones": JSON.stringify([1, long, { a: [long, 2], b: {} }, [], {}, [long], 3]),
  "numbers that a double changes": `[12345678901234567890,1.10,1e400,-0,"${long}"]`,
  "empty lists and objects": `[${"[],{},".repeat(60_000)}[]]`,
};

describe("long JSON is parsed like short JSON", () => {
  const texts = {
    ...odd,
    ...Object.fromEntries(Object.entries(LONG_JSON).map(([n, make]) => [n, make(SIZE)])),
  };
  test.each(Object.entries(texts))("%s", async (_, text) => {
    expect(text.length).toBeGreaterThan(SHORT_CHARACTERS);
    const value = await parseJsonInSlices(text);
    expect(Bun.deepEquals(value, parseJson(text), true)).toBe(true);
    expect(await writeJson(value)).toBe(JSON.stringify(value));
    expect((await writeCanonical(value)) === canonicalJson(value)).toBe(true);
  });
});

const members = '{"a":1},'.repeat(40_000);
describe("invalid JSON is rejected, however long it is", () => {
  test.each(
    someOf(8, [
      ["a list without its end", `[${members}{}`],
      ["an object without its end", `{"a":[${members}{}]`],
      ["the wrong bracket", `[${members}{}}`],
      ["a bracket too many", `[${members}{}]]`],
      ["a comma before the end", `[${members}]`],
      ["a comma at the beginning", `[,${members}{}]`],
      ["two commas", `[${members},${members}{}]`],
      ["a comma before a long list", `[,[${members}{}]]`],
      ["a comma behind a long list", `[[${members}{}],]`],
      ["nothing between two long lists", `[[${members}{}][${members}{}]]`],
      ["something between a long list and a comma", `[[${members}{}] 1,2]`],
      ["something before a long list", `[1 [${members}{}]]`],
      ["two values", `[${members}{}] 1`],
      ["two long values", `[${members}{}][${members}{}]`],
      ["no colon before a long list", `{"a" [${members}{}]}`],
      ["two colons before a long list", `{"a"::[${members}{}]}`],
      ["no key before a long list", `{[${members}{}]}`],
      ["two keys before a long list", `{"a" "b":[${members}{}]}`],
      ["a line break in the key of a long list", `{"a\n":[${members}{}]}`],
      ["an unknown word", `[${members}nothing]`],
      ["a text without its end", `[${members}"${long}]`],
      ["single quotes", `['${long}']`],
    ]),
  )("%s", async (_, text) => {
    expect(text.length).toBeGreaterThan(SHORT_CHARACTERS);
    expect(() => JSON.parse(text)).toThrow();
    await expect((async () => parseJsonInSlices(text))()).rejects.toMatchObject({
      faults: [{ loc: ["body"], type: "json_invalid" }],
    });
  });

  test("an object with more than 50,000 keys", async () => {
    const keys = Array.from({ length: 50_001 }, (_, n) => `"key ${n}":1`);
    const msg = "A JSON object can have at most 50,000 keys. Send fewer at a time.";
    await expect((async () => parseJsonInSlices(`[{${keys.join()}}]`))()).rejects.toMatchObject({
      faults: [{ loc: ["body"], msg, type: "json_too_large" }],
    });
    expect(Object.keys((await parseJsonInSlices(`{${keys.slice(1).join()}}`)) as object)).toHaveLength(
      50_000,
    );
  });

  test.each([
    ["a key twice", `{"a":[${members}{}],"b":1,"a":2}`],
    ["the same key, written in two ways", `{"a":[${members}{}],"\\u0061":2}`],
    ["65 levels", `[${"[".repeat(64)}"${long}"${"]".repeat(65)}`],
    ["more than 500,000 lists and objects", `[${"{},".repeat(500_000)}{}]`],
  ])("%s, with the same message as short JSON", async (_, text) => {
    const sentence = faultOf(() => parseJson(text));
    expect(sentence).not.toBeNull();
    await expect((async () => parseJsonInSlices(text))()).rejects.toMatchObject({ faults: [sentence] });
  });
});

function faultOf(work: () => unknown): object | null {
  try {
    work();
    return null;
  } catch (error) {
    return (error as { faults: object[] }).faults[0] ?? null;
  }
}

test("other requests get their turn while long JSON is parsed and written", async () => {
  const text = LONG_JSON["texts that differ"]!(SIZE);
  let turns = 0;
  const count = setInterval(() => turns++, 0);
  const value = await parseJsonInSlices(text);
  const afterParse = turns;
  await writeCanonical(value);
  clearInterval(count);
  expect(afterParse).toBeGreaterThan(1);
  expect(turns).toBeGreaterThan(afterParse);
});

test("what is too long for a value is kept as its text, and the rest of the message is read", async () => {
  const many = `[${'{"a":[1,"]"]}, '.repeat(30_000)}"ü\\"" ]`;
  const few = JSON.stringify([long, long]);
  const text = `{"deep":{"many":${many},"few":${few},"wrapped":[1,${many},2]},"top":[1]}`;
  const rules = { maxDepth: 64, maxObjects: Infinity, maxValues: Infinity, maxKeys: null };
  const asText = { depth: 3, characters: 200_000, values: 50_000, make: (kept: string) => ({ kept }) };
  const value = await parseLong(text, { ...rules, asText });
  expect(
    Bun.deepEquals(
      value,
      { deep: { many: { kept: many }, few: [long, long], wrapped: { kept: `[1,${many},2]` } }, top: [1] },
      true,
    ),
  ).toBe(true);
  const cut = text.replace(/\]\},"top"/, '}},"top"');
  await expect(parseLong(cut, { ...rules, asText })).rejects.toMatchObject({ rule: "grammar" });
});
