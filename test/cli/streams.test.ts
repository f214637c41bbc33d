import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join as path } from "node:path";
import { progressText } from "../../src/cli/follow.ts";
import { startApp } from "../support/app.ts";
import { ask, openDecision } from "../support/decisions.ts";
import { branch, makeAction, makeAutomation, RUNS, until } from "../support/work.ts";
import { openTerminal } from "./terminal.ts";

/** One address in front of servers that are replaced on one data directory. */
async function startHouse() {
  const dataFolder = mkdtempSync(path(tmpdir(), "weir-house-"));
  const sockets = new Set<Socket>();
  let port = 0;
  const front = createServer((client) => {
    const server = connect(port, "127.0.0.1");
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(one);
      one.on("data", (bytes) => other.write(bytes));
      one.on("error", () => other.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  const address = front.address();
  const open = async (owner: boolean) => {
    const app = await startApp({ dataFolder, owner });
    port = Number(new URL(app.origin).port);
    return app;
  };
  const first = await open(true);
  return {
    first,
    origin: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    /** Starts the next server, once this one has ended. */
    next: () => open(false),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => front.close(resolve));
      rmSync(dataFolder, { recursive: true, force: true });
    },
  };
}

describe("a command that follows a run", () => {
  test("continues across a restart of the server: weir actions run, weir runs logs, weir automations run", async () => {
    await using house = await startHouse();
    const { first } = house;
    using shell = openTerminal(house.origin, first.token);
    const gate = { title: "Ship it?" };
    await makeAction(first.owner, { kind: "approval_gate", name: "Gate", definition: gate });
    await makeAutomation(first.owner, { steps: [{ key: "gate", kind: "approval_gate", definition: gate }] });
    const words = { width: 100 };
    const waiting = shell.start("actions", ["run", "gate", "--wait", "--json"], words);
    const flow = shell.start("automations", ["run", "flow", "--wait", "--json"], words);
    const isWaiting = ({ state }: typeof waiting) => state.told.some((text) => text.includes("Waiting for"));
    await waiting.until(() => isWaiting(waiting) && isWaiting(flow));
    const { runs } = (await first.owner("GET", RUNS)).body;
    const run = runs.find((one: { actionId: string | null }) => one.actionId !== null);
    const logs = shell.start("runs", ["logs", run.id, "--follow"], words);
    await logs.until(() => isWaiting(logs));

    await first[Symbol.asyncDispose]();
    await waiting.until(() =>
      [waiting, flow, logs].every(({ state }) => state.told.some((text) => text.endsWith("Retrying…"))),
    );
    await using second = await house.next();
    const api = { owner: second.owner };
    api.owner = (method, path, body, headers) =>
      second.anonymous(method, path, body, { authorization: `Bearer ${first.token}`, ...headers });
    for (const { id } of runs) {
      const decision = await openDecision(api, id);
      expect((await api.owner("POST", `/api/v1/approvals/${decision.id}/approve`)).status).toBe(200);
    }
    const ended = await waiting.ended;
    expect([ended.code, ended.err]).toEqual([0, ""]);
    expect(ended.out).toBe(`${(await api.owner("GET", `${RUNS}/${run.id}`)).text}\n`);
    expect(ended.json).toMatchObject({ status: "completed", result: { decisionValue: "approved" } });
    expect(await flow.ended).toMatchObject({ code: 0, err: "" });
    expect((await flow.ended).json).toMatchObject({
      status: "completed",
      steps: [{ key: "gate", status: "completed" }],
    });
    expect(await logs.ended).toMatchObject({ code: 0, err: "" });
  }, 120_000);

  test("prints the log, then how it ended, and each line as JSON on request", async () => {
    await using app = await startApp();
    using shell = openTerminal(app.origin, app.token);
    await shell.run("connections", "create", "--name", "Files", "--provider", "local_files");
    const { id: connectionId } = (await app.owner("GET", "/api/v1/connections/slug/files")).body;
    await app.owner("PUT", `/api/v1/connections/${connectionId}/files?path=/a.csv`, "id,name\n1,Ada\n", {
      "content-type": "application/octet-stream",
    });
    const definition = {
      dataset: "d",
      resources: [{ name: "people", spec: "*.csv", writeDisposition: "replace" }],
    };
    await makeAction(app.owner, { kind: "dlt_extract", name: "Load", connectionId, definition });
    const shown = await shell.run("actions", "run", "load", "--follow");
    expect(shown.code).toBe(0);
    expect(shown.out).toMatch(/^\d{4}-\S+Z {2}info {3}.+\n(.+\n)*Run \S+ completed in [\d.]+ s\.\n/);
    const lines = (await shell.run("actions", "run", "load", "--follow", "--json")).out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines[0]).toEqual({
      seq: 1,
      timestamp: expect.any(String),
      level: "info",
      message: expect.any(String),
    });
    expect(lines.at(-1)).toMatchObject({ kind: "dlt_extract", status: "completed" });
    const cut = await shell.sit({ readLines: 1 }, "actions", "run", "load", "--follow");
    expect([cut.code, cut.out.split("\n").length, cut.err]).toEqual([0, 2, ""]);
  });

  test("exits with 1 if the run is cancelled in the meantime", async () => {
    await using app = await startApp();
    using shell = openTerminal(app.origin, app.token);
    const { action } = await ask(app);
    await makeAutomation(app.owner, { steps: [{ key: "gate", actionId: action.id }] });
    const waiting = shell.start("actions", ["run", action.id, "--wait"], { width: 100 });
    const flow = shell.start("automations", ["run", "flow", "--wait"], { width: 100 });
    const isWaiting = ({ state }: typeof waiting) => state.told.some((text) => text.includes("Waiting for"));
    await waiting.until(() => isWaiting(waiting) && isWaiting(flow));
    const { runs } = (await app.owner("GET", RUNS)).body;
    for (const { id } of runs) await app.owner("POST", `${RUNS}/${id}/cancel`);
    expect(await waiting.ended).toMatchObject({ code: 1, out: "" });
    expect((await waiting.ended).err).toMatch(/^weir: Run \S+ was cancelled\.\n$/);
    expect((await flow.ended).code).toBe(1);
    expect((await flow.ended).err).toMatch(/^weir: Automation run \S+ (was cancelled\.|failed: .+)\n$/);
  });

  test("shows a run's progress on one line, without terminal control characters", () => {
    const progress = { phase: "load", message: "two\u001b[2J\nlines", current: 5, total: 10, unit: "rows" };
    expect(progressText("Running", { ...progress, percent: 50 })).toBe(
      "Running  [##########----------] 50%  load  5 of 10 rows  two[2J lines",
    );
    expect(progressText("Running", { phase: null, percent: null, current: 7, unit: null })).toBe(
      "Running  7",
    );
  });
});

