import { describe, expect, test } from "bun:test";
import type { Extraction, Link, TokenStore } from "../../src/providers/contract.ts";
import { googleDrive } from "../../src/providers/google-drive/google-drive.ts";
import { driveUser, FOLDER, startDrive, type TestDrive } from "../peers/google-drive.ts";
import { request, toldLink } from "../support/extract.ts";
import { failure, textOf } from "../support/link.ts";
import { freePort } from "../support/postgres.ts";

const NATIVE = "application/vnd.google-apps.";
const SHORTCUT = `${NATIVE}shortcut`;
const csv = (id: string, name: string, more: object = {}) => ({
  id,
  name,
  mimeType: "text/csv",
  content: `id\n${id}\n`,
  ...more,
});
const folder = (id: string, name: string, more: object = {}) => ({ id, name, mimeType: FOLDER, ...more });
const shortcut = (id: string, name: string, targetId: string, targetMimeType: string, more: object = {}) => ({
  id,
  name,
  mimeType: SHORTCUT,
  shortcutDetails: { targetId, targetMimeType },
  ...more,
});

const asUser = (drive: TestDrive, config: object = {}, overrides: Partial<Link> = {}) =>
  toldLink({ baseUrl: drive.baseUrl, ...config }, driveUser, overrides);

const verify = (link: Link) => googleDrive.verify(link);
const list = async (link: Link, path: string, token?: string) => {
  const page = await googleDrive.files?.list(link, path, token);
  if (!page) throw new Error("It has no files.");
  return page;
};
const read = async (link: Link, path: string) =>
  textOf((await googleDrive.files?.read(link, path)) ?? new ReadableStream());
const names = async (link: Link, path: string) => (await list(link, path)).items.map(({ name }) => name);

async function filesOf(link: Link, spec: string) {
  const extraction = (await googleDrive.extract?.(link, request(spec))) as Extraction & { kind: "files" };
  const found: { name: string; format: string; text: string }[] = [];
  for await (const { name, format, open } of extraction.files)
    found.push({ name, format, text: await textOf(await open()) });
  return found;
}

describe("verify", () => {
  test("accepts a service account, whose claim it signs, and a user's refresh token", async () => {
    await using drive = await startDrive();
    await verify(asUser(drive));
    await verify(toldLink({ baseUrl: drive.baseUrl }, { serviceAccountJson: drive.serviceAccountJson }));
    expect(drive.state.issued).toBe(2);
  });

  test("distinguishes errors in the credentials", async () => {
    await using drive = await startDrive();
    const message = async (credentials: Record<string, string>, config: object = {}) =>
      (await failure(verify(toldLink({ baseUrl: drive.baseUrl, ...config }, credentials)))).message;
    expect(await message({})).toBe(
      "Google Drive needs serviceAccountJson, or clientId and clientSecret, with which a person signs in.",
    );
    expect(await message({ serviceAccountJson: "{" })).toContain("it is not JSON");
    expect(await message({ serviceAccountJson: '{"client_email":"a@b"}' })).toContain(
      "it has no private_key",
    );
    expect(await message({ ...driveUser, clientSecret: "other" })).toContain(
      "rejected clientId and clientSecret",
    );
    expect(await message({ ...driveUser, refreshToken: "old" })).toContain("has expired or was revoked");
    const stranger = await startDrive();
    const foreign = { ...JSON.parse(stranger.serviceAccountJson), token_uri: `${drive.baseUrl}/token` };
    await stranger[Symbol.asyncDispose]();
    expect(await message({ serviceAccountJson: JSON.stringify(foreign) })).toContain(
      "rejected the key of reader@",
    );
    expect(await message(driveUser, { rootFolderId: "nowhere" })).toContain("There is no folder nowhere");
    drive.state.scope = "https://www.googleapis.com/auth/drive.metadata.readonly";
    expect(await message(driveUser)).toContain(
      "the scope https://www.googleapis.com/auth/drive.readonly is missing",
    );
  });

  test("distinguishes a missing scope, a disabled API and an unreachable server", async () => {
    await using drive = await startDrive();
    const refuse = async (status: number, reason: string) => {
      drive.state.instead = ({ path }) => (path === "/token" ? null : { status, reason });
      return (await failure(verify(asUser(drive)))).message;
    };
    expect(await refuse(403, "insufficientPermissions")).toContain("lack a scope");
    expect(await refuse(403, "accessNotConfigured")).toContain("The Drive API is not enabled");
    expect(await refuse(403, "domainPolicy")).toContain("administrator");
    const port = await freePort();
    const error = await failure(verify(toldLink({ baseUrl: `http://127.0.0.1:${port}` }, driveUser)));
    expect(error).toMatchObject({ code: "upstream", retryable: true });
  });
});

