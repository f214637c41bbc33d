import { afterAll, beforeAll, expect, test } from "bun:test";
import { openSeen, type Seen } from "../support/seen.ts";
import { AUTOMATIONS, branch, created } from "../support/work.ts";

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen();
});
afterAll(() => seen[Symbol.asyncDispose]());

const field = (name: string) => seen.page.getByRole("textbox", { name, exact: true });
const button = (name: string) => seen.page.getByRole("button", { name, exact: true });

/** Opens the public form of a new automation, and returns its answers as sent. */
async function openForm(path: string, schema: object) {
  const { page, weir, go, heading } = seen;
  const form = { title: path, schema, access: "public" };
  const steps = [{ key: "a", kind: "conditional_branch", definition: branch() }];
  created(
    await weir.owner("POST", AUTOMATIONS, { name: path, triggerType: "form", config: { path, form, steps } }),
  );
  await go(`/f/acme/${path}`);
  await heading(path);
  return async () => {
    const request = page.waitForRequest((each) => each.method() === "POST");
    await button("Send").click();
    const sent = await request;
    return { body: sent.postData(), status: (await sent.response())?.status() };
  };
}

test("numbers are sent as typed, and those beyond doubles are refused instead of rounded", async () => {
  const number = { type: "number" };
  const send = await openForm("numbers", {
    type: "object",
    properties: {
      price: number,
      low: number,
      id: { type: "integer" },
      ids: { type: "array", items: number },
    },
  });
  const { page } = seen;
  await field("Price").click();
  await page.keyboard.type("10.05");
  await field("Low").click();
  await page.keyboard.type("-0.50");
  expect(await field("Low").inputValue()).toBe("-0.50");
  await field("Ids").fill("1.0\n9007199254740993");
  await field("ID").fill("9007199254740993");
  const refused = { price: 10.05, low: -0.5, ids: [1, "9007199254740993"], id: "9007199254740993" };
  const { body, status } = await send();
  expect([JSON.parse(body ?? ""), status]).toEqual([refused, 422]);
  await field("ID").fill("007");
  await field("Ids").fill("");
  expect(await send()).toEqual({ body: '{"price":10.05,"low":-0.5,"id":7}', status: 202 });
});
