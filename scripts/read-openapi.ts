/**
 * Parses API descriptions as the catalog does, and prints the time and result of each:
 *
 *     bun scripts/read-openapi.ts FILE…
 *
 * Meant for the largest published ones, which are too large for tests, such as those of `@octokit/openapi`.
 */
import { parseDocument } from "../src/catalog/document.ts";
import { readOpenApi } from "../src/catalog/openapi.ts";

for (const path of process.argv.slice(2)) {
  const text = await Bun.file(path).text();
  const start = performance.now();
  const { title, endpoints, warnings } = await readOpenApi(await parseDocument(text), null, null);
  const ms = Math.round(performance.now() - start);
  const written = JSON.stringify(endpoints);
  console.log(
    `${title}: ${endpoints.length} operations of ${text.length} characters in ${ms} ms, ${written.length} characters, ` +
      `${written.includes('"$ref"') ? "with" : "no"} $ref left, ${warnings.length} warnings`,
  );
}
