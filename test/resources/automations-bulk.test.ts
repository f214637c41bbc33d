import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { sweepResults } from "../../src/engine/sweep-runs.ts";
import { indexesIn, rangesOf } from "../../src/flows/bulk-results.ts";
import { automationRunResults } from "../../src/resources/automations/table.ts";
import { type Client, startApp } from "../support/app.ts";
import { bundle, install, published } from "../support/bundles.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest, scaled, someOf } from "../support/scale.ts";
import {
  ACTIONS,
  AUTOMATION_RUNS,
  AUTOMATIONS,
  automationRunEnd,
  branch,
  created,
  faultsOf,
  flowToEnd,
  makeAction,
  makeAutomation,
  RUNS,
  runEnd,
  runToEnd,
  until,
} from "../support/work.ts";

const work = { kind: "conditional_branch", definition: branch() };
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

/** Creates a lake table `marts.NAME` by a transform. */
async function makeTable(call: Client, name: string, sql: string): Promise<void> {
  const definition = { sql, output: { layer: "marts", dataset: name } };
  const action = await makeAction(call, { kind: "duckdb_transform", name: `Makes ${name}`, definition });
  const run = await runToEnd(call, action.id);
  if (run.status !== "completed") throw new Error(JSON.stringify(run.error));
}

/** The lines of a file artifact, as JSON. */
async function linesOf(call: Client, artifactId: string) {
  const { text } = await call("GET", `/api/v1/artifacts/${artifactId}/content`);
  return text
    .trimEnd()
    .split("\n")
    .map((line: string) => JSON.parse(line));
}

const post = (url: string, more: object = {}) => ({
  key: "each",
  kind: "http_request",
  definition: { url, method: "POST", body: { item: "{{item}}", index: "{{index}}" }, responseExtract: "@" },
  ...more,
});

