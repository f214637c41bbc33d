/** One response in this many is a 503, and one in this many is late. */
const FAILS_ONE_IN = 20;
const LATE_ONE_IN = 8;
const LATE_MS = 400;

/** What other systems received from Weir. It keeps running when Weir is killed. */
export interface Receiver {
  url: string;
  /** Requests by their `Idempotency-Key`, which is the ID of the action run. */
  effects: Map<string, number>;
  /** Deliveries of events by event ID, with the status of the last response. */
  events: Map<string, { count: number; isTaken: boolean }>;
  /** What no receiver should ever get. */
  faults: string[];
  stop(): Promise<void>;
}

export function startReceiver(): Receiver {
  const effects = new Map<string, number>();
  const events = new Map<string, { count: number; isTaken: boolean }>();
  const faults: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const fails = Math.random() < 1 / FAILS_ONE_IN;
      if (pathname === "/event") {
        const id = request.headers.get("webhook-id") ?? "";
        const event = (await request.json()) as { id: string };
        if (event.id !== id) faults.push(`an event ${event.id} was delivered under the id ${id}`);
        const seen = events.get(id);
        events.set(id, { count: (seen?.count ?? 0) + 1, isTaken: (seen?.isTaken ?? false) || !fails });
      } else {
        const key = request.headers.get("idempotency-key") ?? "";
        effects.set(key, (effects.get(key) ?? 0) + 1);
        await Bun.sleep(Math.random() < 1 / LATE_ONE_IN ? LATE_MS : Math.random() * 20);
      }
      return fails ? new Response("not now", { status: 503 }) : Response.json({ ok: true });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    effects,
    events,
    faults,
    stop: () => server.stop(true),
  };
}
