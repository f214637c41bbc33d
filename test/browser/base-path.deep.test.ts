import { expect, test } from "bun:test";
import { PASSWORD } from "../support/app.ts";
import { openBrowser } from "../support/chromium.ts";
import { pressTogether } from "../support/hands.ts";
import { makeHook, SECRET } from "../support/hook.ts";
import { startBelow, WAYS } from "../support/proxy.ts";
import { branch, created, makeAction, makeAutomation, runToEnd } from "../support/work.ts";

/** A single pixel. */
const GIF = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";
const STEPS = { action: { kind: "conditional_branch", definition: branch() } };

test.each(WAYS)(
  "below a path of another site, behind a proxy that %s, the page works and requests nothing outside it",
  async (way) => {
    await using weir = await startBelow(way);
    await makeAutomation(weir.owner, STEPS, { name: "Sort" });
    const hook = await makeHook(weir, STEPS);
    const run = await runToEnd(weir.owner, (await makeAction(weir.owner)).id);
    const dot = created(
      await weir.owner("POST", "/api/v1/artifacts", {
        actionRunId: run.id,
        kind: "file",
        content: { fileName: "dot.gif", mimeType: "image/gif", data: GIF },
      }),
    );
    const browser = await openBrowser();
    try {
      const { page, context, faults, foreign } = await browser.open(weir.site, {
        permissions: ["clipboard-read", "clipboard-write"],
      });
      const asked: string[] = [];
      context.on("request", (request) => asked.push(request.url()));
      const at = () => page.url().replace(weir.host, "");
      const heading = (name: string) => page.getByRole("heading", { name, exact: true, level: 1 }).waitFor();

      // If signed out, a deep link leads to the sign-in page and back.
      await page.goto(`${weir.site}/automations?status=active`);
      await page.waitForURL(`${weir.site}/login?**`);
      await page.getByLabel("Email").fill("ada@example.com");
      await page.getByLabel("Password").fill(PASSWORD);
      await page.getByRole("button", { name: "Sign in" }).click();
      await heading("Automations");
      expect(at()).toBe("/weir/automations?status=active");
      await page.locator("aside [title^='Live']").waitFor();

      // Changes on the server appear automatically.
      await makeAutomation(weir.owner, STEPS, { name: "Made elsewhere" });
      await page.getByRole("link", { name: "Made elsewhere" }).waitFor();

      // Filters and tabs change the URL; reloading restores them.
      await page.getByRole("link", { name: "Sort" }).click();
      await heading("Sort");
      await page.getByRole("link", { name: "Settings", exact: true }).last().click();
      await page.waitForURL(/\/weir\/automations\/[\w-]+\?tab=edit$/);
      await page.reload();
      await page.getByRole("textbox", { name: "Description" }).waitFor();
      await page.getByRole("link", { name: "Edit", exact: true }).click();
      await page.waitForURL(/\/weir\/automations\/[\w-]+\/edit$/);
      await page.locator("[data-step]").nth(1).click();
      await page.waitForURL(/\/weir\/automations\/[\w-]+\/edit\?step=\w+$/);
      await page.getByRole("link", { name: "Back to the automation" }).click();
      await page.getByRole("link", { name: "Steps and runs" }).click();
      await page.waitForURL(/\/weir\/automations\/[\w-]+$/);
      await page.getByRole("button", { name: "Run", exact: true }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Run", exact: true }).click();
      await page.waitForURL(/\/weir\/automation-runs\/[\w-]+$/);
      await page.locator("h1 + span", { hasText: "Completed" }).waitFor();
      await page.goBack();
      await heading("Sort");

      // A webhook is tested at its URL.
      await page.goto(`${weir.site}/automations/${hook.id}?tab=webhook`);
      await page.getByLabel("Secret").fill(SECRET);
      await page.getByRole("button", { name: "Sign and send" }).click();
      await page.getByRole("table", { name: "Deliveries" }).getByText("Processed").waitFor();

      // Files and commands contain the full URL.
      await page.goto(`${weir.site}/artifacts/${dot.id}`);
      const picture = page.getByRole("img", { name: "dot.gif" });
      await picture.waitFor();
      const width = (element: Element) => {
        const image = element as HTMLImageElement;
        return image.decode().then(() => image.naturalWidth); // Once it is there.
      };
      expect(await picture.evaluate(width)).toBe(1);
      const content = `/weir/api/v1/artifacts/${dot.id}/content`;
      expect(await page.getByRole("link", { name: "Download" }).getAttribute("href")).toBe(content);
      await page.getByRole("link", { name: "Open run" }).click();
      await page.getByRole("button", { name: "Copy as command" }).click();
      await page.getByRole("menuitem", { name: "Get run (cURL)" }).click();
      await page.getByText("Command copied").waitFor();
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      expect(copied).toStartWith(`curl '${weir.site}/api/v1/action-runs/${run.id}'`);

      // Keyboard shortcuts, links outside the page, and signing out.
      await page.keyboard.press("Escape");
      await page.locator("h1").click();
      await pressTogether(page, "g", "s");
      await heading("SQL");
      expect(at()).toBe("/weir/sql");
      await page.locator("[data-editor]").first().waitFor();
      await page.getByRole("button", { name: "Ada Lovelace" }).click();
      await page.getByRole("menuitem", { name: "API reference" }).click();
      await page.waitForURL(`${weir.site}/docs`);
      const search = page.getByRole("searchbox");
      await search.fill("health");
      await page.locator("details.operation", { hasText: "/api/v1/health" }).first().waitFor();
      await page.goBack();
      await heading("SQL");
      await page.getByRole("button", { name: "Ada Lovelace" }).click();
      await page.getByRole("menuitem", { name: "Sign out" }).click();
      await page.waitForURL(`${weir.site}/login`);
      await page.getByLabel("Email").fill("ada@example.com");
      await page.getByLabel("Password").fill(PASSWORD);
      await page.getByRole("button", { name: "Sign in" }).click();
      await heading("Hello, Ada");
      expect(at()).toBe("/weir/");

      expect(asked.length).toBeGreaterThan(80);
      expect(asked.filter((url) => !url.startsWith(`${weir.site}/`) && !/^(data|blob):/.test(url))).toEqual(
        [],
      );
      expect([faults, foreign, weir.strays]).toEqual([[], [], []]);

      // Without the proxy, the page uses its own URLs.
      await page.goto(`${weir.direct}/runs`);
      await page.waitForURL(`${weir.direct}/weir/runs`);
      await heading("Runs");
      expect(faults).toEqual([]);
    } finally {
      await browser.close();
    }
  },
  240_000,
);
