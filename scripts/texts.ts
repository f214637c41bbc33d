/**
 * The texts of the page: what people see goes through `t`, `rich` or `plural` of web/texts, which find it by the English text.
 * `bun scripts/texts.ts` prints each one that doesn't; `test/house/texts.test.ts` fails on any.
 */
import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { bareTextsIn } from "./texts/bare.ts";
import { usesIn } from "./texts/uses.ts";

/** Sources of the page by their path from the root. */
type Sources = ReadonlyMap<string, string>;

/** Parts of the page whose texts are not translated yet. */
const LEFT =
  /^web\/parts\/(?:editor|automation-editor|automations|runs|canvas|extract|charts|dashboards|datasets|sql)\/|^web\/pages\/(?:dashboard|dataset|sql|automation|run)/;

const IMPORT = /^(?:import|export)\b(?!\s*type\b)[^"';(]*"(\.{1,2}\/[^"]+\.tsx?)"/gm;

/** The modules that are fetched with the page itself. */
function loadedFirst(sources: Sources): ReadonlySet<string> {
  const reached = new Set(["web/main.tsx"]);
  for (const path of reached)
    for (const [, name = ""] of (sources.get(path) ?? "").matchAll(IMPORT))
      reached.add(posix.join(posix.dirname(path), name));
  return reached;
}

/** What is wrong with the use of texts in the sources themselves. */
export function breachesIn(sources: Sources): string[] {
  const first = loadedFirst(sources);
  return [...sources].flatMap(([path, source]) => {
    if (path.startsWith("web/texts/")) return [];
    const { uses, unknown } = usesIn(path, source);
    return [
      ...(LEFT.test(path) ? [] : bareTextsIn(path, source)).map(
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

/** The sources of the page under `root`. */
export function readSources(root: string): Sources {
  const paths = [...new Bun.Glob("web/**/*.{ts,tsx}").scanSync(root)].sort();
  return new Map(paths.map((path) => [path, readFileSync(`${root}/${path}`, "utf8")]));
}

if (import.meta.main) {
  const breaches = breachesIn(readSources(`${import.meta.dir}/..`));
  for (const breach of breaches) console.error(breach);
  process.exit(breaches.length === 0 ? 0 : 1);
}
