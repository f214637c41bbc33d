import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { openSlots } from "../../src/engine/slots.ts";
import { connectFolder, startData } from "../data/place.ts";
import { startKlaviyo, type TestKlaviyo } from "../peers/klaviyo.ts";
import { connect } from "../support/connections.ts";
import { klaviyoConnection, many, profile } from "../support/klaviyo.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { RUNS, runEnd, until } from "../support/work.ts";

setDefaultTimeout(120_000);

const never = new AbortController().signal;

describe("a slot", () => {
  /** `most` slots, and the running runs. */
  function slotsFor(most: number, ...runs: string[]) {
    const underWay = new Set(runs);
    let freed = 0;
    const slots = openSlots(
      most,
      { underWay: () => underWay.size, claiming: () => 0, ahead: () => 0 },
      () => void freed++,
    );
    return {
      slots,
      begin: (run: string) => underWay.add(run),
      end(run: string) {
        underWay.delete(run);
        slots.left(run);
      },
      freed: () => freed,
    };
  }
  const gate = () => Promise.withResolvers<void>();
  const settled = () => new Promise((resolve) => setImmediate(resolve));

  test("is free while its run waits, and taken again when the wait ends", async () => {
    const { slots, freed } = slotsFor(1, "a");
    const wait = gate();
    const resting = slots.rest("a", never, () => wait.promise);
    expect([slots.free(), freed()]).toEqual([1, 1]);
    wait.resolve();
    await resting;
    expect(slots.free()).toBe(0);
  });

  test("that someone else has taken is waited for, in order, before anyone new gets one", async () => {
    const { slots, begin, end, freed } = slotsFor(1, "a", "b");
    const waits = { a: gate(), b: gate() };
    const back: string[] = [];
    const rest = (run: "a" | "b") =>
      slots.rest(run, never, () => waits[run].promise).then(() => back.push(run));
    void rest("a");
    void rest("b");
    begin("c");
    waits.b.resolve();
    await settled();
    waits.a.resolve();
    await settled();
    expect([back, slots.free()]).toEqual([[], 0]);
    const before = freed();
    end("c");
    await settled();
    expect([back, slots.free(), freed()]).toEqual([["b"], 0, before]);
    end("b");
    await settled();
    expect(back).toEqual(["b", "a"]);
    end("a");
    expect(slots.free()).toBe(1);
  });

  test("is given up by a run with several parts until all of them continue", async () => {
    const { slots } = slotsFor(1, "a");
    const waits = [gate(), gate()] as const;
    const rests = waits.map(({ promise }) => slots.rest("a", never, () => promise));
    waits[0].resolve();
    await rests[0];
    expect(slots.free()).toBe(1);
    waits[1].resolve();
    await rests[1];
    expect(slots.free()).toBe(0);
  });

  test("is free while only the outcome of its run has to be saved, for four runs at most", () => {
    const { slots, end, freed } = slotsFor(1, ...many(6, (n) => `r${n}`));
    for (let n = 1; n <= 6; n++) slots.release(`r${n}`);
    expect([slots.free(), freed()]).toEqual([1 - 2, 0]);
    end("r6");
    expect([slots.free(), freed()]).toEqual([0, 0]);
    end("r5");
    expect([slots.free(), freed()]).toEqual([1, 1]);
    end("r1");
    expect([slots.free(), slots.isResting("r1"), slots.isResting("r2")]).toEqual([1, false, true]);
  });

  test("goes to the oldest runs of those that were claimed before it was free", async () => {
    const underWay = new Set(["busy"]);
    const use = { underWay: () => underWay.size, claiming: () => 0, ahead: () => 6 };
    const slots = openSlots(3, use, () => {});
    const entered: string[] = [];
    for (const run of many(8, (n) => `r${n}`)) {
      underWay.add(run);
      void Promise.resolve().then(async () => {
        if (slots.isLate()) await slots.enter(run, never);
        entered.push(run);
      });
    }
    await settled();
    expect([entered, slots.free(), slots.room(), slots.isAwaited()]).toEqual([["r1", "r2"], 0, 0, true]);
    underWay.delete("busy");
    slots.left("busy");
    await settled();
    expect([entered, slots.room()]).toEqual([["r1", "r2", "r3"], 1]);
  });

  test("isn't waited for by a cancelled run, nor given up by more runs than memory allows", async () => {
    const stop = new AbortController();
    const { slots, begin } = slotsFor(1, "a");
    const wait = gate();
    const resting = slots.rest("a", stop.signal, () => wait.promise);
    begin("b");
    wait.resolve();
    await settled();
    stop.abort();
    await resting;
    expect(slots.free()).toBe(-1);
    const runs = many(6, (n) => `r${n}`);
    const crowd = slotsFor(1, ...runs);
    for (const run of runs) void crowd.slots.rest(run, never, () => gate().promise);
    expect(crowd.slots.free()).toBe(1 - 4);
    void crowd.slots.yieldTo("r6", never, () => gate().promise);
    expect(crowd.slots.free()).toBe(1 - 3);
  });
});

