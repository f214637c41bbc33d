import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { MARKUP, openSeen, type Seen } from "../support/seen.ts";
import { AUTOMATIONS, created, until } from "../support/work.ts";

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen({ hurry: 20 });
});
afterAll(() => seen[Symbol.asyncDispose]());
beforeEach(() => {
  seen.faults.length = 0;
});

const schema = {
  type: "object",
  properties: {
    name: { type: "string", title: "Your name", minLength: 1 },
    days: { type: "integer", title: "Days", minimum: 1 },
  },
  required: ["name", "days"],
};
const steps = [
  {
    key: "keep",
    kind: "run_script",
    definition: { source: "export default (x) => x", input: "{{payload}}" },
  },
];

test("anyone with the URL of a public form submits it without signing in, and sees faults at their fields", async () => {
  const { page, weir, heading, troubles } = seen;
  const form = {
    title: `Leave ${MARKUP}`,
    description: "Who\nand when",
    schema,
    submitLabel: "Ask",
    access: "public",
  };
  const made = created(
    await weir.owner("POST", AUTOMATIONS, { name: "Leave", triggerType: "form", config: { form, steps } }),
  );
  await page.context().clearCookies();
  await page.goto(made.formUrl);
  await heading(`Leave ${MARKUP}`);
  expect(await troubles()).toEqual([]);
  await page.getByLabel("Your name").fill("Ann");
  await page.getByLabel("Days").fill("0");
  await page.getByRole("button", { name: "Ask" }).click();
  await page.locator("[aria-invalid=true]").waitFor();
  expect(await page.getByLabel("Days").getAttribute("aria-invalid")).toBe("true");
  await page.getByLabel("Days").fill("3");
  await page.getByRole("button", { name: "Ask" }).click();
  await page.getByText("Your response has been recorded.").waitFor();
  const { runs } = await until(
    weir.owner,
    `${AUTOMATIONS}/${made.id}/runs`,
    ({ runs }) => runs[0]?.status === "completed",
  );
  expect(runs[0].result.output).toEqual({ name: "Ann", days: 3 });
  await page.setViewportSize({ width: 320, height: 700 });
  await page.goto(made.formUrl);
  await heading(`Leave ${MARKUP}`);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
  await page.setViewportSize({ width: 1280, height: 860 });
});

test("a form is sent once, and nothing can be typed into it meanwhile", async () => {
  const { page, weir, heading } = seen;
  const form = { title: "Once", schema, access: "public" };
  const made = created(
    await weir.owner("POST", AUTOMATIONS, { name: "Once", triggerType: "form", config: { form, steps } }),
  );
  await page.goto(made.formUrl);
  await heading("Once");
  const name = page.getByLabel("Your name");
  await name.fill("Ann");
  await page.getByLabel("Days").fill("3");
  const answer = Promise.withResolvers<void>();
  let sent = 0;
  await page.route(made.formUrl, async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    sent++;
    await answer.promise;
    await route.fulfill({ status: 503, json: { detail: "Too busy.", code: "busy" } });
  });
  await name.focus();
  await page.evaluate(() => {
    document.querySelector("form")?.requestSubmit();
    document.querySelector("form")?.requestSubmit();
  });
  await page.locator("button[aria-busy]").waitFor();
  await page.keyboard.type(" and lost");
  await page.keyboard.press("Enter");
  answer.resolve();
  await page.getByText("Too busy.").waitFor();
  expect([sent, await name.inputValue()]).toEqual([1, "Ann"]);
  await page.keyboard.type("a");
  expect(await name.inputValue()).toBe("Anna");
  await page.unroute(made.formUrl);
});

test("a form for members leads to the sign-in page, and back", async () => {
  const { page, weir } = seen;
  const config = { form: { title: "Inside", schema }, steps };
  const made = created(
    await weir.owner("POST", AUTOMATIONS, { name: "Inside", triggerType: "form", config }),
  );
  await page.context().clearCookies();
  await page.goto(made.formUrl);
  await page.waitForURL(/\/login\?return_to=/);
  expect(new URL(page.url()).searchParams.get("return_to")).toBe(new URL(made.formUrl).pathname);
});

test("anyone with a dashboard's link sees its panels without signing in", async () => {
  const { page, weir, heading, troubles } = seen;
  const panels = [
    { key: "total", title: `Orders ${MARKUP}`, sql: "SELECT 41 + 1 AS orders, $who AS who" },
    { key: "broken", title: "Broken", sql: "SELECT nothing" },
  ];
  const filters = [{ key: "who", type: "text", default: "nobody" }];
  const { shareUrl } = created(
    await weir.owner("POST", "/api/v1/dashboards", { name: "Shop floor", filters, panels, sharing: "link" }),
  );
  await page.context().clearCookies();
  await page.goto(`${shareUrl}?who=Ann`);
  await heading("Shop floor");
  await page.getByText("42", { exact: true }).waitFor();
  await page.getByText("Ann", { exact: true }).waitFor();
  await page.getByText("This panel can't be shown right now.").waitFor();
  expect(await troubles()).toEqual([]);
});
