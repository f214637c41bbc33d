import { describe, expect, test } from "bun:test";
import { once } from "node:events";
import { connect } from "node:net";
import { openFairSlots } from "../../src/base/fair-slots.ts";
import { makeHook, sign } from "../support/hook.ts";
import { startInstallation } from "../support/process.ts";
import { makeAction } from "../support/work.ts";

const FLOOD = 600;

/** Opens a connection for one request. `send` resolves with the status once the reply begins. */
async function open(origin: string) {
  const { hostname, port, host } = new URL(origin);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  return {
    async send(head: readonly string[], body = ""): Promise<number> {
      const length = `content-length: ${Buffer.byteLength(body)}`;
      const lines = [...head, `host: ${host}`, length, "connection: close"];
      socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`);
      const [bytes] = (await once(socket, "data")) as [Buffer];
      socket.destroy();
      return Number(bytes.toString("latin1", 9, 12));
    },
  };
}

type Line = Awaited<ReturnType<typeof open>>;

describe("during a flood of API requests", () => {
  test("webhooks and other credentials are answered before most of it", async () => {
    await using installation = await startInstallation();
    const { origin, owner } = await installation.serve();
    await makeHook({ owner } as never, {
      action: { kind: "conditional_branch", definition: { branches: [{ key: "a", when: "true" }] } },
    });
    const { id } = await makeAction(owner);
    const other = (await owner("POST", "/api/v1/access-tokens", { name: "Other" })).body.token as string;
    // All are connected before the first is used: how quickly they connect doesn't depend on the server.
    const lines = await Promise.all(Array.from({ length: FLOOD + 2 }, () => open(origin)));
    const send = (head: readonly string[], body?: string) => (lines.pop() as Line).send(head, body);
    const run = (token: string) =>
      send([`POST /api/v1/actions/${id}/run HTTP/1.1`, `authorization: Bearer ${token}`]);

    const order: string[] = [];
    const note = (name: string, reply: Promise<number>) =>
      reply.then((status) => {
        order.push(name);
        return status;
      });
    const flood = Array.from({ length: FLOOD }, () => note("flood", run(installation.token)));
    const body = JSON.stringify({ a: 1 });
    const headers = ["content-type: application/json", `x-svc-signature: sha256=${sign(body)}`];
    const hook = send([`POST /webhooks/${installation.organizationId}/orders HTTP/1.1`, ...headers], body);
    const polite = [note("webhook", hook), note("other", run(other))];

    expect(await Promise.all(polite)).toEqual([200, 201]);
    expect(new Set(await Promise.all(flood))).toEqual(new Set([201]));
    expect(order.indexOf("webhook")).toBeLessThan(FLOOD / 2);
    expect(order.indexOf("other")).toBeLessThan(FLOOD / 2);
  }, 120_000);
});

describe("fair slots", () => {
  test("take turns among those who wait, each in its own order", async () => {
    const slots = openFairSlots(1, 10, 1_000);
    const first = slots.enter(["a"]) as () => void;
    const order: string[] = [];
    const queue = async (path: string[], name: string) => {
      const leave = await slots.enter(path);
      order.push(name);
      leave?.();
    };
    const all = [
      queue(["a", "x"], "ax1"),
      queue(["a", "x"], "ax2"),
      queue(["a", "y"], "ay1"),
      queue(["b", "x"], "bx1"),
      queue(["b", "x"], "bx2"),
    ];
    first();
    first(); // Leaving twice frees one slot.
    await Promise.all(all);
    expect(order).toEqual(["ax1", "bx1", "ay1", "bx2", "ax2"]);
  });

  test("are refused if too many wait", async () => {
    const slots = openFairSlots(1, 1, 1_000);
    const first = slots.enter(["a"]) as () => void;
    const second = slots.enter(["a"]);
    expect(slots.enter(["b"])).toBeNull();
    first();
    (await second)?.();
    expect(slots.enter(["b"])).toBeFunction();
  });

  test("refuse the newest request of the one with most waiting, not of those with fewer", async () => {
    const slots = openFairSlots(1, 4, 1_000);
    const first = slots.enter(["flood"]) as () => void;
    const flood = ["x", "x", "x", "y"].map((key) => slots.enter(["flood", key]));
    const other = slots.enter(["other", "z"]);
    expect(await flood[2]).toBeNull();
    expect(slots.enter(["flood", "x"])).toBeNull();
    const second = slots.enter(["other", "w"]);
    expect(await flood[1]).toBeNull();
    const third = slots.enter(["third", "v"]);
    expect(await flood[0]).toBeNull();
    expect(slots.enter(["third", "v"])).toBeNull(); // Nobody has more than that would be.
    first();
    for (const each of [flood[3], other, third, second]) (await each)?.();
    expect(slots.enter(["flood", "x"])).toBeFunction();
  });

  test("aren't kept by work that waits for something else", async () => {
    const slots = openFairSlots(1, 1, 5);
    slots.enter(["a"]);
    expect(await slots.enter(["b"])).toBeFunction();
  });
});
