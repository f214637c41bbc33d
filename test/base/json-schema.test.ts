import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Check } from "typebox/schema";
import type { Json } from "../../src/base/json.ts";
import { schemaFaults, valueFaults } from "../../src/base/json-schema.ts";

const schemaTold = (schema: unknown) =>
  schemaFaults(schema).map(({ path, type }) => `/${path.join("/")} ${type}`);
const told = (schema: Json, value: Json) =>
  valueFaults(schema, value).map(({ path, type }) => `/${path.join("/")} ${type}`);

const Order: Json = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 2, maxLength: 4 },
    amount: { type: "number", minimum: 0, multipleOf: 0.1 },
    color: { enum: ["red", "blue"] },
    lines: { type: "array", minItems: 1, items: { $ref: "#/$defs/line" }, uniqueItems: true },
  },
  required: ["name", "amount"],
  additionalProperties: false,
  $defs: {
    line: { type: "object", properties: { sku: { type: "string", pattern: "^[A-Z]+$" } }, required: ["sku"] },
  },
};

describe("a value against a schema", () => {
  test("matches, or every fault is reported with its path and type", () => {
    expect(valueFaults(Order, { name: "Anna", amount: 0.3, color: "red", lines: [{ sku: "A" }] })).toEqual(
      [],
    );
    expect(told(Order, { name: "A", color: "green", lines: [{ sku: "a" }, {}, 7], more: 1 })).toEqual([
      "/amount missing",
      "/name string_too_short",
      "/color enum",
      "/lines/0/sku string_pattern_mismatch",
      "/lines/1/sku missing",
      "/lines/2 dict_type",
      "/more extra_forbidden",
    ]);
    expect(told(Order, { name: "A🚀🚀🚀", amount: 0.25, lines: [] })).toEqual([
      "/amount multiple_of",
      "/lines too_short",
    ]);
    expect(told(Order, { name: "Anna", amount: -1, lines: [{ sku: "A" }, { sku: "A" }] })).toEqual([
      "/amount greater_than_equal",
      "/lines not_unique",
    ]);
    expect(valueFaults(Order, { name: "Anna" })).toEqual([
      { path: ["amount"], message: "Field required", type: "missing" },
    ]);
  });

  test("gets the faults of the intended alternative", () => {
    const forms: Json = {
      oneOf: [
        {
          type: "object",
          properties: { kind: { const: "a" }, size: { type: "integer" } },
          required: ["kind"],
        },
        {
          type: "object",
          properties: { kind: { const: "b" }, size: { type: "string" } },
          required: ["kind"],
        },
      ],
    };
    expect(told(forms, { kind: "a", size: 1 })).toEqual([]);
    expect(told(forms, { kind: "b", size: 1 })).toEqual(["/size string_type"]);
    expect(told({ anyOf: [{ type: "string" }, { type: "null" }] }, 7)).toEqual(["/ union_error"]);
  });

  test.each([
    ["date", "2024-02-29", "2023-02-29"],
    ["date-time", "2024-02-29T10:00:00Z", "2024-02-29 10:00"],
    ["time", "23:59:59+01:00", "24:00:00Z"],
    ["email", "ada@example.com", "ada@"],
    ["uuid", "01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d"],
    ["uri", "https://example.com/x", "example.com"],
    ["ipv4", "10.0.0.1", "10.0.0.256"],
    ["ipv6", "::1", ":::1"],
    ["hostname", "a.example", "-a.example"],
    ["duration", "P1DT2H", "1 day"],
    ["regex", "^a+$", "("],
  ])("knows the format %s", (format, good, bad) => {
    expect(told({ format }, good)).toEqual([]);
    expect(told({ format }, bad)).toEqual([`/ ${format}_parsing`]);
  });

  test("ignores unknown formats", () => expect(told({ format: "textarea" }, "x")).toEqual([]));

  test("has names like those of every object as plain names", () => {
    const schema = JSON.parse(
      '{"properties":{"__proto__":{"type":"string"}},"required":["constructor"],"additionalProperties":false}',
    );
    expect(told(schema, JSON.parse('{"__proto__":1,"toString":1}'))).toEqual([
      "/constructor missing",
      "/__proto__ string_type",
      "/toString extra_forbidden",
    ]);
  });

  test("gets the same result as from an independent implementation", () => {
    const property = fc.property(
      schemas,
      fc.array(values, { minLength: 1, maxLength: 6 }),
      (schema, samples) => {
        expect(schemaFaults(schema)).toEqual([]);
        for (const value of samples) {
          expect({ schema, value, fits: valueFaults(schema, value).length === 0 }).toEqual({
            schema,
            value,
            fits: Check(schema as never, value),
          });
        }
      },
    );
    fc.assert(property, { numRuns: 1_000 });
  });
});

