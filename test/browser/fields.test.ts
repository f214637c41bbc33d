import { afterAll, beforeAll, expect, test } from "bun:test";
import { openSeen, type Seen } from "../support/seen.ts";
import { AUTOMATIONS, branch, created, makeAction } from "../support/work.ts";

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen();
});
afterAll(() => seen[Symbol.asyncDispose]());

const ACTIONS = "/api/v1/actions";
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

test("invalid JSON in a field is shown, and nothing is sent or published before it is fixed", async () => {
  const { page, weir, go, write } = seen;
  const json = { type: "object", properties: { opts: {} } };
  const send = await openForm("opts", json);
  const invalid = async (name: string) => {
    await field(name).fill('{"limit": 5');
    await page.locator("[aria-invalid=true]").waitFor();
  };
  const refused = () => page.locator("textarea:invalid:focus").waitFor();
  await invalid("Opts");
  await button("Send").click();
  await refused();
  await field("Opts").fill('{"limit": 5}');
  expect((await send()).body).toBe('{"opts":{"limit":5}}');

  const { id: action } = await makeAction(weir.owner, {
    kind: "http_request",
    definition: { url: "https://a.example", method: "POST", body: { a: 1 } },
  });
  await go(`/actions/${action}`);
  await field("URL").fill("https://b.example");
  await invalid("Body");
  await page.keyboard.press("Control+Enter");
  await refused();
  await button("Save").click();
  await refused();
  await field("Body").fill('{"a": 2}');
  await button("Save").click();
  await page.getByText("Action saved", { exact: true }).waitFor();
  const { definition } = (await weir.owner("GET", `${ACTIONS}/${action}`)).body;
  expect(definition).toMatchObject({ url: "https://b.example", body: { a: 2 } });

  const steps = [{ key: "ask", kind: "http_request", definition }];
  const { id } = created(
    await weir.owner("POST", AUTOMATIONS, {
      name: "Ask",
      triggerType: "manual",
      config: { inputSchema: json, steps },
    }),
  );
  await go(`/automations/${id}`);
  await button("Run").click();
  await invalid("Opts");
  await page.getByRole("dialog").getByRole("button", { name: "Run", exact: true }).click();
  await refused();

  await go(`/automations/${id}/edit?step=ask`);
  await field("Step name").fill("Asked");
  await invalid("Body");
  const notices = page.getByText("Fix the invalid field first.");
  await button("Publish").click();
  await notices.waitFor();
  await page.keyboard.press("Escape"); // Closing the step would lose the text.
  await notices.nth(1).waitFor();
  await field("Body").fill("");
  await page.getByRole("region", { name: "Step Asked" }).getByRole("button", { name: "JSON" }).click();
  await write("Definition", '{"url": ');
  await button("Publish").click();
  await notices.nth(2).waitFor();
  expect((await weir.owner("GET", `${AUTOMATIONS}/${id}/versions`)).body.versions).toHaveLength(1);
});

test("line breaks in a text are kept by fields of one line", async () => {
  const { page, weir, go } = seen;
  const definition = { title: "one\ntwo", description: "x" };
  const { id } = await makeAction(weir.owner, { kind: "approval_gate", definition });
  await go(`/actions/${id}`);
  await field("Title").press("End");
  await page.keyboard.type("!");
  await button("Save").click();
  await page.getByText("Action saved", { exact: true }).waitFor();
  expect((await weir.owner("GET", `${ACTIONS}/${id}`)).body.definition.title).toMatch(
    /^one\ntwo!$|^one!\ntwo$/,
  );
});
