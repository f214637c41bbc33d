/**
 * An object store for benchmarks that stores no bytes: an object is a length, and reads as zeros. It supports the part
 * of S3 that a copy needs, requires no signature, and counts requests that change something. `GET /counts` returns and
 * resets the counts. Arguments are the number of objects and their bytes in a bucket `from` as `small` and `large`.
 */
interface Stored {
  size: number;
  etag: string;
}

const [small = "0", large = "0", largeBytes = "0"] = process.argv.slice(2);
const SMALL_BYTES = 2_000;
const buckets = new Map<string, Map<string, Stored>>();
const uploads = new Map<string, Map<number, number>>();
const counts = { writes: 0, lists: 0 };
const zeros = new Uint8Array(1024 * 1024);
let made = 0;

const bucketOf = (name: string): Map<string, Stored> => {
  const known = buckets.get(name) ?? new Map<string, Stored>();
  buckets.set(name, known);
  return known;
};
const store = (bucket: string, key: string, size: number): Stored => {
  const object = { size, etag: `made-${++made}-1` };
  bucketOf(bucket).set(key, object);
  return object;
};
for (let n = 0; n < Number(small); n++) store("small", `folder-${n % 100}/file-${n}.json`, SMALL_BYTES);
for (let n = 0; n < Number(large); n++) store("large", `part-${n}.bin`, Number(largeBytes));
const sorted = new Map([...buckets].map(([name, objects]) => [name, [...objects.keys()].sort()]));

async function read(request: Request): Promise<number> {
  let size = 0;
  if (request.body) for await (const chunk of request.body) size += chunk.length;
  return size;
}

const xml = (text: string) => new Response(text, { headers: { "content-type": "application/xml" } });

function list(bucket: string, query: URLSearchParams): Response {
  counts.lists++;
  const prefix = query.get("prefix") ?? "";
  const objects = bucketOf(bucket);
  const known = sorted.get(bucket);
  const keys = known && known.length === objects.size ? known : [...objects.keys()].sort();
  sorted.set(bucket, keys);
  const from = Number(query.get("continuation-token") ?? 0);
  const page = keys.filter((key) => key.startsWith(prefix)).slice(from, from + 1_000);
  const more = from + page.length < keys.length && page.length === 1_000;
  const rows = page.map((key) => {
    const { size, etag } = objects.get(key) as Stored;
    return `<Contents><Key>${key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>"${etag}"</ETag><Size>${size}</Size></Contents>`;
  });
  const next = more ? `<NextContinuationToken>${from + page.length}</NextContinuationToken>` : "";
  return xml(
    `<ListBucketResult><IsTruncated>${more}</IsTruncated>${next}${rows.join("")}</ListBucketResult>`,
  );
}

function send({ size, etag }: Stored, method: string): Response {
  const headers = {
    etag: `"${etag}"`,
    "content-length": String(size),
    "content-type": "application/octet-stream",
  };
  if (method === "HEAD") return new Response(null, { headers });
  if (size <= zeros.length) return new Response(zeros.subarray(0, size), { headers });
  let left = size;
  const body = new ReadableStream({
    pull(controller) {
      const piece = zeros.subarray(0, Math.min(left, zeros.length));
      left -= piece.length;
      if (piece.length > 0) controller.enqueue(piece);
      if (left === 0) controller.close();
    },
  });
  return new Response(body, { headers });
}

async function answer(request: Request): Promise<Response> {
  const { pathname, searchParams: query } = new URL(request.url);
  if (pathname === "/counts") {
    const now = { ...counts };
    counts.writes = counts.lists = 0;
    return Response.json(now);
  }
  const [, bucket = "", ...rest] = pathname.split("/").map(decodeURIComponent);
  const key = rest.join("/");
  if (request.method === "GET" && key === "") return list(bucket, query);
  const found = bucketOf(bucket).get(key);
  if (request.method === "GET" || request.method === "HEAD")
    return found
      ? send(found, request.method)
      : new Response("<Error><Code>NoSuchKey</Code></Error>", { status: 404 });
  counts.writes++;
  if (request.method === "POST" && query.has("uploads")) {
    const id = `upload-${++made}`;
    uploads.set(id, new Map());
    return xml(`<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
  }
  const parts = uploads.get(query.get("uploadId") ?? "");
  if (request.method === "POST") {
    await read(request);
    const { etag } = store(
      bucket,
      key,
      [...(parts?.values() ?? [])].reduce((sum, size) => sum + size, 0),
    );
    return xml(`<CompleteMultipartUploadResult><ETag>"${etag}"</ETag></CompleteMultipartUploadResult>`);
  }
  if (request.method === "DELETE") return new Response(null, { status: 204 });
  const source = request.headers.get("x-amz-copy-source");
  if (source) {
    const [, from = "", ...name] = source.split("/").map(decodeURIComponent);
    const { etag } = store(bucket, key, bucketOf(from).get(name.join("/"))?.size ?? 0);
    return xml(`<CopyObjectResult><ETag>"${etag}"</ETag></CopyObjectResult>`);
  }
  const size = await read(request);
  const etag = parts
    ? `part-${parts.set(Number(query.get("partNumber")), size).size}`
    : store(bucket, key, size).etag;
  return new Response(null, { headers: { etag: `"${etag}"` } });
}

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  maxRequestBodySize: 2 ** 40,
  fetch: answer,
});
console.log(JSON.stringify({ origin: `http://127.0.0.1:${server.port}` }));
