import { expect, test } from "bun:test";
import { readOutcome, tallyOf, worthAnother } from "../../scripts/run-tests.ts";

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
  const outcome = readOutcome(text, 1, [A, B]);
  expect(tallyOf(outcome)).toEqual({ passed: 9, failed: 2, skipped: 1 });
  expect(worthAnother(outcome)).toEqual([B]);
});

test("a file that did not load counts as one failed", () => {
  const outcome = readOutcome(report([A, 'tests="12" failures="2" skipped="0"']), 1, [A, B]);
  expect(tallyOf(outcome)).toMatchObject({ passed: 10, failed: 3 });
  expect(worthAnother(outcome)).toEqual([A, B]);
});

test("a run that failed without a failed test, or without a report, has failed", () => {
  const fine = report([A, 'tests="3" failures="0" skipped="0"']);
  for (const outcome of [readOutcome(fine, 1, [A]), readOutcome("", 1, [])]) {
    expect(tallyOf(outcome).failed).toBe(1);
    expect(worthAnother(outcome)).toEqual([]);
  }
  expect(tallyOf(readOutcome(fine, 0, [A])).failed).toBe(0);
});

test("what fails again counts as failed, and a run with many failures isn't repeated", () => {
  const failing = readOutcome(report([A, 'tests="3" failures="1" skipped="0"']), 1, [A]);
  expect(tallyOf(new Map([...failing, ...failing]))).toEqual({ passed: 2, failed: 1, skipped: 0 });
  const files = Array.from({ length: 9 }, (_, n) => `test/${n}.test.ts`);
  expect(worthAnother(readOutcome("", 1, files))).toEqual([]);
});
