/**
 * The texts of the page and their translations. `bun scripts/texts.ts` prints faults; `--write` adds new texts to the
 * files with empty translations and removes unused ones. `test/house/texts.test.ts` fails on any fault.
 *
 * 1. Visible text goes through `t`, `rich` or `plural` of web/texts.
 * 2. Each translation has every text, with the same placeholders, and no others.
 * 3. Modules that load with the page look up texts in functions: the modules are evaluated before the texts exist.
 */
import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { bareTextsIn } from "./texts/bare.ts";
import { serverTexts } from "./texts/server.ts";
import { namesIn, type TextUse, usesIn } from "./texts/uses.ts";

type Translation = string | Readonly<Record<string, string>>;
export type Translations = Readonly<Record<string, Translation>>;
/** Sources of the page, by path from the root. */
export type Sources = ReadonlyMap<string, string>;

const IMPORT = /^(?:import|export)\b(?!\s*type\b)[^"';(]*"(\.{1,2}\/[^"]+\.tsx?)"/gm;

/** Returns the modules that load with the page itself. */
function loadedFirst(sources: Sources): ReadonlySet<string> {
  const reached = new Set(["web/main.tsx"]);
  for (const path of reached)
    for (const [, name = ""] of (sources.get(path) ?? "").matchAll(IMPORT))
      reached.add(posix.join(posix.dirname(path), name));
  return reached;
}

/** Returns faults in how the sources use texts. */
export function breachesIn(sources: Sources): string[] {
  const first = loadedFirst(sources);
  return [...sources].flatMap(([path, source]) => {
    if (path.startsWith("web/texts/")) return [];
    const { uses, unknown } = usesIn(path, source);
    return [
      ...bareTextsIn(path, source).map(
        ({ line, text }) =>
          `${path}:${line}: ${JSON.stringify(text)} is not translated: pass it to t of web/texts`,
      ),
      ...unknown.map((line) => `${path}:${line}: t and rich take a literal, which translations are found by`),
      ...uses
        .filter(({ isAtLoad }) => isAtLoad && first.has(path))
        .map(
          ({ line, key }) =>
            `${path}:${line}: ${JSON.stringify(key)} is looked up too early: do so in a function`,
        ),
    ];
  });
}

const byKey = (uses: TextUse[]): Map<string, TextUse> =>
  new Map(
    uses.sort((a, b) => (a.key < b.key ? -1 : 1)).map((use) => [`${use.isPlural ? "#" : ""}${use.key}`, use]),
  );

/** Returns each text of the page once, sorted. */
export function textsOf(sources: Sources): Map<string, TextUse> {
  const uses = [...sources]
    .filter(([path]) => !path.startsWith("web/texts/"))
    .flatMap(([path, source]) => usesIn(path, source).uses);
  return byKey(uses);
}

/** Returns faults in a translation of the texts. */
export function breachesOf(
  name: string,
  translations: Translations,
  texts: ReadonlyMap<string, TextUse>,
): string[] {
  const uses = [...texts.values()];
  const known = new Set(uses.map(({ key }) => key));
  return [
    ...uses.flatMap((use) => {
      const problem = problemOf(translations[use.key], use);
      return problem ? [`${name}: ${JSON.stringify(use.key)} ${problem}`] : [];
    }),
    ...Object.keys(translations)
      .filter((key) => !known.has(key))
      .map((key) => `${name}: ${JSON.stringify(key)} is used nowhere`),
  ];
}

function problemOf(translation: Translation | undefined, { names, isPlural }: TextUse): string | null {
  if (translation === undefined) return "is missing";
  if (isPlural !== (typeof translation === "object"))
    return isPlural ? "has one form, where counts need several" : "has forms of a plural";
  const forms = typeof translation === "string" ? [translation] : Object.values(translation);
  if (forms.length === 0 || forms.includes("")) return "is empty";
  const wrong = forms.find((form) => {
    const own = namesIn(form, isPlural);
    // A singular form may omit the number: "Erste Zeile".
    return (
      own.some((each) => !names.includes(each)) || names.some((each) => each !== "#" && !own.includes(each))
    );
  });
  return wrong === undefined ? null : `has other placeholders: ${JSON.stringify(wrong)}`;
}

/** Returns the translations with an empty text for each new one, and without unused ones. */
export const updated = (translations: Translations, texts: ReadonlyMap<string, TextUse>): Translations =>
  Object.fromEntries(
    [...texts.values()].map(({ key, isPlural }) => [
      key,
      translations[key] ?? (isPlural ? { one: "", other: "" } : ""),
    ]),
  );

/** The sources of the page under `root`. */
export function readSources(root: string): Sources {
  const paths = [...new Bun.Glob("web/**/*.{ts,tsx}").scanSync(root)].sort();
  return new Map(paths.map((path) => [path, readFileSync(`${root}/${path}`, "utf8")]));
}

/** The translations, and the texts that each has. */
export const languageFiles = (sources: Sources): [path: string, texts: ReadonlyMap<string, TextUse>][] => [
  ["web/texts/de.json", textsOf(sources)],
  ["web/texts/de-server.json", serverTexts()],
];

if (import.meta.main) {
  const root = `${import.meta.dir}/..`;
  const sources = readSources(root);
  const breaches = breachesIn(sources);
  for (const [path, texts] of languageFiles(sources)) {
    const translations = (await Bun.file(`${root}/${path}`).json()) as Translations;
    if (process.argv.includes("--write"))
      await Bun.write(`${root}/${path}`, `${JSON.stringify(updated(translations, texts), null, 2)}\n`);
    else breaches.push(...breachesOf(path, translations, texts));
  }
  for (const breach of breaches) console.error(breach);
  process.exit(breaches.length === 0 ? 0 : 1);
}
