import { expect, test } from "bun:test";
import fc from "fast-check";
import { Budget, LARGE } from "../../src/base/expression/budget.ts";
import { evaluateJson } from "../../src/base/expression/expression.ts";
import type { JsonObject } from "../../src/base/json.ts";

const evaluated = (text: string, payload: JsonObject) =>
  evaluateJson(text, { payload }, { budget: new Budget(LARGE), nextUuid: () => "" });

const cell = fc.oneof(
  fc.string({ unit: fc.constantFrom('"', ",", ";", " ", "\r", "\n", "a", "é", "=", "\uFEFF") }),
  fc.string({ unit: "grapheme" }),
);

test("csv.parse reads what csv.text wrote", () => {
  const tables = fc
    .uniqueArray(cell, { minLength: 1, maxLength: 4 })
    .chain((names) =>
      fc.array(fc.tuple(...names.map((name) => fc.tuple(fc.constant(name), fc.option(cell))))),
    );
  fc.assert(
    fc.property(tables, fc.constantFrom(",", ";", "\t", " ", "😀"), (table, delimiter) => {
      const rows = table.map((fields): JsonObject => Object.fromEntries(fields));
      const text = "csv.parse(csv.text(payload.rows, payload.options), payload.options)";
      const read = table.map((fields) =>
        Object.fromEntries(fields.map(([name, text]) => [name, text ?? ""])),
      );
      expect(evaluated(text, { rows, options: { delimiter } })).toEqual(read);
    }),
  );
});

test("csv.parse reads rows of lines that end in different ways", () => {
  const field = fc.string({ unit: fc.constantFrom("a", "b", " ", "'") });
  const row = fc.tuple(field, field, fc.constantFrom("\n", "\r\n", "\r", "\n\n", "\r\n\r", "\n\r"));
  fc.assert(
    fc.property(fc.array(row), (lines) => {
      const csv = lines.map(([a, b, end]) => `${a},"${b}"${end}`).join("");
      const rows = lines.map(([a, b]) => [a, b]);
      expect(evaluated('csv.parse(payload.csv, {"header": false})', { csv })).toEqual(rows);
    }),
  );
});

const safe = fc.oneof(
  fc.maxSafeInteger(),
  fc.integer({ min: -1000, max: 1000 }).map((n) => n * 4_294_967_295),
);

test("whole numbers from JSON are added, subtracted and multiplied exactly", () => {
  fc.assert(
    fc.property(safe, safe, fc.boolean(), (a, b, isLiteral) => {
      const [x, y] = [BigInt(a), BigInt(b)];
      const right = isLiteral ? `(${b})` : "payload.b";
      for (const [operator, exact] of [
        ["+", x + y],
        ["-", x - y],
        ["*", x * y],
      ] as const) {
        const size = exact < 0n ? -exact : exact;
        if (size >= 2n ** 62n) continue;
        expect(evaluated(`string(payload.a ${operator} ${right})`, { a, b })).toBe(String(exact));
        // A division of decimals, however long they are.
        const quotient = Number(evaluated(`(payload.a ${operator} ${right}) / 8`, { a, b }));
        expect(Math.abs(quotient - Number(exact) / 8)).toBeLessThanOrEqual(Number(size) * 2 ** -55);
      }
    }),
  );
  fc.assert(
    fc.property(fc.array(safe, { minLength: 1 }), (list) => {
      const exact = list.reduce((sum, item) => sum + BigInt(item), 0n);
      const wanted = Number.isSafeInteger(Number(exact)) ? Number(exact) : String(exact);
      expect(evaluated("payload.list.sum()", { list })).toBe(wanted);
    }),
  );
});

