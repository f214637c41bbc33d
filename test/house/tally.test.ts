import { expect, test } from "bun:test";
import { readTally } from "../../scripts/run-tests.ts";

const report = (...suites: [file: string, counts: string][]) =>
  `<?xml version="1.0"?>
<testsuites name="bun test" tests="99" failures="0" skipped="0">
${suites
  .map(
    ([file, counts]) => `  <testsuite name="${file}" file="${file}" ${counts} hostname="vm">
    <testsuite name="a group" file="${file}" line="2" tests="1" failures="1" skipped="0">
    </testsuite>
  </testsuite>`,
  )
  .join("\n")}
</testsuites>`;

const A = "test/a.test.ts";
const B = "test/b.test.ts";

test("the last line's counts are those of the report, file by file", () => {
  const text = report([A, 'tests="9" failures="0" skipped="1"'], [B, 'tests="3" failures="2" skipped="0"']);
  expect(readTally(text, 1, [A, B])).toEqual({ passed: 9, failed: 2, skipped: 1 });
});

test("a file that did not load counts as one failed", () => {
  const text = report([A, 'tests="12" failures="2" skipped="0"']);
  expect(readTally(text, 1, [A, B])).toMatchObject({ passed: 10, failed: 3 });
});

test("a run that failed without a failed test, or without a report, has failed", () => {
  const fine = report([A, 'tests="3" failures="0" skipped="0"']);
  expect([readTally(fine, 1, [A]).failed, readTally("", 1, []).failed]).toEqual([1, 1]);
  expect(readTally(fine, 0, [A]).failed).toBe(0);
});
