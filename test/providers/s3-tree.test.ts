import { expect, test } from "bun:test";
import { s3 } from "../../src/providers/s3/s3.ts";
import { failure, link } from "../support/link.ts";
import { s3Keys } from "../support/s3.ts";

const GIB = 1024 ** 3;

/** A store that copies objects of any size, and records the requested ranges. */
function startStore(refuses: (range: string) => boolean = () => false) {
  const ranges: string[] = [];
  const asked: string[] = [];
  const xml = (text: string) => new Response(text, { headers: { "content-type": "application/xml" } });
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { searchParams: query } = new URL(request.url);
      asked.push(`${request.method} ${[...query.keys()].sort().join(" ")}`.trim());
      if (request.method === "HEAD") return new Response(null, { headers: { "content-type": "video/mp4" } });
      if (query.has("uploads")) {
        expect(request.headers.get("content-type")).toBe("video/mp4");
        return xml("<R><UploadId>u1</UploadId></R>");
      }
      if (request.method === "POST") {
        const tags = [...(await request.text()).matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>([^<]+)</g)];
        expect(tags.map(([, part, tag]) => `${part} ${tag}`)).toEqual(
          ranges.map((_, index) => `${index + 1} &quot;part-${index + 1}&quot;`),
        );
        return xml('<CompleteMultipartUploadResult><ETag>"whole-7"</ETag></CompleteMultipartUploadResult>');
      }
      if (request.method === "DELETE") return new Response(null, { status: 204 });
      expect(request.headers.get("x-amz-copy-source")).toBe("/from/a%20b.mp4");
      expect(request.headers.get("x-amz-copy-source-if-match")).toBe('"tag"');
      const range = request.headers.get("x-amz-copy-source-range") ?? "";
      if (refuses(range))
        return new Response("<Error><Code>PreconditionFailed</Code></Error>", { status: 412 });
      ranges[Number(query.get("partNumber")) - 1] = range;
      return xml(`<CopyPartResult><ETag>"part-${query.get("partNumber")}"</ETag></CopyPartResult>`);
    },
  });
  const to = (bucket: string) =>
    link({ bucket, endpointUrl: `http://127.0.0.1:${server.port}`, forcePathStyle: true }, s3Keys);
  return { ranges, asked, to, stop: () => server.stop(true) };
}

const film = { id: "a b.mp4", path: "a b.mp4", modifiedAt: null, version: "tag", hash: "tag" };

test("an object larger than one copy may be is copied in ranges, with its type", async () => {
  const store = startStore();
  const size = 6 * GIB + 5;
  const copy = s3.tree?.writes?.copy;
  const stamp = await copy?.(store.to("from"), { ...film, size }, store.to("into"), "/a b.mp4");
  expect(stamp).toEqual({ size, version: "whole-7" });
  expect(store.ranges).toEqual([
    ...Array.from({ length: 6 }, (_, n) => `bytes=${n * GIB}-${(n + 1) * GIB - 1}`),
    `bytes=${6 * GIB}-${6 * GIB + 4}`,
  ]);
  await store.stop();
});

test("one that changes in the middle leaves no parts", async () => {
  const store = startStore((range) => range.startsWith(`bytes=${5 * GIB}-`));
  const copy = s3.tree?.writes?.copy?.(store.to("from"), { ...film, size: 6 * GIB }, store.to("into"), "/x");
  expect(await failure(copy as Promise<unknown>)).toMatchObject({
    retryable: true,
    details: { rule: "changed" },
  });
  expect(store.asked.at(-1)).toBe("DELETE uploadId");
  await store.stop();
});

test("another account's object isn't requested with the destination's keys", async () => {
  const store = startStore();
  const other = { ...store.to("into"), credentials: { ...s3Keys, accessKeyId: "AKIDOTHER" } };
  const copy = s3.tree?.writes?.copy;
  expect(await copy?.(store.to("from"), { ...film, size: 1 }, other, "/x")).toBeNull();
  expect(store.asked).toEqual([]);
  await store.stop();
});
