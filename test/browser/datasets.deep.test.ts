import { expect, test } from "bun:test";
import { openSeen } from "../support/seen.ts";
import { created, makeAction, runToEnd } from "../support/work.ts";

test("a file dropped on the datasets becomes a table, with its profile and the loads that created it", async () => {
  await using seen = await openSeen({ engine: false });
  const { page, go, heading, troubles } = seen;
  const choose = (text: string) =>
    page
      .getByLabel("File to upload")
      .setInputFiles({ name: "Shop orders.csv", mimeType: "text/csv", buffer: Buffer.from(text) });
  await go("/datasets");
  await heading("Datasets");
  const dropped = await page.evaluateHandle(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(["id,total\n1,12.5\n2,\n"], "Shop orders.csv"));
    return transfer;
  });
  await page.getByRole("heading", { name: "Datasets" }).dispatchEvent("drop", { dataTransfer: dropped });
  expect(await page.getByRole("textbox", { name: "Dataset" }).inputValue()).toBe("shop_orders");
  expect(await troubles()).toEqual([]);
  await page.getByRole("dialog").getByRole("button", { name: "Upload" }).click();
  await heading("shop_orders");
  await page.getByRole("region", { name: "Rows of shop_orders" }).getByText("12.5").waitFor();

  await choose("id,total\n3,7\n");
  await page.getByLabel("Existing rows").selectOption("append");
  await page.getByRole("dialog").getByRole("button", { name: "Upload" }).click();
  await page.getByText("1 row uploaded").waitFor();
  await page.getByRole("button", { name: "Profile" }).click();
  const profile = page.getByRole("table", { name: "Profile of shop_orders" });
  await profile.getByRole("row", { name: /^total .*1 \(33\.3%\) 2 7(\.0)? 12\.5/ }).waitFor();
  expect(await troubles()).toEqual([]);
  await page.getByRole("button", { name: "Loads" }).click();
  const loads = page.getByRole("table", { name: "Loads" });
  await loads.getByRole("row", { name: /upload 3 \+1/ }).waitFor();
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/dataset.png` });
  expect(await troubles()).toEqual([]);
  await loads.getByRole("link", { name: "Query the table as of this load" }).last().click();
  await heading("SQL");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByText("2 rows", { exact: true }).waitFor();
  expect(await seen.alsoDarkAndNarrow("/datasets", "/datasets/raw/shop_orders")).toEqual([]);
});

test("an upload says which columns it renamed", async () => {
  await using seen = await openSeen({ engine: false });
  const { page, go, heading, troubles } = seen;
  await go("/datasets");
  await heading("Datasets");
  await page
    .getByLabel("File to upload")
    .setInputFiles({ name: "twice.csv", mimeType: "text/csv", buffer: Buffer.from("id,ID\n1,2\n") });
  await page.getByRole("dialog").getByRole("button", { name: "Upload" }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "1 row uploaded" });
  await dialog.getByRole("listitem").getByText("ID").waitFor();
  expect(await troubles()).toEqual([]);
  await page.keyboard.press("Enter"); // "Show table" has the focus
  await heading("twice");
});

test("lineage is a graph for mouse and keyboard, and a list; freshness shows how often it is loaded", async () => {
  await using seen = await openSeen();
  const { page, go, heading, troubles, weir } = seen;
  const upload = (n: number) =>
    weir.owner(
      "PUT",
      "/api/v1/datasets/raw/orders/upload?format=csv&writeDisposition=append",
      `n\n${"1\n".repeat(n)}`,
      { "content-type": "text/csv" },
    );
  for (const n of [1, 3, 2]) expect((await upload(n)).status).toBe(201);
  const transform = {
    kind: "duckdb_transform",
    name: "Sum up",
    definition: {
      sql: "SELECT sum(n) AS total FROM raw.orders",
      output: { layer: "marts", dataset: "sums" },
    },
  };
  const action = await makeAction(weir.owner, transform);
  await runToEnd(weir.owner, action.id);
  const panel = {
    key: "total",
    title: "Total",
    sql: "SELECT * FROM marts.sums",
    x: 0,
    y: 0,
    width: 3,
    height: 3,
  };
  created(await weir.owner("POST", "/api/v1/dashboards", { name: "Shop floor", panels: [panel] }));

  await go("/datasets/raw/orders");
  await heading("orders");
  await page.getByText("Usually every").waitFor();
  await page.getByRole("img", { name: /^Rows written by the last 3 loads, .* At most 3\.$/ }).waitFor();
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.getByRole("button", { name: "Lineage" }).click();
  const graph = page.getByRole("region", { name: "Lineage of raw.orders" });
  await graph.getByRole("link", { name: /Shop floor Dashboard From: marts\.sums\./ }).waitFor();
  expect(
    asked.filter((path) => /^\/api\/v1\/(actions|automations|connections|dashboards|queries)\b/.test(path)),
  ).toEqual([]);
  const left = async (name: RegExp) =>
    (await graph.getByRole("listitem").filter({ hasText: name }).boundingBox())?.x ?? 0;
  const places = [
    await left(/^Upload/),
    await left(/^raw\.orders/),
    await left(/^Sum up/),
    await left(/^Shop floor/),
  ];
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(new Set(places).size).toBe(4);
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/lineage.png`, fullPage: true });
  expect(await troubles()).toEqual([]);

  const focused = () => page.evaluate(() => document.activeElement?.textContent ?? "");
  await graph.focus();
  await page.keyboard.press("Tab");
  expect(await focused()).toMatch(/^Sum up/);
  await page.keyboard.press("ArrowLeft");
  expect(await focused()).toMatch(/^raw\.orders/);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  expect(await focused()).toMatch(/^marts\.sums/);
  await page.keyboard.press("Enter");
  await heading("sums");
  await page.getByRole("region", { name: "Lineage of marts.sums" }).waitFor();
  await page.getByRole("button", { name: "List", exact: true }).click();
  const list = page.getByRole("table", { name: "Lineage" });
  await list.getByRole("row", { name: /marts\.sums Dataset Shop floor Dashboard/ }).waitFor();
  expect(await troubles()).toEqual([]);
  await list.getByRole("link", { name: "Sum up" }).first().click();
  await heading("Sum up");
  expect(await seen.alsoDarkAndNarrow("/datasets/raw/orders")).toEqual([]);
});
