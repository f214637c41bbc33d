import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { systemClock } from "../../src/base/clock.ts";
import { openEgress } from "../../src/base/egress.ts";
import type { JsonObject } from "../../src/base/json.ts";
import type { Extraction, FileItem, Link } from "../../src/providers/contract.ts";
import { s3 } from "../../src/providers/s3/s3.ts";
import { urlOf } from "../../src/providers/s3/shape.ts";
import { failure, link, textOf } from "../support/link.ts";
import { freePort } from "../support/postgres.ts";
import { s3Keys, startS3, type TestS3 } from "../support/s3.ts";

let server: TestS3;
let bucketCount = 0;
let bucket = "";
beforeAll(async () => {
  server = await startS3();
});
afterAll(async () => server[Symbol.asyncDispose]());
beforeEach(() => {
  server.interfere(() => null);
  bucket = `bucket-${++bucketCount}`;
  server.createBucket(bucket);
});

const to = (
  config: JsonObject = {},
  credentials: Record<string, string> = {},
  overrides: Partial<Link> = {},
) => link({ bucket, endpointUrl: server.endpointUrl, ...config }, { ...s3Keys, ...credentials }, overrides);

const stream = (text: string | Uint8Array) =>
  new Blob([text as BlobPart]).stream() as ReadableStream<Uint8Array>;
const put = async (path: string, text: string | Uint8Array, config: JsonObject = {}) =>
  (await s3.files?.write?.(to(config), path, stream(text), 1e9)) as FileItem;
const list = async (path: string, config: JsonObject = {}, pageToken?: string) => {
  const page = await s3.files?.list(to(config), path, pageToken);
  if (!page) throw new Error("no files");
  return page;
};
const read = async (path: string, config: JsonObject = {}) =>
  textOf((await s3.files?.read(to(config), path)) as ReadableStream<Uint8Array>);
const stat = async (path: string, config: JsonObject = {}) =>
  (await s3.files?.stat(to(config), path)) as FileItem;

/** A clock that doesn't wait. */
const hurried = (waits: number[]) => ({
  ...systemClock,
  sleep: async (ms: number) => void waits.push(ms),
});

describe("verify", () => {
  test("succeeds with one signed list under the prefix", async () => {
    const before = server.seen.length;
    await s3.verify(to({ prefix: "raw/x" }));
    expect(server.seen.slice(before).map(({ url }) => url)).toEqual([
      `/${bucket}/?list-type=2&encoding-type=url&max-keys=1&prefix=raw%2Fx%2F`,
    ]);
  });

  test("distinguishes a missing bucket, an unknown key, a wrong secret and a wrong region", async () => {
    expect((await failure(s3.verify(to({ bucket: "nowhere" })))).message).toContain(
      "There is no bucket nowhere",
    );
    expect((await failure(s3.verify(to({}, { accessKeyId: "OTHER" })))).message).toContain("accessKeyId");
    expect((await failure(s3.verify(to({}, { secretAccessKey: "wrong" })))).message).toContain(
      "secretAccessKey",
    );
    const region = await failure(s3.verify(to({ region: "eu-central-1" })));
    expect(region.message).toContain("in the region us-east-1, not in eu-central-1");
  });

  test("names the region in a redirect, and follows none", async () => {
    server.interfere(() => ({
      status: 301,
      code: "PermanentRedirect",
      headers: { "x-amz-bucket-region": "ap-south-1", location: "http://127.0.0.1:1/" },
    }));
    expect((await failure(s3.verify(to()))).message).toContain("Set region to ap-south-1");
  });

  test("reports that the keys may not list, that they have expired, and that the clock is off", async () => {
    for (const [code, words] of [
      ["AccessDenied", "can't list the bucket"],
      ["ExpiredToken", "sessionToken"],
      ["RequestTimeTooSkewed", "clock"],
    ]) {
      server.interfere(() => ({ status: 403, code }));
      expect((await failure(s3.verify(to()))).message).toContain(words ?? "");
    }
  });

  test("reports an address where nobody listens, and one that egress blocks", async () => {
    const waits: number[] = [];
    const endpointUrl = `http://127.0.0.1:${await freePort()}`;
    const refused = await failure(s3.verify(to({ endpointUrl }, {}, { clock: hurried(waits) })));
    expect(refused).toMatchObject({ code: "upstream", retryable: true });
    expect(waits).toHaveLength(3);

    const egress = openEgress({ allow: [], self: () => null });
    expect((await failure(s3.verify(to({}, {}, { egress })))).code).toBe("egress_blocked");
  });

  test("reports a server that isn't S3", async () => {
    server.interfere(() => ({ status: 200, body: "<!doctype html><html><body>Welcome</body></html>" }));
    expect((await failure(s3.verify(to()))).message).toContain("not S3's XML");
    server.interfere(() => ({ status: 404, body: "404 page not found" }));
    expect((await failure(s3.verify(to()))).code).toBe("upstream");
  });

  test("signs a session token with the rest", async () => {
    await s3.verify(to({}, { sessionToken: "FwoGZXIvYXdzEJr//////////wEaD" }));
    const last = server.seen.at(-1);
    expect(last?.headers["x-amz-security-token"]).toBe("FwoGZXIvYXdzEJr//////////wEaD");
    expect(last?.headers.authorization).toContain("x-amz-security-token");
  });
});

