import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startApp } from "../support/app.ts";
import { fetchPackages } from "../support/foreign.ts";

/** Linters and generators that aren't dependencies. */
const PACKAGES = {
  "@stoplight/spectral-cli": "6.16.3",
  "@redocly/cli": "2.77.0",
};

let packages: ReturnType<typeof fetchPackages>;
beforeAll(async () => {
  packages = fetchPackages(PACKAGES);
  await using app = await startApp({ engine: false });
  writeFileSync(join(packages.folder, "openapi.json"), (await app.anonymous("GET", "/openapi.json")).text);
}, 120_000);
afterAll(() => packages?.[Symbol.dispose]());

interface Finding {
  code: string;
  path: string[];
}

test("Spectral reports nothing for the OpenAPI document", async () => {
  writeFileSync(join(packages.folder, "spectral.yaml"), 'extends: ["spectral:oas"]\n');
  const args = ["lint", "--ruleset", "spectral.yaml", "--format", "json", "--quiet", "openapi.json"];
  const { code, out, err } = await packages.run("@stoplight/spectral-cli/dist/index.js", args);
  expect([code, err, (JSON.parse(out) as Finding[]).map(({ code, path }) => [code, path.join(".")])]).toEqual(
    [0, "", []],
  );
}, 300_000);

interface Problem {
  ruleId: string;
  location: { pointer?: string }[];
}

test("Redocly reports nothing except paths that the interface fixes, and sign-ins that only redirect", async () => {
  const { code, out } = await packages.run("@redocly/cli/bin/cli.js", [
    "lint",
    "openapi.json",
    "--format=json",
    "--max-problems=1000",
  ]);
  const { problems } = JSON.parse(out) as { problems: Problem[] };
  const others = problems.filter(({ ruleId, location: [place] }) => {
    const isFixed = ruleId === "no-ambiguous-paths" && /~1slug~1|~1\{\w+\}~1/.test(place?.pointer ?? "");
    return !isFixed && !(ruleId === "operation-2xx-response" && /oidc|oauth/.test(place?.pointer ?? ""));
  });
  expect([code, others.map(({ ruleId, location: [place] }) => `${ruleId} ${place?.pointer}`)]).toEqual([
    0,
    [],
  ]);
}, 300_000);
