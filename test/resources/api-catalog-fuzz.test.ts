import { expect, test } from "bun:test";
import fc from "fast-check";
import { AppError } from "../../src/base/errors.ts";
import { read } from "../../src/base/shape.ts";
import { readContent } from "../../src/catalog/content.ts";
import { catalogFaults } from "../../src/resources/api-catalog/faults.ts";
import { HttpApiCreate } from "../../src/resources/api-catalog/wire.ts";
import { SHOP } from "../peers/api.ts";
import { httpApi } from "../support/catalog.ts";

/** Values of an unexpected type. */
const ODD = [
  null,
  true,
  -1,
  1e308,
  "",
  "{{",
  "{{input.x}}",
  "/a?b#c",
  "../..",
  "\ud800",
  "http://[",
  [],
  [null],
  {},
  { $ref: "#" },
  { $ref: "#/components/schemas/Node" },
  { $ref: "other.json#/x" },
  { type: ["x", null] },
  { in: "path", name: "{}" },
  { in: "header", name: "Host" },
];
const KEYS = ["$ref", "type", "name", "in", "properties", "items", "required", "schema", "url", "x"];

interface Change {
  /** The key to follow at each level. */
  way: number[];
  odd: number;
  key: number;
  how: number;
}

const change: fc.Arbitrary<Change> = fc.record({
  way: fc.array(fc.nat(50), { minLength: 1, maxLength: 10 }),
  odd: fc.nat(ODD.length - 1),
  key: fc.nat(KEYS.length - 1),
  how: fc.nat(2),
});

type Node = Record<string, unknown>;

function changed(document: object, changes: readonly Change[]): object {
  const copy = structuredClone(document) as Node;
  for (const { way, odd, key, how } of changes) {
    let at: unknown = copy;
    let parent: Node | null = null;
    let last = "";
    for (const step of way) {
      const keys = typeof at === "object" && at !== null ? Object.keys(at) : [];
      if (keys.length === 0) break;
      parent = at as Node;
      last = keys[step % keys.length] ?? "";
      at = parent[last];
    }
    if (!parent) continue;
    if (how === 0) parent[last] = structuredClone(ODD[odd]);
    else if (how === 1) delete parent[last];
    else parent[KEYS[key] ?? "x"] = structuredClone(ODD[odd]);
  }
  return copy;
}

const HAR = {
  log: {
    entries: [
      {
        request: {
          method: "POST",
          url: "https://a.example/orders/1?b=2",
          headers: [{ name: "X", value: "y" }],
          postData: { mimeType: "application/json", text: '{"a":1}' },
        },
        response: { content: { mimeType: "application/json" } },
      },
    ],
  },
};
const POSTMAN = {
  info: { name: "Shop", schema: "https://schema.getpostman.com/json/collection/v2.1.0/collection.json" },
  variable: [{ key: "host", value: "https://a.example" }],
  auth: { type: "apikey", apikey: [{ key: "key", value: "X" }] },
  item: [
    {
      name: "Orders",
      item: [
        {
          name: "One",
          request: {
            method: "POST",
            url: { raw: "{{host}}/a/:id", query: [{ key: "a", value: "b" }] },
            header: [{ key: "a", value: "b" }],
            body: { mode: "raw", raw: '{"a":1}', options: { raw: { language: "json" } } },
          },
        },
      ],
    },
  ],
};

test("whatever a description contains, the result can be added to the catalog", () =>
  fc.assert(
    fc.asyncProperty(
      fc.constantFrom<object>(SHOP, HAR, POSTMAN),
      fc.array(change, { minLength: 1, maxLength: 5 }),
      fc.constantFrom(null, "https://a.example", "https://a.example/v1"),
      fc.double({ min: 0.1, max: 3, noNaN: true }),
      async (document, changes, baseUrl, share) => {
        const text = JSON.stringify(changed(document, changes));
        const content = text.slice(0, Math.ceil(text.length * share)); // Sometimes truncated in the middle.
        let endpoints: unknown[];
        try {
          endpoints = (await readContent(content, "auto", baseUrl))?.endpoints ?? [];
        } catch (error) {
          expect(error).toBeInstanceOf(AppError);
          return;
        }
        expect(JSON.stringify(endpoints)).not.toMatch(/"\$ref":"(?!\{\{)/); // Names and values may contain this.
        if (endpoints.length === 0) return;
        const body = JSON.parse(JSON.stringify(httpApi("Read", { endpoints })));
        expect([...read(HttpApiCreate, body, ["body"]).faults, ...catalogFaults(body)]).toEqual([]);
      },
    ),
    { numRuns: 400, seed: 20_26 },
  ));