describe("a run that waits for another system's rate limit", () => {
  let data: Awaited<ReturnType<typeof startData>>;
  let peer: TestKlaviyo;
  beforeAll(async () => {
    [data, peer] = await Promise.all([
      startData({ hurry: 50, env: { WEIR_CONCURRENCY: "1" } }),
      startKlaviyo(),
    ]);
  });
  afterAll(async () => {
    await data[Symbol.asyncDispose]();
    await peer[Symbol.asyncDispose]();
  });

  test("says until when, and lets another run use the only slot", async () => {
    await using receiver = startReceiver();
    peer.store.profiles = many(3, profile);
    peer.state.instead = () => ({ status: 429, headers: { "retry-after": "800" } });
    const { id } = await connect(data.owner, klaviyoConnection(peer));
    const extract = await data.extract(id, { dataset: "held", resources: [{ name: "profiles" }] });
    const run = await extract.start();
    await until(data.owner, `${RUNS}/${run.id}`, ({ progress }) => /rate limit/.test(progress?.message));
    expect(await data.end("http_request", { url: receiver.url })).toMatchObject({ status: "completed" });
    const waiting = (await data.owner("GET", `${RUNS}/${run.id}`)).body;
    expect([waiting.status, waiting.progress.message]).toEqual([
      "running",
      expect.stringMatching(/its rate limit lets it go on at 20\d\d-/),
    ]);
    await data.owner("POST", `${RUNS}/${run.id}/cancel`);
    expect((await runEnd(data.owner, run.id)).status).toBe("cancelled");
  });

  deepTest("returns to a dataset that another run waits for on the only slot", async () => {
    peer.store.profiles = many(3, profile);
    let held = 1;
    peer.state.instead = () => (held-- > 0 ? { status: 429, headers: { "retry-after": "100" } } : null);
    const { id } = await connect(data.owner, klaviyoConnection(peer, {}, "Both"));
    const first = await (
      await data.extract(id, { dataset: "both", resources: [{ name: "profiles" }] })
    ).start();
    await until(data.owner, `${RUNS}/${first.id}`, ({ progress }) => /rate limit/.test(progress?.message));
    const files = await connectFolder(data.owner);
    await data.upload(files, "/a.csv", "id\n1\n");
    const definition = {
      dataset: '{{payload.dataset ?? "both"}}',
      resources: [{ name: "a", spec: "a.csv" }],
    };
    const second = await (await data.extract(files, definition)).start();
    expect(await runEnd(data.owner, second.id)).toMatchObject({ status: "completed", result: { rows: 1 } });
    expect(await runEnd(data.owner, first.id)).toMatchObject({ status: "completed", result: { rows: 3 } });
  });
});
