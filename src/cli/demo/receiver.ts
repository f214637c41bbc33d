import { type Json, parseJson } from "../../base/json.ts";

/** A request as the receiver got it. */
export interface Received {
  method: string;
  path: string;
  /** The id that is the same on every try, so that a receiver can act once. */
  idempotencyKey: string | null;
  body: Json;
}

/** The outside system of the demo: takes any request, remembers it, and says thank you. */
export function openReceiver() {
  const received: Received[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      received.push({
        method: request.method,
        path: new URL(request.url).pathname,
        idempotencyKey: request.headers.get("idempotency-key"),
        body: parseJson(await request.text()),
      });
      return Response.json({ received: true });
    },
  });
  const address = `127.0.0.1:${server.port}`;
  return {
    /** Host and port, as `WEIR_EGRESS_ALLOW` takes them. */
    address,
    origin: `http://${address}`,
    /** What came since the last call. */
    take: (): Received[] => received.splice(0),
    close: () => server.stop(true),
  };
}

export type Receiver = ReturnType<typeof openReceiver>;
