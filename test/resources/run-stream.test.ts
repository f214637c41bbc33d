import { expect, test } from "bun:test";
import { eq, sql } from "drizzle-orm";
import { appendLogs } from "../../src/queue/logs.ts";
import { actionRuns } from "../../src/resources/runs/table.ts";
import { startApp } from "../support/app.ts";
import { startInstallation } from "../support/process.ts";
import { startReceiver } from "../support/receiver.ts";
import {
  ACTIONS,
  AUTOMATION_RUNS,
  AUTOMATIONS,
  branch,
  created,
  flowToEnd,
  makeAction,
  makeAutomation,
  RUNS,
  runEnd,
  runToEnd,
  until,
} from "../support/work.ts";

interface Event {
  id: string;
  event: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read data of any shape
  data: any;
}

/** A server, and its owner's token. */
interface Place {
  origin: string;
  token: string;
}

/** Reads a run's stream to its end, or until `isEnough` accepts what has arrived. */
async function read(
  { origin, token }: Place,
  runId: string,
  { after, isEnough = () => false }: { after?: string; isEnough?: (seen: Event[]) => boolean } = {},
): Promise<Event[]> {
  const gone = new AbortController();
  const reply = await fetch(`${origin}${RUNS}/${runId}/stream`, {
    headers: {
      authorization: `Bearer ${token}`,
      ...(after === undefined ? {} : { "last-event-id": after }),
    },
    signal: gone.signal,
  });
  expect(reply.status).toBe(200);
  const seen: Event[] = [];
  let text = "";
  for await (const chunk of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const parts = (text + chunk).split("\n\n");
    text = parts.pop() ?? "";
    for (const part of parts) {
      const [, id, event, data] = /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(part) ?? [];
      if (event) seen.push({ id: id ?? "", event, data: JSON.parse(data ?? "null") });
      if (!isEnough(seen)) continue;
      gone.abort();
      return seen;
    }
  }
  return seen;
}

const statusesIn = (events: Event[]) =>
  events.filter(({ event }) => event === "status").map(({ data }) => data.status);
const namesIn = (events: Event[]) => events.map(({ event }) => event);
const withoutProgress = (events: Event[]) => events.filter(({ event }) => event !== "progress");
const long = () => new Response("x".repeat(200));
const request = (url: string, more: object = {}) => ({
  kind: "http_request",
  name: "Call",
  definition: { url, ...more },
});

function expectGrowing(events: Event[]): void {
  const ids = events.map(({ id }) => Number(id));
  expect(ids.every((id, index) => Number.isSafeInteger(id) && id > (ids[index - 1] ?? 0))).toBe(true);
}

/** Checks that after any last seen event, the stream continues with exactly what follows. */
async function expectResumable(place: Place, runId: string): Promise<Event[]> {
  const all = await read(place, runId);
  expectGrowing(all);
  expect(all.at(-1)?.event).toBe("end");
  for (const [index, { id }] of all.entries())
    expect(await read(place, runId, { after: id })).toEqual(all.slice(index + 1));
  return all;
}

test("sends every status, progress and log line as they happen, and a late reader gets the same with the same IDs", async () => {
  await using app = await startApp();
  const open = Promise.withResolvers<void>();
  await using receiver = startReceiver(() => open.promise.then(long));
  const action = await makeAction(app.owner, request(receiver.url, { maxBytes: 10 }));
  const { id } = created(await app.owner("POST", `${ACTIONS}/${action.id}/run`));
  const live = await read(app, id, {
    isEnough(seen) {
      if (seen.some(({ event }) => event === "progress")) open.resolve();
      return false;
    },
  });
  expectGrowing(live);
  expect(statusesIn(live)).toEqual(["pending", "running", "completed"]);
  expect(namesIn(live.filter(({ event }) => event !== "status"))).toEqual(["progress", "log", "log", "end"]);
  const run = (await app.owner("GET", `${RUNS}/${id}`)).body;
  expect(live.at(-1)?.data).toEqual(run);
  expect(live.find(({ event }) => event === "status")?.data).toEqual({
    status: "pending",
    displayStatus: "Queued",
    updatedAt: run.createdAt,
  });

  const late = await expectResumable(app, id);
  expect(namesIn(late)).toEqual(["status", "status", "progress", "log", "log", "status", "end"]);
  expect(withoutProgress(late)).toEqual(withoutProgress(live));
});

