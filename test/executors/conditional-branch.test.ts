import { expect, test } from "bun:test";
import { AppError } from "../../src/base/errors.ts";
import { read } from "../../src/base/shape.ts";
import type { Scope } from "../../src/base/template.ts";
import { conditionalBranch } from "../../src/executors/conditional-branch.ts";
import { testContext } from "../support/run-context.ts";

const branches = [
  { key: "big", when: "payload.amount > 100" },
  { key: "some", when: "payload.amount > 0" },
];

async function take(definition: { branches: typeof branches; else?: string }, scope: Scope) {
  expect(read(conditionalBranch.definition, definition, []).faults).toEqual([]);
  const { result } = await conditionalBranch.execute(testContext({ scope }), definition);
  expect(read(conditionalBranch.result, result, []).faults).toEqual([]);
  return result;
}

test("takes the first branch that is true", async () => {
  expect(await take({ branches }, { payload: { amount: 150.5 } })).toEqual({ branch: "big" });
  expect(await take({ branches }, { payload: { amount: 7 } })).toEqual({ branch: "some" });
});

test("takes else if none is true", async () => {
  expect(await take({ branches, else: "none" }, { payload: { amount: 0 } })).toEqual({ branch: "none" });
});

test("fails if none is true and there is no else", async () => {
  const failed = take({ branches }, { payload: { amount: 0 } });
  await expect(failed).rejects.toMatchObject({ code: "no_branch", details: { branches: ["big", "some"] } });
});

test("fails if a condition can't be evaluated, and doesn't fall back to else", async () => {
  const failed = take({ branches, else: "none" }, { payload: {} });
  await expect(failed).rejects.toBeInstanceOf(AppError);
  await expect(failed).rejects.toMatchObject({ code: "condition_error" });
});

test("doesn't evaluate conditions after the one that is true", async () => {
  const broken = { key: "never", when: "payload.missing == 1" };
  expect(await take({ branches: [...branches, broken] }, { payload: { amount: 150 } })).toEqual({
    branch: "big",
  });
});

test("is rejected when saved with duplicate keys or invalid conditions", () => {
  const wrong = {
    branches: [
      { key: "a", when: "payload.x == 1" },
      { key: "b", when: "payload.x ==" },
      { key: "a", when: "true" },
    ],
  };
  expect(conditionalBranch.check?.(wrong)).toEqual([
    { path: ["branches", "1", "when"], message: expect.stringContaining("Invalid condition") },
    { path: ["branches", "2", "key"], message: "Duplicate branch a." },
  ]);
  expect(conditionalBranch.check?.({ branches })).toEqual([]);
  for (const definition of [{}, { branches: [] }, { branches: [{ key: "a" }] }, { branches, other: "x" }]) {
    expect(read(conditionalBranch.definition, definition, []).faults).toHaveLength(1);
  }
});
