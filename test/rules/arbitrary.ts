import fc from "fast-check";
import { NOBODY } from "../support/work.ts";
import type { Described, Schema } from "./document.ts";

/** Names that every object has. */
const OWN_NAMES = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "valueOf",
  "then",
  "length",
];

const texts = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom(...OWN_NAMES),
  fc.constantFrom(
    "",
    " ",
    "\u0000",
    "a\u0000b",
    "\ud800",
    "\u202e",
    "ﷺ",
    "👩‍👩‍👧‍👦",
    "%",
    "%00",
    "'; --",
    "{{payload}}",
    "{{",
    "null",
    "../../x",
  ),
  fc.integer({ min: 90, max: 3000 }).map((length) => "ß".repeat(length)),
);

const numbers = fc.constantFrom(
  -1,
  0,
  -0,
  0.5,
  1e308,
  -1e308,
  5e-324,
  2 ** 53,
  2 ** 63,
  -(2 ** 31) - 1,
  101,
  1e21,
);

const nested = fc
  .tuple(fc.integer({ min: 1, max: 200 }), fc.boolean())
  .map(([depth, isList]) =>
    JSON.parse(
      isList ? "[".repeat(depth) + "]".repeat(depth) : `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`,
    ),
  );

/** Values that hardly any field accepts. */
const junk: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: texts },
  { weight: 3, arbitrary: numbers },
  { weight: 2, arbitrary: fc.constantFrom(null, true, false, [], {}) },
  { weight: 1, arbitrary: nested },
  { weight: 1, arbitrary: fc.array(fc.constantFrom(...OWN_NAMES, 1, null), { maxLength: 300 }) },
  {
    weight: 1,
    arbitrary: fc.dictionary(
      fc.constantFrom(...OWN_NAMES, "a", "id", "kind"),
      fc.jsonValue({ maxDepth: 2 }),
      { noNullPrototype: true },
    ),
  },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
);

const FORMATS: Readonly<Record<string, fc.Arbitrary<string>>> = {
  uuid: fc.oneof(fc.constant(NOBODY), fc.uuid()),
  "date-time": fc
    .date({ min: new Date(0), max: new Date("2100-01-01"), noInvalidDate: true })
    .map((date) => date.toISOString()),
  date: fc
    .date({ min: new Date(0), max: new Date("2100-01-01"), noInvalidDate: true })
    .map((date) => date.toISOString().slice(0, 10)),
  email: fc.constantFrom("ada@example.com", "nobody@example.com"),
  uri: fc.constantFrom("http://127.0.0.1:9/", "https://example.invalid/a?b=c"),
};

const known = new WeakMap<Schema, fc.Arbitrary<unknown>>();

/** Values that match a schema, as far as it says. Cached by schema. */
function fitting(schema: Schema): fc.Arbitrary<unknown> {
  const made = known.get(schema) ?? fittingAnew(schema);
  known.set(schema, made);
  return made;
}

