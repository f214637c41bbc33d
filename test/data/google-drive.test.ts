import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import { driveUser, FOLDER, startDrive, type TestDrive } from "../peers/google-drive.ts";
import { CONNECTIONS, connect, trailOf } from "../support/connections.ts";
import { deepTest } from "../support/scale.ts";
import { workbookOf } from "../support/workbook.ts";
import { startData } from "./place.ts";

setDefaultTimeout(120_000);

let data: Awaited<ReturnType<typeof startData>>;
let drive: TestDrive;
beforeAll(async () => {
  data = await startData({ hurry: 50 });
});
afterAll(() => data[Symbol.asyncDispose]());
beforeEach(async () => {
  drive = await startDrive();
});
afterEach(() => drive[Symbol.asyncDispose]());

const open = async (name: string, config: object = {}, credentials: object = driveUser) =>
  (
    await connect(data.owner, {
      name,
      provider: "google_drive",
      config: { baseUrl: drive.baseUrl, ...config },
      credentials,
    })
  ).id as string;

test("a drive is connected, verified and browsed, and its files are read and queried", async () => {
  drive.put({ id: "folder-1", name: "Sales", mimeType: FOLDER });
  const inFolder = { parents: ["folder-1"] };
  drive.put({
    id: "sheet-01",
    name: "May",
    mimeType: "application/vnd.google-apps.spreadsheet",
    ...inFolder,
    exports: { "text/csv": "id,amount\r\n1,10.5\r\n2,20\r\n" },
  });
  drive.put({
    id: "file-jsonl",
    name: "june.jsonl",
    mimeType: "text/plain",
    ...inFolder,
    content: '{"id":3,"amount":30}\n',
  });
  drive.put({
    id: "file-gone",
    name: "old.csv",
    mimeType: "text/csv",
    ...inFolder,
    trashed: true,
    content: "id\n9\n",
  });
  const id = await open("Drive");
  const at = `${CONNECTIONS}/${id}`;
  expect((await data.owner("POST", `${at}/verify`)).body).toMatchObject({
    status: "active",
    verificationError: null,
  });
  const root = (await data.owner("GET", `${at}/files?path=/`)).body;
  expect(root.items).toMatchObject([{ id: "folder-1", name: "Sales", kind: "folder", size: null }]);
  const inside = (await data.owner("GET", `${at}/files?path=folder-1`)).body;
  expect(inside.items.map(({ name }: { name: string }) => name)).toEqual(["May", "june.jsonl"]);
  const selection = { selectedItems: ["folder-1"], rootPath: "/" };
  expect((await data.owner("POST", `${at}/files/validate`, selection)).body).toMatchObject({
    valid: true,
    totalItems: 3,
    maxDepth: 2,
  });

  const extract = await data.extract(id, {
    dataset: "drive",
    resources: [
      { name: "sales", spec: "Sales/*.{csv,jsonl}", primaryKey: ["id"], writeDisposition: "merge" },
    ],
  });
  expect(await extract.result()).toMatchObject({ rows: 3, warnings: [] });
  drive.put({
    id: "file-jsonl",
    name: "june.jsonl",
    mimeType: "text/plain",
    ...inFolder,
    content: '{"id":3,"amount":31}\n{"id":4,"amount":40}\n',
  });
  await extract.result();
  expect(await data.rows("select id, amount from raw.drive__sales order by id")).toEqual([
    { id: 1, amount: "10.5" },
    { id: 2, amount: "20.0" },
    { id: 3, amount: "31.0" },
    { id: 4, amount: "40.0" },
  ]);
});

