import type { Sqld } from "./sqld.ts";

interface Stmt {
  sql?: string | null;
  args?: object[];
}

interface Pipeline {
  baton?: string | null;
  requests: { type: string; stmt?: Stmt; batch?: { steps: { stmt: Stmt }[] } }[];
}

/**
 * A relay to a libSQL server that records its requests:
 * Hrana 2 over HTTP with JSON (https://github.com/tursodatabase/libsql/blob/main/docs/HRANA_2_SPEC.md).
 */
export function startHranaRelay(server: Sqld) {
  /** Statements as sent, including transaction control. */
  const log: string[] = [];
  /** Parameters as sent. */
  const values: object[] = [];
  let requests = 0;
  let streams = 0;
  let failures = 0;
  const hear = ({ sql, args = [] }: Stmt) => {
    log.push(sql ?? "");
    values.push(...args);
  };
  const relay = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      requests++;
      if (failures > 0) {
        failures--;
        return new Response("out of order", { status: 500 });
      }
      const text = await request.text();
      const asked = JSON.parse(text) as Pipeline;
      for (const { stmt, batch } of asked.requests)
        for (const one of stmt ? [stmt] : (batch?.steps ?? []).map((step) => step.stmt)) hear(one);
      const { pathname } = new URL(request.url);
      const { method, headers } = request;
      const reply = await fetch(server.url + pathname, { method, headers, body: text });
      const answer = await reply.text();
      if (reply.ok) {
        const { baton } = JSON.parse(answer) as Pick<Pipeline, "baton">;
        if (asked.baton) streams--;
        if (baton) streams++;
      }
      const type = reply.headers.get("content-type") ?? "";
      return new Response(answer, { status: reply.status, headers: { "content-type": type } });
    },
  });
  return {
    url: relay.url.origin,
    log,
    values,
    /** Number of requests received. */
    get requests() {
      return requests;
    },
    /** Open streams, each of which may hold a transaction. */
    get streams() {
      return streams;
    },
    /** Responds to this many of the next requests with HTTP 500, without passing them to the server. */
    failNext(count: number) {
      failures = count;
    },
    [Symbol.asyncDispose]: () => relay.stop(true),
  };
}
