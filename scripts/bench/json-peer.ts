/**
 * An API for benchmarks: `GET /orders?pages=N` returns flat JSON rows as `{rows, next}`, in that many pages.
 * Arguments are the number of rows, which then repeat, and the rows per page. All rows are generated before it listens.
 */
import { flatRow } from "./rows.ts";

const [rows = 0, size = 1000] = process.argv.slice(2).map(Number);
const count = Math.ceil(rows / size);
const pages = Array.from({ length: count }, (_, page) => {
  const items = Array.from({ length: Math.min(size, rows - page * size) }, (_, at) =>
    flatRow(page * size + at),
  );
  return Buffer.from(`{"rows":${JSON.stringify(items)},"next":`);
});

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch(request) {
    const { searchParams: asked } = new URL(request.url);
    const page = Number(asked.get("page") ?? 0);
    const all = Number(asked.get("pages"));
    const next = page + 1 < all ? `/orders?pages=${all}&page=${page + 1}` : null;
    const body = Buffer.concat([pages[page % count] as Buffer, Buffer.from(`${JSON.stringify(next)}}`)]);
    return new Response(body, { headers: { "content-type": "application/json" } });
  },
});
console.log(JSON.stringify({ origin: `http://127.0.0.1:${server.port}` }));