test("has headers against caching and buffering", async () => {
  await using app = await startApp();
  const run = await runToEnd(app.owner, (await makeAction(app.owner)).id);
  const { headers } = await app.owner("GET", `${RUNS}/${run.id}/stream`);
  expect(headers.get("content-type")).toStartWith("text/event-stream");
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("x-accel-buffering")).toBe("no");
});

test("sends the statuses of all attempts of a run, of its waits, and of one that is decided immediately", async () => {
  await using app = await startApp();
  let calls = 0;
  await using receiver = startReceiver(() => new Response("", { status: ++calls < 3 ? 503 : 200 }));
  const retry = { maxAttempts: 3, backoffSeconds: [0] };
  const retried = await runToEnd(
    app.owner,
    (await makeAction(app.owner, request(receiver.url, { retry }))).id,
  );
  const again = ["running", "waiting"];
  const events = await expectResumable(app, retried.id);
  expect(statusesIn(events)).toEqual(["pending", ...again, ...again, "running", "completed"]);
  expect(new Set(events.map(({ data }) => data.displayStatus))).toContain("Retrying");

  const gate = { kind: "approval_gate", name: "Gate", definition: { title: "Ship?" } };
  const asked = created(await app.owner("POST", `${ACTIONS}/${(await makeAction(app.owner, gate)).id}/run`));
  const waits = await until(app.owner, "/api/v1/decisions/pending", ({ total }) => total === 1);
  await app.owner("POST", `/api/v1/decisions/${waits.decisions[0].id}/decide`, { decisionValue: "approved" });
  await runEnd(app.owner, asked.id);
  const approved = await expectResumable(app, asked.id);
  expect(statusesIn(approved)).toEqual(["pending", "running", "waiting", "completed"]);
  expect(new Set(approved.map(({ data }) => data.displayStatus))).toContain("Waiting for approval");

  const quick = await runToEnd(app.owner, (await makeAction(app.owner)).id);
  expect(namesIn(await expectResumable(app, quick.id))).toEqual(["status", "status", "log", "status", "end"]);
  const flow = await makeAutomation(app.owner, {
    steps: [{ key: "a", kind: "conditional_branch", definition: branch() }],
  });
  const { steps } = await flowToEnd(app.owner, flow.id);
  expect(statusesIn(await expectResumable(app, steps[0].actionRunId))).toEqual([
    "pending",
    "running",
    "completed",
  ]);
});

test("sends the statuses of a run that is cancelled in the queue, and of one that waits for what it called", async () => {
  await using app = await startApp({ env: { WEIR_CONCURRENCY: "1" } });
  const gate = { kind: "approval_gate", definition: { title: "Ship?" } };
  const inner = await makeAutomation(app.owner, { action: gate });
  const outer = await makeAction(app.owner, {
    kind: "call_automation",
    name: "Call",
    definition: { automationId: inner.id },
  });
  const calling = created(await app.owner("POST", `${ACTIONS}/${outer.id}/run`));
  const called = await until(
    app.owner,
    `${AUTOMATIONS}/${inner.id}/runs`,
    (page) => page.runs[0]?.status === "waiting",
  );
  await app.owner("POST", `${AUTOMATION_RUNS}/${called.runs[0].id}/cancel`);
  await runEnd(app.owner, calling.id);
  expect(statusesIn(await expectResumable(app, calling.id))).toEqual([
    "pending",
    "running",
    "waiting",
    "failed",
  ]);

  await using receiver = startReceiver(() => new Promise(() => {}));
  const hanging = created(
    await app.owner("POST", `${ACTIONS}/${(await makeAction(app.owner, request(receiver.url))).id}/run`),
  );
  await until(app.owner, RUNS, () => receiver.got.length === 1);
  const queued = created(
    await app.owner("POST", `${ACTIONS}/${(await makeAction(app.owner, request(receiver.url))).id}/run`),
  );
  for (const { id } of [queued, hanging]) await app.owner("POST", `${RUNS}/${id}/cancel`);
  expect(statusesIn(await expectResumable(app, queued.id))).toEqual(["pending", "cancelled"]);
  expect(statusesIn(await expectResumable(app, hanging.id))).toEqual(["pending", "running", "cancelled"]);
});

