import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join as path } from "node:path";
import { startApp } from "../support/app.ts";
import { ask } from "../support/decisions.ts";
import { join, neighbour } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";
import { branch, makeAction, makeAutomation, NOBODY, RUNS, runEnd } from "../support/work.ts";
import { type Ended, type Name, openTerminal } from "./terminal.ts";

/** Returns whether a command printed exactly the API's response at a path. */
const same = (ended: Ended, text: string) =>
  expect(ended).toMatchObject({ code: 0, out: `${text}\n`, err: "" });

const cells = (ended: Ended) =>
  ended.out
    .trimEnd()
    .split("\n")
    .map((line) => line.split(/ {2,}/));

/** Each command with valid arguments, as a client of a server. */
const ALL: readonly [Name, ...string[]][] = [
  ["status"],
  ["actions", "list"],
  ["actions", "get", NOBODY],
  ["actions", "create", "--kind", "http_request", "--name", "Ping"],
  ["actions", "run", NOBODY],
  ["actions", "edit", NOBODY, "--definition", "{}"],
  ["runs", "list"],
  ["runs", "get", NOBODY],
  ["runs", "logs", NOBODY],
  ["runs", "logs", NOBODY, "--follow"],
  ["runs", "cancel", NOBODY],
  ["runs", "retry", NOBODY],
  ["automations", "list"],
  ["automations", "run", NOBODY],
  ["automations", "enable", NOBODY],
  ["automations", "disable", NOBODY],
  ["approvals", "list"],
  ["approvals", "approve", NOBODY],
  ["approvals", "reject", NOBODY],
  ["connections", "list"],
  ["connections", "create", "--name", "Files", "--provider", "local_files"],
  ["connections", "verify", NOBODY],
  ["connections", "authorize", NOBODY],
  ["datasets", "list"],
  ["datasets", "preview", "raw.shop"],
  ["datasets", "upload", "raw.shop", "-", "--format", "csv"],
  ["datasets", "download", "raw.shop", "-o", "-", "--format", "csv"],
  ["datasets", "delete", "raw.shop", "--yes"],
  ["bundles", "list"],
  ["bundles", "install", "quick-start"],
  ["query", "SELECT 1 AS n"],
  ["query", "SELECT 1 AS n", "--csv"],
  ["events", "tail"],
  ["webhooks", "dead-letters"],
  ["webhooks", "replay", NOBODY],
  ["api", "GET", "/api/v1/actions"],
];

describe("every command that is a client", () => {
  test("exits with 3 if nobody is signed in or the token is rejected, and with 1 if there is no server", async () => {
    await using app = await startApp({ engine: false });
    using nobody = openTerminal(app.origin);
    using stale = openTerminal(app.origin, "svc_pat_nonsense");
    using far = openTerminal("http://127.0.0.1:1", "svc_pat_nonsense");
    const words: [Name, ...string[]][] = [...ALL, ["events", "verify", "--server", app.origin]];
    for (const [name, ...args] of words) {
      const unsigned = await nobody.run(name, ...args);
      expect([name, ...args, unsigned.code, unsigned.err]).toEqual([
        name,
        ...args,
        3,
        `weir: Not signed in to ${app.origin}. Run "weir login".\n`,
      ]);
      const refused = await stale.run(name, ...args);
      expect([name, ...args, refused.code, refused.out]).toEqual([name, ...args, 3, ""]);
      expect(refused.err).toContain("rejected your token");
    }
    for (const [name, ...args] of ALL) {
      const lost = await far.run(name, ...args);
      expect([name, ...args, lost.code, lost.out, lost.err]).toEqual([
        name,
        ...args,
        1,
        "",
        "weir: 127.0.0.1:1 refused the connection. Check that the server is running and that its URL is right.\n",
      ]);
    }
  }, 120_000);

  test("exits with 2 and the usage after a usage error", async () => {
    using shell = openTerminal("http://127.0.0.1:1", "svc_pat_nonsense");
    const wrong: [Name, ...string[]][] = [
      ["status", "extra"],
      ["status", "--server", "nowhere"],
      ["actions"],
      ["actions", "dance"],
      ["actions", "list", "extra"],
      ["actions", "list", "--limit", "many"],
      ["actions", "list", "--follow"],
      ["actions", "get"],
      ["actions", "get", "one", "two"],
      ["actions", "create", "--name", "Ping"],
      ["actions", "create", "--kind", "http_request"],
      ["actions", "create", "--kind", "http_request", "--name", "Ping", "--definition", "{"],
      ["actions", "create", "--kind", "http_request", "--name", "Ping", "--definition", "@nowhere.json"],
      ["actions", "run"],
      ["actions", "run", "ping", "--overrides", "nonsense"],
      ["runs"],
      ["runs", "list", "--offset", "-1"],
      ["runs", "get"],
      ["runs", "logs"],
      ["runs", "cancel"],
      ["runs", "retry"],
      ["actions", "edit", "ping"],
      ["bundles", "install"],
      ["actions", "list", "-o", "narrow"],
      ["datasets", "preview", "shop"],
      ["datasets", "upload", "raw.shop"],
      ["datasets", "upload", "raw.shop", "shop.docx"],
      ["datasets", "download", "raw.shop"],
      ["datasets", "download", "raw.shop", "-o", "-"],
      ["datasets", "delete", "raw.shop"],
      ["automations", "run"],
      ["automations", "run", "flow", "--input", "nonsense"],
      ["automations", "enable"],
      ["automations", "disable"],
      ["approvals", "approve"],
      ["approvals", "approve", NOBODY, "--form", "nonsense"],
      ["approvals", "reject"],
      ["connections", "create", "--name", "Files"],
      ["connections", "create", "--name", "Files", "--provider", "s3", "--template", "t"],
      ["connections", "create", "--provider", "s3"],
      ["connections", "create", "--name", "F", "--provider", "s3", "--config", "-", "--credentials", "-"],
      ["connections", "verify"],
      ["query"],
      ["query", "SELECT", "1"],
      ["query", "SELECT 1", "--csv", "--json"],
      ["events"],
      ["events", "tail", "--limit", "201"],
      ["events", "verify", "--org", "acme"],
      ["events", "verify", "--server", "http://127.0.0.1:1", "--data", "here"],
      ["webhooks"],
      ["webhooks", "replay"],
      ["webhooks", "replay", NOBODY, "--automation", "flow"],
      ["openapi", "extra"],
      ["api", "GET"],
      ["api", "STEAL", "/api/v1/actions"],
      ["api", "GET", "api/v1/actions"],
      ["api", "GET", "/api/v1/actions", "--data", "{}"],
      ["api", "POST", "/api/v1/actions", "--data", "nonsense"],
      ["completion"],
      ["completion", "tcsh"],
      ["completion", "bash", "zsh"],
    ];
    for (const words of wrong) {
      const [name, ...args] = words;
      const { code, out, err } = await shell.run(name, ...args);
      expect([words, code, out]).toEqual([words, 2, ""]);
      expect([words, err]).toEqual([words, expect.stringMatching(/^weir: [A-Z-].+\.\nUsage: weir .+\n$/)]);
    }
  });
});