describe("a Google Sheet", () => {
  const SHEET = "application/vnd.google-apps.spreadsheet";
  const XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
  const cell = (at: string, value: string | number) =>
    typeof value === "number"
      ? `<c r="${at}"><v>${value}</v></c>`
      : `<c r="${at}" t="inlineStr"><is><t>${value}</t></is></c>`;
  const tab = (column: string, value: string | number) =>
    `<row r="1">${cell("A1", "id")}${cell("B1", column)}</row><row r="2">${cell("A2", 1)}${cell("B2", value)}</row>`;
  const exportsOf = (first: number, second: string) => ({
    "text/csv": `id,amount\r\n1,${first.toFixed(1)}\r\n`, // As the cell shows it.
    [XLSX]: workbookOf({ sheets: { Orders: tab("amount", first), "Open costs": tab("what", second) } }),
  });
  const fill = () => {
    drive.put({ id: "folder-1", name: "Sales", mimeType: FOLDER });
    const inSales = { mimeType: SHEET, parents: ["folder-1"] };
    drive.put({ id: "sheet-may", name: "May", ...inSales, exports: exportsOf(10.55, "rent") });
    drive.put({ id: "sheet-june", name: "June", ...inSales, exports: exportsOf(20.25, "tools") });
  };
  const load = async (dataset: string, id: string, resource: object) => {
    const resources = [{ name: "sales", writeDisposition: "replace", ...resource }];
    return data.extract(id, { dataset, resources });
  };
  const rows = (table: string, column: string) =>
    data.rows(`SELECT id, ${column} AS it FROM raw.${table} ORDER BY it`);

  deepTest(
    "is read by name with a table per tab, with exact values, and by a pattern with others",
    async () => {
      fill();
      const id = await open("Tabs");
      expect(await (await load("tabs", id, { spec: "Sales/May" })).result()).toMatchObject({
        tables: [
          { table: "sales", rows: 1 },
          { table: "sales_open_costs", rows: 1 },
        ],
        warnings: [],
      });
      expect(await rows("tabs__sales", "amount")).toEqual([{ id: 1, it: "10.55" }]);
      expect(await rows("tabs__sales_open_costs", "what")).toEqual([{ id: 1, it: "rent" }]);
      await (await load("all_tabs", id, { spec: "Sales/*.gsheet" })).result();
      expect(await rows("all_tabs__sales", "amount")).toHaveLength(2);
      expect(await rows("all_tabs__sales_open_costs", "what")).toEqual([
        { id: 1, it: "rent" },
        { id: 1, it: "tools" },
      ]);
      const one = await load("one_tab", id, { spec: "Sales/May", file: { sheet: "Open costs" } });
      expect(await one.result()).toMatchObject({ tables: [{ table: "sales", rows: 1 }] });
      expect(await rows("one_tab__sales", "what")).toEqual([{ id: 1, it: "rent" }]);
    },
  );

  deepTest("stays the first tab as CSV if an older name or pattern means it", async () => {
    fill();
    const id = await open("First tab");
    for (const [at, spec] of ["Sales/May.csv", "Sales/M*", "Sales/M*.{csv,xlsx}"].entries()) {
      const { tables, warnings } = await (await load(`first_${at}`, id, { spec })).result();
      expect([tables.length, warnings]).toEqual([1, []]);
      expect(await rows(`first_${at}__sales`, "amount")).toEqual([{ id: 1, it: "10.6" }]);
    }
    const named = await load("first_named", id, { spec: "Sales/May.csv", file: { sheet: "Open costs" } });
    expect((await named.result()).warnings).toEqual([
      "file.sheet has no effect on Sales/May.csv, which was read as csv.",
    ]);
    drive.put({
      id: "real",
      name: "May",
      mimeType: "text/csv",
      parents: ["folder-1"],
      content: "id,amount\n7,7\n",
    });
    const real = await load("real", id, { spec: "Sales/May", file: { format: "csv" } });
    await real.result();
    expect(await rows("real__sales", "amount")).toEqual([{ id: 7, it: 7 }]);
  });

  test("that is larger than Google exports fails, and the error says what can be read", async () => {
    fill();
    drive.state.maxExportBytes = 500;
    const id = await open("Large");
    const run = await (await load("large", id, { spec: "Sales/May" })).run();
    expect(run).toMatchObject({
      status: "failed",
      error: {
        code: "upstream",
        message: expect.stringContaining(
          '"May" is larger than the 10 MB that Google exports. Split the Sheet, or read its first tab alone as "May.csv".',
        ),
      },
    });
    expect(await (await load("large", id, { spec: "Sales/May.csv" })).result()).toMatchObject({ rows: 1 });
  });
});

test("a token is requested once for verify, browsing and runs, and recorded in the audit log", async () => {
  drive.put({ id: "file-1", name: "a.csv", mimeType: "text/csv", content: "id\n1\n" });
  const id = await open("Kept", {}, { serviceAccountJson: drive.serviceAccountJson });
  const at = `${CONNECTIONS}/${id}`;
  await data.owner("POST", `${at}/verify`);
  await Promise.all([1, 2, 3].map(() => data.owner("GET", `${at}/files?path=/`)));
  const extract = await data.extract(id, { dataset: "kept", resources: [{ name: "a", spec: "*.csv" }] });
  await extract.result();
  expect(drive.state.issued).toBe(1);
  const refreshed = async () =>
    (await trailOf(data.app, id)).filter(({ type }) => type === "connection.token_refreshed").length;
  expect(await refreshed()).toBe(1);
  drive.expireTokens();
  await extract.result();
  expect([drive.state.issued, await refreshed()]).toEqual([2, 2]);
});

test("faults are in verificationError, without a secret", async () => {
  drive.state.isRevoked = true;
  const id = await open("Revoked");
  const { body } = await data.owner("POST", `${CONNECTIONS}/${id}/verify`);
  expect(body).toMatchObject({
    status: "error",
    verificationError: expect.stringContaining("the refresh token: it has expired or was revoked"),
  });
  expect(JSON.stringify(body)).not.toContain(driveUser.clientSecret);
});

test("a connection that breaks within a file leaves nothing of the load, and the next attempt loads all of it", async () => {
  drive.put({ id: "file-1", name: "a.csv", mimeType: "text/csv", content: "id,name\n1,a\n2,b\n" });
  const id = await open("Broken");
  let cuts = 1;
  drive.state.instead = ({ query }) => (query.get("alt") === "media" && cuts-- > 0 ? "cut" : null);
  const definition = { dataset: "broken", resources: [{ name: "a", spec: "*.csv" }] };
  const extract = await data.extract(id, definition);
  expect(await extract.run()).toMatchObject({
    status: "failed",
    error: { code: "upstream", retryable: true },
  });
  expect(await data.sums("raw", "broken", "a")).toBeNull();
  await extract.result();
  expect(await data.rows("select id, name from raw.broken__a order by id")).toEqual([
    { id: 1, name: "a" },
    { id: 2, name: "b" },
  ]);
});