describe("busy stores", () => {
  test("are asked again, and then respond", async () => {
    const waits: number[] = [];
    let left = 2;
    server.interfere(() => (left-- > 0 ? { status: 503, code: "SlowDown" } : null));
    await s3.verify(to({}, {}, { clock: hurried(waits) }));
    expect(waits).toHaveLength(2);
    expect(waits[1]).toBeGreaterThanOrEqual(200);
  });

  test("are given up after four attempts with a retryable error", async () => {
    server.interfere(() => ({ status: 500, code: "InternalError", headers: { "retry-after": "7" } }));
    const before = server.seen.length;
    const error = await failure(s3.verify(to({}, {}, { clock: hurried([]) })));
    expect(error).toMatchObject({ code: "upstream", retryable: true, retryAfterSeconds: 7 });
    expect(server.seen.length - before).toBe(4);
  });
});

describe("files", () => {
  const odd = [
    "a b.txt",
    "é+ü.txt",
    "100%.txt",
    "what?.txt",
    "a#b.txt",
    "a//b.txt",
    "%41.txt",
    "q&a=1;x,y.txt",
    "it's (1)!*~.txt",
    "日本/語.txt",
    "[x]{y}.txt",
    "\ttab.txt",
    "😀.txt",
  ];

  test("with unusual names are written, listed, inspected and read with the same ID", async () => {
    for (const name of odd) await put(`/odd/${name}`, `I am ${name}`);
    const seen: FileItem[] = [];
    const visit = async (path: string) => {
      for (const item of (await list(path)).items) {
        if (item.kind === "file") seen.push(item);
        else await visit(item.id);
      }
    };
    await visit("/odd");
    expect(seen.map(({ id }) => id).sort()).toEqual(odd.map((name) => `/odd/${name}`).sort());
    for (const { id, size } of seen) {
      const text = `I am ${id.slice("/odd/".length)}`;
      expect(await read(id)).toBe(text);
      expect(await stat(id)).toMatchObject({ id, kind: "file", size: Buffer.byteLength(text) });
      expect(size).toBe(Buffer.byteLength(text));
    }
  });

  test("whose key begins with a slash can be accessed too", async () => {
    await put("//x.txt", "slash first");
    expect((await list("/")).items.map(({ id, name, kind }) => ({ id, name, kind }))).toEqual([
      { id: "//", name: "/", kind: "folder" },
    ]);
    expect((await list("//")).items.map(({ id }) => id)).toEqual(["//x.txt"]);
    expect(await read("//x.txt")).toBe("slash first");
  });

  test("are listed after folders, with what the interface requires of an item", async () => {
    await put("/zoo/lion.csv", "roar");
    await put("/apple.csv", "a,b\n");
    const { items, nextPageToken } = await list("/");
    expect(nextPageToken).toBeUndefined();
    expect(items).toMatchObject([
      { id: "/zoo", name: "zoo", kind: "folder", mimeType: null, size: null, modifiedAt: null },
      { id: "/apple.csv", name: "apple.csv", kind: "file", mimeType: "text/csv", size: 4 },
    ]);
    expect(items[1]?.modifiedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test("are below the prefix, which no path leaves", async () => {
    await put("/outside.txt", "outside");
    await put("/in.txt", "inside", { prefix: "/data/raw/" });
    expect((await list("/", { prefix: "data/raw" })).items.map(({ id }) => id)).toEqual(["/in.txt"]);
    expect(await read("/data/raw/in.txt")).toBe("inside");
    for (const path of [
      "/../../outside.txt",
      "/..",
      "/a/../../../outside.txt",
      "/./in.txt",
      `/../../../${bucket}/outside.txt`,
    ]) {
      for (const work of [stat, read, list]) {
        const error = await failure(work(path, { prefix: "data/raw" }));
        expect(error).toMatchObject({ code: "bad_request", details: { rule: "outside_root" } });
      }
    }
    expect((await failure(list("/", { prefix: "a/../.." }))).code).toBe("bad_request");
    for (const path of ["/%2e%2e/outside.txt", "/..%2foutside.txt", "/.../x"]) {
      expect((await failure(read(path, { prefix: "data/raw" }))).code).toBe("not_found");
    }
  });

  test("that don't exist aren't found, and neither are folders", async () => {
    for (const work of [stat, read, list]) expect((await failure(work("/nothing"))).code).toBe("not_found");
    expect((await list("/")).items).toEqual([]);
    expect(await stat("/")).toMatchObject({ kind: "folder" });
  });

  test("that are archived are distinguished from those that the keys can't read", async () => {
    for (const [code, words] of [
      ["InvalidObjectState", '"a.csv" is archived. Restore it'],
      ["AccessDenied", "can't read from the bucket"],
    ]) {
      server.interfere(() => ({ status: 403, code }));
      expect((await failure(read("/a.csv"))).message).toContain(words ?? "");
    }
  });

  test("are listed page by page, once each, all folders before all files", async () => {
    const names = [...Array(1_203).keys()].map((i) => `f${String(i).padStart(5, "0")}.txt`);
    await Promise.all(names.map((name) => server.put(bucket, `many/${name}`, "x")));
    for (const folder of ["a", "g", "zz"]) await put(`/many/${folder}/x.txt`, "x");
    const items: FileItem[] = [];
    let pages = 0;
    for (let token: string | undefined = ""; token !== undefined; pages++) {
      const page = await list("/many", {}, token === "" ? undefined : token);
      expect(page.items.length).toBeLessThanOrEqual(1_000);
      items.push(...page.items);
      token = page.nextPageToken;
    }
    expect(pages).toBe(2);
    expect(items.map(({ name }) => name)).toEqual(["a", "g", "zz", ...names]);
  }, 120_000);

  test("are listed by the decoded names of an encoded list", async () => {
    server.interfere(() => ({
      status: 200,
      body: `<?xml version="1.0"?><!-- a list --><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
        <IsTruncated>false</IsTruncated><EncodingType>url</EncodingType>
        <Contents><Key>a+b%2Bc%26%E2%82%AC.txt</Key><Size>5</Size><LastModified>2026-01-02T03:04:05.000Z</LastModified></Contents>
        <CommonPrefixes><Prefix>x%2Fy/</Prefix></CommonPrefixes></ListBucketResult>`,
    }));
    expect((await list("/")).items.filter(({ kind }) => kind === "file")).toMatchObject([
      { name: "a b+c&€.txt", size: 5, modifiedAt: "2026-01-02T03:04:05.000Z" },
    ]);
  });

  test("reject a list that hides an entity, is nested endlessly, or is cut off", async () => {
    const bodies = [
      `<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><ListBucketResult><Prefix>&x;</Prefix></ListBucketResult>`,
      "<a>".repeat(10_000),
      "<ListBucketResult><Contents><Key>a</Key>",
      "<ListBucketResult><Prefix>&unknown;</Prefix></ListBucketResult>",
    ];
    for (const body of bodies) {
      server.interfere(() => ({ status: 200, body }));
      expect((await failure(list("/"))).code).toBe("upstream");
    }
  });

  test("aren't considered complete if a list has more but no token", async () => {
    const contents = "<Contents><Key>a</Key><Size>1</Size></Contents>";
    for (const token of ["", "<NextContinuationToken/>", "<NextMarker>a</NextMarker>"]) {
      const body = `<ListBucketResult><IsTruncated>true</IsTruncated>${contents}${token}</ListBucketResult>`;
      server.interfere(() => ({ status: 200, body }));
      const { code, message } = await failure(list("/"));
      expect([code, message]).toEqual(["upstream", expect.stringContaining("ListObjectsV2")]);
    }
  });

  test("reject a page token that wasn't issued", async () => {
    for (const token of ["x", "", "W10", "bnVsbA"]) {
      expect((await failure(list("/", {}, token))).code).toBe("bad_request");
    }
  });

  test("can be empty", async () => {
    expect(await put("/empty.txt", "")).toMatchObject({ size: 0 });
    expect(await read("/empty.txt")).toBe("");
  });
});

describe("large files", () => {
  const chunks = (count: number) => {
    let left = count;
    return new ReadableStream<Uint8Array>({
      pull(controller) {
        if (left-- > 0) controller.enqueue(new Uint8Array(1_000_000).fill(left % 251));
        else controller.close();
      },
    });
  };
  const uploads = (from: number) =>
    server.seen
      .slice(from)
      .map(({ method, url }) => `${method} ${/partNumber|uploadId|uploads/.exec(url)?.[0] ?? ""}`.trim());

  test("are sent in parts, and read back completely", async () => {
    const from = server.seen.length;
    const item = await s3.files?.write?.(to(), "/big.bin", chunks(20), 1e9);
    expect(item).toMatchObject({ size: 20_000_000 });
    expect(uploads(from)).toEqual([
      "POST uploads",
      "PUT partNumber",
      "PUT partNumber",
      "PUT partNumber",
      "POST uploadId",
      "HEAD",
    ]);
    const hash = new Bun.CryptoHasher("sha256");
    const bytes = (await s3.files?.read(to(), "/big.bin")) as ReadableStream<Uint8Array>;
    for await (const chunk of bytes) hash.update(chunk);
    const expected = new Bun.CryptoHasher("sha256");
    for (let left = 19; left >= 0; left--) expected.update(new Uint8Array(1_000_000).fill(left % 251));
    expect(hash.digest("hex")).toBe(expected.digest("hex"));
  });

  test("beyond the limit leave neither object nor parts", async () => {
    for (const count of [2, 20]) {
      const from = server.seen.length;
      const error = await failure(
        s3.files?.write?.(to(), "/big.bin", chunks(count), count * 1_000_000 - 1) ?? Promise.resolve(),
      );
      expect(error.code).toBe("payload_too_large");
      expect(uploads(from).at(-1)).toBe(count === 2 ? undefined : "DELETE uploadId");
      expect((await failure(stat("/big.bin"))).code).toBe("not_found");
    }
  });

  test("that fail or are aborted in the middle leave neither object nor parts", async () => {
    server.interfere(({ url }) =>
      url.includes("partNumber=2") ? { status: 403, code: "AccessDenied" } : null,
    );
    const from = server.seen.length;
    await failure(s3.files?.write?.(to(), "/big.bin", chunks(20), 1e9) ?? Promise.resolve());
    expect(uploads(from).at(-1)).toBe("DELETE uploadId");

    server.interfere(() => null);
    const stop = new AbortController();
    let count = 0;
    const stalled = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (count++ < 18) return controller.enqueue(new Uint8Array(1_000_000));
        stop.abort(new Error("enough"));
        await new Promise(() => undefined);
      },
    });
    const written = s3.files?.write?.(to({}, {}, { signal: stop.signal }), "/big.bin", stalled, 1e9);
    expect(await written?.catch((error: Error) => error.message)).toBe("enough");
    expect(server.seen.at(-1)?.method).toBe("DELETE");
    expect((await failure(stat("/big.bin"))).code).toBe("not_found");
  });

  test("fail when the store reports the error only at the end, with status 200", async () => {
    server.interfere(({ method, url }) =>
      method === "POST" && url.includes("uploadId=")
        ? { status: 200, body: "<Error><Code>EntityTooSmall</Code><Message>x</Message></Error>" }
        : null,
    );
    const error = await failure(s3.files?.write?.(to(), "/big.bin", chunks(20), 1e9) ?? Promise.resolve());
    expect(error.message).toContain("EntityTooSmall");
  });
});

