import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ids from "./asvs-ids.json";
import { docs } from "./blocks.ts";

const ROOT = join(import.meta.dir, "..", "..");
const STATES = ["met", "in part", "not met", "does not apply"];
const pageOf = (path: string) => docs.find((doc) => doc.path === path)?.text ?? "";
const cellsOf = (line: string) =>
  line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());

/** Returns the tests that a text names: a path, with a part of a test's title if one follows. */
const claimsOf = (text: string) =>
  [...text.matchAll(/`(test\/[^`]*)`(?: "([^"]*)")?/g)].map(([, path = "", name = ""]) => ({ path, name }));

const rows = [...pageOf("docs/asvs.md").matchAll(/^\| V\d.*$/gm)].map(([line]) => {
  const [id = "", , state = "", , tests = ""] = cellsOf(line);
  return { id, cells: cellsOf(line).length, state, tests, claims: claimsOf(tests) };
});

/** The lines of "What Weir protects", without the table's head. */
const guarded = (/^## What Weir protects$(.*?)^## /ms.exec(pageOf("docs/security.md"))?.[1] ?? "")
  .split("\n")
  .filter((line) => line.startsWith("| "))
  .slice(2);

describe("the page about ASVS", () => {
  test("has each requirement of levels 1 and 2 once, with one of the four states", () => {
    expect(rows.map(({ id }) => id)).toEqual(Object.keys(ids));
    expect(rows.filter(({ cells, state }) => cells !== 5 || !STATES.includes(state))).toEqual([]);
  });

  test("names existing tests", () => {
    const lost = [...rows.flatMap(({ claims }) => claims), ...guarded.flatMap(claimsOf)].filter(
      ({ path, name }) => {
        const file = join(ROOT, path);
        return !path.endsWith(".test.ts") || !existsSync(file) || !readFileSync(file, "utf8").includes(name);
      },
    );
    expect(lost).toEqual([]);
    const form = /^(?:`test\/[^`]*`(?: "[^"]*")?(?:; |$))*$/;
    expect(rows.filter(({ tests }) => !form.test(tests)).map(({ id }) => id)).toEqual([]);
  });

  test("calls nothing met that no test covers", () => {
    const unheld = rows.filter(({ state, claims }) => state === "met" && claims.length === 0);
    expect(unheld.map(({ id }) => id)).toEqual([]);
  });

  test("is next to one about security that claims nothing without a test", () => {
    expect(guarded.length).toBeGreaterThan(0);
    expect(guarded.filter((line) => claimsOf(line).length === 0)).toEqual([]);
  });

  test("has the counts shown on the page about security", () => {
    const told = [...pageOf("docs/security.md").matchAll(/^\| (V\d+|all)\b.*$/gm)].map(([line, chapter]) => [
      chapter,
      ...cellsOf(line).slice(1).map(Number),
    ]);
    const chapters = [...new Set(rows.map(({ id }) => id.replace(/\..*/, "")))];
    const counted = [...chapters, "all"].map((chapter) => [
      chapter,
      ...STATES.map(
        (state) =>
          rows.filter((row) => row.state === state && (chapter === "all" || row.id.startsWith(`${chapter}.`)))
            .length,
      ),
    ]);
    expect(told).toEqual(counted);
  });
});
