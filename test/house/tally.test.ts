import { expect, test } from "bun:test";
import { readTally } from "../../scripts/run-tests.ts";

const report = (counts: string, ...files: string[]) =>
  `<?xml version="1.0"?>
<testsuites name="bun test" ${counts}>
${files.map((file) => `<testsuite name="${file}" file="${file}"/>`).join("\n")}
</testsuites>`;

const files = ["test/a.test.ts", "test/b.test.ts"];

test("the counts of the closing line are those of the report", () => {
  const text = report('tests="12" assertions="30" failures="2" skipped="1" time="0.5"', ...files);
  expect(readTally(text, 1, files)).toEqual({ passed: 9, failed: 2, skipped: 1 });
});

test("a file that did not load counts as one failed", () => {
  const text = report('tests="12" failures="2" skipped="0"', "test/a.test.ts");
  expect(readTally(text, 1, files)).toMatchObject({ passed: 10, failed: 3 });
});

test("a run that failed without a failed test, or without a report, has one failed at least", () => {
  expect(readTally(report('tests="3" failures="0"', ...files), 1, files)).toMatchObject({ failed: 1 });
  expect(readTally("", 1, [])).toEqual({ passed: 0, failed: 1, skipped: 0 });
});
