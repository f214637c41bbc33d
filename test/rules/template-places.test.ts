import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Json, JsonObject } from "../../src/base/json.ts";
import { startApp } from "../support/app.ts";
import { ACTIONS, AUTOMATIONS } from "../support/work.ts";

const KINDS = join(import.meta.dir, "../../docs/kinds");

/** The first example of each kind's page. */
const examples = readdirSync(KINDS).flatMap((file): [string, JsonObject][] => {
  const [, text = "{}"] = /```json\n([\s\S]*?)```/.exec(readFileSync(join(KINDS, file), "utf8")) ?? [];
  const { definition } = JSON.parse(text) as { definition?: JsonObject };
  return definition ? [[file.replace(".md", ""), definition]] : [];
});

/** The value with another one replacing each of its parts in turn. */
function* withOther(value: Json, other: Json): Generator<Json> {
  yield other;
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries())
      for (const part of withOther(item, other)) yield value.with(at, part);
  } else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value))
      for (const part of withOther(item, other)) yield { ...value, [key]: part };
  }
}

let app: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  app = await startApp({ engine: false });
});
afterAll(() => app[Symbol.asyncDispose]());

describe("a template, and a wrong value, in any place of a definition is accepted or reported", () => {
  test("each kind has an example", () => {
    expect(examples.length).toBeGreaterThan(12);
  });

  test.each(examples)("%s", async (kind, definition) => {
    const name = "Template";
    for (const variant of [...withOther(definition, "{{input.x}}"), ...withOther(definition, 7)]) {
      const action = await app.owner("POST", ACTIONS, { kind, name, definition: variant });
      expect([JSON.stringify(variant), action.status < 500]).toEqual([JSON.stringify(variant), true]);
      const config = { steps: [{ key: "a", kind, definition: variant }] };
      const flow = await app.owner("POST", AUTOMATIONS, { name, triggerType: "manual", config });
      expect([JSON.stringify(variant), flow.status < 500]).toEqual([JSON.stringify(variant), true]);
    }
  });
});

test("conditions are literal, never from a template", async () => {
  for (const [branches, ...path] of [
    ["{{input.branches}}", "branches"],
    [["{{input.branch}}"], "branches", "0"],
  ] as const) {
    const definition = { branches };
    const refused = await app.owner("POST", ACTIONS, { kind: "conditional_branch", name: "b", definition });
    expect([refused.status, refused.body.detail?.[0]?.loc]).toEqual([422, ["body", "definition", ...path]]);
  }
});