describe("tokens", () => {
  test("are requested once for many concurrent callers, stored, and requested again when Google rejects them", async () => {
    await using drive = await startDrive();
    drive.put(csv("a1", "a.csv"));
    drive.state.tokenDelayMs = 30;
    let kept: string | null = null;
    let keeps = 0;
    const tokens: TokenStore = {
      read: async () => kept,
      async keep(token, expiresAt) {
        kept = token;
        keeps++;
        expect(expiresAt).toBe("2026-06-01T00:58:59.000Z");
      },
    };
    const connectionId = crypto.randomUUID();
    const links = Array.from({ length: 5 }, () => asUser(drive, {}, { tokens, connectionId }));
    await Promise.all(links.map((link) => names(link, "/")));
    expect([drive.state.issued, keeps]).toEqual([1, 1]);
    await names(asUser(drive, {}, { tokens, connectionId }), "/");
    expect(drive.state.issued).toBe(1);
    drive.expireTokens();
    expect(await Promise.all(links.map((link) => names(link, "/")))).toEqual(Array(5).fill(["a.csv"]));
    expect([drive.state.issued, keeps]).toEqual([2, 2]);
  });

  test("that are rejected twice end the work", async () => {
    await using drive = await startDrive();
    drive.state.instead = ({ path }) => (path === "/token" ? null : { status: 401, reason: "authError" });
    expect((await failure(list(asUser(drive), "/"))).message).toBe("Google Drive rejected the access token.");
    expect(drive.state.issued).toBe(2);
  });

  test("are only sent to Google", async () => {
    await using drive = await startDrive();
    drive.put(csv("a1", "a.csv"));
    await names(asUser(drive), "/");
    expect(drive.asked.every(({ query }) => !query.toString().includes("ya29"))).toBe(true);
  });
});

