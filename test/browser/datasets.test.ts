import { expect, test } from "bun:test";
import { openSeen } from "../support/seen.ts";

test("a file is dropped on the datasets and becomes a table, with its profile and the loads that made it", async () => {
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