test("a whole number and a number from JSON are compared by value", () => {
  const near = fc.bigInt({ min: 2n ** 53n - 4n, max: 2n ** 53n + 64n });
  const numbers = fc.oneof(
    fc.tuple(near, near.map(Number)),
    fc.tuple(
      fc.bigInt({ min: -8n, max: 8n }),
      fc.integer({ min: -16, max: 16 }).map((n) => n / 2),
    ),
  );
  fc.assert(
    fc.property(numbers, ([whole, double]) => {
      const order = 2n * whole - BigInt(2 * double); // exact, since the double is a multiple of 1/2
      const holds = (operator: string) => evaluated(`(${whole}) ${operator} payload.d`, { d: double });
      expect([holds("<"), holds("<="), holds("=="), holds(">="), holds(">")]).toEqual([
        order < 0n,
        order <= 0n,
        order === 0n,
        order >= 0n,
        order > 0n,
      ]);
      const text = (of: string) => evaluated(`string(int(${of}))`, { d: double });
      const [less, more] = order <= 0n ? [`${whole}`, "payload.d"] : ["payload.d", `${whole}`];
      for (const pair of [`(${whole}), payload.d`, `payload.d, (${whole})`]) {
        expect(text(`min(${pair})`)).toEqual(text(less));
        expect(text(`max(${pair})`)).toEqual(text(more));
        expect(text(`[${pair}].sort()[0]`)).toEqual(text(less));
      }
    }),
  );
});

test("whole numbers beyond 2^53 are those that their shortest text writes", () => {
  const long = fc.bigInt({ min: -(2n ** 61n), max: 2n ** 61n }).map(Number);
  const near = long.chain((double) =>
    fc.tuple(
      fc.constant(double),
      fc.bigInt({ min: -300n, max: 300n }).map((step) => BigInt(String(double)) + step),
    ),
  );
  fc.assert(
    fc.property(near, ([double, whole]) => {
      const exact = BigInt(String(double));
      const holds = (operator: string) => evaluated(`payload.d ${operator} (${whole})`, { d: double });
      expect([holds("<"), holds("<="), holds("=="), holds(">="), holds(">")]).toEqual([
        exact < whole,
        exact <= whole,
        exact === whole,
        exact >= whole,
        exact > whole,
      ]);
      const keys = exact === whole ? 1 : 2;
      expect(evaluated(`[payload.d, ${whole}].distinct().size()`, { d: double })).toBe(keys);
      expect(evaluated(`[payload.d, ${whole}].groupBy(x, x).size()`, { d: double })).toBe(keys);
      const text = (of: string) => evaluated(`string(int(${of}))`, { d: double });
      expect(text("payload.d")).toBe(String(exact));
      expect(text(`max(payload.d, ${whole})`)).toBe(String(exact > whole ? exact : whole));
      expect(text(`[payload.d, ${whole}].sort()[0]`)).toBe(String(exact < whole ? exact : whole));
    }),
  );
  fc.assert(
    fc.property(long, fc.oneof(long, safe), (a, b) => {
      const [x, y] = [BigInt(String(a)), BigInt(String(b))];
      const text = (of: string) => evaluated(`string(int(${of}))`, { a, b });
      expect(text("payload.a + payload.b")).toBe(String(x + y));
      expect(text("payload.a - payload.b")).toBe(String(x - y));
      expect(text("[payload.a, payload.b, 1].sum()")).toBe(String(x + y + 1n));
      if (b !== 0) expect(text("payload.a % payload.b")).toBe(String(x % y));
    }),
  );
});

test("a sum of decimals is rounded once, whatever their signs", () => {
  const part = fc.integer({ min: -(2 ** 40), max: 2 ** 40 });
  fc.assert(
    fc.property(fc.array(part, { minLength: 1 }), (parts) => {
      const list = parts.map((each) => each / 1024);
      const exact = parts.reduce((sum, each) => sum + each, 0) / 1024;
      expect(evaluated("payload.list.sum()", { list })).toBe(exact + 0);
      expect(evaluated("payload.list.avg()", { list })).toBe(exact / list.length + 0);
    }),
  );
});
