import { describe, expect, test } from "bun:test";
import { startEngine } from "../../src/engine/start.ts";
import { type Client, startApp } from "../support/app.ts";
import { neighbour } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";
import { ACTIONS, created, makeAction, runEnd } from "../support/work.ts";

/** A receiver that responds to this many requests at a time, once they have arrived. `total` of them are expected. */
function startInRounds(size: number, total: number) {
  let round: (() => void)[] = [];
  return startReceiver(async (_, count) => {
    const answered = new Promise<void>((resolve) => round.push(resolve));
    if (round.length === size || count === total) {
      for (const answer of round) answer();
      round = [];
    }
    await answered;
    return Response.json({ ok: true });
  });
}

/** Queues `count` runs that call `path`, and returns their IDs. */
async function queue(call: Client, url: string, count: number, more: object = {}): Promise<string[]> {
  const action = await makeAction(call, { kind: "http_request", definition: { url, ...more } });
  const ids: string[] = [];
  for (let n = 0; n < count; n++) ids.push(created(await call("POST", `${ACTIONS}/${action.id}/run`)).id);
  return ids;
}

describe("between organizations", () => {
  test.each([1, 4])("a long queue of one doesn't block another, with %d slots", async (places) => {
    await using app = await startApp({ engine: false, env: { WEIR_CONCURRENCY: String(places) } });
    // While others wait, all slots are taken; one organization alone gets half of them.
    const half = Math.max(1, Math.floor(places / 2));
    await using receiver = startInRounds(half, 46);
    const others = [await neighbour(app), await neighbour(app)] as const;
    const ours = await queue(app.owner, `${receiver.url}/ours`, 40);
    await queue(others[0].call, `${receiver.url}/first`, 3);
    await queue(others[1].call, `${receiver.url}/second`, 3);
    const engine = await startEngine(app.app);
    for (const id of ours) expect((await runEnd(app.owner, id)).status).toBe("completed");
    await engine.stop(0);
    const order = receiver.got.map(({ path }) => path);
    expect(order).toHaveLength(46);
    // Nine runs take turns; those of one round may arrive in any order.
    const taken = Math.ceil(9 / places) * places + places - half;
    expect(order.slice(0, taken).filter((path) => path !== "/ours")).toHaveLength(6);
  });

  test("an organization whose runs are all held takes no turn", async () => {
    await using app = await startApp({ engine: false, env: { WEIR_CONCURRENCY: "1" } });
    await using receiver = startReceiver();
    const other = await neighbour(app);
    const keyed = await queue(app.owner, `${receiver.url}/keyed`, 3, { concurrencyKey: "one" });
    const theirs = await queue(other.call, `${receiver.url}/theirs`, 3);
    const engine = await startEngine(app.app);
    for (const id of keyed) expect((await runEnd(app.owner, id)).status).toBe("completed");
    for (const id of theirs) expect((await runEnd(other.call, id)).status).toBe("completed");
    await engine.stop(0);
    expect(receiver.got).toHaveLength(6);
  });

  test("runs that don't end leave half of the slots to others", async () => {
    await using app = await startApp({ env: { WEIR_CONCURRENCY: "4" } });
    const end = Promise.withResolvers<void>();
    await using receiver = startReceiver(async ({ path }) => {
      if (path === "/endless") await end.promise;
      return Response.json({ ok: true });
    });
    const other = await neighbour(app);
    const endless = await queue(app.owner, `${receiver.url}/endless`, 8);
    for (const id of await queue(other.call, `${receiver.url}/theirs`, 3))
      expect((await runEnd(other.call, id)).status).toBe("completed");
    expect(receiver.got.filter(({ path }) => path === "/endless")).toHaveLength(2);
    end.resolve();
    for (const id of endless) expect((await runEnd(app.owner, id)).status).toBe("completed");
  });
});
