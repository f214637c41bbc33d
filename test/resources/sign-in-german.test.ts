import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import german from "../../src/resources/sign-in/pages/de.json" with { type: "json" };
import { startApp } from "../support/app.ts";

const PAGES = [
  "/setup",
  "/login",
  "/device",
  "/forgot",
  "/reset",
  "/invite",
  "/invitations",
  "/oauth/authorize",
  "/unsubscribe",
];
/** Proper names, and what noscript shows: no script translates it. */
const SAME = /^(?:|\.|Weir)$/;
const read = (path: string) => readFileSync(`${import.meta.dir}/../../${path}`, "utf8");
const pathsOf = (glob: string) => [...new Bun.Glob(glob).scanSync(`${import.meta.dir}/../..`)];
const translations = new Map<string, string>(Object.entries(german));

/** Texts of a page before its script runs. */
function textsOf(html: string): string[] {
  const shown = html.replace(/<noscript>.*<\/noscript>/s, "");
  return [...shown.matchAll(/>([^<>]+)</g)].map(([, text = ""]) => text.trim());
}

test("the sign-in pages have every text in German, and no unused text", async () => {
  await using weir = await startApp({ engine: false });
  const shown = new Set<string>();
  for (const path of PAGES) {
    const { status, text } = await weir.anonymous("GET", path);
    expect(status, path).toBe(200);
    for (const each of textsOf(text)) if (!SAME.test(each)) shown.add(each);
  }
  const scripts = pathsOf("src/resources/*/pages/*.page.js");
  expect(scripts.length).toBeGreaterThan(5);
  for (const path of scripts) {
    const source = read(path).replace(/^export const t = /m, "");
    for (const [, text = ""] of source.matchAll(/\bt\("((?:[^"\\]|\\.)+)"/g)) shown.add(text);
  }
  expect([...shown].filter((text) => !translations.has(text))).toEqual([]);

  // The others are sentences and words of the server.
  const server = pathsOf("src/**/*.ts").map(read).join("\n");
  const named = server.replaceAll(/\$\{(?:\w+\.)?(\w+)\}/g, "{$1}");
  const isOfServer = (text: string) =>
    server.includes(`"${text}"`) ||
    named.includes(`\`${text}\``) ||
    read("src/resources/sign-in/pages/shared.page.js").includes(`"${text}"`);
  expect([...translations.keys()].filter((text) => !shown.has(text) && !isOfServer(text))).toEqual([]);
});

test("translations keep their placeholders", () => {
  const names = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).sort();
  for (const [english, text] of translations) expect(names(text), english).toEqual(names(english));
});
