/**
 * An API for benchmarks: `GET /?page=N` gives so many flat rows of JSON as `{rows, next}`. Started with the number of rows
 * and the rows of a page; all pages are ready before it listens.
 */
import { flatRow } from "./rows.ts";

const [rows = 0, size = 1000] = process.argv.slice(2).map(Number);
const count = Math.ceil(rows / size);
const pages = Array.from({ length: count }, (_, page) => {
  const items = Array.from({ length: Math.min(size, rows - page * size) }, (_, at) =>
    flatRow(page * size + at),
  );
  return Buffer.from(JSON.stringify({ rows: items, next: page + 1 < count ? `/?page=${page + 1}` : null }));
});

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch(request) {
    const page = pages[Number(new URL(request.url).searchParams.get("page") ?? 0) % count];
    return new Response(page, { headers: { "content-type": "application/json" } });
  },
});
console.log(JSON.stringify({ origin: `http://127.0.0.1:${server.port}` }));
