import { afterAll, beforeAll, expect, test } from "bun:test";
import { contextFor, write } from "../../src/context.ts";
import { record } from "../../src/resources/events/service.ts";
import { pressTogether } from "../support/hands.ts";
import { MARKUP, openSeen, type Seen } from "../support/seen.ts";
import { branch, created, flowToEnd, makeAction, makeAutomation, runToEnd } from "../support/work.ts";

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen();
});
afterAll(() => seen[Symbol.asyncDispose]());

const steps = [{ key: "go", kind: "conditional_branch", definition: branch() }];

/** What the watch of automations tells when one is silent for too long. */
async function tellStale({ weir }: Seen, automation: { id: string; name: string }) {
  const ctx = contextFor(weir.app, {
    organizationId: weir.ids.organizationId,
    role: "owner",
    actor: { type: "system", id: "watcher" },
    correlationId: "told-for-a-test",
  });
  const { id, name } = automation;
  await write(ctx, (tx) =>
    record(tx, "automation.stale", { type: "automation", id }, { name, reason: "silent" }),
  );
}

test("home says what is stale, what is broken and what comes next, each with the way there", async () => {
  const { page, go, heading, troubles, weir } = seen;
  const { owner } = weir;
  await runToEnd(owner, (await makeAction(owner)).id);
  const silent = await makeAutomation(owner, { steps }, { name: MARKUP });
  const mended = await makeAutomation(owner, { steps }, { name: "Mended since" });
  await tellStale(seen, silent);
  await tellStale(seen, mended);
  await flowToEnd(owner, mended.id);
  await makeAutomation(
    owner,
    { steps, schedule: { cron: `30 ${(weir.clock.now().getUTCHours() + 6) % 24} * * *`, timezone: "UTC" } },
    { name: "Every day", triggerType: "schedule" },
  );
  const { id } = created(
    await owner("POST", "/api/v1/connections", {
      name: "Warehouse",
      provider: "postgres",
      config: { host: "127.0.0.1", port: 9, database: "shop" },
      credentials: { user: "ada", password: "secret" },
    }),
  );
  await owner("POST", `/api/v1/connections/${id}/verify`);

  await go("/");
  await page.getByRole("link", { name: `${MARKUP}: overdue` }).waitFor();
  await page.getByRole("link", { name: /^Error Warehouse: connection failed/ }).waitFor();
  await page.getByRole("link", { name: /^Every day in [56] hr/ }).waitFor();
  expect(await page.getByText(/^Mended since: /).count()).toBe(0);
  expect(await troubles()).toEqual([]);
  await page.getByRole("link", { name: /: overdue/ }).click();
  await heading(MARKUP);
  await flowToEnd(owner, silent.id);
  await go("/");
  await page.getByRole("link", { name: /^Error Warehouse: connection failed/ }).waitFor();
  expect(await page.getByText(/: overdue/).count()).toBe(0);
});

test("letters and the palette lead to each area", async () => {
  const { page, go, heading } = seen;
  await go("/");
  await heading("Hello, Ada");
  for (const [key, name] of [
    ["b", "Bundles"],
    ["v", "Dashboards"],
    ["f", "Artifacts"],
    ["w", "Webhooks"],
    ["m", "Team"],
    ["k", "Access"],
    ["o", "Organization"],
  ] as const) {
    await pressTogether(page, "g", key);
    await heading(name);
    await page.locator("aside [aria-current=page]").waitFor();
  }
  await page.keyboard.press("Control+k");
  await page.keyboard.type("dead l");
  await page.keyboard.press("Enter");
  await heading("Dead letters");
  await page.locator("aside [aria-current=page]", { hasText: "Webhooks" }).waitFor();
});

test("it is as readable in the dark and on a phone", async () => {
  expect(await seen.alsoDarkAndNarrow("/")).toEqual([]);
});