describe("weir actions", () => {
  test("lists, shows and creates, with the API's own JSON", async () => {
    await using app = await startApp({ engine: false });
    using shell = openTerminal(app.origin, app.token);
    const made = await shell.run(
      "actions",
      "create",
      ...["--kind", "http_request", "--name", "Ping", "--slug", "ping"],
      ...["--definition", '{"url":"https://example.com/"}', "--json"],
    );
    const reply = await app.owner("GET", "/api/v1/actions/slug/ping");
    same(made, reply.text);
    expect(reply.body).toMatchObject({
      kind: "http_request",
      name: "Ping",
      slug: "ping",
      connectionId: null,
      definition: { url: "https://example.com/" },
    });
    await makeAction(app.owner, { name: "Sort" });

    same(await shell.run("actions", "get", "ping", "--json"), reply.text);
    same(await shell.run("actions", "get", made.json.id, "--json"), reply.text);
    same(
      await shell.run("actions", "list", "--json", "--limit", "1", "--offset", "1"),
      (await app.owner("GET", "/api/v1/actions?limit=1&offset=1")).text,
    );
    for (const flags of [
      ["--q", "pin"],
      ["--kind", "http_request"],
    ]) {
      const { json } = await shell.run("actions", "list", "--json", ...flags);
      expect(json.actions.map(({ slug }: { slug: string }) => slug)).toEqual(["ping"]);
    }
    const both = await shell.run("actions", "list", "--json", "--status", "active", "--status", "disabled");
    expect(both.json.total).toBe(2);

    const table = cells(await shell.run("actions", "list", "--q", "ping"));
    expect(table).toEqual([
      ["ID", "SLUG", "KIND", "STATUS", "LATEST RUN", "STARTED", "NAME"],
      [made.json.id, "ping", "http_request", "active", "Ping"],
    ]);
    const shown = await shell.run("actions", "get", "ping");
    expect(shown.out).toContain("slug        ping\n");
    expect(shown.out).toContain(
      'definition  {\n              "url": "https://example.com/"\n            }\n',
    );
    expect(shown.out).not.toContain("connectionId");
  });

  test("creates from a file and from standard input, with a connection by its slug", async () => {
    await using app = await startApp({ engine: false });
    using shell = openTerminal(app.origin, app.token);
    const folder = mkdtempSync(path(tmpdir(), "weir-given-"));
    const files = await shell.run(
      "connections",
      ...["create", "--name", "Files", "--provider", "local_files", "--json"],
    );
    writeFileSync(path(folder, "one.json"), '{"dataset":"d","resources":[{"name":"n","spec":"*.csv"}]}');
    const words = ["create", "--kind", "dlt_extract", "--name", "Load", "--connection", "files", "--json"];
    const one = await shell.run("actions", ...words, "--definition", `@${path(folder, "one.json")}`);
    expect(one.json).toMatchObject({
      slug: "load",
      connectionId: files.json.id,
      definition: { dataset: "d", resources: [{ name: "n", spec: "*.csv" }] },
    });
    const two = await shell.sit(
      { stdin: '{"url":"https://example.com/two"}' },
      "actions",
      ...["create", "--kind", "http_request", "--name", "Two", "--definition", "-", "--json"],
    );
    expect(two.json.definition).toEqual({ url: "https://example.com/two" });
    rmSync(folder, { recursive: true });
  });

  test("sends numbers that JSON numbers can't hold with all of their digits", async () => {
    await using app = await startApp({ engine: false });
    using shell = openTerminal(app.origin, app.token);
    const definition =
      '{"url":"https://example.com/","method":"POST","body":{"id":9007199254740993,"far":1e400,"n":1.50}}';
    const words = [
      "create",
      "--kind",
      "http_request",
      "--name",
      "Long",
      "--definition",
      definition,
      "--json",
    ];
    const { json } = await shell.run("actions", ...words);
    expect(json.definition.body).toEqual({ id: "9007199254740993", far: "1e400", n: 1.5 });
    const transform = await shell.run(
      "actions",
      ...["create", "--kind", "duckdb_transform", "--name", "Numbers", "--json", "--definition"],
      '{"sql":"SELECT $n AS n","parameters":{"n":9007199254740993}}',
    );
    expect(transform.json.definition.parameters).toEqual({ n: { $number: "9007199254740993" } });
    const twice = await shell.run(
      "actions",
      ...words.with(-2, '{"url":"https://a.test/","url":"https://b.test/"}'),
    );
    expect([twice.code, twice.err]).toEqual([
      2,
      expect.stringContaining('--definition: Duplicate key "url".\n'),
    ]);
  });

  test("reports every fault of its input, and what doesn't exist", async () => {
    await using app = await startApp({ engine: false });
    using shell = openTerminal(app.origin, app.token);
    const bad = await shell.run("actions", "create", "--kind", "dance", "--name", "x", "--slug", "No Slug");
    expect([bad.code, bad.out]).toEqual([1, ""]);
    expect(bad.err).toMatch(/^weir: kind: .+; slug: .+\n$/);
    for (const word of ["nothing", NOBODY]) {
      const missing = await shell.run("actions", "get", word);
      expect([missing.code, missing.out]).toEqual([1, ""]);
      expect(missing.err).toBe("weir: Action not found.\n");
    }
  });

  test("runs one: queued, awaited, with overrides, and with exit code 1 if it fails", async () => {
    await using app = await startApp();
    using shell = openTerminal(app.origin, app.token);
    await makeAction(app.owner, { name: "Sort" });
    const line = await shell.run("actions", "run", "sort", "--json");
    expect(line).toMatchObject({ code: 0, err: "" });
    expect(line.json).toMatchObject({ kind: "conditional_branch", triggerMethod: "api" });
    const { id } = (await shell.run("actions", "run", "sort")).out.match(/Run (?<id>\S+) queued/)!.groups!;
    await runEnd(app.owner, id!);

    const waited = await shell.run("actions", "run", "sort", "--wait", "--json");
    same(waited, (await app.owner("GET", `${RUNS}/${waited.json.id}`)).text);
    expect(waited.json).toMatchObject({ status: "completed", result: { branch: "a" } });
    const told = await shell.run("actions", "run", "sort", "--wait");
    expect(told).toMatchObject({ code: 0, err: "" });
    expect(told.out).toMatch(/^Run \S+ completed in [\d.]+ s\.\n\{\n {2}"branch": "a"\n\}\n$/);

    const overrides = JSON.stringify({ branches: [{ key: "b", when: "true" }] });
    const other = await shell.run("actions", "run", "sort", "--wait", "--overrides", overrides, "--json");
    expect(other.json.result).toEqual({ branch: "b" });

    const never = JSON.stringify(branch("a", "false"));
    for (const flags of [["--wait"], ["--follow"], ["--wait", "--json"]]) {
      const failed = await shell.run("actions", "run", "sort", "--overrides", never, ...flags);
      expect([flags, failed.code]).toEqual([flags, 1]);
      expect(failed.err).toMatch(/^weir: Run \S+ failed: .+ \(no_branch\)\n$/);
      if (flags.includes("--json")) expect(failed.json.status).toBe("failed");
    }

    await app.owner("PATCH", `/api/v1/actions/${line.json.actionId}`, { status: "disabled" });
    const refused = await shell.run("actions", "run", "sort");
    expect([refused.code, refused.out]).toEqual([1, ""]);
    expect(refused.err).toMatch(/^weir: [A-Z].*disabled.*\.\n$/);
  });
});

