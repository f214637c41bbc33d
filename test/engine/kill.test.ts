import { expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { stamped } from "../support/hook.ts";
import { startInstallation } from "../support/process.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { ACTIONS, AUTOMATIONS, created, makeAction, RUNS, runEnd, until } from "../support/work.ts";

const DELIVERIES = "/api/v1/webhook-deliveries";
const isProcessed = ({ status }: { status: string }) => status === "processed";

test("runs continue after kill -9, at most three times, and accepted webhooks are processed", async () => {
  const open = Promise.withResolvers<void>();
  await using receiver = startReceiver(async ({ path }) => {
    if (path === "/never") await new Promise(() => {});
    if (path === "/later") await open.promise;
    return Response.json({});
  });
  await using installation = await startInstallation();
  const calls = (path: string) => receiver.got.filter((seen) => seen.path === path).length;

  let server = await installation.serve();
  const run = async (path: string) => {
    const action = await makeAction(server.owner, {
      kind: "http_request",
      definition: { url: receiver.url + path },
    });
    return created(await server.owner("POST", `${ACTIONS}/${action.id}/run`)).id as string;
  };
  const config = {
    path: "hook",
    secret: "a-secret-of-the-sender",
    waitSeconds: 0,
    action: {
      kind: "http_request",
      definition: { url: `${receiver.url}/later`, method: "POST", body: "{{payload}}" },
    },
  };
  created(await server.owner("POST", AUTOMATIONS, { name: "Hook", triggerType: "webhook", config }));
  const [never, later] = [await run("/never"), await run("/later")];
  await until(server.owner, ACTIONS, () => calls("/never") === 1 && calls("/later") === 1);
  const accepted: string[] = [];
  for (let n = 0; n < 8; n++) {
    const body = JSON.stringify({ n });
    const headers = stamped(body, config.secret);
    const reply = await fetch(`${server.origin}/webhooks/acme/hook`, { method: "POST", headers, body });
    expect(reply.status).toBe(202);
    accepted.push(((await reply.json()) as { deliveryId: string }).deliveryId);
  }

  for (let deaths = 1; deaths <= 3; deaths++) {
    await server.end("SIGKILL");
    server = await installation.serve();
    await until(server.owner, ACTIONS, () => calls("/never") === deaths + 1);
    if (deaths === 1) {
      open.resolve();
      expect(await runEnd(server.owner, later)).toMatchObject({
        status: "completed",
        interruptCount: 1,
        retryCount: 0,
      });
      for (const id of accepted) await until(server.owner, `${DELIVERIES}/${id}`, isProcessed);
    }
  }
  await server.end("SIGKILL");
  server = await installation.serve();
  expect(await runEnd(server.owner, never)).toMatchObject({
    status: "failed",
    interruptCount: 4,
    error: { code: "interrupted_too_often", retryable: false },
  });
  expect(calls("/never")).toBe(4);

  const [hook] = (await server.owner("GET", AUTOMATIONS)).body.automations;
  const { runs, total } = (await server.owner("GET", `${AUTOMATIONS}/${hook.id}/runs`)).body;
  expect([total, runs.every(({ status }: { status: string }) => status === "completed")]).toEqual([8, true]);
  expect((await server.owner("GET", "/api/v1/events/verify")).body.valid).toBe(true);
  expect((await server.owner("GET", `${RUNS}?statuses=running&statuses=pending`)).body.total).toBe(0);
}, 120_000);

deepTest(
  "a long list continues after kill -9 at any point: no item is lost, and no finished one is repeated",
  async () => {
    const got = new Map<number, number>();
    await using receiver = startReceiver(({ text }) => {
      const { index } = JSON.parse(text) as { index: number };
      got.set(index, (got.get(index) ?? 0) + 1);
      return Response.json({ index });
    });
    await using installation = await startInstallation();
    let server = await installation.serve();
    const body = { index: "{{index}}", item: "{{item}}" };
    const definition = { url: receiver.url, method: "POST", body, responseExtract: "index" };
    const step = { key: "each", forEach: "{{input}}", maxParallel: 40, kind: "http_request", definition };
    const flow = created(
      await server.owner("POST", AUTOMATIONS, { name: "Long", config: { steps: [step] } }),
    );
    const input = Array.from({ length: 990 }, (_, index) => `item ${index}`);
    const { id } = created(await server.owner("POST", `${AUTOMATIONS}/${flow.id}/run`, { input }));
    // About where the next part of the list is laid out.
    for (const reached of [10, 455, 490, 960]) {
      while (got.size < reached) await Bun.sleep(10);
      await server.end("SIGKILL");
      server = await installation.serve();
    }
    const run = await until(
      server.owner,
      `/api/v1/automation-runs/${id}`,
      ({ status }) => status !== "running",
    );
    expect(run).toMatchObject({
      status: "completed",
      steps: [{ items: { total: 990, completed: 990, failed: 0 } }],
    });
    expect(run.result.map(({ extracted }: { extracted: number }) => extracted)).toEqual(
      input.map((_, index) => index),
    );
    let interrupts = 0;
    for (let offset = 0; offset < 990; offset += 100) {
      const page = (await server.owner("GET", `${RUNS}?automation_run_id=${id}&limit=100&offset=${offset}`))
        .body;
      expect(page.total).toBe(990);
      for (const { interruptCount } of page.runs) interrupts += interruptCount;
    }
    const extra = [...got.values()].reduce((sum, times) => sum + times - 1, 0);
    expect([got.size, extra <= interrupts]).toEqual([990, true]);
  },
  300_000,
);

test("when it stops, the server exits cleanly, and unfinished work starts again and says so", async () => {
  const open = Promise.withResolvers<void>();
  await using receiver = startReceiver(() => open.promise.then(() => Response.json({})));
  await using installation = await startInstallation({ WEIR_SHUTDOWN_GRACE: "0" });
  const server = await installation.serve();
  const action = await makeAction(server.owner, { kind: "http_request", definition: { url: receiver.url } });
  const run = created(await server.owner("POST", `${ACTIONS}/${action.id}/run`));
  await until(server.owner, ACTIONS, () => receiver.got.length === 1);
  expect(await server.end("SIGTERM")).toBe(0);
  open.resolve();
  const next = await installation.serve();
  expect(await runEnd(next.owner, run.id)).toMatchObject({
    status: "completed",
    interruptCount: 1,
    retryCount: 0,
  });
  const { items } = (await next.owner("GET", `${RUNS}/${run.id}/logs`)).body;
  expect(items[0].message).toBe("The server stopped before this attempt ended. The run starts again.");
}, 120_000);

test("a run during which the process died twice runs alone the third time, and others after it", async () => {
  const got: string[] = [];
  const end = Promise.withResolvers<void>();
  await using receiver = startReceiver(async ({ path }) => {
    got.push(path);
    if (path === "/never") await end.promise;
    return Response.json({});
  });
  await using installation = await startInstallation();
  let server = await installation.serve();
  const run = async (path: string) => {
    const definition = { url: receiver.url + path };
    const action = await makeAction(server.owner, { kind: "http_request", definition });
    return created(await server.owner("POST", `${ACTIONS}/${action.id}/run`)).id as string;
  };
  const never = await run("/never");
  for (let deaths = 1; deaths <= 2; deaths++) {
    await until(server.owner, ACTIONS, () => got.filter((path) => path === "/never").length === deaths);
    await server.end("SIGKILL");
    server = await installation.serve();
  }
  const other = await run("/other");
  await until(server.owner, ACTIONS, () => got.filter((path) => path === "/never").length === 3);
  expect((await server.owner("GET", `${RUNS}/${other}`)).body.status).toBe("pending");
  end.resolve();
  expect(await runEnd(server.owner, never)).toMatchObject({ status: "completed", interruptCount: 2 });
  expect((await runEnd(server.owner, other)).status).toBe("completed");
  expect(got).toEqual(["/never", "/never", "/never", "/other"]);
}, 120_000);

test.if(existsSync("/proc/locks"))(
  "it keeps SQLite's lock on the database file, so that no other program that closes it deletes the WAL",
  async () => {
    await using installation = await startInstallation();
    const server = await installation.serve();
    await makeAction(server.owner); // the writing connection is open
    const { ino } = statSync(join(installation.dataFolder, "weir.db"));
    const locks = readFileSync("/proc/locks", "utf8").split("\n");
    expect(locks.filter((line) => line.includes(`:${ino} `) && line.includes(" READ "))).not.toEqual([]);
  },
);
