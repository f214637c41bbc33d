import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { driveUser, FOLDER, startDrive, type TestDrive } from "../peers/google-drive.ts";
import { CONNECTIONS, connect } from "../support/connections.ts";
import { folder, sync } from "../support/sync.ts";
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
  drive.state.scope = "https://www.googleapis.com/auth/drive";
});
afterEach(() => drive[Symbol.asyncDispose]());

const open = async (config: object = { access: "write" }) =>
  (
    await connect(data.owner, {
      name: "Drive",
      provider: "google_drive",
      config: { baseUrl: drive.baseUrl, ...config },
      credentials: driveUser,
    })
  ).id as string;

/** A file's bytes in the drive, as text. */
const textOf = (name: string) => new TextDecoder().decode(drive.named(name)?.content as Uint8Array);

test("a folder is copied to a drive once, and mirrored: deleted files are in the trash", async () => {
  const source = await folder(data);
  source.put("a.csv", "id\n1\n");
  source.put("2026/11/b.csv", "id\n2\n");
  source.put("2026/11/c.csv", "id\n3\n");
  source.put("empty.csv", "");
  const connectionId = await open();
  const copy = await sync(data, {
    source: { connectionId: source.id },
    destination: { connectionId, path: "/Exports" },
    mode: "mirror",
  });
  expect(await copy.result()).toMatchObject({ copied: 4 });
  expect([textOf("a.csv"), textOf("b.csv"), textOf("empty.csv")]).toEqual(["id\n1\n", "id\n2\n", ""]);
  expect(
    drive
      .all()
      .filter(({ mimeType }) => mimeType === FOLDER)
      .map(({ name }) => name)
      .sort(),
  ).toEqual([...["11", "2026", "Exports", "My Drive"]]);
  const { id } = drive.named("a.csv") ?? {};
  const before = drive.writes();
  expect(await copy.result()).toMatchObject({ copied: 0 });
  expect(drive.writes()).toBe(before);

  source.put("a.csv", "id\n1\n10\n");
  expect(await copy.result()).toMatchObject({ copied: 1 });
  expect(drive.named("a.csv")).toMatchObject({ id });
  expect(textOf("a.csv")).toBe("id\n1\n10\n");

  source.remove("2026/11/c.csv");
  expect(await copy.result()).toMatchObject({ deleted: 1 });
  expect(drive.named("c.csv")).toMatchObject({ trashed: true });
});

test("a drive holds a file and a folder of the same name, so a mirror converges where one became the other", async () => {
  const source = await folder(data);
  for (const path of ["a", "b/c.csv"]) source.put(path, path);
  const mirror = await sync(data, {
    source: { connectionId: source.id },
    destination: { connectionId: await open(), path: "/In" },
    mode: "mirror",
  });
  expect(await mirror.result()).toMatchObject({ copied: 2 });
  for (const path of ["a", "b"]) source.removeAll(path);
  source.put("a/x.csv", "x");
  source.put("b", "file");
  expect(await mirror.result()).toMatchObject({ copied: 2, deleted: 2, failed: [] });
  expect([textOf("x.csv"), drive.named("c.csv")?.trashed]).toEqual(["x", true]);
  expect(await mirror.result()).toMatchObject({ copied: 0, skipped: 2, deleted: 0, failed: [] });
});

test("a large file arrives completely even if parts of it are answered with an error", async () => {
  const source = await folder(data);
  const bytes = crypto.getRandomValues(new Uint8Array(64 * 1024));
  const large = Buffer.concat(Array.from({ length: 320 }, () => bytes)); // 20 MiB
  source.put("large.bin", large);
  drive.state.failsParts = 2;
  const copy = await sync(data, {
    source: { connectionId: source.id },
    destination: { connectionId: await open(), path: "/" },
  });
  expect(await copy.result()).toMatchObject({ copied: 1 });
  expect(Bun.hash(drive.named("large.bin")?.content as Uint8Array)).toBe(Bun.hash(large));
});

test("a file is uploaded to a folder by its path, and replaces another by its name", async () => {
  const id = await open();
  const put = (text: string) =>
    fetch(`${data.app.origin}${CONNECTIONS}/${id}/files?path=/In/orders.csv`, {
      method: "PUT",
      headers: { authorization: `Bearer ${data.app.token}`, "content-type": "application/octet-stream" },
      body: text,
    });
  expect((await put("id\n1\n")).status).toBe(201);
  const first = drive.named("orders.csv");
  const reply = await put("id\n2\n");
  expect(await reply.json()).toMatchObject({ name: "orders.csv", kind: "file", size: 5 });
  expect(drive.named("orders.csv")?.id).toBe(first?.id as string);
  expect(textOf("orders.csv")).toBe("id\n2\n");
});

test("a read-only connection writes nothing, and says what to change", async () => {
  const source = await folder(data);
  source.put("a.csv", "id\n1\n");
  const definition = {
    source: { connectionId: source.id },
    destination: { connectionId: await open({}), path: "/" },
  };
  const refused = await data.owner("POST", "/api/v1/actions", { kind: "file_sync", name: "No", definition });
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining("set access to write")]);
  expect(drive.writes()).toBe(0);

  drive.state.scope = "https://www.googleapis.com/auth/drive.readonly";
  const other = await sync(data, {
    source: { connectionId: source.id },
    destination: { connectionId: await open(), path: "/" },
  });
  const cut = await other.run();
  expect(JSON.stringify([cut.error, cut.result])).toContain("lack a scope");
});