describe("extract", () => {
  const request = (spec: string, where: { sql: string; parameters: [] } | null = null) => ({
    spec,
    columns: null,
    where,
    range: null,
    maxRows: null,
    batchSize: null,
  });
  const extract = async (spec: string, config: JsonObject = {}) => {
    const extraction = (await s3.extract?.(to(config), request(spec))) as Extract<
      Extraction,
      { kind: "files" }
    >;
    const files: string[] = [];
    for await (const file of extraction.files) {
      files.push(`${file.name} ${file.format} ${await textOf(await file.open())}`);
    }
    return files;
  };

  test("returns the files that a pattern matches, in name order, with their format", async () => {
    await put("/orders/2.csv", "two");
    await put("/orders/1.csv", "one");
    await put("/orders/1.csv.gz", gzipSync("packed"));
    await put("/orders/readme.md", "not data");
    await put("/orders/deep/3.jsonl", "three");
    await put("/other.csv", "other");
    expect(await extract("orders/*.csv")).toEqual(["orders/1.csv csv one", "orders/2.csv csv two"]);
    expect(await extract("/orders/**")).toEqual([
      "orders/1.csv csv one",
      "orders/1.csv.gz csv packed",
      "orders/2.csv csv two",
      "orders/deep/3.jsonl jsonl three",
    ]);
    expect(await extract("*.csv", { prefix: "orders" })).toEqual(["1.csv csv one", "2.csv csv two"]);
    expect(await extract("other.csv")).toEqual(["other.csv csv other"]);
  });

  test("fails if fewer bytes arrive than are listed, unless the object was replaced", async () => {
    await put("/orders/1.csv", "id\n1\n2\n");
    const answer = (headers: Record<string, string>) =>
      server.interfere(({ url }) =>
        url.includes("/orders/1.csv") ? { status: 200, body: "id\n1\n", headers } : null,
      );
    answer({});
    expect(await failure(extract("orders/*.csv"))).toMatchObject({ code: "upstream", retryable: true });
    answer({ etag: '"another"' });
    expect(await extract("orders/*.csv")).toEqual(["orders/1.csv csv id\n1\n"]);
  });

  test("reports that nothing matches, or nothing that it can read", async () => {
    await put("/notes/readme.md", "x");
    const none = await failure(s3.extract?.(to(), request("orders/*.csv")) ?? Promise.resolve());
    expect(none.code).toBe("not_found");
    expect(none.message).toContain("orders/*.csv");
    const unreadable = await failure(s3.extract?.(to(), request("notes/*")) ?? Promise.resolve());
    expect(unreadable).toMatchObject({ code: "not_found" });
    expect(unreadable.message).toContain("1 files");
    expect((await failure(s3.extract?.(to(), request("orders")) ?? Promise.resolve())).code).toBe(
      "definition_invalid",
    );
  });
});

describe("URLs", () => {
  test("are Amazon's without endpointUrl, with the bucket in the host unless it has a dot", () => {
    expect(urlOf({ bucket: "shop", region: "eu-west-1" }, "a b")).toBe(
      "https://shop.s3.eu-west-1.amazonaws.com/a%20b",
    );
    expect(urlOf({ bucket: "shop.example" }, "k")).toBe("https://s3.us-east-1.amazonaws.com/shop.example/k");
    expect(urlOf({ bucket: "shop", region: "cn-north-1", forcePathStyle: true }, "k")).toBe(
      "https://s3.cn-north-1.amazonaws.com.cn/shop/k",
    );
  });

  test("follow endpointUrl and forcePathStyle", () => {
    const config = { bucket: "shop", endpointUrl: "https://store.example.com/s3/" };
    expect(urlOf(config, "k")).toBe("https://store.example.com/s3/shop/k");
    expect(urlOf({ ...config, forcePathStyle: false }, "k")).toBe("https://shop.store.example.com/s3/k");
  });
});