describe("a step over a long list", () => {
  test("is one run, and returns the results of all items in the list's order", async () => {
    await using app = await startApp();
    const steps = [
      {
        key: "each",
        forEach: "{{input}}",
        kind: "conditional_branch",
        definition: { branches: [{ key: "even", when: "item % 2 == 0" }], else: "odd" },
      },
      { key: "b", ...work, dependsOn: ["each"], when: "steps.each.result[1000].branch == 'even'" },
    ];
    const flow = await makeAutomation(app.owner, { steps });
    const run = await flowToEnd(app.owner, flow.id, { input: numbers(1_201) });
    expect(run.status).toBe("completed");
    expect(run.steps[0]).toMatchObject({
      status: "completed",
      actionRunId: expect.any(String),
      items: { total: 1_201, pending: 0, running: 0, completed: 1_201, failed: 0 },
    });
    expect(run.steps[1].status).toBe("completed");
    expect(run.result.each).toEqual(numbers(1_201).map((n) => ({ branch: n % 2 === 0 ? "even" : "odd" })));
    expect((await app.owner("GET", `${RUNS}?automation_run_id=${run.id}`)).body.total).toBe(2);
  });

  deepTest(
    "passes results too large for a row to expressions and conditions all the same",
    async () => {
      await using app = await startApp();
      const steps = [
        {
          key: "each",
          forEach: "{{lists.range(1200)}}",
          kind: "run_script",
          definition: { source: "export default (n) => ({ n, text: 'x'.repeat(300) })", input: "{{item}}" },
        },
        {
          key: "after",
          kind: "run_script",
          definition: {
            source: "export default (all) => all",
            input: "{{steps.each.result.map(r, r.output.n)}}",
          },
          dependsOn: ["each"],
          when: "size(steps.each.result) == 1200 && steps.each.failures == []",
        },
      ];
      const flow = await makeAutomation(app.owner, { steps });
      const run = await flowToEnd(app.owner, flow.id);
      expect(run.error).toBeNull();
      expect(run.result.each).toMatchObject({ artifactId: expect.any(String) });
      const after = (await app.owner("GET", `${RUNS}/${run.steps[1].actionRunId}`)).body;
      expect(after.result.output).toEqual(numbers(1_200));
    },
    120_000,
  );

  const ITEMS = scaled(300, 3_000);
  const CHARACTERS = scaled(33_000, 10_000);
  deepTest(
    "processes a result of many megabytes",
    async () => {
      await using app = await startApp();
      const source = `export default () => Array.from({ length: ${ITEMS} }, (_, n) => ({ n, text: 'x'.repeat(${CHARACTERS}) }))`;
      const steps = [
        { key: "make", kind: "run_script", definition: { source, memoryMb: 256 } },
        {
          key: "each",
          dependsOn: ["make"],
          forEach: "{{steps.make.result.output}}",
          kind: "conditional_branch",
          definition: { branches: [{ key: "whole", when: `size(item.text) == ${CHARACTERS}` }], else: "cut" },
        },
      ];
      const flow = await makeAutomation(app.owner, { steps });
      const run = await flowToEnd(app.owner, flow.id);
      expect(run.error).toBeNull();
      expect(run.steps[1].items).toMatchObject({ total: ITEMS, completed: ITEMS, failed: 0 });
      const branches = run.result.each.map(({ branch }: { branch: string }) => branch);
      expect(new Set(branches)).toEqual(new Set(["whole"]));
    },
    120_000,
  );

  deepTest(
    "leaves null for a failed item, names the failures, and retries only those",
    async () => {
      await using app = await startApp();
      let isBroken = true;
      const times = new Map<number, number>();
      await using receiver = startReceiver(async ({ text }) => {
        const { index } = JSON.parse(text) as { index: number };
        if (isBroken && index % 400 === 1) return new Response("no", { status: 400 });
        times.set(index, (times.get(index) ?? 0) + 1);
        return Response.json({ index });
      });
      const steps = [post(receiver.url, { forEach: "{{input}}", maxParallel: 20, onError: "continue" })];
      const end = { key: "stop", dependsOn: ["each"], kind: "run_script" };
      const source = "export default (seen) => { throw new Error(JSON.stringify(seen)) }";
      const stop = { ...end, definition: { source, input: "{{steps.each.failures[0]}}" } };
      const flow = await makeAutomation(app.owner, { steps: [...steps, stop] });
      const first = await flowToEnd(app.owner, flow.id, { input: numbers(1_100) });
      const [each] = first.steps;
      expect(each).toMatchObject({ status: "failed", error: { details: { item: 1 } } });
      const { failures, ...counts } = each.items;
      expect(counts).toEqual({ total: 1_100, pending: 0, running: 0, completed: 1_097, failed: 3 });
      expect(failures.map(({ index }: { index: number }) => index)).toEqual([1, 401, 801]);
      const { code, message } = failures[0].error;
      expect(JSON.parse(first.error.message.replace(/^[^{]*/, "").replace(/[^}]*$/, ""))).toEqual({
        index: 1,
        error: { code, message },
      });
      isBroken = false;
      const again = created(await app.owner("POST", `${AUTOMATION_RUNS}/${first.id}/retry`));
      const second = await automationRunEnd(app.owner, again.id);
      expect(second.steps[0].items).toMatchObject({ total: 1_100, completed: 1_100, failed: 0 });
      expect([times.size, new Set(times.values())]).toEqual([1_100, new Set([1])]);
      const { result } = (await app.owner("GET", `${RUNS}/${second.steps[0].actionRunId}`)).body;
      const results =
        result.results ?? (await app.owner("GET", `/api/v1/artifacts/${result.artifactId}/content`)).body;
      expect(results.map((one: { extracted: { index: number } }) => one.extracted.index)).toEqual(
        numbers(1_100),
      );
    },
    120_000,
  );

  deepTest("starts no item after one has failed", async () => {
    await using app = await startApp();
    await using receiver = startReceiver(async ({ text }) => {
      const { index } = JSON.parse(text) as { index: number };
      return index === 3 ? new Response("no", { status: 400 }) : Response.json({});
    });
    const flow = await makeAutomation(app.owner, {
      steps: [post(receiver.url, { forEach: "{{input}}", maxParallel: 1 })],
    });
    const run = await flowToEnd(app.owner, flow.id, { input: numbers(1_000) });
    expect(run).toMatchObject({
      status: "failed",
      error: { code: "unexpected_status", details: { item: 3 } },
    });
    expect(run.steps[0].items).toMatchObject({ total: 1_000, pending: 996, completed: 3, failed: 1 });
    expect(receiver.got).toHaveLength(4);
  });

  test("attempts each item as often as its definition says, with one Idempotency-Key for all attempts", async () => {
    await using app = await startApp();
    const keys = new Map<number, (string | null)[]>();
    await using receiver = startReceiver(async ({ text, headers }) => {
      const { index } = JSON.parse(text) as { index: number };
      const seen = [...(keys.get(index) ?? []), headers.get("idempotency-key")];
      keys.set(index, seen);
      return index === 7 && seen.length < 3 ? new Response("later", { status: 503 }) : Response.json({});
    });
    const step = post(receiver.url, { forEach: "{{input}}", maxParallel: 50 });
    const definition = { ...step.definition, retry: { maxAttempts: 3, backoffSeconds: [0] } };
    const flow = await makeAutomation(app.owner, { steps: [{ ...step, definition }] });
    const run = await flowToEnd(app.owner, flow.id, { input: numbers(1_000) });
    expect(run.status).toBe("completed");
    expect(keys.get(7)).toHaveLength(3);
    expect(new Set(keys.get(7)).size).toBe(1);
    expect(new Set([...keys.values()].map(([key]) => key)).size).toBe(1_000);
  });

  test("lets other runs go first after its turn, which counts as no interruption", async () => {
    await using app = await startApp({ env: { WEIR_CONCURRENCY: "1" } });
    const held = Promise.withResolvers<void>();
    await using receiver = startReceiver(async () => {
      await held.promise;
      return Response.json({});
    });
    const flow = await makeAutomation(app.owner, {
      steps: [post(receiver.url, { forEach: "{{input}}", maxParallel: 1 })],
    });
    const { id } = created(
      await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input: numbers(1_000) }),
    );
    await until(app.owner, ACTIONS, () => receiver.got.length === 1);
    const action = await makeAction(app.owner, {
      kind: "http_request",
      definition: { url: `${receiver.url}/other` },
    });
    const other = created(await app.owner("POST", `${ACTIONS}/${action.id}/run`));
    app.clock.turn(6_000);
    held.resolve();
    expect((await runEnd(app.owner, other.id)).status).toBe("completed");
    expect(receiver.got.length).toBeLessThan(1_001);
    expect((await automationRunEnd(app.owner, id)).status).toBe("completed");
    expect(receiver.got).toHaveLength(1_001);
    const { runs } = (await app.owner("GET", `${RUNS}?automation_run_id=${id}`)).body;
    expect((await app.owner("GET", `${RUNS}/${runs[0].id}`)).body.interruptCount).toBe(0);
    const logs = await app.owner("GET", `${RUNS}/${runs[0].id}/logs`);
    expect(JSON.stringify(logs.body)).not.toContain("The server stopped");
  });

  test("is cancelled while its items are running", async () => {
    await using app = await startApp();
    const open = Promise.withResolvers<Response>();
    await using receiver = startReceiver(() => open.promise);
    const flow = await makeAutomation(app.owner, {
      steps: [post(receiver.url, { forEach: "{{input}}", maxParallel: 5 })],
    });
    const { id } = created(
      await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input: numbers(1_000) }),
    );
    await until(app.owner, ACTIONS, () => receiver.got.length === 5);
    expect((await app.owner("POST", `${AUTOMATION_RUNS}/${id}/cancel`)).body.status).toBe("cancelled");
    const { runs } = (await app.owner("GET", `${RUNS}?automation_run_id=${id}`)).body;
    await until(app.owner, `${RUNS}/${runs[0].id}`, ({ status }) => status === "cancelled");
    open.resolve(Response.json({}));
    expect(receiver.got).toHaveLength(5);
  });

  test("has a run for each item if they run one after the other by a key, or need approval", async () => {
    await using app = await startApp({ engine: false });
    const keyed = { definition: { ...branch(), concurrencyKey: "k{{item}}" } };
    const flow = await makeAutomation(app.owner, {
      steps: [{ key: "each", forEach: "{{input}}", ...work, ...keyed }],
    });
    const run = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input: numbers(1_000) }));
    expect((await app.owner("GET", `${RUNS}?automation_run_id=${run.id}`)).body.total).toBe(10);
  });
});

