import { describe, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { AUTOMATIONS, branch, created, faultsOf, flowToEnd, makeAutomation } from "../support/work.ts";

const steps = [{ key: "a", kind: "conditional_branch", definition: branch() }];
const inputSchema = {
  type: "object",
  properties: { month: { type: "string", minLength: 7 }, rows: { type: "integer" } },
  required: ["month"],
};

describe("the inputSchema of an automation", () => {
  test("applies to manual runs", async () => {
    await using app = await startApp();
    const flow = await makeAutomation(app.owner, { steps, inputSchema });
    const run = (input?: unknown) => app.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input });
    expect(faultsOf(await run({ month: "2026", rows: "x" }))).toEqual([
      "body.input.month string_too_short",
      "body.input.rows int_type",
    ]);
    expect(faultsOf(await run())).toHaveLength(1);
    created(await run({ month: "2026-11", rows: 3 }));
  });

  test("applies to calls", async () => {
    await using app = await startApp();
    const called = await makeAutomation(app.owner, { steps, inputSchema });
    const call = { kind: "call_automation", definition: { automationId: called.id, input: { rows: 1 } } };
    const caller = await makeAutomation(app.owner, { steps: [{ key: "call", ...call }] });
    const run = await flowToEnd(app.owner, caller.id);
    expect(run.error).toMatchObject({
      code: "definition_invalid",
      message: expect.stringContaining("input"),
    });
  });

  test("is a valid schema", async () => {
    await using app = await startApp({ engine: false });
    const config = { steps, inputSchema: { type: "objekt" } };
    const refused = await app.owner("POST", AUTOMATIONS, { name: "x", config });
    expect(faultsOf(refused)[0]).toContain("body.config.inputSchema");
  });
});
