import { expect, test } from "bun:test";
import { startInstallation } from "../support/process.ts";
import { startReceiver } from "../support/receiver.ts";
import {
  ACTIONS,
  AUTOMATION_RUNS,
  AUTOMATIONS,
  automationRunEnd,
  created,
  makeAction,
  makeAutomation,
  runToEnd,
  until,
} from "../support/work.ts";

const ROWS = 3_000;
const KILLS = [300, 1_100, 2_200];

test("a step over a table continues after each kill -9 where it was: no row is lost, few are repeated", async () => {
  const sent = new Map<number, number>();
  const held = { at: KILLS[0] ?? 0, more: Promise.withResolvers<void>() };
  await using receiver = startReceiver(async ({ text }) => {
    const { id } = JSON.parse(text) as { id: number };
    if (sent.size >= held.at) await held.more.promise;
    sent.set(id, (sent.get(id) ?? 0) + 1);
    return Response.json({ id });
  });
  await using installation = await startInstallation();
  let server = await installation.serve();
  const sql = `SELECT range AS id, range * 3 AS value FROM range(${ROWS})`;
  const definition = { sql, output: { layer: "marts", dataset: "rows" } };
  const action = await makeAction(server.owner, { kind: "duckdb_transform", definition });
  expect((await runToEnd(server.owner, action.id)).status).toBe("completed");
  const step = {
    key: "each",
    forEach: { table: "marts.rows", orderBy: "id" },
    maxParallel: 20,
    kind: "http_request",
    definition: { url: receiver.url, method: "POST", body: { id: "{{item.id}}" }, responseExtract: "id" },
  };
  const flow = await makeAutomation(server.owner, { steps: [step] });
  const { id } = created(await server.owner("POST", `${AUTOMATIONS}/${flow.id}/run`));
  for (const [n, at] of KILLS.entries()) {
    await until(server.owner, ACTIONS, () => sent.size >= at);
    await server.end("SIGKILL");
    held.at = KILLS[n + 1] ?? Number.POSITIVE_INFINITY;
    held.more.resolve();
    held.more = Promise.withResolvers<void>();
    server = await installation.serve();
  }
  const run = await automationRunEnd(server.owner, id);
  expect(run.error).toBeNull();
  expect(run.result).toMatchObject({ items: ROWS, completed: ROWS, failed: 0 });
  expect(sent.size).toBe(ROWS);
  const again = [...sent.values()].reduce((sum, times) => sum + times - 1, 0);
  expect(again).toBeLessThan(KILLS.length * 1_000);
  const { text } = await server.owner("GET", `/api/v1/artifacts/${run.result.artifactId}/content`);
  const lines = text.trimEnd().split("\n");
  const found = lines.map((line: string) => JSON.parse(line).result.extracted);
  expect(found).toEqual(Array.from({ length: ROWS }, (_, index) => index));
  expect((await server.owner("GET", `${AUTOMATION_RUNS}/${id}`)).body.steps[0].items.completed).toBe(ROWS);
}, 120_000);
