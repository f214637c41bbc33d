import { expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { openAs } from "../support/hands.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { openSeen } from "../support/seen.ts";

test("a webhook automation is built by form, tested, fails, is fixed with its last run's output, and replayed", async () => {
  await using seen = await openSeen();
  const { page, troubles, write, heading } = seen;
  let isBroken = true;
  await using receiver = startReceiver(() =>
    isBroken ? Response.json({ error: "no" }, { status: 500 }) : Response.json({ ok: true }),
  );
  await page.getByRole("link", { name: "Automations" }).click();
  await page.getByRole("link", { name: "Create automation" }).click();
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("Big orders");
  await page.getByLabel("Trigger", { exact: true }).selectOption("webhook");
  await page.getByRole("textbox", { name: "Path" }).fill("orders");
  await page.getByText("More settings").click();
  await page.getByRole("group", { name: "Retries" }).getByRole("button", { name: "Set" }).click();
  await page.getByLabel("On", { exact: true }).uncheck();
  await page.getByRole("button", { name: "Create automation" }).click();
  const secret = (await page.getByRole("dialog").locator("code").textContent()) ?? "";
  await page.getByRole("button", { name: "Done" }).click();

  const panel = page.getByRole("region", { name: /^Step / });
  await page.getByRole("button", { name: "Add the first step" }).click();
  await page.getByRole("option", { name: /^Branch/ }).click();
  await panel.getByRole("button", { name: "JSON" }).click();
  await write("Definition", '{"branches": [{"key": "big", "when": "payload.total > 100"}]}');
  await panel.getByRole("textbox", { name: "Key" }).fill("route");
  await panel.getByRole("textbox", { name: "Key" }).press("Enter");
  await page.getByRole("button", { name: "Add a step after route, branch big" }).click();
  expect(await troubles()).toEqual([]);
  await page.getByRole("option", { name: /^HTTP request/ }).click();
  await panel.getByText("route: big").waitFor();
  await panel.getByRole("textbox", { name: "Key" }).fill("tell");
  await panel.getByRole("textbox", { name: "Key" }).press("Enter");
  await page.getByRole("textbox", { name: "URL" }).fill(`${receiver.url}/told`);
  await page.getByLabel("Method").selectOption("POST");
  expect(await troubles()).toEqual([]);
  await page.getByRole("button", { name: "Publish" }).click();
  await page.getByText("Published", { exact: true }).waitFor();
  await page.getByRole("link", { name: "Back to the automation" }).click();
  await heading("Big orders");

  await page.getByRole("link", { name: "Webhook", exact: true }).click();
  await page.getByLabel("Secret").fill(secret);
  await write("Body", '{"order": {"no": 7}, "total": 120}');
  await page.getByRole("button", { name: "Sign and send" }).click();
  await page.getByRole("table", { name: "Deliveries" }).getByText("Dead letter").waitFor();
  await page.getByRole("link", { name: "Steps and runs" }).click();
  await page.locator("[data-step=tell]").click();
  await panel.getByText(/500/).first().waitFor();

  // The editor shows the trigger's data and each step's output, and completes from them.
  await page.getByRole("link", { name: "Edit", exact: true }).click();
  await page.locator("[data-step=tell]").click();
  const url = page.getByRole("textbox", { name: "URL" });
  await url.click();
  await page.keyboard.press("End");
  await page.keyboard.type("/{{payload.or");
  await page.getByRole("option", { name: /^payload\.order\.no/ }).click();
  expect(await url.inputValue()).toBe(`${receiver.url}/told/{{payload.order.no}}`);
  const when = page.getByRole("textbox", { name: "Condition" });
  await when.click();
  await panel.getByRole("button", { name: "Input", exact: true }).click();
  await panel.getByRole("button", { name: /^total 120/ }).click();
  await when.waitFor();
  await page.waitForFunction(() =>
    [...document.querySelectorAll("input")].some(({ value }) => value === "payload.total"),
  );
  await when.fill('steps.route.result.branch == "big"');
  expect(await troubles()).toEqual([]);
  // The page may still say that the version before was published.
  const published = page.waitForResponse((reply) => reply.url().endsWith("/draft/publish") && reply.ok());
  await page.getByRole("button", { name: "Publish" }).click();
  await published;
  await page.getByRole("link", { name: "Back to the automation" }).click();
  isBroken = false;

  await page.getByRole("table", { name: "Runs" }).getByRole("link").first().click();
  await page.waitForURL(/\/automation-runs\//);
  const before = page.url();
  await page.getByRole("button", { name: "Retry failed steps" }).click();
  await page.waitForURL((address) => address.href !== before);
  await page.locator("h1 + span", { hasText: "Completed" }).waitFor();
  expect(receiver.got.map(({ path }) => path)).toEqual(["/told", "/told/7"]);
  expect(await troubles()).toEqual([]);

  const { automations } = (await seen.weir.owner("GET", "/api/v1/automations")).body;
  const { runs } = (await seen.weir.owner("GET", "/api/v1/action-runs")).body;
  const paths = [
    `/automations/${automations[0].id}/edit?step=tell`,
    new URL(page.url()).pathname,
    `/runs/${runs[0].id}`,
    "/automations/new",
    "/actions/new?kind=dlt_extract",
    "/connections/new?provider=postgres",
    "/sql",
  ];
  expect(await seen.alsoDarkAndNarrow(...paths)).toEqual([]);
});

deepTest(
  "steps that the canvas can't draw are edited as JSON, and a fault from the API is shown at its step",
  async () => {
    await using seen = await openSeen({ engine: false });
    const { page, go, write, troubles, weir } = seen;
    const { body } = await weir.owner("POST", "/api/v1/automations", {
      name: "By hand",
      triggerType: "manual",
      status: "draft",
      config: { steps: [] },
    });
    await go(`/automations/${body.id}/edit`);
    await page.getByRole("button", { name: "JSON" }).click();
    await write("Configuration", '{"steps": [{"no": "key"}]}');
    await page.getByText("The canvas can't show these steps").waitFor();
    await write(
      "Configuration",
      '{"steps": [{"key": "a", "kind": "duckdb_transform", "definition": {}, "when": "1 +"}]}',
    );
    await page.getByRole("button", { name: "Canvas" }).click();
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByRole("button", { name: "1 fault" }).click();
    await page.getByRole("textbox", { name: "Condition" }).waitFor();
    expect(await page.getByRole("textbox", { name: "Condition" }).getAttribute("aria-invalid")).toBe("true");
    await page.getByText("Field required", { exact: true }).waitFor(); // At its field: the card shows it too.
    expect(await troubles()).toEqual([]);
  },
);

deepTest(
  "a schedule is selected, described in words, and shows its next five times in its zone and the user's",
  async () => {
    await using weir = await startApp({ engine: false });
    const place = { timezoneId: "Europe/Berlin", locale: "en-GB" };
    await using berlin = await openAs(weir.origin, {}, place);
    const { page, faults } = berlin;
    await page.goto(`${weir.origin}/automations/new`);
    await page.getByLabel("Trigger", { exact: true }).selectOption("schedule");
    const cron = page.getByRole("textbox", { name: "Cron" });
    await page.getByLabel("Repeats").selectOption("Every weekday");
    await page.getByText("Mon–Fri at 7:00").waitFor();
    expect(await cron.inputValue()).toBe("0 7 * * 1-5");
    await page.getByLabel("Repeats").selectOption("Every day");
    await page.getByLabel("Time", { exact: true }).fill("06:30");
    await page.getByText("Daily at 6:30").waitFor();
    expect(await cron.inputValue()).toBe("30 6 * * *");
    await page.getByRole("combobox", { name: "Time zone" }).fill("new york");
    await page.getByRole("option", { name: "America/New_York" }).click();
    const next = page.getByRole("table", { name: "Upcoming runs" });
    await next.getByText("06:30:00").first().waitFor();
    expect(await next.getByRole("row").count()).toBe(6);
    expect(await next.getByText("Europe/Berlin (your time zone)").count()).toBe(1);
    const [first] = await next.locator("time").all();
    const { body } = await weir.owner("POST", "/api/v1/automations", {
      name: "The same",
      triggerType: "schedule",
      config: {
        schedule: { cron: "30 6 * * *", timezone: "America/New_York" },
        steps: [
          { key: "a", kind: "conditional_branch", definition: { branches: [{ key: "b", when: "true" }] } },
        ],
      },
    });
    expect(await first?.getAttribute("datetime")).toBe(body.nextRunAt);
    expect(faults).toEqual([]);
  },
);
