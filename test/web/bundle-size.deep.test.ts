import { expect, test } from "bun:test";
import { buildWeb } from "../../scripts/web.ts";

const MOST_AT_FIRST = 160_000;
const MOST_WITH_EDITOR = 250_000;
/** A text that only the editor's file looks up. */
const OF_EDITOR = '("Add the first step")';

test("what is fetched first has at most 160 KB, and 250 KB with the editor, compressed", async () => {
  const files = new Map((await buildWeb()).map((file) => [file.path, file]));
  const textOf = (path: string) => new TextDecoder().decode(files.get(path)?.bytes);
  const withImports = (path: string, seen = new Set<string>()): Set<string> => {
    if (seen.has(path) || !/\.(js|css)$/.test(path)) return seen;
    seen.add(path);
    for (const [, next = ""] of textOf(path).matchAll(/(?:from|import)\s*"\/(assets\/[^"]+\.js)"/g))
      withImports(next, seen);
    return seen;
  };
  const weigh = (paths: Iterable<string>) =>
    [...paths].reduce(
      (sum, path) => sum + Bun.gzipSync(files.get(path)?.bytes ?? new Uint8Array()).length,
      0,
    );
  const first = new Set<string>();
  for (const [, path = ""] of textOf("index.html").matchAll(/"\/(assets\/[^"]+)"/g)) withImports(path, first);
  const editors = [...files.keys()].filter(
    (path) => path.endsWith(".js") && textOf(path).includes(OF_EDITOR),
  );
  expect(editors.length).toBe(1);
  const whole = withImports(editors[0] ?? "", new Set(first));
  console.log(`first ${weigh(first)} bytes, with the editor ${weigh(whole)}`);
  expect(first.size).toBeGreaterThan(1);
  expect(weigh(first)).toBeLessThan(MOST_AT_FIRST);
  expect(weigh(whole)).toBeLessThan(MOST_WITH_EDITOR);
}, 120_000);
