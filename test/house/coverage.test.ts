import { expect, test } from "bun:test";
import { compareRoutes, countLine, readCoverage, readRecord } from "../../scripts/coverage.ts";
import { operations } from "./interface.ts";

const coverage = await readCoverage();
const recorded = await readRecord();
console.log(countLine(coverage));

test("no existing operation has disappeared", () => {
  expect(recorded.filter((operation) => !coverage.existing.includes(operation))).toEqual([]);
});

test("every existing operation is recorded", () => {
  const fresh = coverage.existing.filter((operation) => !recorded.includes(operation));
  if (fresh.length > 0)
    throw new Error(`Not recorded: ${fresh.join(", ")}. Run: bun scripts/coverage.ts --record`);
  expect(recorded).toEqual(coverage.existing);
});

test("the specification names each operation once, by method and path", () => {
  const named = operations.map(({ method, path }) => `${method} ${path}`);
  expect(named.length).toBe(new Set(named).size);
  for (const each of named)
    expect(each).toMatch(/^(GET|POST|PUT|PATCH|DELETE) (\/([a-z0-9.-]+|\{[a-z_]+\}))+$/);
});

test("a mounted route is found by method and the positions of its parameters, not by their names", () => {
  const asked = [
    { method: "GET", path: "/a/{a_id}", source: "text" },
    { method: "DELETE", path: "/a/{a_id}", source: "text" },
    { method: "GET", path: "/a/slug/{slug}", source: "text" },
  ];
  const mounted = [
    { method: "GET", path: "/a/{id}" },
    { method: "POST", path: "/a/{id}" },
  ];
  expect(compareRoutes(asked, mounted)).toEqual({
    existing: ["GET /a/{a_id}"],
    missing: asked.slice(1),
    others: ["POST /a/{id}"],
  });
});