function fittingAnew(schema: Schema): fc.Arbitrary<unknown> {
  const { allOf, enum: values, const: only, type } = schema;
  const anyOf = schema.properties === undefined ? (schema.oneOf ?? schema.anyOf) : undefined;
  if (only !== undefined) return fc.constant(only);
  if (Array.isArray(values)) return fc.constantFrom(...values);
  if (Array.isArray(anyOf)) return fc.oneof(...anyOf.map((member) => fitting(member as Schema)));
  if (Array.isArray(allOf)) return fitting(Object.assign({}, ...allOf) as Schema);
  if (Array.isArray(type)) return fc.oneof(...type.map((each) => fitting({ ...schema, type: each })));
  switch (type) {
    case "string":
      return fittingText(schema as TextSchema);
    case "integer":
      return fc.integer({
        min: Math.max(Number(schema.minimum ?? -1000), -1e9),
        max: Math.min(Number(schema.maximum ?? 1e6), 1e9),
      });
    case "number":
      return fc.double({
        min: Number(schema.minimum ?? -1e6),
        max: Number(schema.maximum ?? 1e6),
        noNaN: true,
      });
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "array": {
      const {
        minItems = 0,
        maxItems = 5,
        items = {},
      } = schema as { minItems?: number; maxItems?: number; items?: Schema };
      return fc.array(fitting(items), {
        minLength: minItems,
        maxLength: Math.max(minItems, Math.min(maxItems, 5)),
      });
    }
    case "object":
      return fittingObject(schema as ObjectSchema);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

interface TextSchema {
  examples?: unknown[];
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
}

function fittingText({ format = "", pattern, minLength = 0, maxLength = 60, examples }: TextSchema) {
  const formatted = FORMATS[format];
  if (formatted) return formatted;
  // No text is generated from a pattern with lookahead.
  if (pattern?.includes("(?")) return fc.constantFrom(...(examples?.map(String) ?? ["example"]));
  if (typeof pattern === "string" && pattern !== "\\S")
    return fc.stringMatching(new RegExp(pattern, "u"), { size: "small" });
  return fc.string({
    unit: "grapheme",
    minLength: Math.max(minLength, pattern ? 1 : 0),
    maxLength: Math.min(maxLength, minLength + 60),
  });
}

interface ObjectSchema {
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
}

function fittingObject({ properties = {}, required = [], additionalProperties }: ObjectSchema) {
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, field]) => [name, fitting(field)]),
  );
  const known = fc.record(fields, {
    requiredKeys: required.filter((name) => name in fields),
    noNullPrototype: true,
  });
  if (!additionalProperties || Object.keys(fields).length > 0) return known;
  const values =
    typeof additionalProperties === "object" ? fitting(additionalProperties) : fc.jsonValue({ maxDepth: 2 });
  return fc.dictionary(fc.oneof(fc.string({ maxLength: 10 }), fc.constantFrom(...OWN_NAMES)), values, {
    maxKeys: 4,
    noNullPrototype: true,
  });
}

/** A value with another value in one place, or with an extra field. */
const spoiled = (value: fc.Arbitrary<unknown>) =>
  fc
    .tuple(value, junk, fc.array(fc.nat({ max: 20 }), { maxLength: 5 }), fc.boolean())
    .map(([whole, bad, way, adds]) => {
      const copy = structuredClone(whole);
      let at: unknown = copy;
      for (const [depth, step] of way.entries()) {
        if (typeof at !== "object" || at === null) break;
        const keys = Object.keys(at);
        const key = keys[step % Math.max(keys.length, 1)];
        if (adds || key === undefined) {
          const name = OWN_NAMES[step % OWN_NAMES.length] ?? "x";
          if (Array.isArray(at)) at.push(bad);
          else Object.defineProperty(at, name, { value: bad, enumerable: true, configurable: true });
          return copy;
        }
        const next = (at as Record<string, unknown>)[key];
        if (depth === way.length - 1 || typeof next !== "object" || next === null) {
          (at as Record<string, unknown>)[key] = bad;
          return copy;
        }
        at = next;
      }
      return way.length === 0 ? bad : copy;
    });

/** Texts that are almost JSON. */
const broken = fc.constantFrom<string | Uint8Array<ArrayBuffer>>(
  "",
  "{",
  "nul",
  '{"a":1,"a":2}',
  '{"a":1e999}',
  '{"a":NaN}',
  "\ufeff{}",
  "[".repeat(100_000),
  `${'{"a":'.repeat(65)}1${"}".repeat(65)}`,
  new Uint8Array([0xff, 0xfe, 0x00]),
  `{"name":"${"x".repeat(200_000)}"}`,
  '{"__proto__":{"role":"owner"},"constructor":{"prototype":{"x":1}}}',
);

export interface Request {
  params: string[];
  query: string;
  headers: Record<string, string>;
  body: string | Uint8Array<ArrayBuffer> | undefined;
}

/** `JSON.stringify` that includes `__proto__`, as a network peer would. */
const written = (value: unknown) => JSON.stringify(value) ?? "null";

