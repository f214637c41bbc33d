import { describe, expect, test } from "bun:test";
import type { Link, ProviderState } from "../../src/providers/contract.ts";
import type { TreeFile } from "../../src/providers/contract-tree.ts";
import { googleDrive } from "../../src/providers/google-drive/google-drive.ts";
import { type DriveEntry, driveUser, FOLDER, startDrive, type TestDrive } from "../peers/google-drive.ts";
import { request, toldLink } from "../support/extract.ts";
import { failure, textOf } from "../support/link.ts";

const file = (id: string, name: string, parent = "my-drive", more: Partial<DriveEntry> = {}): DriveEntry => ({
  id,
  name,
  mimeType: "text/csv",
  content: `id\n${id}\n`,
  parents: [parent],
  ...more,
});
const folder = (
  id: string,
  name: string,
  parent = "my-drive",
  more: Partial<DriveEntry> = {},
): DriveEntry => ({
  id,
  name,
  mimeType: FOLDER,
  parents: [parent],
  ...more,
});
const shortcut = (id: string, name: string, targetId: string, targetMimeType: string): DriveEntry => ({
  id,
  name,
  mimeType: "application/vnd.google-apps.shortcut",
  shortcutDetails: { targetId, targetMimeType },
});

/** A connection whose state is kept across its runs. */
function connection(drive: TestDrive, config: object = {}, credentials: object = driveUser) {
  const kept = new Map<string, string>();
  const state: ProviderState = {
    read: async (name) => kept.get(name) ?? null,
    keep: async (name, value) => void (value === null ? kept.delete(name) : kept.set(name, value)),
  };
  const link: Link = toldLink({ baseUrl: drive.baseUrl, ...config }, credentials as Record<string, string>, {
    state: state,
  });
  return { link, kept };
}

/** What a walk finds, and the paths of its requests to Drive. */
async function walk(drive: TestDrive, link: Link, path = "/", items?: string[]) {
  const before = drive.asked.length;
  const files: TreeFile[] = [];
  const missing: string[] = [];
  const only = items && { items, missing: (item: string) => void missing.push(item) };
  for await (const each of googleDrive.tree?.walk(link, path, only) ?? []) files.push(each);
  const asked = drive.asked
    .slice(before)
    .map(({ path: at }) => at.replace("/drive/v3", ""))
    .filter((at) => at !== "/token");
  return { files, paths: files.map((each) => each.path), asked, missing };
}

const ONE = ["/changes"];

