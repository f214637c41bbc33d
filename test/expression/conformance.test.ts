import { describe, expect, test } from "bun:test";
import { getConformanceSuite } from "@bufbuild/cel-spec/testdata/tests.js";
import { Budget, LARGE } from "../../src/base/expression/budget.ts";
import { expressionOf } from "../../src/base/expression/expression.ts";
import { ExpressionError } from "../../src/base/expression/fault.ts";
import { isEqual } from "../../src/base/expression/operators.ts";
import { Duration, Instant, type Value } from "../../src/base/expression/value.ts";

/**
 * CEL's own conformance cases, for values that JSON has. Left out by rule: messages, unsigned numbers, optional fields,
 * types as values, enumerations, names in containers, type checks alone, and parsing without macros.
 */
interface ProtoValue {
  kind: { case?: string; value?: unknown };
}

class NotJson extends Error {}

function ours({ kind }: ProtoValue): Value {
  switch (kind.case) {
    case "nullValue":
      return null;
    case "boolValue":
    case "doubleValue":
    case "stringValue":
    case "bytesValue":
    case "int64Value":
      return kind.value as Value;
    case "listValue":
      return (kind.value as { values: ProtoValue[] }).values.map(ours);
    case "mapValue": {
      const { entries } = kind.value as { entries: { key: ProtoValue; value: ProtoValue }[] };
      return new Map(entries.map(({ key, value }) => [ours(key), ours(value)]));
    }
    case "objectValue":
      return messageOf(kind.value as { typeUrl: string; value: Uint8Array });
    default:
      throw new NotJson(String(kind.case));
  }
}

/** Times and durations are the only messages supported here. */
function messageOf({ typeUrl, value }: { typeUrl: string; value: Uint8Array }): Value {
  const isTime = typeUrl.endsWith("google.protobuf.Timestamp");
  if (!isTime && !typeUrl.endsWith("google.protobuf.Duration")) throw new NotJson(typeUrl);
  const [seconds, nanoseconds] = fieldsOf(value);
  const all = BigInt.asIntN(64, seconds) * 1_000_000_000n + BigInt.asIntN(64, nanoseconds);
  return isTime ? new Instant(all) : new Duration(all);
}

function fieldsOf(bytes: Uint8Array): [bigint, bigint] {
  const fields: [bigint, bigint] = [0n, 0n];
  let at = 0;
  const varint = () => {
    let number = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++] ?? 0;
      number |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return number;
    }
  };
  while (at < bytes.length) fields[Number(varint() >> 3n) - 1] = varint();
  return fields;
}

const OTHER_SUITES = [
  "proto2",
  "proto2_ext",
  "proto3",
  "enums",
  "wrappers",
  "optionals",
  "unknowns",
  "type_deductions",
  "block_ext",
  "bindings_ext",
  "namespace",
];
/**
 * Intentional differences: unknown functions are rejected when parsed, a whole number is a number, comparing 2^63 - 1
 * with a double doesn't round it, and a double beyond 2^53 is the integer that its text writes.
 */
const OURS =
  /\bf_unknown\(|^a\.\w+\(\) \|\| true$|\d\.\d+ % \d|^int\(double\(\d+\)\)$|^math\.(ceil|floor|round|trunc)\(dyn\(1\)\)$|7\) (<|>=) 9223372036854775808\.0$|9223372036854775808\.0\) (>|<=) \d+7$/;
/** Syntax of an expression that is left out. */
const OTHER_SYNTAX =
  /\b\d+u\b|0[xX][0-9a-fA-F]+u|\buint\b|\btype\(|\boptional|\.\?|\[\?|\{\?|TestAllTypes|NestedTestAllTypes|google\.|\bcel\.|\bproto\./;

interface Case {
  name: string;
  expr: string;
  disableMacros: boolean;
  checkOnly: boolean;
  container: string;
  bindings: Record<string, { kind: { case?: string; value?: unknown } }>;
  resultMatcher: { case?: string; value?: unknown };
}

interface Suite {
  name: string;
  suites: Suite[];
  tests: { original?: Case }[];
}

function* casesOf(suite: Suite, path: string[] = []): Generator<{ path: string; test: Case }> {
  for (const inner of suite.suites) yield* casesOf(inner, [...path, inner.name]);
  for (const test of suite.tests) yield { path: path.join(" "), test: (test.original ?? test) as Case };
}

/** Converts the case to Weir's values. Null if it is skipped. */
function caseOf({ expr, disableMacros, checkOnly, container, bindings, resultMatcher }: Case) {
  if (disableMacros || checkOnly || container !== "" || OTHER_SYNTAX.test(expr) || OURS.test(expr))
    return null;
  if (Object.keys(bindings).some((name) => name.includes("."))) return null;
  try {
    const scope = Object.fromEntries(
      Object.entries(bindings).map(([name, { kind }]) => {
        if (kind.case !== "value") throw new NotJson(String(kind.case));
        return [name, ours(kind.value as ProtoValue)];
      }),
    );
    if (resultMatcher.case === "evalError") return { expr, scope, wanted: null };
    if (resultMatcher.case === undefined) return { expr, scope, wanted: { value: true as Value } };
    if (resultMatcher.case !== "value") return null;
    return { expr, scope, wanted: { value: ours(resultMatcher.value as ProtoValue) } };
  } catch (error) {
    if (error instanceof NotJson) return null;
    throw error;
  }
}

function evaluated(expr: string, scope: Record<string, Value>): { value: Value } | ExpressionError {
  try {
    return {
      value: expressionOf(expr).evaluate(scope as never, { budget: new Budget(LARGE), nextUuid: () => "" }),
    };
  } catch (error) {
    if (error instanceof ExpressionError) return error;
    throw error;
  }
}

const isSame = (a: Value, b: Value): boolean =>
  (typeof a === typeof b && Number.isNaN(a as number) && Number.isNaN(b as number)) ||
  (typeof a === typeof b && isEqual(a, b, new Budget(LARGE)));

describe("CEL's conformance cases over JSON", () => {
  const suite = getConformanceSuite() as unknown as Suite;
  const all = [...casesOf(suite)].filter(({ path }) => !OTHER_SUITES.includes(path.split(" ")[0] ?? ""));
  const taken = all.flatMap(({ path, test }) => {
    const own = caseOf(test);
    return own ? [{ name: `${path} ${test.name}`, ...own }] : [];
  });

  test("are as many as when they were last counted", () => {
    expect({ all: all.length, taken: taken.length }).toEqual({ all: 1860, taken: 1213 });
  });

  test("all pass", () => {
    const failed = taken.flatMap(({ name, expr, scope, wanted }) => {
      const found = evaluated(expr, scope);
      if (found instanceof ExpressionError)
        return wanted === null ? [] : [`${name}: ${expr} → ${found.reason}`];
      if (wanted !== null && isSame(found.value, wanted.value)) return [];
      return [
        `${name}: ${expr} → ${Bun.inspect(found.value)}, wanted ${wanted === null ? "an error" : Bun.inspect(wanted.value)}`,
      ];
    });
    expect(failed).toEqual([]);
  });
});