describe("a step over a table", () => {
  deepTest("processes its rows as they were when it began, with exact values, and counts them", async () => {
    await using app = await startApp();
    const sql =
      "SELECT range AS id, range * 9007199254740993 AS big, (range / 100)::DECIMAL(10,2) AS price FROM range(1, 51)";
    await makeTable(app.owner, "orders", sql);
    const bodies: unknown[] = [];
    await using receiver = startReceiver(async ({ text }) => {
      bodies.push(JSON.parse(text));
      return Response.json({});
    });
    const forEach = { table: "marts.orders", where: "id > {{input.least}}", orderBy: "id DESC" };
    const steps = [
      post(receiver.url, { forEach, maxParallel: 1 }),
      { key: "b", ...work, dependsOn: ["each"], when: "steps.each.result.completed == 10" },
    ];
    const flow = await makeAutomation(app.owner, { steps });
    const run = await flowToEnd(app.owner, flow.id, { input: { least: 40 } });
    expect([run.error, run.steps.map(({ status }: { status: string }) => status)]).toEqual([
      null,
      ["completed", "completed"],
    ]);
    expect(run.result.each).toEqual({
      items: 10,
      completed: 10,
      failed: 0,
      failures: [],
      artifactId: expect.any(String),
    });
    expect(bodies).toHaveLength(10);
    expect(bodies[0]).toMatchObject({ index: 0, item: { id: 50, big: "450359962737049650", price: "0.50" } });
    const lines = await linesOf(app.owner, run.result.each.artifactId);
    expect(lines.map(({ index, status }: { index: number; status: string }) => [index, status])).toEqual(
      numbers(10).map((index) => [index, "completed"]),
    );
  });

  deepTest("passes lists of rows with batch", async () => {
    await using app = await startApp();
    await makeTable(app.owner, "rows", "SELECT range AS id FROM range(23)");
    const step = {
      key: "each",
      forEach: { table: "marts.rows", orderBy: "id", batch: 10 },
      kind: "run_script",
      definition: { source: "export default (rows) => rows.map((row) => row.id)", input: "{{item}}" },
    };
    const flow = await makeAutomation(app.owner, { steps: [step] });
    const run = await flowToEnd(app.owner, flow.id);
    expect(run.result).toMatchObject({ items: 3, completed: 3, failed: 0 });
    const lines = await linesOf(app.owner, run.result.artifactId);
    expect(lines.flatMap(({ result }: { result: { output: number[] } }) => result.output)).toEqual(
      numbers(23),
    );
    expect(lines.map(({ result }: { result: { output: number[] } }) => result.output.length)).toEqual([
      10, 10, 3,
    ]);
  });

  deepTest("names failed rows, and retries only those, with the same rows", async () => {
    await using app = await startApp();
    await makeTable(app.owner, "rows", "SELECT range AS id FROM range(40)");
    let isBroken = true;
    const seen: number[] = [];
    await using receiver = startReceiver(async ({ text }) => {
      const { item } = JSON.parse(text) as { item: { id: number } };
      if (isBroken && item.id % 13 === 5) return new Response("no", { status: 400 });
      seen.push(item.id);
      return Response.json({});
    });
    const forEach = { table: "marts.rows", orderBy: "id" };
    const after = { key: "after", dependsOn: ["each"], kind: "run_script" };
    const source = "export default () => { throw new Error('stop') }";
    const flow = await makeAutomation(app.owner, {
      steps: [post(receiver.url, { forEach, onError: "continue" }), { ...after, definition: { source } }],
    });
    const first = await flowToEnd(app.owner, flow.id);
    expect(first.steps[0]).toMatchObject({ status: "failed", items: { completed: 37, failed: 3 } });
    const run = (await app.owner("GET", `${RUNS}/${first.steps[0].actionRunId}`)).body;
    expect(run.result).toMatchObject({ items: 40, completed: 37, failed: 3 });
    expect(run.result.failures.map(({ index }: { index: number }) => index)).toEqual([5, 18, 31]);
    const lines = await linesOf(app.owner, run.result.artifactId);
    expect(lines[5]).toMatchObject({ index: 5, status: "failed", error: { code: "unexpected_status" } });
    const alone = await app.owner("POST", `${RUNS}/${first.steps[0].actionRunId}/retry`);
    expect([alone.status, alone.body.code]).toEqual([409, "invalid_state"]);
    expect(alone.body.detail).toContain("Retry the automation run");
    isBroken = false;
    await makeTable(app.owner, "rows", "SELECT range + 1000 AS id FROM range(7)");
    const again = created(await app.owner("POST", `${AUTOMATION_RUNS}/${first.id}/retry`));
    const second = await automationRunEnd(app.owner, again.id);
    expect(second.steps[0].items).toMatchObject({ total: 40, completed: 40, failed: 0 });
    expect(seen.toSorted((a, b) => a - b)).toEqual(numbers(40));
  });

  deepTest("uses templates in where and orderBy as values, never as SQL", async () => {
    await using app = await startApp();
    await makeTable(app.owner, "rows", "SELECT range AS id FROM range(4)");
    const forEach = {
      table: "marts.rows",
      where: "id < {{input.below}}",
      orderBy: "abs(id - {{input.nearest}}::INT)",
    };
    const script = { source: "export default (id) => id", input: "{{item.id}}" };
    const flow = await makeAutomation(app.owner, {
      steps: [{ key: "each", forEach, kind: "run_script", definition: script }],
    });
    const run = await flowToEnd(app.owner, flow.id, { input: { below: 3, nearest: 2 } });
    const lines = await linesOf(app.owner, run.result.artifactId);
    expect(lines.map(({ result }: { result: { output: number } }) => result.output)).toEqual([2, 1, 0]);
    const nearest = "0), (SELECT 'found ' || max(id) FROM marts.rows)::INT, (0";
    const attack = await flowToEnd(app.owner, flow.id, { input: { below: 3, nearest } });
    expect(attack.error.code).toBe("sql_error");
    expect(attack.error.message).not.toContain("found 3");
  });

  deepTest("of a bundle uses the inputs of its install in where", async () => {
    await using app = await startApp();
    await makeTable(app.owner, "rows", "SELECT range AS id FROM range(4)");
    const forEach = { table: "marts.rows", where: "id > {{inputs.least}} AND id < {{input.below}}" };
    const config = { steps: [{ key: "each", forEach, ...work }] };
    const component = { key: "flow", type: "automation", name: "Flow" };
    const definition = { triggerType: "manual", config };
    const inputs = { type: "object", properties: { least: { type: "integer" } } };
    await published(app.owner, {
      ...bundle("rows", [{ ...component, definition }]),
      inputJsonSchema: inputs,
    });
    const { ids } = await install(app.owner, "rows", { least: 1 });
    const run = await flowToEnd(app.owner, ids.flow ?? "", { input: { below: 3 } });
    expect(run).toMatchObject({ status: "completed", result: { items: 1, completed: 1 } });
  });

  deepTest("runs SQL for each row, and names failed rows", async () => {
    await using app = await startApp();
    await makeTable(app.owner, "rows", "SELECT range AS id FROM range(4)");
    const sql = "SELECT CASE WHEN $id = 2 THEN error('no 2') ELSE $id * 10 END AS tens";
    const definition = { sql, parameters: { id: "{{item.id}}" } };
    const step = { key: "each", forEach: { table: "marts.rows" }, kind: "duckdb_transform", definition };
    const flow = await makeAutomation(app.owner, { steps: [{ ...step, onError: "continue" }] });
    const run = await flowToEnd(app.owner, flow.id);
    expect(run).toMatchObject({
      status: "completed",
      result: { items: 4, completed: 3, failed: 1, failures: [{ index: 2, error: { code: "sql_error" } }] },
    });
  });

  deepTest("without rows is completed", async () => {
    await using app = await startApp();
    await makeTable(app.owner, "rows", "SELECT range AS id FROM range(4)");
    const step = { key: "each", forEach: { table: "marts.rows", where: "id > 9" }, ...work };
    const flow = await makeAutomation(app.owner, { steps: [step] });
    const run = await flowToEnd(app.owner, flow.id);
    expect(run).toMatchObject({
      status: "completed",
      result: { items: 0, completed: 0, failed: 0, failures: [], artifactId: null },
    });
  });

  test.each<[object, string, string]>(
    someOf(1, [
      [{ table: "marts.nothing" }, "sql_error", "nothing"],
      [{ table: "marts.rows", where: "nothing > 1" }, "sql_error", "nothing"],
      [
        { table: "marts.rows", where: "1 = 1) OR (SELECT true FROM read_csv('/etc/passwd')" },
        "sql_error",
        "",
      ],
    ]),
  )("fails before its first item for %j", async (forEach, code, word) => {
    await using app = await startApp();
    await makeTable(app.owner, "rows", "SELECT range AS id FROM range(4)");
    const flow = await makeAutomation(app.owner, { steps: [{ key: "each", forEach, ...work }] });
    const run = await flowToEnd(app.owner, flow.id);
    expect(run).toMatchObject({ status: "failed", error: { code } });
    expect(run.error.message).toContain(word);
  });

  test("is rejected for work that needs a run per row, with what to do instead", async () => {
    await using app = await startApp();
    const step = { key: "each", forEach: { table: "marts.rows" } };
    const gate = { kind: "approval_gate", definition: { title: "Row" } };
    const config = { steps: [{ ...step, ...gate }] };
    const saved = await app.owner("POST", AUTOMATIONS, { name: "x", config });
    expect(faultsOf(saved)).toEqual(["body.config.steps.0.forEach.table value_error"]);
    const { id: actionId } = await makeAction(app.owner, gate);
    const flow = await makeAutomation(app.owner, { steps: [{ ...step, actionId }] });
    const run = await flowToEnd(app.owner, flow.id);
    expect(run).toMatchObject({ status: "failed", error: { code: "definition_invalid" } });
    expect(run.error.message).toContain("duckdb_transform");
  });

  test.each<[unknown, string[]]>([
    [{ table: "orders" }, ["table string_pattern_mismatch"]],
    [{ table: "marts.orders", batch: 1_001 }, ["batch less_than_equal"]],
    [{ table: "marts.orders", rows: 1 }, ["rows extra_forbidden"]],
    [{ table: "marts.orders", where: "id > {{" }, ["where template_error"]],
    [{ table: "marts.orders", orderBy: "{{payload.sort}}" }, ["orderBy template_error"]],
    [{ table: "marts.orders", where: "id > {{steps.none.result.n}}" }, ["where unknown_step"]],
  ])("is rejected when saved for %j", async (forEach, faults) => {
    await using app = await startApp({ engine: false });
    const config = { steps: [{ key: "each", forEach, ...work }] };
    const refused = await app.owner("POST", AUTOMATIONS, { name: "x", config });
    expect(faultsOf(refused)).toEqual(faults.map((fault) => `body.config.steps.0.forEach.${fault}`));
  });

  deepTest("keeps only its result once it has completed", async () => {
    await using app = await startApp();
    await makeTable(app.owner, "rows", "SELECT range AS id FROM range(4)");
    const step = { key: "each", forEach: { table: "marts.rows" }, ...work };
    const flow = await makeAutomation(app.owner, { steps: [step] });
    expect((await flowToEnd(app.owner, flow.id)).status).toBe("completed");
    for await (const _ of sweepResults(app.app));
    expect(await app.app.store.db.$count(automationRunResults)).toBe(0);
  });
});

test("ranges name exactly the indexes that they were created from", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(5_000)), (indexes) => {
      expect([...indexesIn(rangesOf(indexes))]).toEqual(indexes.toSorted((a, b) => a - b));
    }),
  );
});