describe("weir events tail", () => {
  test("prints the last events and then new ones, each once, across a restart, until Ctrl-C", async () => {
    await using house = await startHouse();
    const { first } = house;
    using shell = openTerminal(house.origin, first.token);
    for (const name of ["One", "Two", "Three"]) await makeAction(first.owner, { name });
    const types = ["--type", "action.created", "--json"];
    const tail = shell.start("events", ["tail", ...types, "--limit", "2"], { width: 300 });
    const blind = shell.start("events", ["tail", ...types, "--limit", "0"], { width: 300 });
    const people = shell.start("events", ["tail", "--limit", "1"]);
    await tail.until(() => tail.lines.length === 2 && people.lines.length === 1);
    const names = ({ lines }: typeof tail) => lines.map((line) => JSON.parse(line).data.name);
    expect(names(tail)).toEqual(["Two", "Three"]);
    const { items } = (await first.owner("GET", "/api/v1/events?type=action.created&limit=1")).body;
    expect(JSON.parse(tail.lines[1] ?? "")).toEqual(items[0]);
    expect(people.lines[0]).toMatch(/^\d{4}-\S+Z {2}action\.created {12}action \S+ {2}ada@example\.com$/);
    await blind.until(() => blind.state.cleared > 0);
    expect(blind.lines).toEqual([]);
    await makeAction(first.owner, { name: "Four" });
    await tail.until(() => tail.lines.length === 3 && blind.lines.length === 1);

    await first[Symbol.asyncDispose]();
    await tail.until(() => tail.state.told.some((text) => text.endsWith("Retrying…")));
    await using second = await house.next();
    const owner: typeof second.owner = (method, path, body) =>
      second.anonymous(method, path, body, { authorization: `Bearer ${first.token}` });
    for (const name of ["Five", "Six"]) await makeAction(owner, { name });
    await tail.until(() => tail.lines.length === 5 && blind.lines.length === 3);
    expect(names(tail)).toEqual(["Two", "Three", "Four", "Five", "Six"]);
    expect(names(blind)).toEqual(["Four", "Five", "Six"]);
    for (const one of [tail, blind, people]) {
      one.stop();
      expect(await one.ended).toMatchObject({ code: 0, err: "" });
    }
  }, 120_000);

  test("leaves out nothing if the connection is lost before the first message", async () => {
    await using house = await startHouse();
    const { first } = house;
    using shell = openTerminal(house.origin, first.token);
    await makeAction(first.owner, { name: "One" });
    const flags = ["tail", "--type", "action.created", "--json", "--limit"];
    const tails = ["1", "0"].map((limit) => shell.start("events", [...flags, limit], { width: 300 }));
    const [tail, blind] = tails as [(typeof tails)[0], (typeof tails)[0]];
    await tail.until(() => tail.lines.length === 1);
    await blind.until(() => blind.state.cleared > 0);
    await first[Symbol.asyncDispose]();
    await using second = await house.next();
    const owner: typeof second.owner = (method, path, body) =>
      second.anonymous(method, path, body, { authorization: `Bearer ${first.token}` });
    for (const name of ["Two", "Three"]) await makeAction(owner, { name });
    await tail.until(() => tail.lines.length === 3 && blind.lines.length === 2);
    for (const one of tails) {
      one.stop();
      expect((await one.ended).code).toBe(0);
    }
    const names = ({ lines }: typeof tail) => lines.map((line) => JSON.parse(line).data.name);
    expect([names(tail), names(blind)]).toEqual([
      ["One", "Two", "Three"],
      ["Two", "Three"],
    ]);
  }, 120_000);

  test("ends quietly when its reader has left, and follows one chain", async () => {
    await using app = await startApp({ engine: false });
    using shell = openTerminal(app.origin, app.token);
    await makeAction(app.owner, { name: "One" });
    expect(await shell.sit({ readLines: 1 }, "events", "tail")).toMatchObject({ code: 0, err: "" });
    const chain = { "x-correlation-id": "chain-of-two" };
    const two = { kind: "conditional_branch", name: "Two", definition: branch() };
    await app.owner("POST", "/api/v1/actions", two, chain);
    const tail = shell.start("events", ["tail", "--correlation", "chain-of-two", "--json"]);
    await tail.until(() => tail.lines.length === 1);
    tail.stop();
    expect((await tail.ended).json).toMatchObject({ type: "action.created", data: { name: "Two" } });
    const wrong = await shell.run("events", "tail", "--type", "nothing.happens");
    expect([wrong.code, wrong.out]).toEqual([1, ""]);
    await until(app.owner, "/api/v1/events", ({ items }) => items.length > 0);
  });
});
