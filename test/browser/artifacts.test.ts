import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { contextFor } from "../../src/context.ts";
import { loadTable } from "../support/lake.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { MARKUP, openSeen, type Seen } from "../support/seen.ts";
import { created, flowToEnd, makeAction, makeAutomation, runToEnd } from "../support/work.ts";

let seen: Seen;
/** A receiver that would be notified when a page of an artifact is opened. */
const spy = startReceiver();
const made = { json: "", text: "", long: "", html: "", image: "", run: "" };

const base64 = (text: string) => Buffer.from(text).toString("base64");
/** A single pixel. */
const GIF = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";
const page = (url: string) => `<!doctype html><h1>Orders this week</h1>
<table><tr><td>CH</td><td>12</td></tr></table>
<script>parent.document.title = "taken"; fetch("${url}/script")</script>
<img src="${url}/image" onerror="parent.document.title = 'taken'">
<form action="${url}/form"><button>Send</button></form>
<a href="${url}/link" target="_top">Out</a>`;

beforeAll(async () => {
  seen = await openSeen();
  const { owner } = seen.weir;
  const run = await runToEnd(owner, (await makeAction(owner)).id);
  const artifact = async (body: object) =>
    created(await owner("POST", "/api/v1/artifacts", { actionRunId: run.id, ...body })).id as string;
  const file = (fileName: string, mimeType: string, data: string) => ({
    kind: "file",
    content: { fileName, mimeType, data },
  });
  made.run = run.id;
  made.json = await artifact({
    kind: "json",
    title: MARKUP,
    content: { orders: [{ id: 17, note: MARKUP }] },
  });
  made.text = await artifact({ kind: "text", title: "Notes", content: `first line\n${MARKUP}` });
  made.long = await artifact({ kind: "text", title: "Long", content: "0123456789".repeat(60_000) });
  made.html = await artifact(file("week.html", "text/html", base64(page(spy.url))));
  made.image = await artifact(file("dot.gif", "image/gif", GIF));
});
afterAll(async () => {
  await seen[Symbol.asyncDispose]();
  await spy[Symbol.asyncDispose]();
});
beforeEach(() => {
  seen.faults.length = 0;
  seen.foreign.length = 0;
});

