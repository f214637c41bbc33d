import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SENTENCES } from "../../scripts/texts/sentences.ts";
import { breachesIn, breachesOf, languageFiles, readSources, textsOf, updated } from "../../scripts/texts.ts";

const project = join(import.meta.dir, "..", "..");

test("the page shows no text that isn't passed to t, rich or plural", () => {
  const sources = readSources(project);
  expect(sources.size).toBeGreaterThan(200);
  expect(breachesIn(sources)).toEqual([]);
});

test("every language has each text of the page and of the server, with its placeholders, and no others", async () => {
  for (const [path, texts] of languageFiles(readSources(project))) {
    expect(texts.size).toBeGreaterThan(500);
    expect(breachesOf(path, await Bun.file(join(project, path)).json(), texts)).toEqual([]);
  }
});

test("the server has each sentence that the page translates as one of the server's", () => {
  const source = [...new Bun.Glob("src/**/*.ts").scanSync(project)]
    .map((path) => readFileSync(join(project, path), "utf8"))
    .join("\n");
  const isSaid = (sentence: string) => {
    const noun = / not found\.$/.test(sentence) && sentence.slice(0, -" not found.".length);
    if (noun) return source.includes(`notFound("${/^API/.test(noun) ? noun : noun.toLowerCase()}")`);
    const parts = sentence.split(/\{\w+\}/).map(RegExp.escape);
    return new RegExp(`["\`]${parts.join("\\$\\{[^}]+\\}")}["\`]`).test(source);
  };
  expect(SENTENCES.filter((sentence) => !isSaid(sentence))).toEqual([]);
});

test("a language is checked against the texts: missing, unused, empty, with other placeholders or without forms", () => {
  const source = `t("{name} saved", { name }); t("Gone"); plural(2, { one: "# run", other: "# runs" });`;
  const texts = textsOf(new Map([["web/a.ts", source]]));
  const runs = { one: "# Lauf", other: "# Läufe" };
  const right = { "# runs": runs, Gone: "Weg", "{name} saved": "{name} gespeichert" };
  expect(breachesOf("de", right, texts)).toEqual([]);
  expect(breachesOf("de", { ...right, "# runs": { one: "Ein Lauf", other: "# Läufe" } }, texts)).toEqual([]);
  expect(
    breachesOf(
      "de",
      { "# runs": "# Läufe", Gone: "", "{name} saved": "{nme} gespeichert", Old: "Alt" },
      texts,
    ),
  ).toEqual([
    'de: "# runs" has one form, where counts need several',
    'de: "Gone" is empty',
    'de: "{name} saved" has other placeholders: "{nme} gespeichert"',
    'de: "Old" is used nowhere',
  ]);
  expect(updated({ Gone: "Weg", Old: "Alt" }, texts)).toEqual({
    "# runs": { one: "", other: "" },
    Gone: "Weg",
    "{name} saved": "",
  });
});

const inFile = (source: string, path = "web/pages/orders.tsx") => breachesIn(new Map([[path, source]]));

test.each([
  ['const Page = () => <p className="flex gap-2">No orders yet</p>;', "No orders yet"],
  ['const Page = () => <p aria-label="orders">{name}</p>;', "orders"],
  ["const Page = () => <p title={isNew ? `${count} new` : undefined} />;", "{} new"],
  ['notify("Order saved");', "Order saved"],
  ['const NAMES = { open: "Open", "Not closed": 1 };', "Open"],
  ["const Page = () => <p>{isOne ? `1 ${name}` : `${count} steps`}</p>;", "{} steps"],
  ['const Page = () => <p>{count} {isOne || "none"}</p>;', "none"],
  ['say(isUp ? "up" : t("Down"));', "up"],
  ['const words = [t("Open"), t("Closed")].join(" and ");', " and "],
  ['t("Made by {name}", { name: name ?? "someone" });', "someone"],
  ["throw new Error(`${name} is between these steps.`);", "{} is between these steps."],
])("%s", (source, text) => {
  expect(inFile(source)).toEqual([
    `web/pages/orders.tsx:1: ${JSON.stringify(text)} is not translated: pass it to t of web/texts`,
  ]);
});

test("what programs read isn't text, and a translated text is found by a literal", () => {
  expect(
    inFile(`
      import { t } from "../texts/text.ts";
      const Page = () => <Link href="/orders/New one" className="Some class">{t("No orders yet")} <code>orders list</code></Link>;
      if (kind === "Order" && names.has("Order")) call("GET /api/v1/orders", {}, "application/json");
    `),
  ).toEqual([]);
  expect(inFile("t(name);")).toEqual([
    "web/pages/orders.tsx:1: t and rich take a literal, which translations are found by",
  ]);
});

test("modules that load with the page look up texts in functions", () => {
  const source =
    'const NAMES = [t("Open")];\nconst names = once(() => [t("Closed")]);\nconst all = KINDS.map(() => t("All"));';
  const first = 'import { names } from "./names.ts";\nconst later = () => import("./later.ts");';
  const found = breachesIn(
    new Map([
      ["web/main.tsx", first],
      ["web/names.ts", source],
      ["web/later.ts", source],
    ]),
  );
  expect(found).toEqual(
    ['1: "Open"', '3: "All"'].map((at) => `web/names.ts:${at} is looked up too early: do so in a function`),
  );
});