describe("files", () => {
  test("are listed folders first, page by page, without the trash", async () => {
    await using drive = await startDrive();
    drive.put(
      folder("f1", "Zoo"),
      csv("b1", "b.csv"),
      csv("a1", "a.csv"),
      csv("t1", "gone.csv", { trashed: true }),
    );
    drive.put({ id: "s1", name: "Sheet", mimeType: `${NATIVE}spreadsheet` });
    drive.state.pageLimit = 2;
    const link = asUser(drive);
    const first = await list(link, "/");
    expect(first.items).toEqual([
      {
        id: "f1",
        name: "Zoo",
        kind: "folder",
        mimeType: null,
        size: null,
        modifiedAt: "2026-02-01T00:00:00.000Z",
      },
      {
        id: "s1",
        name: "Sheet",
        kind: "file",
        mimeType: `${NATIVE}spreadsheet`,
        size: null,
        modifiedAt: "2026-02-01T00:00:00.000Z",
      },
    ]);
    const second = await list(link, "/", first.nextPageToken);
    expect(second.items.map(({ name, size }) => [name, size])).toEqual([
      ["a.csv", 6],
      ["b.csv", 6],
    ]);
    expect(second).not.toHaveProperty("nextPageToken");
  });

  test("are found by ID and by name, with unusual characters too", async () => {
    await using drive = await startDrive();
    drive.put(folder("f1", "It's \\ here"), csv("a1", "a b.csv", { parents: ["f1"] }));
    const link = asUser(drive);
    for (const path of ["a1", "/a1", "f1/a1", "/f1/a b.csv", "/It's \\ here/a b.csv"]) {
      expect(await read(link, path)).toBe("id\na1\n");
    }
    expect(await googleDrive.files?.stat(link, "/f1/a1")).toMatchObject({
      id: "a1",
      name: "a b.csv",
      size: 6,
    });
    expect(await googleDrive.files?.stat(link, "/")).toMatchObject({ id: "/", kind: "folder" });
    for (const path of ["/nope", "/f1/nope.csv", "/a1/below"]) {
      expect((await failure(read(link, path))).code).toBe("not_found");
    }
  });

  test("with the same name must be identified by their IDs", async () => {
    await using drive = await startDrive();
    drive.put(csv("a1", "a.csv"), csv("a2", "a.csv"));
    expect(await failure(read(asUser(drive), "/a.csv"))).toMatchObject({
      code: "bad_request",
      message: expect.stringContaining("a1, a2"),
    });
    expect(await read(asUser(drive), "/a2")).toBe("id\na2\n");
  });

  test("outside the root aren't accessible, unless a shortcut inside leads there", async () => {
    await using drive = await startDrive();
    drive.put(folder("in", "In"), folder("deep", "Deep", { parents: ["in"] }), folder("out", "Out"));
    drive.put(csv("a1", "a.csv", { parents: ["deep"] }), csv("x1", "x.csv", { parents: ["out"] }));
    const link = asUser(drive, { rootFolderId: "in" });
    expect(await read(link, "a1")).toBe("id\na1\n");
    expect((await failure(read(link, "x1"))).code).toBe("not_found");
    expect((await failure(list(link, "/out"))).code).toBe("not_found");
    drive.put(shortcut("s1", "Way out", "out", FOLDER, { parents: ["deep"] }));
    const [item] = (await list(link, "s1")).items;
    expect(item?.id).toBe("s1/x1");
    expect(await read(link, "s1/x1")).toBe("id\nx1\n");
    expect((await failure(read(link, "x1"))).code).toBe("not_found");
  });

  test("in shared drives are included, and those shared with a service account", async () => {
    await using drive = await startDrive();
    drive.put(
      folder("td", "Team", { parents: [], driveId: "td" }),
      csv("t1", "t.csv", { parents: ["td"], driveId: "td" }),
    );
    drive.put(csv("o1", "other.csv", { parents: ["td2"], driveId: "td2" }));
    expect(await names(asUser(drive, { rootFolderId: "td" }), "/")).toEqual(["t.csv"]);
    expect(drive.asked.at(-1)?.query.get("driveId")).toBe("td");
    drive.put(csv("sh", "shared.csv", { parents: [], shared: true }));
    const account = toldLink({ baseUrl: drive.baseUrl }, { serviceAccountJson: drive.serviceAccountJson });
    expect(await names(account, "/")).toEqual(["shared.csv"]);
  });

  test("of Google's own types are exported, within Google's limit", async () => {
    await using drive = await startDrive();
    drive.put({
      id: "s1",
      name: "Sales",
      mimeType: `${NATIVE}spreadsheet`,
      exports: { "text/csv": "a,b\r\n1,2\r\n" },
    });
    drive.put({ id: "form", name: "Form", mimeType: `${NATIVE}form` });
    const link = asUser(drive);
    expect(await read(link, "/Sales.csv")).toBe("a,b\r\n1,2\r\n");
    expect((await failure(read(link, "form"))).code).toBe("bad_request");
    drive.state.maxExportBytes = 5;
    expect(await failure(read(link, "s1"))).toMatchObject({
      code: "upstream",
      message: '"Sales" is larger than the 10 MB that Google exports.',
      details: { rule: "export_too_large" },
    });
  });
});

describe("temporary failures", () => {
  test("a rate limit that looks like a missing permission is waited for, a missing permission isn't", async () => {
    await using drive = await startDrive();
    drive.put(csv("a1", "a.csv"));
    let refusals = 3;
    drive.state.instead = ({ query }) =>
      query.get("alt") === "media" && refusals-- > 0
        ? { status: 403, reason: "userRateLimitExceeded" }
        : null;
    const link = asUser(drive);
    expect(await read(link, "a1")).toBe("id\na1\n");
    expect(link.clock.waits).toHaveLength(3);
    expect(link.clock.waits[2] ?? 0).toBeGreaterThan((link.clock.waits[0] ?? 0) * 2);
    drive.state.instead = ({ query }) =>
      query.get("alt") === "media"
        ? { status: 403, reason: "insufficientFilePermissions", message: "Ask the owner." }
        : null;
    const before = drive.asked.length;
    expect((await failure(read(link, "a1"))).message).toBe(
      `These credentials can't read "a.csv": Ask the owner.`,
    );
    expect(drive.asked.length - before).toBe(2);
  });

  test("the time that Google names is waited, and an endless limit ends the work as retryable", async () => {
    await using drive = await startDrive();
    let first = true;
    drive.state.instead = ({ path }) => {
      if (path === "/token" || !first) return null;
      first = false;
      return { status: 429, headers: { "retry-after": "17" } };
    };
    const link = asUser(drive);
    await failure(filesOf(link, "*.csv"));
    expect(link.clock.waits).toEqual([17_000]);
    drive.state.instead = ({ path }) =>
      path === "/token" ? null : { status: 403, reason: "rateLimitExceeded" };
    expect(await failure(filesOf(asUser(drive), "*.csv"))).toMatchObject({
      code: "upstream",
      retryable: true,
    });
  });

  test("a gateway's page is retried, and a closed connection ends the file", async () => {
    await using drive = await startDrive();
    drive.put(csv("a1", "a.csv"));
    let bad = 2;
    drive.state.instead = ({ path }) =>
      path !== "/token" && bad-- > 0 ? { status: 502, body: "<html>Bad gateway</html>" } : null;
    expect(await filesOf(asUser(drive), "*.csv")).toHaveLength(1);
    drive.state.instead = ({ query }) => (query.get("alt") === "media" ? "cut" : null);
    expect(await failure(filesOf(asUser(drive), "*.csv"))).toMatchObject({
      code: "upstream",
      retryable: true,
    });
  });
});

