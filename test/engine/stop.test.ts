import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type Client, client } from "../support/app.ts";
import { SECRET, sign } from "../support/hook.ts";
import { startInstallation } from "../support/process.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import {
  ACTIONS,
  AUTOMATIONS,
  automationRunEnd,
  created,
  makeAction,
  RUNS,
  runEnd,
} from "../support/work.ts";

const LIMIT_MS = 120_000;

/** A receiver that responds to nothing until its gate is opened. */
function startHolding() {
  const gate = Promise.withResolvers<void>();
  const receiver = startReceiver(async () => {
    await gate.promise;
    return Response.json({ ok: true });
  });
  return Object.assign(receiver, { open: gate.resolve });
}

const sends = (url: string, timeoutSeconds = 300) => ({
  kind: "http_request",
  definition: { url, method: "POST", body: {}, timeoutSeconds },
});

const started = async (owner: Client, actionId: string) =>
  created(await owner("POST", `${ACTIONS}/${actionId}/run`)).id as string;

async function reaches(count: number, got: readonly unknown[]): Promise<void> {
  while (got.length < count) await Bun.sleep(10);
}

/** Opens a stream. `ended` resolves with all of its text when the server has ended it, and rejects if it was cut. */
async function follow(origin: string, path: string, token: string): Promise<{ ended: Promise<string> }> {
  const reply = await fetch(origin + path, { headers: { authorization: `Bearer ${token}` } });
  expect(reply.status).toBe(200);
  return { ended: reply.text() };
}

/** What the store has about a run, while no server is running. */
function stored(folder: string, id: string) {
  using database = new Database(join(folder, "weir.db"), { readonly: true });
  return database
    .query(
      "select status, retry_count as retries, interrupt_count as interrupts, lease_token as lease from action_runs where id = ?",
    )
    .get(id);
}

describe("a server that is asked to stop", () => {
  test(
    "isn't ready, accepts nothing new, and lets running work finish",
    async () => {
      await using weir = await startInstallation({ WEIR_CONCURRENCY: "1" });
      await using receiver = startHolding();
      const first = await weir.serve();
      const { owner, origin } = first;
      const anonymous = client(origin);
      const action = await makeAction(owner, sends(receiver.url));
      const config = {
        path: "orders",
        secret: SECRET,
        requireTimestamp: false,
        waitSeconds: 30,
        action: sends(receiver.url),
      };
      created(await owner("POST", AUTOMATIONS, { name: "Hook", triggerType: "webhook", config }));
      const post = (call = anonymous) =>
        call("POST", "/webhooks/acme/orders", "{}", {
          "content-type": "application/json",
          "x-svc-signature": sign("{}"),
        });

      const running = await started(owner, action.id);
      await reaches(1, receiver.got);
      const inLine = await started(owner, action.id);
      const waiting = post();
      while ((await owner("GET", RUNS)).body.total < 3) await Bun.sleep(10);
      const streams = [
        await follow(origin, `${RUNS}/${inLine}/stream`, weir.token),
        await follow(origin, "/api/v1/events/stream", weir.token),
      ];

      first.signal("SIGTERM");
      while ((await anonymous("GET", "/health")).status === 200) await Bun.sleep(5);
      for (const path of ["/health", "/api/v1/health", "/api/v1/health?deep=true"]) {
        const { status, body } = await anonymous("GET", path);
        expect([path, status, body]).toEqual([path, 503, { status: "stopping" }]);
      }
      const refused = await post();
      expect([refused.status, refused.body.code, refused.headers.get("retry-after")]).toEqual([
        503,
        "unavailable",
        "5",
      ]);
      receiver.open();
      expect(await first.exited).toBe(0);
      expect(receiver.got).toHaveLength(1);
      const [ofRun, ofEvents] = await Promise.all(streams.map(({ ended }) => ended));
      expect(ofRun).toContain("event: status");
      expect(ofRun).not.toContain("event: end");
      expect(ofEvents).toContain("action.completed");
      const accepted = await waiting;
      expect([accepted.status, accepted.body.status]).toEqual([202, "processing"]);
      expect(stored(weir.dataFolder, running)).toMatchObject({ status: "completed" });
      expect(stored(weir.dataFolder, inLine)).toMatchObject({ status: "pending", interrupts: 0 });

      const second = await weir.serve();
      expect((await runEnd(second.owner, inLine)).status).toBe("completed");
      const { automationRunId } = accepted.body;
      expect((await automationRunEnd(second.owner, automationRunId)).status).toBe("completed");
      expect(receiver.got).toHaveLength(3);
      expect((await second.owner("GET", `${AUTOMATIONS}`)).body.automations[0].latestRun.id).toBe(
        automationRunId,
      );
      expect(await second.end("SIGTERM")).toBe(0);
    },
    LIMIT_MS,
  );

  deepTest(
    "returns unfinished work to the queue; that uses no attempt and counts as no interrupt",
    async () => {
      await using weir = await startInstallation({ WEIR_SHUTDOWN_GRACE: "1" });
      await using receiver = startHolding();
      const first = await weir.serve();
      const action = await makeAction(first.owner, sends(receiver.url));
      const runs = [await started(first.owner, action.id), await started(first.owner, action.id)];
      await reaches(2, receiver.got);
      first.signal("SIGINT");
      expect(await first.exited).toBe(0);
      for (const id of runs) {
        expect(stored(weir.dataFolder, id)).toEqual({
          status: "pending",
          retries: 0,
          interrupts: 0,
          lease: null,
        });
      }
      receiver.open();
      const second = await weir.serve();
      for (const id of runs) {
        const { status, retryCount } = await runEnd(second.owner, id);
        expect([status, retryCount]).toEqual(["completed", 0]);
      }
      expect(await second.end("SIGTERM")).toBe(0);
      for (const id of runs) expect(stored(weir.dataFolder, id)).toMatchObject({ interrupts: 0 });
    },
    LIMIT_MS,
  );

  test(
    "ends immediately when it is asked again, and nothing is lost",
    async () => {
      await using weir = await startInstallation({ WEIR_SHUTDOWN_GRACE: "300" });
      await using receiver = startHolding();
      const first = await weir.serve();
      const action = await makeAction(first.owner, sends(receiver.url));
      const run = await started(first.owner, action.id);
      await reaches(1, receiver.got);
      first.signal("SIGTERM");
      while ((await client(first.origin)("GET", "/health")).status === 200) await Bun.sleep(5);
      first.signal("SIGINT");
      expect(await first.exited).toBe(130);
      expect(stored(weir.dataFolder, run)).toMatchObject({ status: "running" });
      receiver.open();
      const second = await weir.serve();
      expect((await runEnd(second.owner, run)).status).toBe("completed");
    },
    LIMIT_MS,
  );
});
