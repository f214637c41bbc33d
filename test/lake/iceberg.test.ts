import { expect, test } from "bun:test";
import { isMixed, schemaHistory, UnknownType } from "../../src/lake/iceberg/fields.ts";

const columns = (types: Record<string, string>) =>
  Object.entries(types).map(([name, dataType]) => ({ name, dataType, nullable: true }));
const historyOf = (...all: Record<string, string>[]) =>
  schemaHistory(all.map((types, seq) => ({ seq: seq + 1, columns: columns(types) })));
const idsOf = (history: ReturnType<typeof historyOf>) =>
  history.schemas.map(({ fields }) => Object.fromEntries(fields.map(({ name, id }) => [name, id])));

test("a column keeps its ID whatever comes before and after it, and no other ever gets it", () => {
  const history = historyOf(
    { a: "BIGINT", b: "VARCHAR" },
    { b: "VARCHAR", c: "DATE" },
    { c: "DATE", A: "BIGINT" },
  );
  expect(idsOf(history)).toEqual([
    { a: 1, b: 2 },
    { b: 2, c: 3 },
    { c: 3, A: 1 },
  ]);
  expect(history).toMatchObject({ lastColumnId: 3, readableFrom: 0 });
  expect(history.names.find(({ id }) => id === 1)?.names).toEqual(["a", "A"]);
});

test("a renamed column is another one, even if two swap names", () => {
  expect(idsOf(historyOf({ a: "BIGINT" }, { b: "BIGINT" }))).toEqual([{ a: 1 }, { b: 2 }]);
  expect(idsOf(historyOf({ a: "BIGINT", b: "BIGINT" }, { b: "BIGINT", a: "BIGINT" })).at(-1)).toEqual({
    b: 2,
    a: 1,
  });
});

test("a type may widen as the specification allows, and any other change makes another column", () => {
  const stays = (from: string, to: string) => {
    const { schemas, readableFrom } = historyOf({ x: from }, { x: to });
    expect([from, to, readableFrom === 0]).toEqual([from, to, schemas.at(-1)?.fields[0]?.id === 1]);
    expect(isMixed(columns({ x: from }), columns({ x: to }))).toBe(readableFrom !== 0);
    return readableFrom === 0;
  };
  for (const [from, to] of [
    ["SMALLINT", "INTEGER"],
    ["INTEGER", "BIGINT"],
    ["FLOAT", "DOUBLE"],
    ["DECIMAL(9,2)", "DECIMAL(38,2)"],
    ["VARCHAR", "JSON"],
    ["INTEGER[]", "BIGINT[]"],
  ] as const)
    expect([from, to, stays(from, to)]).toEqual([from, to, true]);
  for (const [from, to] of [
    ["BIGINT", "INTEGER"],
    ["BIGINT", "DOUBLE"],
    ["DECIMAL(18,2)", "DECIMAL(38,4)"],
    ["DATE", "TIMESTAMP"],
    ["TIMESTAMP", "TIMESTAMP WITH TIME ZONE"],
    ["BIGINT", "VARCHAR"],
    ["BIGINT", "BIGINT[]"],
  ] as const)
    expect([from, to, stays(from, to)]).toEqual([from, to, false]);
});

test("a type that Iceberg lacks is reported by name, and once it is gone, only what came after can be read", () => {
  expect(() => historyOf({ a: "BIGINT", b: "HUGEINT" })).toThrow(UnknownType);
  const history = historyOf({ a: "BIGINT", b: "HUGEINT" }, { a: "BIGINT" });
  expect(idsOf(history)).toEqual([{ a: 1 }]);
  expect(history.readableFrom).toBe(2);
});
