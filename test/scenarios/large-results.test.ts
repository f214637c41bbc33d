import { expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
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
