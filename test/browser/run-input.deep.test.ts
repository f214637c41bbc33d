import { expect, test } from "bun:test";
import { makeHook, send } from "../support/hook.ts";
import { eventually } from "../support/outbound.ts";
import { startReceiver } from "../support/receiver.ts";
import { openSeen } from "../support/seen.ts";
import { AUTOMATION_RUNS, AUTOMATIONS, until } from "../support/work.ts";

/** A number that a double can't hold: it must be sent as typed. */
const ID = "12345678901234567890";

test("a webhook automation runs with a delivery, a pinned payload, a form's or JSON, and no digit is lost", async () => {
  await using receiver = startReceiver((_, count) =>
    count === 1 ? new Response("no", { status: 418 }) : Response.json({ ok: true }),
  );
  await using seen = await openSeen();
  const { page, weir, go, write, troubles } = seen;
  const definition = {
    url: receiver.url,
    method: "POST",
    body: { id: "{{payload.id}}", n: "{{payload.n}}" },
  };
  const hook = await makeHook(weir, {
    steps: [{ key: "tell", kind: "http_request", definition }],
    retries: { enabled: false },
  });
  await send(weir, `{"id": ${ID}, "n": 1}`);
  const told = () => receiver.got.map(({ text }) => JSON.parse(text));
  const toldIs = (at: number, body: object) =>
    eventually(() => JSON.stringify(told()[at]) === JSON.stringify(body));
  await until(
    weir.owner,
    `${AUTOMATIONS}/${hook.id}/runs`,
    ({ runs }) => (runs as { status: string }[])[0]?.status === "failed",
  );

  await go(`/automations/${hook.id}`);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const dialog = page.getByRole("dialog");
  const payload = dialog.getByLabel("Payload", { exact: true });
  await dialog.getByText(ID).waitFor();
  expect(await payload.evaluate((list) => (list as HTMLSelectElement).selectedOptions[0]?.text)).toMatch(
    /^Delivery of .*, failed$/,
  );
  expect(await troubles()).toEqual([]);
  await dialog.getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForURL(/\/automation-runs\//);
  await toldIs(1, { id: ID, n: 1 });

  await page.locator("h1 + span", { hasText: "Completed" }).waitFor();
  await page.getByRole("button", { name: "Run with edited input" }).click();
  await dialog.getByText(ID).waitFor();
  await write("Payload", `{"id": ${ID.replace("1", "9")}, "n": 2}`);
  const before = page.url();
  await dialog.getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForURL((address) => address.href !== before);
  await toldIs(2, { id: ID.replace("1", "9"), n: 2 });

  await go(`/automations/${hook.id}/edit`);
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await payload.waitFor();
  await dialog.getByText(ID.replace("1", "9")).waitFor(); // The last one.
  const delivery = payload.locator("option", { hasText: "Delivery of" });
  await payload.selectOption((await delivery.getAttribute("value")) ?? "");
  await dialog.getByText(ID).waitFor();
  await dialog.getByRole("button", { name: "Pin" }).click();
  await payload.selectOption({ label: "Pinned payload" });
  expect(await troubles()).toEqual([]);
  await dialog.getByRole("button", { name: "Edit", exact: true }).click();
  await write("Payload as JSON", `{"id": ${ID}, "n": 3}`);
  await dialog.getByRole("button", { name: "Test", exact: true }).click();
  await toldIs(3, { id: ID, n: 3 });
  await page.keyboard.press("Control+s");
  await until(
    weir.owner,
    `${AUTOMATIONS}/${hook.id}/draft`,
    ({ config }) => (config as { pinnedInput?: { id: string } } | undefined)?.pinnedInput?.id === ID,
  );
  const { runs } = (await weir.owner("GET", `${AUTOMATION_RUNS}?automation_id=${hook.id}`)).body;
  expect(runs[0].input).toEqual({ id: ID, n: 3 });
}, 120_000);