/** Requests for one operation, some as documented and some not at all. `things` are existing IDs. */
export function requests(operation: Described, things: readonly string[][]): fc.Arbitrary<Request> {
  const inPath = operation.parameters.filter((parameter) => parameter.in === "path");
  const params = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...(things.length > 0 ? things : [[]])) },
    { weight: 2, arbitrary: fc.tuple(...inPath.map(({ schema }) => fitting(schema).map(String))) },
    { weight: 2, arbitrary: fc.tuple(...inPath.map(() => texts)) },
  );
  return fc
    .record({
      params: params.map((values) => values.map((text) => (/^\.*$/.test(text) ? "x" : short(text)))),
      query: queries(operation),
      headers: headers(),
      body: bodies(operation),
    })
    .map(({ headers: extra, body, ...rest }) => ({
      ...rest,
      headers: { ...body.headers, ...extra },
      body: body.content,
    }));
}

function queries({ parameters }: Described): fc.Arbitrary<string> {
  const inQuery = parameters.filter((parameter) => parameter.in === "query");
  const fields = Object.fromEntries(inQuery.map(({ name, schema }) => [name, fitting(schema)]));
  const needed = inQuery.filter(({ required }) => required).map(({ name }) => name);
  const right = fc.record(fields, { requiredKeys: needed, noNullPrototype: true });
  const wrong = fc.dictionary(
    fc.constantFrom("limit", "offset", "cursor", "q", ...Object.keys(fields), ...OWN_NAMES),
    fc.oneof(texts, numbers),
    { maxKeys: 5 },
  );
  return fc.oneof(
    { weight: 4, arbitrary: right.map(encoded) },
    { weight: 2, arbitrary: fc.tuple(right, wrong).map(([a, b]) => encoded({ ...a, ...b })) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        "%",
        "a=%ZZ",
        "&&&=",
        "limit=1&limit=2",
        "limit=%00",
        "q=%ff%fe",
        "[]=1",
        `q=${"x".repeat(2000)}`,
      ),
    },
  );
}

/** What fits in a request line. A longer one is rejected before it reaches an operation. */
const short = (text: string) => text.slice(0, 500).toWellFormed();

function encoded(query: object): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((each) => [name, short(String(each))]),
  );
  return new URLSearchParams(pairs).toString();
}

const HEADERS = [
  "x-organization-id",
  "idempotency-key",
  "x-correlation-id",
  "last-event-id",
  "accept",
  "x-forwarded-proto",
  "cookie",
  "if-none-match",
  "range",
  "origin",
];

function headers(): fc.Arbitrary<Record<string, string>> {
  const value = fc.oneof(
    fc.stringMatching(/^[\x21-\x7e]{1,60}$/),
    fc.constantFrom("é", "a b", "*", "-1", "bytes=0-9999999999999", "svc_token=x; =;;", "k".repeat(300)),
  );
  const some = fc.dictionary(fc.constantFrom(...HEADERS), value, { maxKeys: 2 });
  return fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: some });
}

interface Body {
  content: string | Uint8Array<ArrayBuffer> | undefined;
  headers: Record<string, string>;
}

function bodies({ method, requestBody }: Described): fc.Arbitrary<Body> {
  const none: Body = { content: undefined, headers: {} };
  if (method === "GET") return fc.constant(none);
  const json = requestBody?.content["application/json"];
  const examples = [json?.example, ...Object.values(json?.examples ?? {}).map(({ value }) => value)].filter(
    (value) => value !== undefined,
  );
  const right = json
    ? fc.oneof(fitting(json.schema), fc.constantFrom(...(examples.length > 0 ? examples : [{}])))
    : fc.constant({});
  const asJson = (content: string | Uint8Array<ArrayBuffer>): Body => ({
    content,
    headers: { "content-type": "application/json" },
  });
  const types = fc.constantFrom(
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/octet-stream",
    "application/json; charset=utf-16",
    "",
    "é",
    "application/xml",
  );
  return fc.oneof(
    { weight: 5, arbitrary: right.map((value) => asJson(written(value))) },
    { weight: 5, arbitrary: spoiled(right).map((value) => asJson(written(value))) },
    { weight: 2, arbitrary: broken.map(asJson) },
    { weight: 1, arbitrary: fc.constant(none) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(types, fc.uint8Array({ maxLength: 500 }))
        .map(([type, bytes]) => ({ content: new Uint8Array(bytes), headers: { "content-type": type } })),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom("gzip", "br", "identity", "x").map((coding) => ({
        content: "{}",
        headers: { "content-type": "application/json", "content-encoding": coding },
      })),
    },
  );
}