describe("weir runs", () => {
  test("lists by every filter of the API, shows, prints logs and cancels", async () => {
    await using app = await startApp();
    using shell = openTerminal(app.origin, app.token);
    const { action, run } = await ask(app);
    await makeAction(app.owner, { name: "Sort" });
    await shell.run("actions", "run", "sort", "--wait");

    const list = await app.owner("GET", `${RUNS}?limit=1`);
    same(await shell.run("runs", "list", "--json", "--limit", "1"), list.text);
    const { slug } = (await app.owner("GET", `/api/v1/actions/${action.id}`)).body;
    for (const flags of [
      ["--action", slug],
      ["--action", action.id],
      ["--kind", "approval_gate"],
      ["--status", "waiting", "--status", "failed"],
      ["--offset", "1"],
    ]) {
      const { json } = await shell.run("runs", "list", "--json", ...flags);
      expect([flags, json.runs.map(({ id }: { id: string }) => id)]).toEqual([flags, [run.id]]);
    }
    for (const flags of [
      ["--trigger", "schedule"],
      ["--since", "2999-01-01T00:00:00Z"],
      ["--until", "2000-01-01T00:00:00Z"],
      ["--automation-run", NOBODY],
    ]) {
      expect([flags, (await shell.run("runs", "list", "--json", ...flags)).json.total]).toEqual([flags, 0]);
    }
    const [titles, , second] = cells(await shell.run("runs", "list"));
    expect(titles).toEqual([
      "ID",
      "KIND",
      "STATUS",
      "CREATED",
      "DURATION",
      "TRIGGER",
      "AUTOMATION",
      "ACTION",
    ]);
    expect(second).toEqual([
      run.id,
      "approval_gate",
      "Waiting for approval",
      run.createdAt.replace(/\.\d+/, ""),
      "api",
      "Branch",
    ]);

    same(
      await shell.run("runs", "get", run.id, "--json"),
      (await app.owner("GET", `${RUNS}/${run.id}`)).text,
    );
    expect((await shell.run("runs", "get", run.id)).out).toContain("Waiting for approval\n");

    const cancelled = await shell.run("runs", "cancel", run.id);
    expect(cancelled).toMatchObject({ code: 0, out: `Run ${run.id} is cancelled.\n`, err: "" });
    const again = await shell.run("runs", "cancel", run.id);
    expect([again.code, again.out]).toEqual([1, ""]);
    expect(again.err).toMatch(/^weir: [A-Z].*cancelled.*\.\n$/);
    const followed = await shell.run("runs", "logs", run.id, "--follow");
    expect(followed.code).toBe(0);
  });

  test("prints a log as lines, as the API's JSON, and as far as it is read", async () => {
    await using app = await startApp();
    using shell = openTerminal(app.origin, app.token);
    const { text: reply, id } = await loggedRun(app);
    const lines = JSON.parse(reply).items as { timestamp: string; level: string; message: string }[];
    expect(lines.length).toBeGreaterThan(1);
    const shown = lines.map(
      ({ timestamp, level, message }) => `${timestamp}  ${level.padEnd(5)}  ${message}\n`,
    );
    expect((await shell.run("runs", "logs", id)).out).toBe(shown.join(""));
    expect((await shell.run("runs", "logs", id, "--follow")).out).toBe(shown.join(""));
    same(await shell.run("runs", "logs", id, "--json"), reply);
    const followed = await shell.run("runs", "logs", id, "--follow", "--json");
    expect(
      followed.out
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual(lines);
    expect(await shell.sit({ readLines: 1 }, "runs", "logs", id, "--follow")).toMatchObject({
      code: 0,
      out: shown[0],
      err: "",
    });
    for (const [words, sentence] of [
      [["logs", NOBODY], "Run not found."],
      [["get", "no-uuid"], "Invalid run ID. Use one such as 0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"],
      [["list", "--limit", "1000"], "--limit: Input should be at most 100"],
      [["list", "--status", "lost"], "--status: Input should be 'pending', 'running'"],
      [["list", "--automation-run", "lost"], "--automation-run: Input should be a valid uuid"],
    ] as const) {
      const refused = await shell.run("runs", ...words);
      expect([refused.code, refused.err]).toEqual([1, expect.stringContaining(sentence)]);
    }
  });
});

/** A run with lines in its log. */
async function loggedRun(app: Awaited<ReturnType<typeof startApp>>) {
  using shell = openTerminal(app.origin, app.token);
  await shell.run("connections", "create", "--name", "Files", "--provider", "local_files");
  const { id: connectionId } = (await app.owner("GET", "/api/v1/connections/slug/files")).body;
  await app.owner("PUT", `/api/v1/connections/${connectionId}/files?path=/a.csv`, "id,name\n1,Ada\n", {
    "content-type": "application/octet-stream",
  });
  const definition = {
    dataset: "d",
    resources: [
      { name: "people", spec: "*.csv" },
      { name: "others", spec: "*.csv" },
    ],
  };
  await makeAction(app.owner, { kind: "dlt_extract", name: "Load", connectionId, definition });
  const { json } = await shell.run("actions", "run", "load", "--wait", "--json");
  return { id: json.id as string, text: (await app.owner("GET", `${RUNS}/${json.id}/logs?limit=1000`)).text };
}

describe("weir automations", () => {
  test("warns of the failed steps in a completed run", async () => {
    await using app = await startApp();
    using shell = openTerminal(app.origin, app.token);
    const each = { key: "each", forEach: "{{input}}", onError: "continue" };
    const branches = { kind: "conditional_branch", definition: branch("a", "item > 1") };
    await makeAutomation(app.owner, { steps: [{ ...each, ...branches }] });
    const done = await shell.run("automations", "run", "flow", "--wait", "--input", "[1, 2]");
    expect([done.code, done.out.split("\n")[1]]).toEqual([0, "each  failed"]);
    expect(done.err).toMatch(/^Warning: step each: 1 of 2 items failed\. Item 0: .+\n$/);
  });

  test("repeats the warnings in steps' results", async () => {
    await using app = await startApp();
    using shell = openTerminal(app.origin, app.token);
    const output = { connectionId: "artifact", title: "Odd", format: "xlsx" };
    const definition = { sql: "SELECT 'NaN'::DOUBLE AS n", output };
    await makeAutomation(app.owner, {
      steps: ["one", "two"].map((key) => ({ key, kind: "duckdb_transform", definition })),
    });
    const done = await shell.run("automations", "run", "flow", "--wait");
    expect(done.code).toBe(0);
    expect(done.err).toMatch(/^Warning: step one: .*NaN.*\nWarning: step two: .*NaN.*\n$/);
  });

  test("lists, runs and waits, and enables and disables by slug", async () => {
    await using app = await startApp();
    using shell = openTerminal(app.origin, app.token);
    const steps = (when: string) => ({
      steps: [{ key: "sort", kind: "conditional_branch", definition: branch("a", when) }],
    });
    const flow = await makeAutomation(app.owner, steps("true"));
    await makeAutomation(app.owner, steps("input.good"), { name: "Flow of others" });

    const list = await app.owner("GET", "/api/v1/automations?limit=1&offset=1");
    same(await shell.run("automations", "list", "--json", "--limit", "1", "--offset", "1"), list.text);
    for (const [flags, total] of [
      [["--q", "others"], 1],
      [["--trigger", "webhook"], 0],
      [["--status", "active"], 2],
    ] as const) {
      expect([flags, (await shell.run("automations", "list", "--json", ...flags)).json.total]).toEqual([
        flags,
        total,
      ]);
    }
    const [titles, , row] = cells(await shell.run("automations", "list"));
    expect(titles).toEqual(["ID", "SLUG", "TRIGGER", "STATUS", "LATEST RUN", "NEXT RUN", "NAME"]);
    expect(row).toEqual([flow.id, "flow", "manual", "active", "Flow"]);

    const begun = await shell.run("automations", "run", "flow", "--json");
    expect(begun.json).toMatchObject({ automationId: flow.id, input: null });
    const waited = await shell.run("automations", "run", "flow", "--wait", "--json");
    same(waited, (await app.owner("GET", `/api/v1/automation-runs/${waited.json.id}`)).text);
    expect(waited.json.status).toBe("completed");
    const given = ["flow-of-others", "--wait", "--input"];
    const good = await shell.run("automations", "run", ...given, '{"good":true}');
    expect(good.out).toMatch(/^STEP {2}STATUS\nsort {2}completed\nAutomation run \S+ completed\.\n/);
    const followed = await shell.run(
      "automations",
      "run",
      "flow-of-others",
      "--follow",
      "--input",
      '{"good":true}',
    );
    expect(followed.out).toMatch(/^STEP {2}STATUS\nsort {2}completed\nAutomation run \S+ completed\.\n/);
    const bad = await shell.run("automations", "run", ...given, '{"good":false}');
    expect(bad.code).toBe(1);
    expect(bad.out).toBe("STEP  STATUS\nsort  failed\n");
    expect(bad.err).toMatch(/^weir: Automation run \S+ failed: .+\n$/);

    expect(await shell.run("automations", "disable", "flow")).toMatchObject({
      code: 0,
      out: "Automation Flow is disabled.\n",
      err: "",
    });
    const refused = await shell.run("automations", "run", "flow");
    expect([refused.code, refused.out]).toEqual([1, ""]);
    expect(refused.err).toMatch(/^weir: [A-Z].*disabled.*\.\n$/);
    const enabled = await shell.run("automations", "enable", flow.id, "--json");
    same(enabled, (await app.owner("GET", `/api/v1/automations/${flow.id}`)).text);
    expect(enabled.json.status).toBe("active");
    for (const deed of ["run", "enable", "disable"]) {
      const missing = await shell.run("automations", deed, "nothing");
      expect([missing.code, missing.out, missing.err]).toEqual([
        1,
        "",
        "weir: Automation nothing not found.\n",
      ]);
    }
  });
});

describe("weir approvals", () => {
  test("lists pending ones, approves with a form, and rejects with a reason", async () => {
    await using app = await startApp();
    using shell = openTerminal(app.origin, app.token);
    const formSchema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
    const form = await ask(app, { decisionType: "form_input", formSchema, title: "How many?" });
    const plain = await ask(app);
    const list = await app.owner("GET", "/api/v1/approvals");
    same(await shell.run("approvals", "list", "--json"), list.text);
    expect(cells(await shell.run("approvals", "list"))).toEqual([
      ["ID", "RESPONSE", "STATUS", "REQUESTED", "AUTOMATION", "TITLE"],
      [plain.decision.id, "approve or reject", "pending", expect.stringMatching(/^\d.+\dZ$/), "Ship it?"],
      [form.decision.id, "form", "pending", expect.stringMatching(/^\d.+\dZ$/), "How many?"],
    ]);

    const wrong = await shell.run("approvals", "approve", form.decision.id, "--form", '{"n":"many"}');
    expect([wrong.code, wrong.out]).toEqual([1, ""]);
    expect(wrong.err).toStartWith("weir: formResponse.n: ");
    const approved = await shell.run("approvals", "approve", form.decision.id, "--form", '{"n":3}', "--json");
    expect(approved.json).toMatchObject({ id: form.decision.id, status: "decided" });
    expect((await runEnd(app.owner, form.run.id)).result).toMatchObject({ formResponse: { n: 3 } });

    const rejected = await shell.run("approvals", "reject", plain.decision.id, "--reason", "Too early");
    expect(rejected).toMatchObject({ code: 0, out: '"Ship it?" rejected.\n', err: "" });
    const decision = await app.owner("GET", `/api/v1/decisions/${plain.decision.id}`);
    expect(decision.body).toMatchObject({ decisionValue: "rejected", rejectionReason: "Too early" });
    for (const deed of ["approve", "reject"]) {
      const gone = await shell.run("approvals", deed, NOBODY);
      expect([gone.code, gone.out]).toEqual([1, ""]);
    }
    expect((await shell.run("approvals", "list", "--status", "decided", "--json")).json.total).toBe(2);
    expect((await shell.run("approvals", "list", "--status", "lost")).code).toBe(1);
  });
});

describe("weir connections", () => {
  test("creates, verifies by slug and lists; a connection that fails exits with 1", async () => {
    await using app = await startApp({ engine: false });
    using shell = openTerminal(app.origin, app.token);
    const made = await shell.run(
      "connections",
      ...["create", "--name", "Files", "--provider", "local_files", "--slug", "files", "--json"],
    );
    same(made, (await app.owner("GET", "/api/v1/connections/slug/files")).text);
    expect(await shell.run("connections", "verify", "files")).toMatchObject({
      code: 0,
      out: "Connection Files verified.\n",
      err: "",
    });
    const config = JSON.stringify({ host: "127.0.0.1", port: 1, database: "shop" });
    const words = ["create", "--name", "Shop", "--provider", "postgres", "--config", config];
    const refused = await shell.run("connections", ...words);
    expect([refused.code, refused.out]).toEqual([1, ""]);
    expect(refused.err).toStartWith("weir: credentials.user: ");
    const secret = '{"user":"ada","password":"a secret"}';
    const created = await shell.sit({ stdin: secret }, "connections", ...words, "--credentials", "-");
    expect(cells(created)).toEqual([
      ["ID", "SLUG", "PROVIDER", "STATUS", "VERIFIED", "NAME"],
      [expect.any(String), "shop", "postgres", "needs_verification", "Shop"],
    ]);
    const bad = await shell.run("connections", "verify", "shop");
    expect([bad.code, bad.out]).toEqual([1, ""]);
    expect(bad.err).toStartWith("weir: Connection Shop failed verification: ");
    expect((await shell.run("connections", "verify", "shop", "--json")).json).toMatchObject({
      status: "error",
    });

    const list = await app.owner("GET", "/api/v1/connections?limit=1&offset=1");
    same(await shell.run("connections", "list", "--json", "--limit", "1", "--offset", "1"), list.text);
    for (const flags of [
      ["--q", "sho"],
      ["--provider", "postgres"],
      ["--status", "error"],
    ]) {
      const { json } = await shell.run("connections", "list", "--json", ...flags);
      expect([flags, json.connections[0].slug, json.total]).toEqual([flags, "shop", 1]);
    }
  });

  test("asks for credentials only on a terminal, and shows no secret", async () => {
    await using app = await startApp({ engine: false });
    using shell = openTerminal(app.origin, app.token);
    const config = JSON.stringify({ host: "127.0.0.1", database: "shop" });
    const words = ["create", "--name", "Shop", "--provider", "postgres", "--json", "--config", config];
    const sitting = shell.start("connections", words, { width: 200, answer: "secret-of-mine" });
    const ended = await sitting.ended;
    const { code, out, err } = ended;
    expect([code, err]).toEqual([0, ""]);
    expect([code, ended.json.hasCredentials]).toEqual([0, true]);
    expect(sitting.state.asked).toEqual(["user: ", "password (may be empty): (hidden)"]);
    expect(out).not.toContain("secret-of-mine");
    expect((await shell.run("connections", ...words)).code).toBe(1);
  });
});

describe("weir query", () => {
  deepTest("prints rows as a table, JSON and CSV, from an argument and from standard input", async () => {
    await using app = await startApp({ engine: false });
    using shell = openTerminal(app.origin, app.token);
    const sql = "SELECT 1 AS n, 'a  b' AS text UNION ALL SELECT 22, 'x,\"y\"' ORDER BY n";
    expect((await shell.run("query", sql)).out).toBe('n   text\n1   a b\n22  x,"y"\n');
    expect((await shell.run("query", sql, "--csv")).out).toBe('n,text\n1,a  b\n22,"x,""y"""\n');
    const { json } = await shell.sit({ stdin: sql }, "query", "-", "--json");
    expect(json).toEqual({
      columns: [
        { name: "n", dataType: "INTEGER", nullable: true },
        { name: "text", dataType: "VARCHAR", nullable: true },
      ],
      rows: [
        { n: 1, text: "a  b" },
        { n: 22, text: 'x,"y"' },
      ],
      rowCount: 2,
      truncated: false,
      durationSeconds: expect.any(Number),
    });
    const some = await shell.run("query", "SELECT $x AS x", "--parameters", '{"x":7}', "--json");
    expect(some.json.rows).toEqual([{ x: 7 }]);
    const whole = ["query", "SELECT typeof($x) AS t", "--parameters", '{"x":9007199254740993}'] as const;
    expect((await shell.run(...whole, "--json")).json.rows).toEqual([{ t: "BIGINT" }]);
    expect((await shell.run(...whole, "--csv")).out).toBe("t\nBIGINT\n");
    const few = await shell.sit({ width: 80 }, "query", "SELECT * FROM range(5)", "--limit", "2");
    expect([few.code, few.out, few.err]).toEqual([0, "range\n0\n1\n", "Only the first 2 rows are shown.\n"]);
    expect((await shell.run("query", "SELECT * FROM range(5)", "--limit", "2", "--csv")).out).toBe(
      "range\n0\n1\n",
    );
    for (const flags of [[], ["--csv"]]) {
      const wrong = await shell.run("query", "SELECT nothing", ...flags);
      expect([wrong.code, wrong.out]).toEqual([1, ""]);
      expect(wrong.err).toMatch(/^weir: [A-Z]\w+ Error: .+/);
      const missing = await shell.run("query", "SELECT * FROM orders", ...flags);
      expect(missing.err).toStartWith(
        "weir: Catalog Error: Table with name orders does not exist! The lake has no tables yet.",
      );
    }
  });
});

describe("weir query with more rows than one response", () => {
  const rows = (count: number) => `SELECT i, repeat('x', 20) AS x FROM range(${count}) t(i)`;
  const ALL = "For all rows, use --csv or --jsonl.";

  test("prints them all to a pipe, as a table or JSON, up to 10,000", async () => {
    await using app = await startApp({ engine: false });
    using shell = openTerminal(app.origin, app.token);
    const table = await shell.run("query", rows(2500));
    expect([table.code, table.err, table.out.trimEnd().split("\n").length]).toEqual([0, "", 2501]);
    const whole = await shell.run("query", rows(10_000), "--json");
    expect([whole.code, whole.err, whole.json.rowCount, whole.json.truncated]).toEqual([
      0,
      "",
      10_000,
      false,
    ]);
  });

  test("says which rows a limit leaves out of a file", async () => {
    await using app = await startApp({ engine: false });
    using shell = openTerminal(app.origin, app.token);
    const sql = `SELECT i, 'a "quoted" "' || chr(10) || 'line' AS x FROM range(3) t(i)`;
    for (const format of ["--csv", "--jsonl"]) {
      const whole = await shell.run("query", sql, format);
      expect([whole.code, whole.err]).toEqual([0, ""]);
      const all = await shell.run("query", sql, format, "--limit", "3");
      expect(all).toMatchObject({ code: 0, err: "", out: whole.out });
      const two = await shell.run("query", sql, format, "--limit", "2");
      expect([two.code, two.err]).toEqual([0, "Only the first 2 rows are shown.\n"]);
      expect(two.out).toBe((await shell.run("query", sql.replace("range(3)", "range(2)"), format)).out);
    }
    const most = await shell.run("query", rows(10_000), "--csv", "--limit", "10000");
    expect([most.code, most.err]).toEqual([0, "At most 10000 rows are shown. There may be more.\n"]);
    const none = await shell.run("query", sql, "--csv", "--limit", "0");
    expect([none.code, none.out]).not.toContain(0);
  });

  deepTest("exits with 1 and a sentence beyond that, unless a limit was given", async () => {
    await using app = await startApp({ engine: false });
    using shell = openTerminal(app.origin, app.token);
    for (const flags of [[], ["--json"]]) {
      const cut = await shell.run("query", rows(10_001), ...flags);
      expect([cut.code, cut.err]).toEqual([1, `weir: Only the first 10000 rows are shown. ${ALL}\n`]);
      expect(cut.out.length).toBeGreaterThan(100_000); // What there is.
      const few = await shell.run("query", rows(10_001), "--limit", "3", ...flags);
      expect([few.code, few.err]).toEqual([0, "Only the first 3 rows are shown.\n"]);
    }
    const seen = await shell.sit({ width: 80 }, "query", rows(1001));
    expect([seen.code, seen.err, seen.out.split("\n").length]).toEqual([
      0,
      `Only the first 1000 rows are shown. ${ALL}\n`,
      1002,
    ]);
    const gone = await shell.sit({ readLines: 1 }, "query", rows(10_001));
    expect([gone.code, gone.err]).toEqual([0, ""]);
  });

  deepTest("streams all of them with --csv and --jsonl", async () => {
    await using app = await startApp({ engine: false });
    using shell = openTerminal(app.origin, app.token);
    const lines = await shell.run("query", rows(25_000), "--jsonl");
    expect([lines.code, lines.err]).toEqual([0, ""]);
    const read = lines.out.trimEnd().split("\n");
    expect(read.map((line) => JSON.parse(line).i)).toEqual(Array.from({ length: 25_000 }, (_, i) => i));
    const csv = await shell.run("query", rows(25_000), "--csv");
    expect(csv.out.trimEnd().split("\n")).toHaveLength(25_001);
    expect((await shell.run("query", rows(5), "--jsonl", "--limit", "2")).out.split("\n")).toHaveLength(3);
    expect((await shell.run("query", rows(5), "--jsonl", "--json")).code).toBe(2);
  });
});

describe("weir status", () => {
  test("shows the current user and counts what needs attention", async () => {
    await using app = await startApp();
    using shell = openTerminal(app.origin, app.token);
    expect((await shell.run("status")).out).toEndWith("attention     nothing\n");
    await ask(app);
    await makeAction(app.owner, { name: "Sort", definition: branch("a", "false") });
    await shell.run("actions", "run", "sort", "--wait");
    const config = JSON.stringify({ host: "127.0.0.1", port: 1, database: "shop" });
    const secret = '{"user":"ada","password":"a secret"}';
    await shell.run(
      "connections",
      ...["create", "--name", "Shop", "--provider", "postgres", "--config", config, "--credentials", secret],
    );
    await shell.run("connections", "verify", "shop");

    const { code, json, err } = await shell.run("status", "--json");
    expect([code, err]).toEqual([0, ""]);
    const { version } = (await app.owner("GET", "/api/v1/meta")).body;
    const { checks } = (await app.owner("GET", "/api/v1/health?deep=true")).body;
    expect(Object.keys(json.checks)).toEqual(Object.keys(checks));
    expect({ ...json, checks: null }).toEqual({
      server: app.origin,
      userId: app.ids.userId,
      email: "ada@example.com",
      firstName: "Ada",
      lastName: "Lovelace",
      organizationId: app.ids.organizationId,
      organizationSlug: "acme",
      role: "owner",
      version,
      model: null,
      health: "ok",
      checks: null,
      attention: { failedRuns: 1, pendingApprovals: 1, brokenConnections: 1, deadLetters: 0 },
    });
    expect((await shell.run("status")).out).toBe(
      [
        `server        ${app.origin}`,
        `version       ${version}`,
        "health        ok",
        "signed in     ada@example.com",
        "organization  acme, as owner",
        "model         none configured (agents unavailable)",
        "attention     1 run failed in the last 24 hours",
        "              1 pending approval",
        "              1 failing connection\n",
      ].join("\n"),
    );
    using nobody = openTerminal(app.origin);
    expect(await nobody.run("status", "--json")).toMatchObject({
      code: 3,
      out: `${JSON.stringify({ server: app.origin, health: "ok" })}\n`,
    });
  });

  test("verifies no audit log against another organization's seals", async () => {
    await using app = await startApp({ engine: false });
    using shell = openTerminal(app.origin, app.token);
    const folder = mkdtempSync(path(tmpdir(), "weir-given-"));
    const file = path(folder, "seals.json");
    writeFileSync(file, JSON.stringify([{ organizationId: NOBODY, seq: 1, count: 1, hash: "00" }]));
    const there = ["verify", "--server", app.origin];
    expect((await shell.run("events", ...there)).code).toBe(0);
    const foreign = await shell.run("events", ...there, "--against", file);
    expect([foreign.code, foreign.err]).toEqual([1, expect.stringContaining("has no seals of acme.")]);
    rmSync(folder, { recursive: true });
  });

  test("exits with 1 if the server isn't working properly", async () => {
    const reply = { status: "degraded", checks: { disk: { ok: false, detail: "12 MiB \u001b[2Jfree" } } };
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ url }) => {
        if (url.includes("/health")) return Response.json(reply, { status: 503 });
        if (url.endsWith("/me")) return Response.json({ id: "1", email: "ada@example.com" });
        return Response.json({ version: "1", total: 0, items: [] });
      },
    });
    const origin = `http://127.0.0.1:${server.port}`;
    using shell = openTerminal(origin, "token");
    const ended = await shell.run("status");
    expect(ended.code).toBe(1);
    expect(ended.out).toContain("health     degraded, disk: 12 MiB [2Jfree\n");
    expect(ended.err).toBe(`weir: ${origin} is unhealthy: degraded, disk: 12 MiB [2Jfree.\n`);
    await server.stop(true);
  });
});

describe("--org", () => {
  test("selects the organization by ID or slug, and one without membership exits with 1", async () => {
    await using app = await startApp({ engine: false });
    const other = await neighbour(app);
    await makeAction(other.call, { name: "Theirs" });
    await makeAction(app.owner, { name: "Ours" });
    const member = await join(app, "member", other.organization.id);
    using shell = openTerminal(app.origin, member.token);
    for (const org of [other.organization.id, other.organization.slug]) {
      const { json } = await shell.run("actions", "list", "--org", org, "--json");
      expect(json.actions.map(({ name }: { name: string }) => name)).toEqual(["Theirs"]);
      expect((await shell.run("status", "--org", org, "--json")).json.organizationSlug).toBe(
        other.organization.slug,
      );
    }
    const { code, out, err } = await shell.run("actions", "list", "--org", "acme");
    expect([code, out]).toEqual([1, ""]);
    expect(err).toContain("You aren't a member of this organization.");
  });
});
