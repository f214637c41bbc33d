import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { openSeen, type Seen } from "../support/seen.ts";
import { AUTOMATIONS, branch, created, makeAction, makeAutomation, until } from "../support/work.ts";

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen();
});
afterAll(() => seen[Symbol.asyncDispose]());
beforeEach(() => seen.weir.clock.turn(60_000)); // a few answers to forms are taken per minute

const ACTIONS = "/api/v1/actions";
const field = (name: string) => seen.page.getByRole("textbox", { name, exact: true });
const picker = (name: string) => seen.page.getByRole("combobox", { name, exact: true });
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

/** Opens an action, and returns its definition as it is after `Save`. */
async function openAction(kind: string, definition: object) {
  const { page, weir, go } = seen;
  const { id } = await makeAction(weir.owner, { kind, definition });
  await go(`/actions/${id}`);
  return async () => {
    await button("Save").click();
    await page.getByText("Action saved", { exact: true }).last().waitFor();
    return (await weir.owner("GET", `${ACTIONS}/${id}`)).body.definition;
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

const withDefaults = {
  type: "object",
  properties: {
    news: { type: "boolean", default: true },
    plan: { enum: ["basic", "pro"], default: "basic" },
    seats: { type: "integer", default: 3 },
    note: { type: "string", default: "none" },
    place: {
      type: "object",
      properties: { country: { type: "string", default: "FR" }, city: { type: "string" } },
    },
    by: { type: "object", properties: { post: { type: "boolean", default: true } } },
  },
  required: ["place"],
};
const DEFAULTS = {
  news: true,
  plan: "basic",
  seats: 3,
  note: "none",
  place: { country: "FR" },
};

test("a form starts with its schema's defaults, and what it shows is what is sent", async () => {
  const { page } = seen;
  const send = await openForm("defaults", withDefaults);
  expect(await page.getByLabel("News").isChecked()).toBe(true);
  expect(await field("Seats").inputValue()).toBe("3");
  const { body } = await send();
  expect(JSON.parse(body ?? "")).toEqual(DEFAULTS);
  await button("Send another response").click();
  await page.getByLabel("News").uncheck();
  await picker("Plan").selectOption({ label: "–" });
  for (const name of ["Seats", "Note", "Country"]) await field(name).fill("");
  expect(await field("Note").getAttribute("placeholder")).toBeFalsy();
  await page.getByRole("group", { name: "By" }).getByRole("button", { name: "Set" }).click();
  expect(JSON.parse((await send()).body ?? "")).toEqual({ news: false, place: {}, by: { post: true } });
});

test("a default that doesn't fit its schema, or shows nothing, is left out of the answers", async () => {
  const text = { type: "string" };
  const properties = {
    note: { ...text, default: null },
    count: { type: "integer", default: null },
    agreed: { type: "boolean", default: null },
    sure: { type: "boolean", default: null },
    size: { enum: ["s", "m"], default: "" },
    day: { ...text, format: "date", default: "" },
    code: { ...text, minLength: 1, default: "" },
    tags: { type: "array", items: text, minItems: 1, default: [] },
    rate: { type: "number", default: "5" },
    maybe: { type: ["string", "null"], default: null },
    whole: { type: "integer", default: 4 },
    since: { ...text, format: "date", default: "0001-01-01" },
  };
  const send = await openForm("unfit", { type: "object", properties, required: ["sure"] });
  await picker("Sure").selectOption("No");
  const { body, status } = await send();
  const answers = { sure: false, maybe: null, whole: 4, since: "0001-01-01" };
  expect([JSON.parse(body ?? ""), status]).toEqual([answers, 202]);
});

test("required objects, maps and lists can be sent empty, and a choice of shapes has its first", async () => {
  const { page } = seen;
  const only = { type: "object", additionalProperties: false };
  const shape = (title: string, properties: object) => ({ title, ...only, properties });
  const options = { type: "array", items: { enum: ["red", "green"] } };
  const properties = {
    colors: options,
    names: { type: "array", items: { type: "string" } },
    guests: { type: "array", items: shape("Guest", { name: { type: "string" } }) },
    place: shape("Place", { city: { type: "string" } }),
    limits: { type: "object", additionalProperties: { type: "number" } },
    who: {
      oneOf: [
        shape("Person", { country: { type: "string", default: "FR" } }),
        shape("Company", { vat: { type: "string" } }),
      ],
    },
  };
  const required = Object.keys(properties);
  const send = await openForm("empty", { type: "object", properties, required });
  const empty = { colors: [], names: [], guests: [], place: {}, limits: {}, who: { country: "FR" } };
  const untouched = await send();
  expect([JSON.parse(untouched.body ?? ""), untouched.status]).toEqual([empty, 202]);
  await button("Send another response").click();
  await page.getByLabel("red").check();
  await page.getByLabel("red").uncheck();
  await field("Names").press("Enter");
  await page.keyboard.type("Ann");
  await field("Names").fill("");
  await page.getByRole("group", { name: "Guests" }).getByRole("button", { name: "Add" }).click();
  await button("Remove Guests 1").click();
  await page.getByRole("group", { name: "Limits" }).getByRole("button", { name: "Add" }).click();
  await field("Limits: name 1").fill("cpu");
  await button("Remove Limits 1").click();
  const emptied = await send();
  expect([JSON.parse(emptied.body ?? ""), emptied.status]).toEqual([empty, 202]);

  const most = { colors: { ...options, minItems: 1 }, note: { type: "string", description: "Which?" } };
  const again = await openForm("most", { type: "object", properties: most, required: ["colors"] });
  await page.getByText("Colors*").waitFor();
  await field("Note").focus();
  expect((await again()).status).toBe(422);
  await page.locator("input:focus[aria-invalid=true]").waitFor();
  expect(await page.locator(":focus").evaluate((box) => box.closest("label")?.textContent)).toBe("red");
});

test("a required choice of shapes must be selected, and says so", async () => {
  const { page, troubles } = seen;
  const shape = (kind: string) => ({
    type: "object",
    properties: { kind: { const: kind }, name: { type: "string" } },
    required: ["kind"],
  });
  const who = { oneOf: [shape("person"), shape("company")] };
  const send = await openForm("tagged", {
    type: "object",
    properties: { who, payer: who },
    required: ["who"],
  });
  const shown = (name: string) => picker(name).locator("option:checked").textContent();
  await page.getByText("Who*").waitFor();
  expect([await shown("Who"), await shown("Payer")]).toEqual(["Select", "None"]);
  expect((await send()).status).toBe(422);
  await page.getByRole("group", { name: "Who" }).getByText("Field required").waitFor();
  expect(await picker("Who").getAttribute("aria-invalid")).toBe("true");
  expect(await page.locator("select:focus").getAttribute("aria-label")).toBe("Who");
  expect(await troubles()).toEqual([]);
  await picker("Who").selectOption("company");
  expect(await picker("Who").locator("option").allTextContents()).toEqual(["person", "company"]);
  const { body, status } = await send();
  expect([JSON.parse(body ?? ""), status]).toEqual([{ who: { kind: "company" } }, 202]);
});

test("the description of a choice of shapes has room on a phone", async () => {
  const { page } = seen;
  const about = "Where to write the rows: a table of the lake, a table of a database, or a file.";
  const shape = (kind: string) => ({
    type: "object",
    properties: { kind: { const: kind } },
    required: ["kind"],
  });
  await page.setViewportSize({ width: 390, height: 860 });
  await openForm("narrow", {
    type: "object",
    properties: { output: { description: about, oneOf: [shape("a table of a database"), shape("a file")] } },
  });
  const { width } = (await page.getByText(about).boundingBox()) ?? { width: 0 };
  expect(width).toBeGreaterThan(200);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  await page.setViewportSize({ width: 1280, height: 860 });
});

test("a description keeps its mark before a note", async () => {
  const { page } = seen;
  const text = { type: "string" };
  const at = (description: string) => ({ ...text, format: "date-time", description });
  await openForm("marks", {
    type: "object",
    properties: {
      day: { ...text, format: "date", description: "Which day?" },
      hour: { ...text, format: "date", description: "The day" },
      start: at("When?"),
      end: at("The end"),
      names: { type: "array", items: text, description: "Who?" },
    },
  });
  for (const about of [
    "Which day?",
    "The day",
    "When? UTC (your time zone)",
    "The end. UTC (your time zone)",
    "Who? One per line.",
  ])
    await page.getByText(about, { exact: true }).waitFor();
});

test("a kept input has the defaults of fields that its form got later", async () => {
  const { page, weir, go } = seen;
  const steps = [{ key: "a", kind: "conditional_branch", definition: branch() }];
  const properties = { note: { type: "string", default: "none" }, size: { type: "string" } };
  const { id } = created(
    await weir.owner("POST", AUTOMATIONS, {
      name: "Later",
      triggerType: "manual",
      config: { inputSchema: { type: "object", properties }, steps },
    }),
  );
  await go(`/automations/${id}`);
  await button("Run").click();
  await field("Size").fill("m");
  await field("Note").fill("");
  const { status } = await weir.owner("PATCH", `${AUTOMATIONS}/${id}`, {
    config: {
      inputSchema: {
        type: "object",
        properties: { ...properties, sure: { type: "boolean", default: false } },
        required: ["sure"],
      },
      steps,
    },
  });
  expect(status).toBe(200);
  await page.reload();
  await button("Run").click();
  await page.getByLabel("Sure").waitFor();
  expect(await field("Note").inputValue()).toBe("");
  await page.getByRole("dialog").getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForURL(/automation-runs/);
  const { runs } = (await weir.owner("GET", `${AUTOMATIONS}/${id}/runs`)).body;
  expect(runs[0].input).toEqual({ size: "m", sure: false });
});

test("the form of an approval, and that of a run's input, start with the defaults too", async () => {
  const { page, weir, go } = seen;
  const ask = { title: "How many?", decisionType: "form_input", formSchema: withDefaults };
  const { id } = created(
    await weir.owner("POST", AUTOMATIONS, {
      name: "Count",
      triggerType: "manual",
      config: {
        inputSchema: withDefaults,
        steps: [{ key: "ask", kind: "approval_gate", definition: ask }],
      },
    }),
  );
  const last = async () => (await weir.owner("GET", `${AUTOMATIONS}/${id}/runs`)).body.runs[0];
  const run = async (change: () => Promise<void>) => {
    await go(`/automations/${id}`);
    await button("Run").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("News").waitFor();
    await change();
    await dialog.getByRole("button", { name: "Run", exact: true }).click();
    await page.waitForURL(/automation-runs/);
    return (await last()).input;
  };
  expect(await run(async () => undefined)).toEqual(DEFAULTS);
  const cleared = await run(async () => {
    await page.getByLabel("News").uncheck();
    for (const name of ["Seats", "Note", "Country"]) await field(name).fill("");
  });
  expect(cleared).toEqual({ news: false, plan: "basic", place: {} });
  const { items } = await until(weir.owner, "/api/v1/approvals", ({ total }) => total > 0);
  await go(`/approvals/${items[0].id}`);
  await field("Seats").fill("4");
  await page.getByLabel("News").uncheck();
  await button("Approve").click();
  const { decisions } = await until(
    weir.owner,
    "/api/v1/decisions?status=decided",
    (body) => body.decisions.length > 0,
  );
  expect(decisions[0].formResponse).toEqual({ ...DEFAULTS, news: false, seats: 4 });
});

test("an input that was emptied stays empty", async () => {
  const { page, weir, go } = seen;
  const inputSchema = { type: "object", properties: { note: { type: "string", default: "none" } } };
  const steps = [{ key: "a", kind: "conditional_branch", definition: branch() }];
  const { id } = created(
    await weir.owner("POST", AUTOMATIONS, {
      name: "Empty",
      triggerType: "manual",
      config: { inputSchema, steps },
    }),
  );
  await go(`/automations/${id}`);
  await button("Run").click();
  await field("Note").fill("");
  expect(await field("Note").inputValue()).toBe("");
  await page.getByRole("dialog").getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForURL(/automation-runs/);
  expect((await weir.owner("GET", `${AUTOMATIONS}/${id}/runs`)).body.runs[0].input).toEqual({});
});

test("a form has fields for dates, times, lists of options, options that are numbers, and values or null", async () => {
  const { page } = seen;
  const send = await openForm("kinds", {
    type: "object",
    properties: {
      name: { type: ["string", "null"] },
      code: { anyOf: [{ type: "string" }, { type: "null" }] },
      paid: { type: ["boolean", "null"] },
      size: { enum: [0, 1, 2.5] },
      level: {
        oneOf: [
          { const: 1, title: "Low" },
          { const: 2, title: "High" },
        ],
      },
      colors: { type: "array", items: { enum: ["red", "green", "blue"] } },
      day: { type: "string", format: "date" },
      at: { type: ["string", "null"], format: "date-time" },
      opens: { type: "string", format: "time", default: "09:30:00Z" },
      exact: { type: "string", format: "date-time", default: "2026-01-31T08:15:30.5Z" },
    },
    required: ["name", "code", "size", "paid"],
  });
  await field("Name").fill("  12  ");
  await field("Code").fill("true");
  await picker("Size").selectOption("0");
  await picker("Level").selectOption("High");
  await page.getByLabel("blue").check();
  await page.getByLabel("red").check();
  await page.getByLabel("Day").fill("2026-01-31");
  await page.getByLabel("At", { exact: true }).fill("2025-01-01T00:00");
  await page.getByLabel("At", { exact: true }).focus();
  await page.keyboard.type("073120260815AM");
  await page.getByText("UTC (your time zone)").waitFor();
  expect(await field("Exact").inputValue()).toBe("2026-01-31T08:15:30.5Z");
  const answers = {
    name: "  12  ",
    code: "true",
    paid: null,
    size: 0,
    level: 2,
    colors: ["red", "blue"],
    day: "2026-01-31",
    at: "2026-07-31T08:15:00.000Z",
    opens: "09:30:00Z",
    exact: "2026-01-31T08:15:30.5Z",
  };
  const first = await send();
  expect([JSON.parse(first.body ?? ""), first.status]).toEqual([answers, 202]);
  await button("Send another response").click();
  await picker("Size").selectOption("2.5");
  await picker("Paid").selectOption("No");
  await page.getByLabel("Opens").fill("10:00");
  await page.getByLabel("green").check();
  await page.getByLabel("green").uncheck();
  await field("Exact").fill("");
  const second = await send();
  const least = { name: null, code: null, paid: false, size: 2.5, opens: "10:00:00+00:00" };
  expect([JSON.parse(second.body ?? ""), second.status]).toEqual([least, 202]);
});

test("a date that isn't complete is refused instead of left out", async () => {
  const { page } = seen;
  const schema = { type: "object", properties: { day: { type: "string", format: "date" } } };
  const send = await openForm("half", schema);
  await page.getByLabel("Day").focus();
  await page.keyboard.type("0131");
  await button("Send").click();
  await page.locator("input:invalid:focus").waitFor();
  await page.getByLabel("Day").fill("2026-01-31");
  expect((await send()).body).toBe('{"day":"2026-01-31"}');
});

test("a dialog's form can't be changed while it is sent", async () => {
  const { page, go } = seen;
  const path = "**/api/v1/api-keys";
  await go("/access?tab=keys");
  await button("New API key").click();
  const dialog = page.getByRole("dialog");
  const name = dialog.getByLabel("Name");
  const answer = Promise.withResolvers<void>();
  let sent = 0;
  await page.route(path, async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    sent++;
    await answer.promise;
    await route.fulfill({ status: 503, json: { detail: "Too busy.", code: "busy" } });
  });
  await name.fill("Ann");
  await page.keyboard.press("Enter");
  await dialog.locator("button[aria-busy]").waitFor();
  await page.keyboard.type(" and lost");
  await page.keyboard.press("Enter");
  answer.resolve();
  await dialog.getByText("Too busy.").waitFor();
  expect([sent, await name.inputValue()]).toEqual([1, "Ann"]);
  await page.keyboard.type("a");
  expect(await name.inputValue()).toBe("Anna");
  await page.unroute(path);
});

test("the JSON of a definition keeps the numbers among its parameters", async () => {
  const save = await openAction("duckdb_transform", { sql: "SELECT $n AS n" });
  await button("JSON").click();
  await seen.write(
    "Definition",
    '{"sql":"SELECT $n AS n","parameters":{"n":9007199254740993,"t":"9007199254740993"}}',
  );
  expect((await save()).parameters).toEqual({ n: { $number: "9007199254740993" }, t: "9007199254740993" });
});

test("parameters as names and values keep their numbers", async () => {
  const long = (digits: string) => ({ $number: digits });
  const save = await openAction("duckdb_transform", {
    sql: "SELECT $n AS n",
    parameters: { n: 1, m: long("9007199254740995"), t: "9007199254740993" },
    tests: [{ name: "none", sql: "SELECT 1 WHERE $a > 1", parameters: { a: 1 } }],
  });
  expect(await field("Parameters: value 2").inputValue()).toBe("9007199254740995");
  await field("Parameters: value 1").first().fill("[9007199254740993, 1]");
  await field("Parameters: value 2").fill("9007199254740997");
  await field("Parameters: value 1").last().fill("12345678901234567.89");
  const saved = await save();
  expect(saved.parameters).toEqual({
    n: [long("9007199254740993"), 1],
    m: long("9007199254740997"),
    t: "9007199254740993",
  });
  expect(saved.tests[0].parameters).toEqual({ a: long("12345678901234567.89") });
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
  const saved = await openAction("approval_gate", { title: "one\ntwo" });
  await field("Title").press("Control+Home");
  await seen.page.keyboard.type("No. ");
  expect((await saved()).title).toBe("No. one\ntwo");
});

test("values by name keep their types, and those of any type are edited as text or JSON", async () => {
  const { page } = seen;
  const parameters = { a: 9, text: "9", gone: null, list: [1], label: "old" };
  const saved = await openAction("duckdb_transform", { sql: "SELECT 1", parameters });
  await field("Parameters: value 5").fill("new");
  await field("Parameters: value 1").fill("10.50");
  await page.getByRole("group", { name: "Parameters" }).getByRole("button", { name: "Add" }).click();
  await field("Parameters: name 6").fill("flag");
  await field("Parameters: value 6").fill("[true");
  await button("Save").click();
  await page.locator("input:invalid:focus").waitFor();
  await field("Parameters: value 6").fill("true");
  await page.getByLabel("Parameters: type 2").selectOption("JSON");
  expect((await saved()).parameters).toEqual({ ...parameters, text: 9, label: "new", a: 10.5, flag: true });
});

test("names of headers are checked before they are saved, and lists in a query stay lists", async () => {
  const { page } = seen;
  const query = { tag: ["a", "b"], none: null, page: "1" };
  const headers = { "X-A": "1" };
  const saved = await openAction("http_request", { url: "https://a.example", headers, query });
  await field("Query: value 3").fill("2");
  await page.getByRole("group", { name: "Headers" }).getByRole("button", { name: "Add" }).click();
  await field("Headers: value 2").fill("2");
  await page.getByText("Enter a name.").waitFor();
  await field("Headers: name 2").fill("X-A");
  await page.getByText("This name is already used.").waitFor();
  await button("Save").click();
  await page.locator("input:invalid:focus").waitFor();
  await field("Headers: name 2").fill("X-B");
  expect(await saved()).toMatchObject({
    headers: { "X-A": "1", "X-B": "2" },
    query: { ...query, page: "2" },
  });
});

test("templates in place of a choice, a checkbox or a list are shown and kept", async () => {
  const { page } = seen;
  const definition = {
    url: "https://a.example",
    method: "{{payload.m}}",
    followRedirects: "{{payload.f}}",
    headers: "{{payload.h}}",
    expectStatus: "{{payload.s}}",
  };
  const saved = await openAction("http_request", definition);
  await page.getByText(/^More settings/).click();
  expect(await page.getByLabel("Method").inputValue()).toBe("{{payload.m}}");
  for (const [name, template] of [
    ["Headers", definition.headers],
    ["Follow redirects", definition.followRedirects],
    ["Expect status", definition.expectStatus],
  ] as const)
    expect(await field(name).inputValue()).toBe(template);
  await field("Follow redirects").fill("");
  await page.getByRole("checkbox", { name: "Follow redirects" }).uncheck();
  await page.getByLabel("Method").selectOption("POST");
  expect(await saved()).toEqual({ ...definition, method: "POST", followRedirects: false });
});

test("a required question with two answers can be answered with no", async () => {
  const send = await openForm("attending", {
    type: "object",
    properties: { coming: { type: "boolean" }, vegan: { type: "boolean" } },
    required: ["coming"],
  });
  await seen.page.getByLabel("Coming").selectOption("No");
  expect(await send()).toEqual({ body: '{"coming":false}', status: 202 });
});

test("maps and choices of numbers and booleans are sent as such", async () => {
  const map = (type: string) => ({ type: "object", additionalProperties: { type } });
  const send = await openForm("maps", {
    type: "object",
    properties: {
      limits: map("number"),
      flags: map("boolean"),
      either: { anyOf: [{ type: "number" }, { type: "boolean" }] },
    },
  });
  const { page } = seen;
  const add = (group: string) =>
    page.getByRole("group", { name: group }).getByRole("button", { name: "Add" }).click();
  await add("Limits");
  await field("Limits: name 1").fill("cpu");
  await field("Limits: value 1").pressSequentially("-1.05");
  await add("Flags");
  await field("Flags: name 1").fill("new");
  await picker("Flags: value 1").selectOption("Yes");
  await add("Flags");
  await field("Flags: name 2").fill("old");
  await picker("Flags: value 2").selectOption("No");
  await field("Either").fill("true");
  expect(await send()).toEqual({
    body: '{"limits":{"cpu":-1.05},"flags":{"new":true,"old":false},"either":true}',
    status: 202,
  });
});

test("Enter keeps a typed name that isn't in the list, and selects what is found for the text as typed", async () => {
  const { page } = seen;
  const text = { type: "string" };
  const send = await openForm("picked", {
    type: "object",
    properties: { dataset: text, timezone: text, automationId: { ...text, format: "uuid" } },
  });
  await picker("Dataset").pressSequentially("shop_new");
  await page.keyboard.press("Enter");
  expect(await picker("Dataset").inputValue()).toBe("shop_new");
  await picker("Timezone").click();
  await page.getByRole("option", { name: /^UTC/ }).waitFor();
  await page.keyboard.insertText("zurich");
  await page.keyboard.press("Enter");
  await page.getByRole("listbox").waitFor({ state: "detached" });
  await picker("Automation ID").pressSequentially("nobody");
  await page.getByText("No results").waitFor();
  await page.keyboard.press("Enter");
  expect(await picker("Automation ID").inputValue()).toBe("nobody");
  await page.keyboard.press("Escape");
  expect(await send()).toEqual({ body: '{"dataset":"shop_new","timezone":"Europe/Zurich"}', status: 202 });

  const output = { layer: "marts", dataset: "shop" };
  await openAction("duckdb_transform", { sql: "SELECT 1", output });
  await picker("Dataset").fill("shop_2");
  const saved = page.waitForRequest((each) => each.method() === "PATCH");
  await page.keyboard.press("Control+Enter");
  expect((await saved).postDataJSON().definition.output).toEqual({ ...output, dataset: "shop_2" });
});

test("numbers of a step are kept as typed", async () => {
  const { page, weir, go } = seen;
  const { id } = await makeAutomation(weir.owner, {
    steps: [
      {
        key: "a",
        kind: "conditional_branch",
        definition: branch(),
        delay: { seconds: 60 },
        forEach: { table: "marts.orders", batch: 2 },
        maxParallel: 2,
      },
    ],
  });
  await go(`/automations/${id}/edit?step=a`);
  for (const name of ["Seconds to wait", "Concurrency", "Batch size"]) {
    await field(name).fill("");
    await field(name).pressSequentially("1.05");
    expect(await field(name).inputValue()).toBe("1.05");
  }
  await field("Concurrency").fill("3");
  await field("Batch size").fill("4");
  await page.keyboard.press("Control+s");
  const { config } = await until(
    weir.owner,
    `${AUTOMATIONS}/${id}/draft`,
    (draft) => draft.config?.steps[0].maxParallel === 3,
  );
  expect(config.steps[0]).toMatchObject({ delay: { seconds: 1.05 }, forEach: { batch: 4 }, maxParallel: 3 });
});

test("a step's list with a repeated or missing name isn't stored, and leaving asks first", async () => {
  const { page, weir, go } = seen;
  const headers = { "X-A": "1", "X-B": "2" };
  const definition = { url: "https://a.example", headers };
  const { id } = await makeAutomation(weir.owner, {
    steps: [{ key: "ask", kind: "http_request", definition }],
  });
  await go(`/automations/${id}/edit?step=ask`);
  const draft = `${AUTOMATIONS}/${id}/draft`;
  for (const [name, problem] of [
    ["X-A", "This name is already used."],
    ["", "Enter a name."],
  ] as const) {
    await field("Headers: name 2").fill(name);
    await page.getByText(problem).waitFor();
    await field("Step name").fill(problem);
    await page.keyboard.press("Control+s");
    const { config } = await until(weir.owner, draft, ({ config: now }) => now?.steps[0].name === problem);
    expect(config.steps[0].definition.headers).toEqual(headers);
    expect(await field("Headers: name 2").inputValue()).toBe(name);
  }
  await button("Publish").click();
  await page.getByText("Fix the invalid field first.").waitFor();
  await page.getByRole("link", { name: "Automations" }).first().click();
  await page
    .getByRole("dialog", { name: "Leave without saving?" })
    .getByRole("button", { name: "Keep editing" })
    .click();
  await field("Headers: name 2").fill("X-C");
  await button("Publish").click();
  await page.getByText("Published", { exact: true }).waitFor();
  const { config } = (await weir.owner("GET", `${AUTOMATIONS}/${id}`)).body;
  expect(config.steps[0].definition.headers).toEqual({ "X-A": "1", "X-C": "2" });
});

test("a step's new key reaches every template that names it, in the steps and in the response", async () => {
  const { page, weir, go } = seen;
  const sql = (text: string) => ({ kind: "duckdb_transform", definition: { sql: text } });
  const { id } = created(
    await weir.owner("POST", AUTOMATIONS, {
      name: "Renamed",
      triggerType: "webhook",
      config: {
        path: "renamed",
        response: { body: { rows: "{{steps.a.result.rows}}" } },
        steps: [
          { key: "a", ...sql("SELECT 1") },
          {
            key: "b",
            name: "After steps.a",
            ...sql("SELECT {{10-steps.a.result.rows}} -- steps.a"),
            dependsOn: ["a"],
            when: 'steps["a"].result.rows > 0 && "steps.a" != ""',
          },
        ],
      },
    }),
  );
  await go(`/automations/${id}/edit?step=a`);
  await field("Key").fill("first");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Control+s");
  const { config } = await until(
    weir.owner,
    `${AUTOMATIONS}/${id}/draft`,
    (draft) => draft.config !== undefined,
  );
  expect(config.response.body).toEqual({ rows: "{{steps.first.result.rows}}" });
  expect(config.steps[1]).toMatchObject({
    name: "After steps.a",
    definition: { sql: "SELECT {{10-steps.first.result.rows}} -- steps.a" },
    dependsOn: ["first"],
    when: 'steps.first.result.rows > 0 && "steps.a" != ""',
  });
  await page.locator('[data-step="b"]').focus();
  await page.keyboard.press("Control+d");
  await page.locator('[data-step="b_2"]').waitFor();
});