test("continues after a reconnect where it was interrupted, while lines arrive, without gaps or repeats", async () => {
  await using app = await startApp();
  const open = Promise.withResolvers<void>();
  await using receiver = startReceiver(() => open.promise.then(long));
  const action = await makeAction(app.owner, request(receiver.url));
  const { id } = created(await app.owner("POST", `${ACTIONS}/${action.id}/run`));
  await until(app.owner, `${RUNS}/${id}`, () => receiver.got.length === 1);
  const timestamp = new Date().toISOString();
  const write = async () => {
    for (let line = 0; line < 700; line += 7) {
      const lines = Array.from({ length: 7 }, (_, n) => `line ${line + n}`);
      await app.app.store.write((db) =>
        appendLogs(
          db,
          id,
          lines.map((message) => ({ timestamp, level: "info" as const, message })),
        ),
      );
    }
    open.resolve();
  };
  const writing = write();
  const seen: Event[] = [];
  while (seen.at(-1)?.event !== "end") {
    const after = seen.at(-1)?.id;
    const enough = 1 + (seen.length % 97);
    seen.push(...(await read(app, id, { after, isEnough: ({ length }) => length >= enough })));
  }
  await writing;
  expectGrowing(seen);
  expect(withoutProgress(seen)).toEqual(withoutProgress(await read(app, id)));
  expect(statusesIn(seen)).toEqual(["pending", "running", "completed"]);
  const lines = seen.flatMap(({ event, data }) => (event === "log" ? [data.message] : []));
  expect(lines.slice(0, 700)).toEqual(Array.from({ length: 700 }, (_, n) => `line ${n}`));
});

test("continues after kill -9 of the server with what follows the last event, including the interruption", async () => {
  const open = Promise.withResolvers<void>();
  await using receiver = startReceiver(() => open.promise.then(long));
  await using installation = await startInstallation();
  const first = await installation.serve();
  const action = await makeAction(first.owner, request(receiver.url, { maxBytes: 10 }));
  const { id } = created(await first.owner("POST", `${ACTIONS}/${action.id}/run`));
  const { token } = installation;
  const before = await read({ origin: first.origin, token }, id, {
    isEnough: (seen) => seen.some(({ event }) => event === "progress"),
  });
  await first.end("SIGKILL");
  const next = await installation.serve();
  const reading = read({ origin: next.origin, token }, id, { after: before.at(-1)?.id });
  open.resolve();
  const all = [...before, ...(await reading)];
  expectGrowing(all);
  expect(statusesIn(all)).toEqual(["pending", "running", "pending", "running", "completed"]);
  const late = await expectResumable({ origin: next.origin, token }, id);
  expect(withoutProgress(late)).toEqual(withoutProgress(all));
}, 120_000);

test("of a run that ended in an older version sends what is known about it", async () => {
  await using app = await startApp();
  const run = await runToEnd(app.owner, (await makeAction(app.owner)).id);
  await app.app.store.write((db) =>
    db.update(actionRuns).set({ statuses: sql`'[]'` }).where(eq(actionRuns.id, run.id)),
  );
  const events = await expectResumable(app, run.id);
  expect(namesIn(events)).toEqual(["status", "status", "log", "status", "end"]);
  expect(statusesIn(events)).toEqual(["pending", "running", "completed"]);
});

test("without a reader is closed, and the run continues", async () => {
  await using app = await startApp();
  const open = Promise.withResolvers<void>();
  await using receiver = startReceiver(() => open.promise.then(long));
  const action = await makeAction(app.owner, request(receiver.url));
  const { id } = created(await app.owner("POST", `${ACTIONS}/${action.id}/run`));
  await read(app, id, { isEnough: ({ length }) => length > 0 });
  await until(app.owner, `${RUNS}/${id}`, () => receiver.got.length > 0);
  open.resolve();
  expect((await runEnd(app.owner, id)).status).toBe("completed");
});
