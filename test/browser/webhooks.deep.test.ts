import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { makeHook, send } from "../support/hook.ts";
import { happen, newest, WEBHOOKS } from "../support/outbound.ts";
import { startReceiver } from "../support/receiver.ts";
import { MARKUP, openSeen, type Seen } from "../support/seen.ts";
import { until } from "../support/work.ts";

let seen: Seen;
/** Status of the receiver's response, which determines what happens to a delivery. */
const state = { status: 200 };
const receiver = startReceiver(() => new Response(`${state.status} ${MARKUP}`, { status: state.status }));
/** Receiver that an automation sends to. */
const shop = startReceiver(() => Response.json({}, { status: state.status }));

beforeAll(async () => {
  seen = await openSeen({ hurry: 20, env: { WEIR_WEBHOOK_SCHEDULE: "0,0" } });
});
afterAll(async () => {
  await seen[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
  await shop[Symbol.asyncDispose]();
});
beforeEach(() => {
  seen.faults.length = 0;
  state.status = 200;
});

const LETTERS = "/api/v1/dead-letters";

describe("outgoing webhooks", () => {
  test("one is subscribed by form, its secret is shown once and signs, and a test shows the result", async () => {
    const { page, go, heading, troubles } = seen;
    await go("/webhooks");
    await page.getByRole("link", { name: "Create webhook" }).click();
    await heading("New webhook");
    await page.getByLabel("URL").fill("ftp://nowhere");
    await page.getByRole("button", { name: "Create webhook" }).click();
    await page.getByText("Input should be a URL that starts with").waitFor();
    expect(await page.getByLabel("URL").getAttribute("aria-invalid")).toBe("true");
    await page.getByRole("group", { name: "Events" }).getByRole("alert").waitFor();
    expect(await troubles()).toEqual([]);

    await page.getByLabel("URL").fill(`${receiver.url}/told`);
    await page.getByText("Connection", { exact: true }).click();
    await page.getByLabel("connection.created").check();
    await page.getByText("Artifact", { exact: true }).click();
    await page.getByLabel(/artifact\.\*/).check();
    expect(await page.getByLabel("artifact.created").isChecked()).toBe(true);
    await page.getByRole("button", { name: "Create webhook" }).click();
    const dialog = page.getByRole("dialog", { name: "Save your signing secret" });
    const secret = (await dialog.locator("code").textContent()) ?? "";
    expect(await troubles()).toEqual([]);
    await dialog.getByRole("button", { name: "Done" }).click();
    await heading(`${receiver.url}/told`);
    expect(await page.getByText(secret).count()).toBe(0);
    await page.getByText("No deliveries yet").waitFor();
    await page.getByText("connection.created, artifact.*").waitFor();

    await page.getByRole("button", { name: "Send test" }).click();
    const delivery = page.getByRole("dialog", { name: "webhook.tested" });
    await delivery.getByText("Delivered").waitFor();
    await delivery.getByText(MARKUP).waitFor();
    expect(page.url()).toContain("?delivery=");
    expect(await troubles()).toEqual([]);
    const [got] = receiver.got;
    const signed = Object.fromEntries(got!.headers);
    expect(new Webhook(secret).verify(got!.text, signed)).toMatchObject({ type: "webhook.tested" });
    await page.keyboard.press("Escape");
    await page.getByRole("row", { name: /webhook\.tested Test Delivered 200/ }).waitFor();
  });

  test("events appear automatically, a delivery is opened and resent, and found by its status", async () => {
    const { page, go, troubles, weir } = seen;
    const [hook] = (await weir.owner("GET", WEBHOOKS)).body.items;
    await go(`/webhooks/${hook.id}`);
    await page.getByRole("row", { name: /webhook\.tested/ }).waitFor();
    await happen(weir);
    await page.getByRole("link", { name: "connection.created" }).click();
    const delivery = page.getByRole("dialog", { name: "connection.created" });
    await delivery.getByText("Delivered").waitFor();
    const id = new URL(page.url()).searchParams.get("delivery");
    await delivery.getByRole("button", { name: "Resend" }).click();
    await delivery.getByRole("link", { name: "Original delivery" }).click();
    await page.waitForURL(`**/webhooks/${hook.id}?delivery=${id}`);
    expect(await troubles()).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "connection.created Resent" }).waitFor();
    await page.getByLabel("Status").selectOption("dead_letter");
    await page.getByText("No deliveries have this status").waitFor();
  });

  test("disabled, it says that events are held; its settings change; its secret is replaced", async () => {
    const { page, go, troubles, weir } = seen;
    const [hook] = (await weir.owner("GET", WEBHOOKS)).body.items;
    await go(`/webhooks/${hook.id}?tab=settings`);
    await page.getByRole("button", { name: "Disable" }).click();
    await page.getByText("Events are queued while it's disabled").waitFor();
    expect(await troubles()).toEqual([]);
    await page.getByRole("button", { name: "Enable" }).click();
    await page.getByText("Active", { exact: true }).waitFor();
    await page.getByLabel("URL").fill("http://");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator("[aria-invalid=true]").waitFor();
    await page.getByLabel("URL").fill(`${receiver.url}/elsewhere`);
    await page.getByLabel("All events").check();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Webhook saved", { exact: true }).waitFor();
    expect((await weir.owner("GET", `${WEBHOOKS}/${hook.id}`)).body).toMatchObject({
      url: `${receiver.url}/elsewhere`,
      events: ["*"],
    });
    await page.getByRole("button", { name: "Rotate" }).click();
    await page
      .getByRole("dialog")
      .getByText(/X-SVC-Signature-Previous/)
      .waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Rotate" }).click();
    await page
      .getByRole("dialog", { name: "Save your signing secret" })
      .getByText(/^whsec_/)
      .waitFor();
    expect(await troubles()).toEqual([]);
  });
});

