import { beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { type Component, isFree, keyOf, REASONS } from "../../scripts/components.ts";
import { billOf, carriedOn } from "../../scripts/sbom.ts";
import { isTarget, OWN } from "../../scripts/targets.ts";

const project = join(import.meta.dir, "..", "..");
let carried: Component[] = [];
beforeAll(async () => {
  if (!isTarget(OWN)) throw new Error(`Nothing is built for ${OWN}.`);
  carried = await carriedOn(OWN);
});

test("what the executable includes may be included: each license is free, or has its reason", () => {
  const others = carried.filter(({ license }) => !isFree(license)).map(({ name }) => name);
  expect(others.sort()).toEqual(Object.keys(REASONS).sort());
});

test.each([
  ["MIT", true],
  ["(MIT OR GPL-3.0)", true],
  ["MIT AND GPL-3.0", false],
  ["(Apache-2.0 AND BSD-3-Clause)", true],
  ["GPL-3.0-only", false],
  ["SEE LICENSE IN FILE", false],
  ["UNLICENSED", false],
])("%s is free: %p", (license, free) => {
  expect(isFree(license)).toBe(free);
});

test("each has the text of its license, and is in the lockfile", async () => {
  const lock = await Bun.file(join(project, "bun.lock")).text();
  for (const one of carried.slice(1)) {
    expect(`${keyOf(one)} ${one.text.length > 200}`).toBe(`${keyOf(one)} true`);
    expect(lock).toContain(`["${keyOf(one)}"`);
  }
});

test("server, page, database and runtime are all among them", () => {
  const names = carried.map(({ name }) => name);
  for (const name of [
    "weir",
    "bun",
    "elysia",
    "react-dom",
    "tailwindcss",
    "@fontsource-variable/inter",
    "vega",
  ])
    expect(names).toContain(name);
  expect(names.filter((name) => name.startsWith("@duckdb/node-bindings-"))).toHaveLength(1);
  for (const name of ["typescript", "playwright-core", "axe-core", "libsql"])
    expect(names).not.toContain(name);
});

test("the bill of materials names each with its license, hash and dependencies", async () => {
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what is looked at
  const bill = (await billOf(carried, "abc")) as any;
  expect(bill).toMatchObject({ bomFormat: "CycloneDX", specVersion: "1.6", version: 1 });
  expect(bill.metadata.component).toMatchObject({
    name: "weir",
    properties: [{ name: "commit", value: "abc" }],
  });
  expect(bill.components).toHaveLength(carried.length - 1);
  for (const one of bill.components) {
    expect(one).toEqual({
      type: "library",
      "bom-ref": one.purl,
      name: expect.any(String),
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      scope: "required",
      licenses: [expect.anything()],
      purl: expect.stringMatching(/^pkg:npm\/(%40[^/@]+\/)?[^/@]+@/),
      hashes: [{ alg: "SHA-512", content: expect.stringMatching(/^[0-9a-f]{128}$/) }],
    });
  }
  const react = bill.dependencies.find(({ ref }: { ref: string }) => ref.startsWith("pkg:npm/react-dom@"));
  expect(react.dependsOn).toEqual([expect.stringMatching(/^pkg:npm\/scheduler@/)]);
  expect(await billOf(carried, "abc")).toEqual(bill);
});
