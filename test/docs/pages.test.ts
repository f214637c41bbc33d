import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { madePages, withParts } from "../../scripts/docs.ts";
import { readConfig } from "../../src/config.ts";
import { describeConfig } from "../../src/config-shown.ts";
import { allQuotas } from "../../src/resources/installation/wire-organizations.ts";
import { docs } from "./blocks.ts";

const ROOT = join(import.meta.dir, "..", "..");

describe("the documents", () => {
  test("describe kinds, providers, commands and operations as the code does (bun scripts/docs.ts writes it)", async () => {
    const stale = (await madePages()).filter((page) => {
      const doc = docs.find(({ path }) => path === join("docs", page.path));
      return !doc || withParts(doc.text, page) !== doc.text;
    });
    expect(stale.map(({ path }) => path)).toEqual([]);
  });

  test("have a row for every setting, with its default, what it accepts and what it means", () => {
    const { config, secrets } = readConfig({}, {}, {});
    const page = docs.find(({ path }) => path === "docs/configuration.md")?.text ?? "";
    const rows = [...page.matchAll(/^\| `([A-Z0-9_]+)` \|(.*)\|(.*)\|(.+)\|$/gm)].map(
      ([, name, , accepts, meaning]) => ({
        name,
        accepts: accepts?.trim(),
        isExplained: /\w{4}/.test(meaning ?? ""),
      }),
    );
    const names = rows.map(({ name }) => name);
    expect(names.toSorted()).toEqual(
      describeConfig(config, secrets)
        .map(([name]) => name)
        .sort(),
    );
    expect(rows.filter(({ isExplained }) => !isExplained)).toEqual([]);
    const accepts = (name: string) => rows.find((row) => row.name === name)?.accepts;
    expect([accepts("WEIR_CONCURRENCY"), accepts("WEIR_LOG"), accepts("WEIR_SMTP_URL")]).toEqual([
      "a whole number from 1 to 1024",
      "debug, info, warn, error",
      expect.stringContaining("`smtps://user:password@host:port`"),
    ]);
  });

  test("explain every error code in the code, and every event type", async () => {
    const pageOf = (path: string) => docs.find((doc) => doc.path === `docs/reference/${path}`)?.text ?? "";
    const thrown = new Set<string>();
    for (const path of new Bun.Glob("src/**/*.ts").scanSync(ROOT)) {
      const text = readFileSync(join(ROOT, path), "utf8");
      for (const [, code = ""] of text.matchAll(/(?:new AppError\(\s*|\bcode: )"([a-z_]+)"/g))
        thrown.add(code);
      if (!path.endsWith("/table.ts"))
        for (const [, type = ""] of text.matchAll(/\brecord\(\w+, "([a-z_.]+)"/g))
          expect([path, type, pageOf("events.md").includes(`\`${type}\``)]).toEqual([path, type, true]);
    }
    const OTHERS = ["failed", "invalid_grant"]; // A form's response, and the error of an OAuth server.
    const codes = [...thrown].filter((code) => !OTHERS.includes(code));
    expect(codes.length).toBeGreaterThan(60);
    expect(codes.filter((code) => !pageOf("error-codes.md").includes(`| \`${code}\` |`))).toEqual([]);
  });

  test("name every quota of an organization, and what happens beyond it", () => {
    const operations = docs.find(({ path }) => path === "docs/operations.md")?.text ?? "";
    const rows = [...operations.matchAll(/^\| `(\w+)` \| (.*) \|$/gm)].map(([, name]) => name);
    expect(rows).toEqual(expect.arrayContaining(Object.keys(allQuotas(null))));
    expect(operations).toContain("`quota_exceeded`");
  });

  test("have no broken links", () => {
    const dead = docs.flatMap((doc) =>
      [...doc.text.matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, to = ""]) => to)
        .filter((to) => !/^https?:/.test(to) && !isThere(doc.path, to))
        .map((to) => `${doc.path}: ${to}`),
    );
    expect(dead).toEqual([]);
  });

  test.each(["docs/", "docs/decisions/"])("of %s can all be reached from their index", (folder) => {
    const index = docs.find(({ path }) => path === `${folder}README.md`)?.text ?? "";
    const isApart = (path: string) => folder === "docs/" && path.startsWith("docs/decisions/");
    const lost = docs
      .map(({ path }) => path)
      .filter((path) => path.startsWith(folder) && !path.endsWith("/README.md") && !isApart(path))
      .filter((path) => !index.includes(`(${path.slice(folder.length)})`));
    expect(index).not.toBe("");
    expect(lost).toEqual([]);
  });
});

/** Returns whether a file, or the heading that an anchor names, exists. */
function isThere(from: string, to: string): boolean {
  const [file = "", anchor] = to.split("#");
  const path = file === "" ? from : normalize(join(dirname(from), file));
  if (!existsSync(join(ROOT, path))) return false;
  if (anchor === undefined) return true;
  const text = docs.find((doc) => doc.path === path)?.text ?? "";
  const anchors = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\w\s-]/g, "")
      .trim()
      .replace(/\s/g, "-"),
  );
  return anchors.includes(anchor);
}
