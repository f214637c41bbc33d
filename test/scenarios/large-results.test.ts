import { expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { flowToEnd, makeAutomation } from "../support/work.ts";

const measure = (input: object) => ({
  kind: "run_script",
  definition: { source: "export default (input) => input", input },
});
const rowsOf = (count: number, length: number) =>
  `select i as id, repeat('x', ${length}) as s from range(${count}) t(i) order by i`;

test.each([600, 700, 780, 830])("%d rows of 300 characters reach the next step", async (count) => {
  await using app = await startApp();
  const steps = [
    { key: "rows", kind: "duckdb_transform", definition: { sql: rowsOf(count, 300) } },
    {
      key: "size",
      dependsOn: ["rows"],
      ...measure({ rows: "{{size(steps.rows.result.items)}}", last: "{{last(steps.rows.result.items).id}}" }),
      when: `size(steps.rows.result.items) == ${count}`,
    },
  ];
  const flow = await makeAutomation(app.owner, { steps });
  const run = await flowToEnd(app.owner, flow.id);
  expect(run.result.size?.output).toEqual({ rows: count, last: count - 1 });
  expect(run.result.rows.artifactId ? [] : run.result.rows.items).toHaveLength(
    run.result.rows.artifactId ? 0 : count,
  );
});

test("results of items are values: above 256 KiB each, and above 4 MiB together", async () => {
  await using app = await startApp();
  const steps = [
    {
      key: "each",
      forEach: "{{input}}",
      ...measure({ n: "{{item.n}}" }),
      definition: {
        source: "export default ({ n, length }) => ({ n, text: 'é'.repeat(length) })",
        input: "{{item}}",
      },
    },
    {
      key: "read",
      dependsOn: ["each"],
      when: "steps.each.result.all(r, has(r.output.text))",
      ...measure({
        numbers: "{{steps.each.result.map(r, r.output.n)}}",
        characters: "{{steps.each.result.map(r, size(r.output.text)).sum()}}",
      }),
    },
    {
      key: "again",
      dependsOn: ["each"],
      forEach: "{{steps.each.result.filter(r, r.output.n > 0)}}",
      ...measure({ size: "{{size(item.output.text)}}" }),
    },
  ];
  const flow = await makeAutomation(app.owner, { steps });
  for (const lengths of [[1, 150_000, 2], Array.from({ length: 22 }, () => 100_000)]) {
    const input = lengths.map((length, n) => ({ n, length }));
    const run = await flowToEnd(app.owner, flow.id, { input });
    expect([run.status, run.error]).toEqual(["completed", null]);
    expect(run.result.read.output).toEqual({
      numbers: input.map(({ n }) => n),
      characters: lengths.reduce((sum, length) => sum + length),
    });
    expect(run.result.again.map((r: { output: { size: number } }) => r.output.size)).toEqual(
      lengths.slice(1),
    );
  }
});

test("a large result among those of a thousand items is a value too", async () => {
  await using receiver = startReceiver(({ text }) =>
    Response.json({ n: JSON.parse(text), text: "x".repeat(text === "500" ? 300_000 : 1) }),
  );
  await using app = await startApp();
  const steps = [
    {
      key: "each",
      forEach: "{{lists.range(1000)}}",
      kind: "http_request",
      definition: { url: receiver.url, method: "POST", body: "{{item}}" },
    },
    {
      key: "read",
      dependsOn: ["each"],
      ...measure({
        same: "{{steps.each.result.filter(r, r.body.n == steps.each.result[r.body.n].body.n).size()}}",
        long: "{{size(steps.each.result[500].body.text)}}",
      }),
    },
  ];
  const flow = await makeAutomation(app.owner, { steps });
  const run = await flowToEnd(app.owner, flow.id);
  expect(run.result.read.output).toEqual({ same: 1000, long: 300_000 });
});

test("a large result of a row is a value in the file of results", async () => {
  await using app = await startApp();
  const output = { layer: "raw", dataset: "rows", writeDisposition: "replace" };
  const sql = "select i as n from range(3) t(i)";
  const steps = [
    { key: "rows", kind: "duckdb_transform", definition: { sql, output } },
    {
      key: "each",
      dependsOn: ["rows"],
      forEach: { table: "raw.rows", orderBy: "n" },
      kind: "run_script",
      definition: { source: "export default (n) => 'x'.repeat(n === 1 ? 300_000 : 1)", input: "{{item.n}}" },
    },
  ];
  const flow = await makeAutomation(app.owner, { steps });
  const { artifactId } = (await flowToEnd(app.owner, flow.id)).result.each;
  const { text } = await app.owner("GET", `/api/v1/artifacts/${artifactId}/content`);
  const lengths = text
    .trim()
    .split("\n")
    .map((line: string) => JSON.parse(line).result.output.length);
  expect(lengths).toEqual([1, 300_000, 1]);
});

test("a caller gets all values of the run that it called, and a caller of that one too", async () => {
  await using app = await startApp();
  const script = (key: string, length: number) => ({
    key,
    kind: "run_script",
    definition: { source: `export default () => "${key}".repeat(${length})` },
  });
  const each = { ...script("e", 150_000), forEach: "{{[1, 2]}}" };
  const size = (path: string) => ({
    ...measure({
      a: `{{size(${path}.a.output)}}`,
      b: `{{size(${path}.b.output)}}`,
      e: `{{${path}.e.map(r, size(r.output))}}`,
    }),
    key: "size",
    dependsOn: ["call"],
    when: `size(${path}.b.output) > 0`,
  });
  const call = (automationId: string) => ({
    key: "call",
    kind: "call_automation",
    definition: { automationId },
  });
  for (const lengths of [
    [200_000, 200_000],
    [300_000, 1],
  ]) {
    const [a = 0, b = 0] = lengths;
    const called = await makeAutomation(app.owner, { steps: [script("a", a), script("b", b), each] });
    const between = await makeAutomation(app.owner, {
      steps: [call(called.id), size("steps.call.result.result")],
    });
    const run = await flowToEnd(app.owner, between.id);
    expect([run.status, run.error]).toEqual(["completed", null]);
    expect(run.result.size.output).toEqual({ a, b, e: [150_000, 150_000] });
    const outer = await makeAutomation(app.owner, {
      steps: [call(between.id), size("steps.call.result.result.call.result")],
    });
    expect((await flowToEnd(app.owner, outer.id)).result.size.output).toEqual(run.result.size.output);
  }
});

deepTest("a result of more than 64 MiB says so where it is read", async () => {
  await using app = await startApp();
  const each = {
    key: "each",
    forEach: "{{lists.range(9)}}",
    kind: "run_script",
    definition: { source: "export default () => 'x'.repeat(8_000_000)" },
  };
  const read = { key: "read", dependsOn: ["each"], ...measure({ n: "{{size(steps.each.result)}}" }) };
  const flow = await makeAutomation(app.owner, { steps: [each, read] });
  const run = await flowToEnd(app.owner, flow.id);
  expect(run.error).toMatchObject({
    code: "result_too_large",
    message: "The result of step each is 68.7 MiB. Other steps can read at most 64 MiB.",
  });
});

deepTest("a call whose list has more than 64 MiB returns, and reading it says so", async () => {
  await using app = await startApp();
  const long = {
    kind: "run_script",
    definition: { source: "export default () => 'x'.repeat(8_000_000)" },
    forEach: "{{lists.range(9)}}",
  };
  const call = (automationId: string) => ({ kind: "call_automation", definition: { automationId } });
  const called = await makeAutomation(app.owner, {
    steps: [
      { key: "each", ...long },
      { key: "b", ...measure({}) },
    ],
  });
  const listed = await makeAutomation(app.owner, {
    steps: [{ key: "calls", forEach: "{{[1]}}", ...call(called.id) }],
  });
  const read = { key: "read", dependsOn: ["call"], ...measure({ n: "{{size(steps.call.result.result)}}" }) };
  const outer = await makeAutomation(app.owner, { steps: [{ key: "call", ...call(listed.id) }, read] });
  const run = await flowToEnd(app.owner, outer.id);
  expect(run.steps.map(({ status }: { status: string }) => status)).toEqual(["completed", "failed"]);
  expect(run.error).toMatchObject({ code: "result_too_large", message: expect.stringContaining("68.7 MiB") });
});
