import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { driveUser, FOLDER, startDrive, type TestDrive } from "../peers/google-drive.ts";
import { CONNECTIONS, connect, trailOf } from "../support/connections.ts";
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

test("a drive is connected, verified, browsed, its files are read and queried", async () => {
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

test("a token is asked for once for verify, browsing and runs, and the trail has it", async () => {
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

test("what is wrong stands in verificationError, with no secret in it", async () => {
  drive.state.isRevoked = true;
  const id = await open("Revoked");
  const { body } = await data.owner("POST", `${CONNECTIONS}/${id}/verify`);
  expect(body).toMatchObject({
    status: "error",
    verificationError: expect.stringContaining("the refresh token: it has expired or was revoked"),
  });
  expect(JSON.stringify(body)).not.toContain(driveUser.clientSecret);
});

test("a connection that breaks in a file leaves nothing of the load, and the next try has all of it", async () => {
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