describe("deliveries that failed permanently", () => {
  test("is listed with the dead letters, incoming and outgoing, and is replayed there", async () => {
    const { page, go, heading, troubles, weir } = seen;
    const [hook] = (await weir.owner("GET", WEBHOOKS)).body.items;
    await weir.owner("PATCH", `${WEBHOOKS}/${hook.id}`, { events: ["connection.created"] });
    const definition = { url: shop.url, method: "POST", body: "{{payload}}" };
    const retries = { maxAttempts: 2, backoffSeconds: [0] };
    const automation = await makeHook(
      weir,
      { action: { kind: "http_request", definition }, retries, debug: true },
      { name: MARKUP },
    );
    await go("/deliveries");
    await page.getByText("No deliveries yet").waitFor();
    await seen.live();
    state.status = 503;
    const { body } = await send(weir, '{"order":"A-17"}', {}, "/webhooks/acme/orders?from=shop");
    await happen(weir);
    await newest(weir, hook.id, "dead_letter");
    await until(weir.owner, LETTERS, ({ items }) => items.length === 2);

    await page.getByRole("row", { name: /Dead letter 500 2/ }).click();
    await heading(MARKUP);
    await page.getByText('"A-17"').waitFor();
    await page.getByText('"shop"').waitFor();
    await page.getByText("Attempt 2").waitFor();
    expect(await troubles()).toEqual([]);
    await page.getByRole("link", { name: "View dead letters" }).click();
    await page.waitForURL(`**/dead-letters?automation=${automation.id}`);
    await page.getByRole("button", { name: /^Replay all of/ }).waitFor();
    expect(await page.getByRole("table", { name: "Dead letters" }).getByRole("row").count()).toBe(2);

    await page.getByRole("button", { name: "Clear filters" }).click();
    await page
      .getByRole("link", { name: `Outgoing · ${receiver.url}/elsewhere connection.created` })
      .waitFor();
    expect(await troubles()).toEqual([]);
    await go("/");
    await page.getByRole("link", { name: "2 dead letters" }).click();
    state.status = 200;
    await page.getByRole("button", { name: "Select all on this page" }).click();
    await page.getByLabel(`Select dead letter of ${receiver.url}/elsewhere`).uncheck();
    await page.getByRole("button", { name: "Replay 1 selected" }).click();
    await page.getByText("1 replay queued").waitFor();
    await page.getByRole("row", { name: /Incoming.*Replayed/ }).waitFor();
    expect((await weir.owner("GET", `/api/v1/webhook-deliveries/${body.deliveryId}`)).body.payload).toEqual({
      order: "A-17",
    });
    expect(shop.got.at(-1)?.text).toBe('{"order":"A-17"}');

    await page.getByRole("link", { name: /^Outgoing ·/ }).click();
    const delivery = page.getByRole("dialog", { name: "connection.created" });
    await delivery.getByText("503", { exact: true }).first().waitFor();
    expect(await troubles()).toEqual([]);
    await page.goBack();
    await page
      .getByRole("row", { name: /Outgoing/ })
      .getByRole("button", { name: "Replay", exact: true })
      .click();
    await newest(weir, hook.id, "delivered");
    await page
      .getByRole("row", { name: /Outgoing/ })
      .getByRole("button", { name: "Discard" })
      .click();
    await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click();
    await page.getByText("Dead letter discarded").waitFor();
    await page.getByRole("row", { name: /Outgoing/ }).waitFor({ state: "detached" });
  });

  test("incoming ones are filtered by status and automation", async () => {
    const { page, go, weir, troubles } = seen;
    await go("/deliveries");
    await page.getByLabel("Status").selectOption("processed");
    await page.getByRole("row", { name: /Dead letter/ }).waitFor({ state: "detached" });
    await page.getByRole("row", { name: /Processed 200/ }).waitFor();
    const [automation] = (await weir.owner("GET", "/api/v1/automations?trigger_type=webhook")).body
      .automations;
    await page.getByLabel("Automation").selectOption(automation.id);
    await page.waitForURL(`**/deliveries?status=processed&automation=${automation.id}`);
    await page.getByLabel("Status").selectOption("retrying");
    await page.getByText("No deliveries match these filters").waitFor();
    expect(await troubles()).toEqual([]);
  });
});

