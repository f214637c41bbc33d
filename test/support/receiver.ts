/** A request as a receiver saw it. */
interface Seen {
  method: string;
  path: string;
  headers: Headers;
  text: string;
}

type Answer = (seen: Seen, count: number) => Response | Promise<Response>;

/**
 * A server on a free port that records requests. It responds with 200 and `{ok:
 * true}`, or with what `answer` returns, which also gets the number of the request from 1. `await using` stops it.
 */
export function startReceiver(answer: Answer = () => Response.json({ ok: true })) {
  const got: Seen[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const { method, headers } = request;
      const seen = { method, headers, path: pathname + search, text: await request.text() };
      got.push(seen);
      return answer(seen, got.length);
    },
  });
  return {
    got,
    url: `http://127.0.0.1:${server.port}`,
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
}
