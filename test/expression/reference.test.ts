import { describe, expect, test } from "bun:test";
import { celEnv, isCelError, parse as parseCel, plan } from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";
import fc from "fast-check";
import { Budget, LARGE } from "../../src/base/expression/budget.ts";
import { expressionOf } from "../../src/base/expression/expression.ts";
import { ExpressionError } from "../../src/base/expression/fault.ts";
import { parseWhole } from "../../src/base/expression/parse.ts";
import type { JsonObject } from "../../src/base/json.ts";
import { scaled } from "../support/scale.ts";

/**
 * Expressions generated from the grammar, evaluated here and by CEL's library. Left out by rule:
 * arithmetic of a whole number with a double, `%` of doubles and `??`, which are extensions;
 * and what the library accepts differently from CEL (`!!`, `- -`, numbers of empty texts).
 */
const env = celEnv({ funcs: [...strings] });

const scope: JsonObject = {
  a: 1.5,
  b: "text",
  c: [1.5, 2, "x", null, true],
  d: { e: { f: "deep" }, g: [{ h: 1 }, { h: 2.5 }], "odd key": false },
  n: null,
  t: true,
};

const name = fc.constantFrom("a", "b", "c", "d", "n", "t", "x", "missing");
const literal = fc.oneof(
  fc.integer({ min: 0, max: 9 }).map(String),
  fc.constantFrom("0.5", "2.0", "1e3", "true", "false", "null"),
  fc.constantFrom('"x"', "'text'", '""', '"a,b"', "b'ab'", "r'\\d'"),
);

const { tree } = fc.letrec<{ tree: string; atom: string; member: string }>((tie) => ({
  atom: fc.oneof(name, literal),
  member: fc.oneof(
    fc.tuple(tie("atom"), fc.constantFrom("e", "f", "g", "h", "missing")).map(([of, key]) => `${of}.${key}`),
    fc.constantFrom("d.e.f", "d.g[0].h", 'd["odd key"]', "c[0]", "c[9]", "d.g"),
  ),
  tree: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    tie("atom"),
    tie("member"),
    fc
      .tuple(
        tie("tree"),
        fc.constantFrom("+", "-", "*", "/", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "in"),
        tie("tree"),
      )
      .map(([a, operator, b]) => `(${a} ${operator} ${b})`),
    fc.tuple(tie("tree"), tie("tree"), tie("tree")).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
    tie("tree").map((a) => `!(${a})`),
    tie("tree").map((a) => `-(${a})`),
    fc.array(tie("tree"), { maxLength: 4 }).map((items) => `[${items.join(", ")}]`),
    fc.tuple(literal, tie("tree")).map(([key, value]) => `{${key}: ${value}}`),
    fc
      .tuple(tie("tree"), fc.constantFrom("map", "filter", "all", "exists", "exists_one"), tie("tree"))
      .map(([list, macro, body]) => `(${list}).${macro}(x, ${body})`),
    fc
      .tuple(fc.constantFrom("size", "string", "type_of", "dyn"), tie("tree"))
      .map(([f, a]) => `${f === "type_of" ? "size" : f}(${a})`),
    fc
      .tuple(
        tie("tree"),
        fc.constantFrom("contains", "startsWith", "endsWith", "indexOf", "split"),
        tie("tree"),
      )
      .map(([a, f, b]) => `(${a}).${f}(${b})`),
    fc.constantFrom("has(d.e)", "has(d.missing)", "has(d.e.f)", "has(missing.a)"),
  ),
}));

const FAILED = Symbol("failed");

function here(text: string): unknown {
  try {
    return plain(expressionOf(text).evaluate(scope, { budget: new Budget(LARGE), nextUuid: () => "" }));
  } catch (error) {
    if (error instanceof ExpressionError) return FAILED;
    throw error;
  }
}

function there(text: string): unknown {
  try {
    const value = plan(env, parseCel(text))(scope as never);
    return isCelError(value) ? FAILED : plain(value);
  } catch {
    return FAILED;
  }
}

/** Lists, maps and objects of both sides, as comparable text that distinguishes whole numbers and doubles. */
function plain(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "number") return Object.is(value, -0) ? "0" : String(value);
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (value instanceof Uint8Array) return `b${Buffer.from(value).toString("hex")}`;
  if (Array.isArray(value) || Symbol.iterator in value) {
    const items = [...(value as Iterable<unknown>)];
    const isMap =
      value instanceof Map ||
      ("get" in value && "entries" in value && !Array.isArray(value) && "keys" in value);
    if (isMap && !("concat" in value)) {
      const entries = items as [unknown, unknown][];
      if (entries.every((entry) => Array.isArray(entry) && entry.length === 2))
        return `{${entries
          .map(([key, item]) => `${plain(key)}:${plain(item)}`)
          .sort()
          .join()}}`;
    }
    return `[${items.map(plain).join()}]`;
  }
  return `{${Object.entries(value)
    .map(([key, item]) => `${plain(key)}:${plain(item)}`)
    .sort()
    .join()}}`;
}

describe("expressions", () => {
  test("have the same result as in CEL's own library", () => {
    const counts = { same: 0, failed: 0 };
    fc.assert(
      fc.property(tree, (text) => {
        const [ours, theirs] = [here(text), there(text)];
        if (ours === FAILED && theirs === FAILED) counts.failed++;
        else if (ours !== FAILED && theirs !== FAILED) {
          counts.same++;
          expect(`${text} → ${String(ours)}`).toBe(`${text} → ${String(theirs)}`);
        }
      }),
      { numRuns: scaled(3_000, 100_000) },
    );
    expect(counts.same).toBeGreaterThan(counts.failed / 20);
  });

  test("that are cut off or garbled are rejected with a position, never otherwise", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          tree.chain((text) => fc.nat(text.length).map((end) => text.slice(0, end))),
          fc.string(),
        ),
        (text) => {
          try {
            parseWhole(text);
          } catch (error) {
            expect(error).toBeInstanceOf(ExpressionError);
            expect((error as ExpressionError).at).toBeGreaterThanOrEqual(0);
          }
        },
      ),
      { numRuns: scaled(3_000, 100_000) },
    );
  });
});
