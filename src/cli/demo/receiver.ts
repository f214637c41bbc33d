import { type Json, parseJson } from "../../base/json.ts";

/** A request that the receiver got. */
export interface Received {
  method: string;
  path: string;
  /** An ID that is the same in every attempt, so that a receiver can act once. */
  idempotencyKey: string | null;
  body: Json;
}

/** The external system of the demo: accepts and records any request. */
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
    /** Host and port, as in `WEIR_EGRESS_ALLOW`. */
    address,
    origin: `http://${address}`,
    /** Returns requests since the last call. */
    take: (): Received[] => received.splice(0),
    close: () => server.stop(true),
  };
}

export type Receiver = ReturnType<typeof openReceiver>;
