import { describe, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import {
  anything,
  instant,
  map,
  named,
  nullable,
  object,
  offsetQuery,
  oneOf,
  optional,
  read,
  slug,
  uuid,
} from "../../src/base/shape.ts";

const faultsOf = (schema: Parameters<typeof read>[0], value: unknown, options = {}) =>
  read(schema, value, ["body"], options).faults.map(({ loc, type }) => `${loc.join(".")} ${type}`);

const Thing = object({
  name: named(),
  kind: oneOf(["a", "b"]),
  size: optional(Type.Integer({ minimum: 1, maximum: 10 })),
  tags: optional(Type.Array(slug(), { maxItems: 2 })),
  owner: optional(nullable(uuid())),
  inner: optional(object({ on: Type.Boolean({ default: true }) })),
});

describe("reading a body", () => {
  test("returns the value with its defaults", () => {
    const { value, faults } = read(Thing, { name: "x", kind: "a", owner: null, inner: {} }, ["body"]);
    expect(faults).toEqual([]);
    expect(value).toEqual({ name: "x", kind: "a", owner: null, inner: { on: true } });
  });

  test("reports every fault with its path, and says what is valid", () => {
    const wrong = {
      name: "",
      kind: "c",
      size: 11,
      tags: ["ok", "Not Ok"],
      owner: "me",
      inner: { off: 1 },
      more: 1,
    };
    expect(faultsOf(Thing, wrong)).toEqual([
      "body.name string_too_short",
      "body.kind enum",
      "body.size less_than_equal",
      "body.tags.1 string_pattern_mismatch",
      "body.owner uuid_parsing",
      "body.inner.off extra_forbidden",
      "body.more extra_forbidden",
    ]);
    expect(read(Thing, {}, ["body"]).faults).toEqual([
      { loc: ["body", "name"], msg: "Field required", type: "missing" },
      { loc: ["body", "kind"], msg: "Field required", type: "missing" },
    ]);
    expect(read(oneOf(["a", "b"]), "c", []).faults[0]?.msg).toBe("Input should be 'a', 'b'");
  });

  test("accepts an ID in upper or lower case, and normalizes it", () => {
    const owner = "01890A5D-AC96-774B-BCCE-B302099A8057";
    expect(read(Thing, { name: "x", kind: "a", owner }, ["body"]).value.owner).toBe(owner.toLowerCase());
  });

  test("converts nothing in a body", () => {
    const types = { name: 7, kind: "a", size: "7", inner: { on: "true" } };
    expect(faultsOf(Thing, types)).toEqual([
      "body.name string_type",
      "body.size int_type",
      "body.inner.on bool_type",
    ]);
    for (const value of [null, 1, "x", [], true]) expect(faultsOf(Thing, value)).toEqual(["body dict_type"]);
  });

  test("counts characters as users do", () => {
    const three = Type.String({ minLength: 2, maxLength: 3 });
    expect(faultsOf(three, "🚀🚀🚀")).toEqual([]);
    expect(faultsOf(three, "🚀")).toEqual(["body string_too_short"]);
    expect(faultsOf(three, "abcd")).toEqual(["body string_too_long"]);
    expect(faultsOf(named(), "n".repeat(255))).toEqual([]);
    expect(faultsOf(named(), "n".repeat(256))).toEqual(["body string_too_long"]);
    expect(faultsOf(named(), "   ")).toEqual(["body string_pattern_mismatch"]);
    expect(read(named(), "   ", ["body"]).faults[0]?.msg).toBe("Input should have more than spaces");
  });

  test("rejects text that can't be stored", () => {
    expect(faultsOf(Type.String(), "a\0b")).toEqual(["body string_nul"]);
    expect(faultsOf(Type.String(), "a\ud800b")).toEqual(["body string_unicode"]);
  });

  test("accepts only existing times", () => {
    for (const good of ["2026-01-02T03:04:05Z", "2024-02-29T00:00:00.123+05:30"])
      expect(faultsOf(instant(), good)).toEqual([]);
    for (const bad of [
      "2026-02-30T00:00:00Z",
      "2026-13-01T00:00:00Z",
      "2026-01-02",
      "2026-01-02T25:00:00Z",
      "now",
      "",
    ]) {
      expect(faultsOf(instant(), bad)).toEqual(["body date-time_parsing"]);
    }
  });

  test("of a union reports the faults of the intended member", () => {
    const either = Type.Union([
      object({ type: Type.Literal("cursor"), path: Type.String() }),
      object({ type: Type.Literal("page"), size: Type.Integer() }),
    ]);
    expect(faultsOf(either, { type: "page", size: "x" })).toEqual(["body.size int_type"]);
    expect(faultsOf(nullable(slug()), "No Slug")).toEqual(["body string_pattern_mismatch"]);
  });

  test("of a union names all tags if there is no such one", () => {
    const tagged = (type: string, more: object) => object({ type: Type.Literal(type), ...more });
    const Auth = Type.Union([tagged("none", {}), tagged("bearer", { token: named() }), Type.Null()]);
    expect(read(Auth, { type: "magic", wand: 1 }, ["body"]).faults).toEqual([
      { loc: ["body", "type"], msg: "Input should be 'none', 'bearer'", type: "enum" },
    ]);
    expect(faultsOf(Auth, { type: "bearer" })).toEqual(["body.token missing"]);
  });

  test("keeps the keys of a map", () => {
    const { value, faults } = read(map(anything()), JSON.parse('{"__proto__":1,"constructor":2}'), ["body"]);
    expect([Object.keys(value), faults]).toEqual([["__proto__", "constructor"], []]);
    expect(faultsOf(Thing, JSON.parse('{"name":"x","kind":"a","__proto__":{}}'))).toEqual([
      "body.__proto__ extra_forbidden",
    ]);
    expect(faultsOf(Thing, JSON.parse('{"name":"x","kind":"a","toString":1}'))).toEqual([
      "body.toString extra_forbidden",
    ]);
  });

  test("ignores exempt values", () => {
    const exempt = (value: unknown) => value === "{{later}}";
    expect(faultsOf(Thing, { name: "x", kind: "{{later}}", size: "{{later}}" }, { exempt })).toEqual([]);
  });
});

describe("reading a query", () => {
  const Query = object({
    kinds: optional(Type.Array(oneOf(["a", "b"]))),
    deep: Type.Boolean({ default: false }),
    ...offsetQuery(50),
  });
  const query = (raw: object) => read(Query, raw, ["query"], { coerce: true });

  test("converts its texts to numbers, booleans and lists", () => {
    expect(query({ kinds: "a", deep: "true", limit: "7" }).value).toEqual({
      kinds: ["a"],
      deep: true,
      limit: 7,
      offset: 0,
    });
    expect(query({ kinds: ["a", "b"] }).value.kinds).toEqual(["a", "b"]);
  });

  test("rejects limits that aren't whole numbers from 1 to 100", () => {
    for (const limit of ["0", "101", "-1", "1.5", "x", "", "1e1", " 1", ["1", "2"]]) {
      expect(query({ limit }).faults.map(({ loc }) => loc)).toEqual([["query", "limit"]]);
    }
    expect(query({ offset: "-1" }).faults).toHaveLength(1);
    expect(query({ offset: "99999999999999999999" }).faults).toHaveLength(1);
  });
});
