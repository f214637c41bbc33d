import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CONNECTIONS, connect } from "../support/connections.ts";
import { deepTest } from "../support/scale.ts";
import { hasSshd, startSshd, type TestSshd } from "../support/sshd.ts";
import { folder, putLatin1, sync } from "../support/sync.ts";
import { startData } from "./place.ts";

setDefaultTimeout(120_000);

describe.skipIf(!hasSshd)("files of an SSH server", () => {
  let data: Awaited<ReturnType<typeof startData>>;
  let sshd: TestSshd;
  beforeAll(async () => {
    data = await startData();
    sshd = await startSshd();
  });
  afterAll(async () => {
    await data?.[Symbol.asyncDispose]();
    await sshd?.[Symbol.asyncDispose]();
  });

  const byPath = (a: { path: string }, b: { path: string }) => (a.path < b.path ? -1 : 1);
  let count = 0;
  /** A connection with a separate folder. */
  async function open(more: { config?: object; credentials?: object } = {}) {
    const root = join(sshd.root, `place-${++count}`);
    mkdirSync(root);
    const { id } = await connect(data.owner, {
      ...{ name: `Drop ${count}`, provider: "sftp" },
      config: { host: "127.0.0.1", port: sshd.port, hostKey: sshd.hostKey, root, ...more.config },
      credentials: { user: sshd.user, privateKey: sshd.privateKey, ...more.credentials },
    });
    return { id: id as string, root, at: `${CONNECTIONS}/${id}` };
  }
  const verify = async ({ at }: { at: string }) => (await data.owner("POST", `${at}/verify`)).body;

  test("are verified with a key, also one with a passphrase, and with each way to identify the host", async () => {
    const fingerprint = `SHA256:${new Bun.CryptoHasher("sha256")
      .update(Buffer.from(sshd.rsaHostKey.split(" ")[1] ?? "", "base64"))
      .digest("base64")
      .replace(/=+$/, "")}`;
    for (const hostKey of [sshd.hostKey, sshd.rsaHostKey, `files.example.com ${sshd.hostKey}`, fingerprint])
      expect(await verify(await open({ config: { hostKey } }))).toMatchObject({ status: "active" });
    expect(await verify(await open({ credentials: sshd.guarded }))).toMatchObject({ status: "active" });
  });

  deepTest("aren't requested from a server with another host key, which is reported", async () => {
    const other = await startSshd();
    const { hostKey } = other;
    await other[Symbol.asyncDispose]();
    const { status, verificationError } = await verify(await open({ config: { hostKey } }));
    expect(status).toBe("error");
    expect(verificationError).toContain("another host key");
    expect(verificationError).toMatch(/SHA256:[A-Za-z0-9+/]{43}\. Nothing was sent/);
  });

  test("report what is wrong: the key, the passphrase, the folder, a missing credential", async () => {
    const why = async (more: Parameters<typeof open>[0]) =>
      (await verify(await open(more))).verificationError;
    expect(await why({ credentials: { privateKey: sshd.strangerKey } })).toContain("rejected");
    expect(await why({ credentials: { ...sshd.guarded, passphrase: "another" } })).toContain("can't be read");
    expect(await why({ config: { root: "/nowhere" } })).toContain('There is no folder "/nowhere"');
    const body = {
      ...{ name: "No key", provider: "sftp", credentials: { user: "ada" } },
      config: { host: "127.0.0.1", hostKey: sshd.hostKey },
    };
    const refused = await data.owner("POST", CONNECTIONS, body);
    expect(refused.body.detail).toMatchObject([{ loc: ["body", "credentials", "password"] }]);
  });

  test("are listed, uploaded, and read into a table; nothing leads out of the root", async () => {
    const place = await open();
    mkdirSync(join(place.root, "in"));
    writeFileSync(join(place.root, "in", "orders.csv"), "id,total\n1,2.50\n2,3\n");
    writeFileSync(join(place.root, "in", "more.jsonl"), '{"id":3,"total":4}\n');
    symlinkSync("/etc/passwd", join(place.root, "passwd.csv"));
    symlinkSync(join(place.root, "in", "orders.csv"), join(place.root, "linked.csv"));
    const list = async (path: string) => (await data.owner("GET", `${place.at}/files?path=${path}`)).body;
    expect(
      (await list("/")).items.map(({ name, kind }: { name: string; kind: string }) => [name, kind]),
    ).toEqual([
      ["in", "folder"],
      ["linked.csv", "file"],
    ]);
    expect((await list("/in")).items).toMatchObject([
      { name: "more.jsonl" },
      { name: "orders.csv", size: 20 },
    ]);
    expect((await data.owner("GET", `${place.at}/files?path=/in/../..`)).status).toBe(422);
    expect((await data.owner("GET", `${place.at}/files/preview?path=/passwd.csv`)).status).toBe(403);

    const uploaded = await fetch(`${data.app.origin}${place.at}/files?path=/in/new/late.csv`, {
      method: "PUT",
      headers: { authorization: `Bearer ${data.app.token}`, "content-type": "application/octet-stream" },
      body: "id,total\n9,1\n",
    });
    expect(uploaded.status).toBe(201);
    expect(readFileSync(join(place.root, "in/new/late.csv"), "utf8")).toBe("id,total\n9,1\n");
    expect(readdirSync(join(place.root, ".weir-parts"))).toEqual([]);

    const extract = await data.extract(place.id, {
      dataset: "dropped",
      resources: [{ spec: "in/**/*.csv" }],
    });
    expect(await extract.result()).toMatchObject({ rows: 3, warnings: [] });
  });

  test("whose names aren't valid UTF-8 are reported, and a mirror then deletes nothing", async () => {
    const [place, to] = [await open(), await folder(data)];
    writeFileSync(join(place.root, "a.csv"), "id\n1\n");
    mkdirSync(join(place.root, "in"));
    writeFileSync(join(place.root, "in", "b\uFFFD.csv"), "id\n2\n");
    putLatin1(place.root, "M\xfcller.csv", "id\n3\n");
    putLatin1(place.root, "in/D\xfcsseldorf/c.csv", "id\n4\n");
    to.put("old.csv", "old");
    const mirror = await sync(data, {
      source: { connectionId: place.id },
      destination: { connectionId: to.id },
      mode: "mirror",
    });
    const reason = "Not copied: its name is not valid UTF-8.";
    const result = await mirror.result();
    expect(result).toMatchObject({ copied: 2, deleted: 0 });
    expect(result.failed.sort(byPath)).toEqual([
      { path: "M\uFFFDller.csv", reason },
      { path: "in/D\uFFFDsseldorf/", reason },
    ]);
    expect(Object.keys(to.all()).sort()).toEqual(["a.csv", "in/b\uFFFD.csv", "old.csv"]);
    expect(await mirror.result({ source: { selectedItems: ["a.csv"] }, mode: "copy" })).toMatchObject({
      failed: [],
    });
    const inside = { source: { selectedItems: ["in/D\uFFFDsseldorf/c.csv"] }, mode: "copy" };
    expect((await mirror.result(inside)).failed).toContainEqual({ path: "in/D\uFFFDsseldorf/", reason });
    const { items } = (await data.owner("GET", `${place.at}/files?path=/`)).body;
    expect(items.map(({ name }: { name: string }) => name)).toEqual(["in", "M\uFFFDller.csv", "a.csv"]);
    const extract = await data.extract(place.id, { dataset: "latin", resources: [{ spec: "*.csv" }] });
    expect((await extract.run()).error.message).toContain('Couldn\'t read "M\uFFFDller.csv"');
  });

  test("are replaced by a mirror where a file became a folder, or a folder a file", async () => {
    const [from, place] = [await folder(data), await open()];
    for (const path of ["a", "b/c/d.txt", "b/e.txt"]) from.put(path, path);
    const mirror = await sync(data, {
      source: { connectionId: from.id },
      destination: { connectionId: place.id, path: "/in" },
      mode: "mirror",
    });
    expect(await mirror.result()).toMatchObject({ copied: 3, failed: [] });
    for (const path of ["a", "b"]) from.removeAll(path);
    from.put("a/x.txt", "x");
    from.put("b", "file");
    mkdirSync(join(place.root, "in", "b", "empty"));
    expect((await mirror.result({ mode: "copy" })).failed).toEqual([
      { path: "a/x.txt", reason: expect.stringContaining('"/in/a" is a file at the destination') },
      { path: "b", reason: expect.stringContaining('"/in/b" is a folder at the destination') },
    ]);
    expect(await mirror.result()).toMatchObject({ copied: 2, deleted: 3, failed: [] });
    expect(readFileSync(join(place.root, "in", "a", "x.txt"), "utf8")).toBe("x");
    expect(readFileSync(join(place.root, "in", "b"), "utf8")).toBe("file");
    expect(await mirror.result()).toMatchObject({ copied: 0, skipped: 2, deleted: 0, failed: [] });
  });

  deepTest("are copied there and back, once each, and deleted by a mirror", async () => {
    const source = await folder(data);
    source.put("a.txt", "one");
    source.put("deep/er/b.txt", "two");
    const large = Buffer.from(crypto.getRandomValues(new Uint8Array(60_000)));
    source.put("large.bin", Buffer.concat(Array.from({ length: 350 }, () => large))); // 20 MiB
    const place = await open();
    const there = await sync(data, {
      source: { connectionId: source.id },
      destination: { connectionId: place.id, path: "/copy" },
      mode: "mirror",
    });
    expect(await there.result()).toMatchObject({ copied: 3, failed: [] });
    expect(await there.result()).toMatchObject({ copied: 0, skipped: 3 });
    const target = await folder(data);
    const back = await sync(data, {
      source: { connectionId: place.id, path: "/copy" },
      destination: { connectionId: target.id, path: "/" },
    });
    expect(await back.result()).toMatchObject({ copied: 3, failed: [] });
    expect(target.all()).toEqual(source.all());
    source.remove("a.txt");
    expect(await there.result()).toMatchObject({ deleted: 1 });
    expect(readdirSync(join(place.root, "copy")).sort()).toEqual(["deep", "large.bin"]);
  });

  test("can't be accessed unless the operator allows the address", async () => {
    await using closed = await startData({ env: { WEIR_EGRESS_ALLOW: "" } });
    const { id } = await connect(closed.owner, {
      ...{ name: "Closed", provider: "sftp" },
      config: { host: "127.0.0.1", port: sshd.port, hostKey: sshd.hostKey },
      credentials: { user: sshd.user, privateKey: sshd.privateKey },
    });
    const { body } = await closed.owner("POST", `${CONNECTIONS}/${id}/verify`);
    expect(body.verificationError).toContain("WEIR_EGRESS_ALLOW");
  });
});