describe("a schema", () => {
  test("is rejected with the path of each fault", () => {
    expect(
      schemaTold({ type: "objekt", properties: { a: { minLength: -1 }, b: 3 }, required: ["x", "x"] }),
    ).toEqual([
      "/type schema_invalid",
      "/properties/a/minLength schema_invalid",
      "/properties/b schema_invalid",
      "/required schema_invalid",
    ]);
    expect(schemaTold({ allOf: [], multipleOf: 0, enum: [], items: 7, properties: [] })).toEqual([
      "/allOf schema_invalid",
      "/multipleOf schema_invalid",
      "/enum schema_invalid",
      "/items schema_invalid",
      "/properties schema_invalid",
    ]);
    for (const schema of [null, 7, "x", []]) expect(schemaTold(schema)).toEqual(["/ schema_invalid"]);
    for (const keyword of ["unevaluatedProperties", "$dynamicRef", "$anchor"]) {
      expect(schemaTold({ [keyword]: "x" })).toEqual([`/${keyword} schema_invalid`]);
    }
    expect(schemaTold({ title: "T", "x-order": [1], default: {}, $id: "https://example.com/a" })).toEqual([]);
  });

  test("has a limited number of patterns, and of names to match against them", () => {
    const patterns = (n: number, source: (i: number) => string) =>
      Object.fromEntries(Array.from({ length: n }, (_, i) => [source(i), {}]));
    const large = (i: number) => `^((a{1,30}){1,30})${i}$`;
    expect(schemaTold({ patternProperties: patterns(300, (i) => `^x${i}$`) })).toEqual([]);
    for (const [n, source] of [
      [500, (i: number) => `^x${i}$`],
      [100, large],
    ] as const) {
      const told = schemaTold({ patternProperties: patterns(n, source) });
      expect(told.at(-1)).toBe(`/patternProperties/${source(n - 1)} pattern_invalid`);
      const properties = Object.values(patterns(n, source)).map((_, i) => ({ pattern: source(i) }));
      expect(schemaTold({ allOf: properties }).at(-1)).toBe(`/allOf/${n - 1}/pattern pattern_invalid`);
    }
    const names = Object.fromEntries(Array.from({ length: 1_500 }, (_, i) => [`${"xy".repeat(10)}${i}`, 1]));
    expect(told({ patternProperties: patterns(300, (i) => `^(x|y)*${i}$`) }, names)).toEqual([
      "/ too_complex",
    ]);
  });

  test("only has patterns that run in linear time", () => {
    for (const pattern of ["(", "(?=a)", "(a)\\1", "(a{1,1000}){1,1000}", "a".repeat(1_001)]) {
      expect(schemaTold({ pattern })).toEqual(["/pattern pattern_invalid"]);
      expect(schemaTold({ patternProperties: { [pattern]: {} } })).toEqual([
        `/patternProperties/${pattern} pattern_invalid`,
      ]);
    }
    expect(schemaTold({ pattern: "a".repeat(1_000) })).toEqual([]);
    const bomb = "^(a+)+$";
    expect(told({ pattern: bomb }, `${"a".repeat(5_000)}b`)).toEqual(["/ string_pattern_mismatch"]);
    expect(told({ pattern: bomb }, "a".repeat(5_000))).toEqual([]);
    expect(told({ patternProperties: { [bomb]: false } }, { [`${"a".repeat(5_000)}b`]: 1 })).toEqual([]);
  });

  test("only refers to places in itself, and never back to itself in place", () => {
    for (const $ref of ["https://example.com/s", "other.json", "#/$defs/none", "#name", "#/%", 7]) {
      expect(schemaTold({ $ref, $defs: {} })).toEqual(["/$ref ref_unknown"]);
    }
    expect(schemaTold({ $ref: "#" })).toEqual(["/$ref ref_circular"]);
    expect(
      schemaTold({ $defs: { a: { anyOf: [{ $ref: "#/$defs/b" }] }, b: { not: { $ref: "#/$defs/a" } } } }),
    ).toEqual(["/$defs/a/anyOf/0/$ref ref_circular"]);
    const tree: Json = { type: "object", properties: { child: { $ref: "#" } }, additionalProperties: false };
    expect(told(tree, { child: { child: { other: 1 } } })).toEqual(["/child/child/other extra_forbidden"]);
    expect(told({ $ref: "#/$defs/a~1b%20c", $defs: { "a/b c": { type: "null" } } }, 1)).toEqual([
      "/ none_required",
    ]);
  });

  test("has limits for length, depth and number", () => {
    let deep: Json = {};
    for (let i = 0; i < 32; i++) deep = { not: deep };
    expect(schemaTold(deep)).toEqual([]);
    expect(schemaFaults({ not: deep })[0]?.type).toBe("too_deep");
    expect(schemaTold({ description: "x".repeat(65_537) })).toEqual(["/ too_long"]);
    expect(schemaTold({ allOf: Array.from({ length: 2_500 }, () => true) })).toEqual([]);
    expect(schemaFaults({ allOf: Array.from({ length: 2_500 }, () => ({})) })[0]?.type).toBe("too_long");
  });

  test("that is invalid checks nothing, and says why", () => {
    expect(() => valueFaults({ properties: { a: { type: "int" } } }, {})).toThrow("at properties.a.type");
  });

  test("that multiplies the work soon ends in a fault", () => {
    const twice: Json = {
      allOf: [{ properties: { a: { $ref: "#" } } }, { properties: { a: { $ref: "#" } } }],
    };
    let value: Json = {};
    for (let i = 0; i < 60; i++) value = { a: value };
    expect(told(twice, value)).toEqual(["/ too_complex"]);

    const doubling: { [key: string]: Json } = { d0: { type: "string" } };
    for (let i = 1; i < 30; i++)
      doubling[`d${i}`] = { allOf: [{ $ref: `#/$defs/d${i - 1}` }, { $ref: `#/$defs/d${i - 1}` }] };
    expect(told({ $ref: "#/$defs/d29", $defs: doubling }, "x")).toEqual(["/ too_complex"]);

    const many = Array.from({ length: 3_000 }, (_, index) => `v${index}`);
    expect(
      told(
        { items: { enum: many } },
        Array.from({ length: 3_000 }, () => "x"),
      ),
    ).toEqual(["/ too_complex"]);
  });
});