test("a file that changes while it is read is reported, not used", async () => {
  await using drive = await startDrive();
  drive.put(csv("a1", "a.csv"));
  drive.state.instead = ({ query }) => {
    if (query.get("alt") === "media") drive.put(csv("a1", "a.csv", { content: "id\nother\n" }));
    return null;
  };
  const link = asUser(drive);
  expect(await failure(filesOf(link, "*.csv"))).toMatchObject({
    code: "upstream",
    retryable: true,
    message: '"a.csv" was changed while it was read.',
  });
  drive.state.instead = () => null;
  expect((await filesOf(link, "*.csv"))[0]?.text).toBe("id\nother\n");
});

describe("extract", () => {
  test("returns files by path in byte order, across pages and folders", async () => {
    await using drive = await startDrive();
    drive.put(folder("f1", "2026"), folder("f2", "2026-old"), folder("f3", "skip"));
    drive.put(csv("a1", "a.csv", { parents: ["f1"] }), csv("b1", "b.csv", { parents: ["f1"] }));
    drive.put(csv("c1", "c.csv", { parents: ["f2"] }), csv("d1", "d/e.csv"), csv("n1", "note.txt"));
    drive.put({
      id: "s1",
      name: "Sheet",
      mimeType: `${NATIVE}spreadsheet`,
      exports: { "text/csv": "x\n1\n" },
      parents: ["f1"],
    });
    drive.state.pageLimit = 1;
    const link = asUser(drive);
    const all = (await filesOf(link, "**")).map(({ name }) => name);
    expect(all).toEqual(["2026-old/c.csv", "2026/Sheet.csv", "2026/a.csv", "2026/b.csv", "d\uff0fe.csv"]);
    const before = drive.asked.length;
    expect((await filesOf(link, "2026/*.csv")).map(({ text }) => text)).toEqual([
      "x\n1\n",
      "id\na1\n",
      "id\nb1\n",
    ]);
    const looked = drive.asked.slice(before).map(({ query }) => query.get("q") ?? "");
    expect(looked.some((q) => q.includes("'f3'"))).toBe(false);
    expect((await failure(filesOf(link, "none/*.csv"))).code).toBe("not_found");
  });

  test("returns each content once, whatever shortcuts lead to it, and doesn't walk in circles", async () => {
    await using drive = await startDrive();
    drive.put(folder("f1", "f"), csv("a1", "a.csv", { parents: ["f1"] }));
    drive.put(
      shortcut("s1", "again.csv", "a1", "text/csv"),
      shortcut("s2", "loop", "f1", FOLDER, { parents: ["f1"] }),
    );
    drive.put(
      shortcut("s3", "dead.csv", "gone", "text/csv", { trashed: true }),
      shortcut("s4", "up", "my-drive", FOLDER, { parents: ["f1"] }),
    );
    expect((await filesOf(asUser(drive), "**")).map(({ name, text }) => [name, text])).toEqual([
      ["again.csv", "id\na1\n"],
    ]);
  });

  test("distinguishes files with the same name: the oldest keeps it", async () => {
    await using drive = await startDrive();
    drive.put(
      csv("new-file-2", "a.csv", { createdTime: "2026-03-01T00:00:00Z" }),
      csv("old-file-1", "a.csv"),
    );
    const found = await filesOf(asUser(drive), "*.csv");
    expect(found.map(({ name, text }) => [name, text])).toEqual([
      ["a (new-file).csv", "id\nnew-file-2\n"],
      ["a.csv", "id\nold-file-1\n"],
    ]);
  });
});
