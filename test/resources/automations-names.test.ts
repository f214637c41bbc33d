import { expect, test } from "bun:test";
import { namesIn } from "../../src/flows/names.ts";

/** What a text may refer to in a run with the steps `ask` and `route`. */
const named = (text: string) => {
  const { trigger, input, steps } = namesIn(JSON.stringify({ text }));
  const keys = ["ask", "route"].filter(steps);
  return [...(trigger ? ["trigger"] : []), ...(input ? ["input"] : []), ...keys].join(" ");
};

test.each([
  ["{{item}} of {{index}}", ""],
  ["{{payload.a}}", "trigger"],
  ["{{ headers.x ?? 1 }}", "trigger"],
  ['{{query["a b"]}}', "trigger"],
  ["{{input}}", "input"],
  ["{{steps.ask.result}}", "ask"],
  ["{{ steps.route.result.branch }} {{input.a}}", "input route"],
  ["{{steps}}", "ask route"],
  ["{{steps ?? {}}}", "ask route"],
  ['{{steps["ask"].result}}', "ask"],
  ['{{steps["\\u0061sk"].result}}', "ask route"],
  ["steps[input.which].result == 1", "input ask route"],
  ["steps . ask.result == 1", "ask"],
  ["[steps].all(s, s.route.status == 'completed')", "ask route"],
  ["steps.exists(key, steps[key].status == 'failed')", "ask route"],
  ['{{steps["a" + "sk"].result}}', "ask route"],
  ["has(steps.route) && steps.ask.status != 'failed'", "ask route"],
])("a definition with %s may refer to: %s", (text, names) => {
  expect(named(text)).toBe(names);
});