const scalars = fc.constantFrom<Json>(null, true, false, 0, 1, 2, 1.5, -1, "", "a", "b", "ab", "aab");
const { value: values } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalars,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "ab"), tie("value"), { maxKeys: 3 }),
  ),
}));

const keys = fc.constantFrom("a", "b", "ab");
const small = fc.integer({ min: 0, max: 2 });
const { schema: schemas } = fc.letrec<{ schema: Json }>((tie) => {
  const inner = tie("schema");
  const list = fc.array(inner, { minLength: 1, maxLength: 2 });
  const keyword: fc.Arbitrary<[string, Json]> = fc.oneof(
    fc.tuple(
      fc.constant("type"),
      fc.constantFrom<Json>("object", "array", "string", "number", "integer", "null", "boolean", [
        "string",
        "array",
      ]),
    ),
    fc.tuple(fc.constant("const"), scalars),
    fc.tuple(fc.constant("enum"), fc.array(values, { minLength: 1, maxLength: 3 })),
    fc.tuple(
      fc.constantFrom("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
      small,
    ),
    fc.tuple(fc.constantFrom("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), small),
    fc.tuple(fc.constant("multipleOf"), fc.constantFrom<Json>(0.5, 1, 2)),
    fc.tuple(fc.constant("pattern"), fc.constantFrom<Json>("^a", "b$", "^a+b?$")),
    fc.tuple(fc.constant("uniqueItems"), fc.boolean()),
    fc.tuple(fc.constant("required"), fc.uniqueArray(keys, { maxLength: 2 })),
    fc.tuple(
      fc.constant("dependentRequired"),
      fc.dictionary(keys, fc.uniqueArray(keys, { maxLength: 2 }), { maxKeys: 1 }),
    ),
    fc.tuple(
      fc.constantFrom(
        "additionalProperties",
        "propertyNames",
        "items",
        "contains",
        "not",
        "if",
        "then",
        "else",
      ),
      inner,
    ),
    fc.tuple(fc.constantFrom("allOf", "anyOf", "oneOf", "prefixItems"), list),
    fc.tuple(fc.constantFrom("properties", "dependentSchemas"), fc.dictionary(keys, inner, { maxKeys: 2 })),
    fc.tuple(
      fc.constant("patternProperties"),
      fc.dictionary(fc.constantFrom("^a", "b$"), inner, { maxKeys: 2 }),
    ),
  );
  return {
    schema: fc.oneof(
      { maxDepth: 3 },
      fc.boolean(),
      fc.array(keyword, { maxLength: 3 }).map((entries) => Object.fromEntries(entries)),
    ),
  };
});