describe("artifacts", () => {
  deepTest("are listed by kind and run, and opened: JSON as a tree, text unchanged", async () => {
    const { page, go, heading, troubles } = seen;
    await go(`/artifacts?run=${made.run}`);
    const table = page.getByRole("table", { name: "Artifacts" });
    await table.getByRole("row").nth(5).waitFor();
    for (const kind of ["HTML", "Image", "JSON", "Text"])
      await table.getByText(kind, { exact: true }).first().waitFor();
    expect(await troubles()).toEqual([]);
    await page.getByLabel("Kind").selectOption("json");
    await page.waitForURL(/kind=json/);
    await table.getByRole("link", { name: MARKUP }).click();
    await heading(MARKUP);
    await page.getByRole("button", { name: /orders/ }).waitFor();
    await page.getByRole("button", { name: "0 {2}" }).click();
    await page.getByText("17", { exact: true }).waitFor();
    expect(await troubles()).toEqual([]);
    await go(`/artifacts/${made.text}`);
    await page.getByRole("region", { name: "Content" }).getByText(MARKUP).waitFor();
    expect(await troubles()).toEqual([]);
    const [saved] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Download" }).click(),
    ]);
    expect(readFileSync(await saved.path(), "utf8")).toBe(`first line\n${MARKUP}`);
  });

  deepTest("a long one is shown in part and can be loaded completely", async () => {
    const { page, go, troubles } = seen;
    await go(`/artifacts/${made.long}`);
    await page.getByText(/^Preview of the first 512 KiB/).waitFor();
    const shown = await page.getByRole("region", { name: "Content" }).textContent();
    expect(shown?.length).toBe(512 * 1024);
    expect(await troubles()).toEqual([]);
  });

  deepTest("an image is shown", async () => {
    const { page, go, troubles } = seen;
    await go(`/artifacts/${made.image}`);
    const picture = page.getByRole("img", { name: "dot.gif" });
    await picture.waitFor();
    const width = (element: Element) => {
      const image = element as HTMLImageElement;
      return image.decode().then(() => image.naturalWidth); // Once it is there.
    };
    expect(await picture.evaluate(width)).toBe(1);
    expect(await troubles()).toEqual([]);
  });

  test("a page of a run is shown among the dashboards, and can't run scripts, fetch or access this page", async () => {
    const { page, go, heading } = seen;
    await go("/dashboards");
    await page.getByRole("link", { name: /week\.html/ }).click();
    await heading("week.html");
    const inside = page.frameLocator("iframe");
    await inside.getByRole("heading", { name: "Orders this week" }).waitFor();
    const frame = page.locator("iframe");
    expect(await frame.getAttribute("sandbox")).toBe("");
    expect(await frame.getAttribute("src")).toBeNull();
    await inside.getByRole("button", { name: "Send" }).click();
    await inside.getByRole("link", { name: "Out" }).click();
    await page.waitForTimeout(300);
    expect(await page.title()).toBe("week.html · Weir");
    expect(page.url()).toBe(`${seen.weir.origin}/dashboards/${made.html}`);
    await page
      .getByRole("navigation", { name: "Main navigation" })
      .locator("[aria-current]", { hasText: "Dashboards" })
      .waitFor();
    expect(spy.got).toEqual([]);
    expect(seen.faults.filter((fault) => fault.startsWith("script:"))).toEqual([]);
    seen.refused.length = 0; // What the run's page tries.
  });

  deepTest("a flashboard is drawn panel by panel, names its sources, and is exported as a page", async () => {
    const { page, go, heading, troubles, weir } = seen;
    const ctx = contextFor(weir.app, {
      organizationId: weir.ids.organizationId,
      role: "member",
      actor: { type: "user", id: weir.ids.userId },
      correlationId: "test-chain",
    });
    const select = "SELECT * FROM (VALUES ('tea', 3), ('coffee', 5)) t(product, sold)";
    await loadTable(ctx, { layer: "marts", dataset: "sales", table: "sales", select });
    const chart = {
      mark: "bar",
      encoding: { x: { field: "product", type: "nominal" }, y: { field: "sold", type: "quantitative" } },
    };
    const definition = {
      title: MARKUP,
      panels: [
        { title: "By product", sql: "SELECT product, sold FROM marts.sales", chart, width: "half" },
        { title: "As a table", sql: "SELECT * FROM marts.sales", width: "half" },
        { title: "Empty", sql: "SELECT * FROM marts.sales WHERE sold > 9" },
      ],
    };
    const action = await makeAction(weir.owner, { kind: "create_flashboard", name: "Board", definition });
    expect((await runToEnd(weir.owner, action.id)).error).toBeNull();
    await go("/dashboards");
    const boards = page.getByRole("main").getByRole("listitem");
    await boards.nth(1).waitFor();
    expect(await boards.count()).toBe(2);
    await boards.filter({ hasText: "Board · " }).waitFor();
    const steps = [{ key: "board", actionId: action.id }];
    const weekly = await makeAutomation(weir.owner, { steps }, { name: "Weekly report" });
    expect((await flowToEnd(weir.owner, weekly.id)).status).toBe("completed");
    await boards.filter({ hasText: "Weekly report · " }).waitFor();
    expect(await troubles()).toEqual([]);
    await boards.filter({ hasText: "Board · " }).getByRole("link").click();
    await heading(MARKUP);
    const picture = page.getByRole("img", { name: "By product" });
    await picture.getByText("coffee").first().waitFor();
    expect(await picture.locator("path").count()).toBeGreaterThan(2);
    await page.getByRole("region", { name: "Rows of As a table" }).getByText("tea").waitFor();
    await page.getByText("No data for this panel.").waitFor();
    await page.getByText("Sources", { exact: true }).first().click();
    await page.getByText("marts.sales, table sales: version 1, 2 rows").first().waitFor();
    expect(await troubles()).toEqual([]);
    const [saved] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Download" }).click(),
    ]);
    expect(readFileSync(await saved.path(), "utf8")).toStartWith("<!doctype html>");
    expect(await seen.alsoDarkAndNarrow(new URL(page.url()).pathname)).toEqual([]);
  });

  test("a crafted drawing keeps its shapes and loses everything else", async () => {
    const { page, go, troubles, weir } = seen;
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="90" height="60"
      onload="document.title='taken'"><script>document.title = "taken"</script>
      <style>body { display: none }</style>
      <foreignObject><iframe xmlns="http://www.w3.org/1999/xhtml" src="${spy.url}/frame"></iframe></foreignObject>
      <image href="${spy.url}/image"/><use href="${spy.url}/use#a"/>
      <a xlink:href="javascript:alert(1)"><text>lost</text></a>
      <rect id="box" width="20" height="20" fill="url(${spy.url}/paint#p)" style="background:url(${spy.url}/css)"
        onclick="document.title='taken'"/>
      <text x="5" y="50">kept</text></svg>`;
    const panel = {
      title: MARKUP,
      sql: "SELECT 1",
      chart: {},
      width: 12,
      columns: [],
      rows: [],
      truncated: false,
      note: null,
      svg,
      provenance: { runId: made.run, queriedAt: "2026-01-01T00:00:00.000Z", durationSeconds: 0, tables: [] },
    };
    const content = {
      type: "flashboard",
      version: 1,
      title: "Made up",
      createdAt: "2026-01-01T00:00:00.000Z",
    };
    const { id } = created(
      await weir.owner("POST", "/api/v1/artifacts", {
        actionRunId: made.run,
        kind: "json",
        title: "Made up",
        content: { ...content, panels: [panel, { ...panel, title: "Broken", svg: "<svg" }] },
      }),
    );
    await go(`/artifacts/${id}`);
    const picture = page.getByRole("img", { name: MARKUP });
    await picture.getByText("kept").waitFor();
    await page.getByText("Couldn't display this chart.").waitFor();
    await picture.locator("rect").click();
    const markup = await picture.evaluate((element) => element.outerHTML);
    expect(markup).not.toMatch(/script|iframe|image|use|href|style|onclick|onload|lost|127\.0\.0\.1/);
    expect(await page.title()).toBe("Made up · Weir");
    expect(spy.got).toEqual([]);
    const refused = /^policy: Applying inline style/; // While it is parsed; nothing of it is kept.
    expect((await troubles()).filter((trouble) => !refused.test(trouble))).toEqual([]);
    seen.refused.length = 0;
  });

  deepTest("one is deleted, and its run stays", async () => {
    const { page, go, troubles, weir } = seen;
    await go(`/artifacts/${made.text}`);
    await page.getByRole("button", { name: "Delete artifact" }).click();
    await page
      .getByRole("dialog")
      .getByText(/The run is kept/)
      .waitFor();
    expect(await troubles()).toEqual([]);
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("table", { name: "Artifacts" }).waitFor();
    expect((await weir.owner("GET", `/api/v1/artifacts/${made.text}`)).status).toBe(404);
    await go(`/artifacts/${made.text}`);
    await page.getByText("Not found").waitFor();
  });

  deepTest("they are readable in dark mode and on a phone", async () => {
    expect(
      await seen.alsoDarkAndNarrow(
        "/artifacts",
        `/artifacts/${made.json}`,
        `/artifacts/${made.long}`,
        "/dashboards",
      ),
    ).toEqual([]);
  });
});