describe("a walk of a drive", () => {
  test("is one request if nothing has changed since, and returns the same files", async () => {
    await using drive = await startDrive();
    drive.put(
      folder("f1", "Sales"),
      file("a1", "a.csv", "f1"),
      file("a2", "a.csv", "f1"),
      file("b1", "b.csv"),
    );
    drive.put(shortcut("s1", "link.csv", "x1", "text/csv"), file("x1", "x.csv", "elsewhere"));
    const { link } = connection(drive);
    const first = await walk(drive, link);
    expect(first.paths).toEqual(["Sales/a (a2).csv", "Sales/a.csv", "b.csv", "link.csv"]);
    for (let n = 0; n < 2; n++) {
      const again = await walk(drive, link);
      expect([again.files, again.asked]).toEqual([first.files, ONE]);
    }
    const some = await walk(drive, link, "/", ["f1", "s1", "/none"]);
    expect([some.paths, some.missing, some.asked]).toEqual([
      ["Sales/a (a2).csv", "Sales/a.csv", "link.csv"],
      ["/none"],
      ONE,
    ]);
    const [opened] = (await walk(drive, link)).files;
    const { bytes } = (await googleDrive.tree?.open(link, opened as TreeFile)) ?? { bytes: new Uint8Array() };
    expect(await textOf(bytes as ReadableStream<Uint8Array>)).toBe("id\na2\n");
  });

  test.each([
    ["a file is there that was not", (drive: TestDrive) => drive.put(file("n1", "new.csv", "f2"))],
    ["a file is another", (drive: TestDrive) => drive.put(file("a1", "a.csv", "f1", { content: "id\n9\n" }))],
    ["a file has another name", (drive: TestDrive) => drive.put(file("a1", "z.csv", "f1"))],
    ["a file was moved to another folder", (drive: TestDrive) => drive.put(file("a1", "a.csv", "f2"))],
    ["a file was moved away", (drive: TestDrive) => drive.put(file("a1", "a.csv", "out"))],
    ["a file was moved here", (drive: TestDrive) => drive.put(file("o1", "o.csv", "f1"))],
    ["a file is in the trash", (drive: TestDrive) => drive.put(file("a1", "a.csv", "f1", { trashed: true }))],
    ["a file is deleted for good", (drive: TestDrive) => drive.drop("a1")],
    [
      "what a shortcut leads to is another",
      (drive: TestDrive) => drive.put(file("t1", "t.csv", "out", { content: "9" })),
    ],
    ["a folder has another name", (drive: TestDrive) => drive.put(folder("f1", "Other"))],
    ["a folder on the way has another name", (drive: TestDrive) => drive.put(folder("top", "Peak"))],
    ["a folder was moved here", (drive: TestDrive) => drive.put(folder("out", "Out", "f1"))],
    ["a folder is deleted for good", (drive: TestDrive) => drive.drop("f2")],
  ])("walks again if %s", async (_, change) => {
    await using drive = await startDrive();
    drive.put(
      folder("top", "Top"),
      folder("f1", "One", "top"),
      folder("f2", "Two", "f1"),
      folder("out", "Out"),
    );
    drive.put(file("a1", "a.csv", "f1"), file("b1", "b.csv", "f2"), file("o1", "o.csv", "out"));
    drive.put(file("t1", "t.csv", "out"), { ...shortcut("s1", "t.csv", "t1", "text/csv"), parents: ["f1"] });
    const { link } = connection(drive);
    await walk(drive, link, "top");
    expect((await walk(drive, link, "top")).asked).toEqual(ONE);
    change(drive);
    const again = await walk(drive, link, "top");
    expect(again.asked.length).toBeGreaterThan(3);
    const anew = await walk(drive, connection(drive).link, "top");
    expect(again.files).toEqual(anew.files);
    const last = await walk(drive, link, "top");
    expect([last.files, last.asked]).toEqual([anew.files, ONE]);
  });

  test("isn't repeated for changes elsewhere, however many pages report them", async () => {
    await using drive = await startDrive();
    drive.put(
      folder("f1", "One"),
      folder("out", "Out"),
      file("a1", "a.csv", "f1"),
      file("o1", "o.csv", "out"),
    );
    const { link } = connection(drive);
    await walk(drive, link, "f1");
    drive.put(file("o2", "new.csv", "out"), file("o1", "renamed.csv", "out"));
    drive.drop("o1");
    drive.state.pageLimit = 1;
    const again = await walk(drive, link, "f1");
    expect([again.paths, again.asked]).toEqual([["a.csv"], ["/changes", "/changes", "/changes"]]);
    expect((await walk(drive, link, "f1")).asked).toEqual(ONE);
  });

  test("is repeated if changes between the token and the walk's end might be missing", async () => {
    await using drive = await startDrive();
    drive.put(folder("f1", "One"), file("a1", "a.csv"), file("b1", "b.csv", "f1"));
    const { link } = connection(drive);
    let lists = 0;
    drive.state.instead = ({ path }) => {
      if (path === "/drive/v3/files" && ++lists === 2) drive.put(file("c1", "c.csv"));
      return null;
    };
    expect((await walk(drive, link)).paths).toEqual(["One/b.csv", "a.csv"]);
    drive.state.instead = () => null;
    const again = await walk(drive, link);
    expect(again.paths).toEqual(["One/b.csv", "a.csv", "c.csv"]);
  });

  test.each([410, 404, 400, 403])(
    "is repeated if the token is rejected with %d, and then stored again",
    async (status) => {
      await using drive = await startDrive();
      drive.put(file("a1", "a.csv"));
      const { link } = connection(drive);
      await walk(drive, link);
      drive.state.instead = ({ path }) =>
        path === "/drive/v3/changes" ? { status, reason: "invalidPageToken" } : null;
      const refused = await walk(drive, link);
      expect(refused.paths).toEqual(["a.csv"]);
      expect(refused.asked).toContain("/files");
      drive.state.instead = () => null;
      expect((await walk(drive, link)).asked).toEqual(ONE);
    },
  );

  test("is repeated each time if Drive returns no token, and if shortcuts lead to another drive", async () => {
    await using drive = await startDrive();
    drive.put(file("a1", "a.csv"));
    const { link, kept } = connection(drive);
    drive.state.instead = ({ path }) =>
      path.endsWith("/startPageToken") ? { status: 404, reason: "notFound" } : null;
    expect((await walk(drive, link)).paths).toEqual(["a.csv"]);
    expect(kept.size).toBe(0);
    drive.state.instead = () => null;
    drive.put(file("t1", "t.csv", "td", { driveId: "td" }), shortcut("s1", "team.csv", "t1", "text/csv"));
    expect((await walk(drive, link)).paths).toEqual(["a.csv", "team.csv"]);
    expect(kept.size).toBe(0);
  });

  test("of a shared drive uses that drive's changes", async () => {
    await using drive = await startDrive();
    drive.put(
      folder("td", "Team", "", { parents: [], driveId: "td" }),
      file("t1", "t.csv", "td", { driveId: "td" }),
    );
    const { link } = connection(drive, { rootFolderId: "td" });
    await walk(drive, link);
    drive.put(folder("mine", "Mine"), file("m1", "m.csv", "mine"));
    expect((await walk(drive, link)).asked).toEqual(ONE);
    expect(drive.asked.at(-1)?.query.get("driveId")).toBe("td");
    drive.put(file("t2", "t2.csv", "td", { driveId: "td" }));
    expect((await walk(drive, link)).paths).toEqual(["t.csv", "t2.csv"]);
  });

  test("that breaks off isn't stored", async () => {
    await using drive = await startDrive();
    drive.put(folder("f1", "One"), file("a1", "a.csv"), file("b1", "b.csv", "f1"));
    const { link, kept } = connection(drive);
    drive.state.instead = ({ query }) =>
      query.get("q")?.includes("'f1'") ? { status: 403, reason: "insufficientFilePermissions" } : null;
    expect((await failure(walk(drive, link))).code).toBe("upstream");
    expect(kept.size).toBe(0);
  });
});

test("an extract of many files asks for changes instead of walking", async () => {
  await using drive = await startDrive();
  drive.put(folder("f1", "One"), file("a1", "a.csv", "f1"), file("b1", "b.csv", "f1"));
  const { link } = connection(drive);
  const read = async () => {
    const before = drive.asked.length;
    const extraction = await googleDrive.extract?.(link, request("One/*.csv"));
    const texts: string[] = [];
    if (extraction?.kind !== "files") throw new Error("It gives no files.");
    for await (const { name, open } of extraction.files) texts.push(`${name} ${await textOf(await open())}`);
    return { texts, asked: drive.asked.slice(before).filter(({ query }) => query.get("alt") !== "media") };
  };
  const first = await read();
  expect(first.texts).toEqual(["One/a.csv id\na1\n", "One/b.csv id\nb1\n"]);
  const again = await read();
  expect([again.texts, again.asked.map(({ path }) => path)]).toEqual([first.texts, ["/drive/v3/changes"]]);
  drive.drop("a1");
  expect((await read()).texts).toEqual(["One/b.csv id\nb1\n"]);
});
