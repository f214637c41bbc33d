import { expect, test } from "bun:test";
import { avroOf } from "../support/avro.ts";
import { readTables } from "../support/sheets.ts";
import { workbookOf } from "../support/workbook.ts";
import { executable } from "./executable.ts";

test("the executable reads workbooks and Avro files in a separate child", async () => {
  const self = [executable()];
  const cells = (...texts: string[]) =>
    texts.map((text) => `<row><c t="str"><v>${text}</v></c></row>`).join("");
  const [sheet] = await readTables(workbookOf({ sheets: { s: cells("name", "value") } }), { self });
  expect(sheet).toMatchObject({ columns: [{ name: "name", type: "VARCHAR" }], values: [["value"]] });
  const [rows] = await readTables(await avroOf("long", [2n ** 62n], "deflate"), { self, format: "avro" });
  expect(rows).toMatchObject({ columns: [{ name: "value", type: "BIGINT" }], values: [[String(2n ** 62n)]] });
});