test("they are readable in dark mode and on a phone", async () => {
  const { weir, alsoDarkAndNarrow } = seen;
  const [hook] = (await weir.owner("GET", WEBHOOKS)).body.items;
  const [delivery] = (await weir.owner("GET", "/api/v1/webhook-deliveries")).body.items;
  expect(
    await alsoDarkAndNarrow(
      "/webhooks",
      "/webhooks/new",
      `/webhooks/${hook.id}`,
      `/webhooks/${hook.id}?tab=settings`,
      "/deliveries",
      `/deliveries/${delivery.id}`,
      "/dead-letters",
    ),
  ).toEqual([]);
});

test("deleting a webhook says what is deleted with it", async () => {
  const { page, go, weir, troubles } = seen;
  const [hook] = (await weir.owner("GET", WEBHOOKS)).body.items;
  await go(`/webhooks/${hook.id}`);
  await page.getByRole("button", { name: "Delete webhook" }).click();
  await page.getByRole("dialog").getByText("No deliveries are pending.").waitFor();
  expect(await troubles()).toEqual([]);
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No webhooks yet").waitFor();
  expect((await weir.owner("GET", WEBHOOKS)).body.items).toEqual([]);
});

test("a webhook with a token is tested from its page with that token", async () => {
  const { page, go, troubles, weir } = seen;
  const hook = await makeHook(weir, {
    path: "by-token",
    secret: undefined,
    auth: { type: "bearer", token: "a-token-of-the-shop" },
    action: { kind: "conditional_branch", definition: { branches: [{ key: "a", when: "true" }] } },
  });
  await go(`/automations/${hook.id}?tab=webhook`);
  await page.getByText("Bearer token").waitFor();
  await page.getByLabel("Secret").fill("a-token-of-the-shop");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByRole("status").getByText("200", { exact: true }).waitFor();
  expect(await troubles()).toEqual([]);
});
