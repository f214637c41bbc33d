import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startOAuthApi } from "../peers/oauth-api.ts";
import { startApp } from "../support/app.ts";
import { addSigned, ownerSurfer } from "../support/connection-sign-ins.ts";
import { PROGRAM } from "../support/program.ts";
import { branch, makeAction, makeAutomation, RUNS } from "../support/work.ts";
import { openTerminal } from "./terminal.ts";

let app: Awaited<ReturnType<typeof startApp>>;
let shell: ReturnType<typeof openTerminal>;
let folder: string;

beforeAll(async () => {
  app = await startApp();
  shell = openTerminal(app.origin, app.token);
  folder = mkdtempSync(join(tmpdir(), "weir-verbs-"));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  shell[Symbol.dispose]();
  await app[Symbol.asyncDispose]();
});

/** An editor that runs `script` on the file that it is given, in place of a user. */
function editor(script: string): Record<string, string> {
  const path = join(folder, "an editor.ts");
  writeFileSync(
    path,
    `import { readFileSync, writeFileSync } from "node:fs";
const [, , mode, path] = process.argv;
const text = readFileSync(path, "utf8");
if (mode !== "--wait") process.exit(9);
${script}`,
  );
  return { VISUAL: `${process.execPath} "${path}" --wait`, EDITOR: "/nowhere" };
}

const definitionOf = async (id: string) => (await app.owner("GET", `/api/v1/actions/${id}`)).body.definition;

describe("weir actions edit", () => {
  test("opens the editor, sends what was saved, and reports what changed", async () => {
    const { id } = await makeAction(app.owner, { name: "Sort", slug: "to-sort" });
    const env = editor("writeFileSync(path, text.replace('\"a\"', '\"b\"'));");
    const edited = await shell.sit({ width: 100, answer: "", env }, "actions", "edit", "to-sort");
    expect(edited).toMatchObject({
      code: 0,
      out: 'branches.0.key: "a" → "b"\nAction Sort updated.\n',
      err: "",
    });
    expect(await definitionOf(id)).toEqual(branch("b"));
    const untouched = await shell.sit({ answer: "", env: editor("") }, "actions", "edit", "to-sort");
    expect(untouched).toMatchObject({ code: 0, out: "Sort: no changes.\n", err: "" });
  });

  test("reports faults, opens the same text again, and keeps it if the user gives up", async () => {
    const { id } = await makeAction(app.owner, { name: "Sort", slug: "to-break" });
    const twice = `
if (text.includes("bogus")) writeFileSync(path, text.replace("bogus", "branches").replace('"a"', '"c"'));
else writeFileSync(path, text.replace("branches", "bogus"));`;
    const mended = await shell.sit({ answer: "", env: editor(twice) }, "actions", "edit", "to-break");
    expect(mended.err).toMatch(/definition\.branches: .+; .*definition\.bogus: |definition\.bogus: .+/);
    expect([mended.code, await definitionOf(id)]).toEqual([0, branch("c")]);

    const env = editor('writeFileSync(path, "{ my edit");');
    const given = await shell.sit({ answer: "n", env }, "actions", "edit", "to-break");
    const [, path = ""] = /^Your edit is in (.+)\.\n/m.exec(given.err) ?? [];
    expect([given.code, given.err]).toEqual([1, expect.stringContaining("isn't valid JSON")]);
    expect(readFileSync(path, "utf8")).toBe("{ my edit");
    rmSync(join(path, ".."), { recursive: true });
    const lost = await shell.sit({ answer: "", env: { EDITOR: "/nowhere/ed" } }, "actions", "edit", id);
    expect(lost).toMatchObject({ code: 1, err: expect.stringContaining("/nowhere/ed") });
    expect(await definitionOf(id)).toEqual(branch("c"));
  });

  test("overwrites no change that someone else made in the meantime, and keeps the edit", async () => {
    const { id } = await makeAction(app.owner, { name: "Sort", slug: "to-share" });
    const env = editor(`
await fetch("${app.origin}/api/v1/actions/${id}", {
  method: "PATCH",
  headers: { authorization: "Bearer ${app.token}", "content-type": "application/json" },
  body: JSON.stringify({ name: "Theirs" }),
});
writeFileSync(path, text.replace('"a"', '"mine"'));`);
    const refused = await shell.sit({ answer: "", env }, "actions", "edit", "to-share");
    const [, path = ""] = /^Your edit is in (.+)\.\n/m.exec(refused.err) ?? [];
    expect(refused.code).toBe(1);
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual(branch("mine"));
    rmSync(join(path, ".."), { recursive: true });
    expect(await definitionOf(id)).toEqual(branch());
  });

  test("accepts a definition without a terminal", async () => {
    const { id } = await makeAction(app.owner, { name: "Sort", slug: "to-set" });
    const words = ["edit", "to-set", "--definition", JSON.stringify(branch("d"))];
    expect((await shell.run("actions", ...words, "--json")).json).toMatchObject({
      id,
      definition: branch("d"),
    });
    const wrong = await shell.run("actions", "edit", id, "--definition", '{"branches":1}');
    expect([wrong.code, wrong.err]).toEqual([1, expect.stringMatching(/^weir: definition\.branches: /)]);
  });
});

test("weir runs retry runs the same definition again, and waits for its end", async () => {
  await makeAction(app.owner, { name: "Sort", slug: "to-retry", definition: branch("a", "false") });
  const first = await shell.run("actions", "run", "to-retry", "--wait", "--json");
  const queued = await shell.run("runs", "retry", first.json.id);
  expect(queued.out).toMatch(/^Run \S+ queued\./);
  const again = await shell.run("runs", "retry", first.json.id, "--wait", "--json");
  expect(again.json).toMatchObject({
    ...{ parentActionRunId: first.json.id, triggerMethod: "retry", status: "failed" },
  });
  expect(again.out).toBe(`${(await app.owner("GET", `${RUNS}/${again.json.id}`)).text}\n`);
});

test("weir automations runs lists, shows, retries and cancels them", async () => {
  const steps = [
    { key: "call", kind: "http_request", definition: { method: "GET", url: "http://127.0.0.1:1/" } },
  ];
  await makeAutomation(app.owner, { steps }, { slug: "to-fail", name: "Fails" });
  const failed = await shell.run("automations", "run", "to-fail", "--wait");
  const [, id = ""] = /Automation run (\S+) failed: /.exec(failed.err) ?? [];
  const list = ["runs", "list", "--automation", "to-fail", "--status", "failed"];
  expect(
    (await shell.run("automations", ...list, "--json")).json.runs.map((run: { id: string }) => run.id),
  ).toEqual([id]);
  expect((await shell.sit({ width: 80 }, "automations", ...list)).out).toMatch(
    / AUTOMATION\n.* Failed +.* ago +.*Fails\n$/,
  );
  const shown = await shell.run("automations", "runs", "get", id);
  expect(shown.out).toMatch(/^error +.+\n(.*\n)*\nSTEP +STATUS\ncall +failed\n$/m);
  const retried = await shell.run("automations", "runs", "retry", id, "--wait", "--json");
  expect([retried.code, retried.json.retriedFromRunId ?? retried.json.triggerMethod]).toEqual([1, "retry"]);
  const queued = await shell.run("automations", "runs", "retry", id, "--from-start");
  expect(queued.out).toMatch(/^Automation run \S+ started\. To see it: weir automations runs get \S+\n$/);
  const gone = await shell.run("automations", "runs", "cancel", id);
  expect([gone.code, gone.err]).toEqual([1, expect.stringContaining("failed")]);
  expect((await shell.run("automations", "runs")).err).toStartWith(
    'weir: Missing subcommand for "weir automations runs". Use list, get, cancel or retry.\n',
  );
  expect((await shell.run("automations", "runs", "get")).err).toStartWith("weir: Missing argument: RUN.\n");
});

test("lists keep names and slugs whole in 80 columns, and shorten times before omitting any", async () => {
  const slug = "orders-to-lake";
  await makeAutomation(
    app.owner,
    { schedule: { cron: "0 0 1 1 *" }, action: { kind: "conditional_branch", definition: branch() } },
    { slug, name: "Orders of the shop", triggerType: "schedule" },
  );
  const { out } = await shell.sit({ width: 80 }, "automations", "list", "--q", slug);
  expect(out).toContain(slug);
  expect(out).toMatch(/ in \d+ (d|h) +Orders of the shop\n$/);
  expect(Math.max(...out.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
  expect((await shell.sit({ width: 80 }, "automations", "list", "-o", "wide")).out).toMatch(
    /-01-01T00:00:00Z /,
  );
});

test("weir bundles lists and installs, showing what was created", async () => {
  const list = await shell.run("bundles", "list", "--json");
  expect(list.out).toBe(`${(await app.owner("GET", "/api/v1/bundles")).text}\n`);
  const { slug } = list.json.bundles.find(({ slug }: { slug: string }) => slug === "quick-start");
  expect((await shell.run("bundles", "list")).out).toContain(`\n${slug} `);
  const installed = await shell.run("bundles", "install", slug);
  expect([installed.code, installed.err]).toEqual([0, ""]);
  expect(installed.out).toMatch(/^Signing secret of Shop exported, shown only now: whsec_\S+$/m);
  const again = await shell.run("bundles", "install", slug, "--json");
  expect(again.json.bundleSlug).toBe(slug);
  expect(again.out).not.toContain("whsec_");
  for (const { entityId, entityName } of again.json.components)
    expect(installed.out).toMatch(new RegExp(`^${entityId}  .+  ${entityName}$`, "m"));
  expect((await shell.run("bundles", "install", "no-such-bundle")).code).toBe(1);
});

test("weir connections authorize --wait waits until the user has signed in, and verifies", async () => {
  await using peer = await startOAuthApi({});
  const { id } = await addSigned(app, peer);
  const waiting = shell.start("connections", ["authorize", id, "--wait"]);
  await waiting.until(() => waiting.state.out.includes("\n"));
  await (await ownerSurfer(app)).go(waiting.lines[0] ?? "", null, {
    turn: (url) => (url.pathname.startsWith("/connections/") ? null : url),
  });
  const { code, out, err } = await waiting.ended;
  expect([code, out]).toEqual([0, expect.stringMatching(/\nSigned in\.\nConnection .+ verified\.\n$/)]);
  expect(err).toContain("allowed redirect URIs");

  const asked = await shell.run("connections", "authorize", id, "--json");
  expect([asked.code, asked.json.authorizationUrl]).toEqual([0, expect.stringContaining(peer.origin)]);
});

test("credentials on the command line cause a warning, and those in a file don't", async () => {
  const words = ["create", "--name", "Files", "--provider", "local_files", "--credentials"];
  expect((await shell.run("connections", ...words, "{}")).err).toStartWith("Warning: credentials");
  expect((await shell.sit({ stdin: "{}" }, "connections", ...words, "-")).err).toBe("");
});

test("WEIR_TOKEN and WEIR_ORG override what weir login stored", async () => {
  const env = { HOME: folder, WEIR_SERVER: app.origin, WEIR_TOKEN: app.token };
  const whoami = async (more: Record<string, string> = {}, ...words: string[]) => {
    const child = Bun.spawn([...PROGRAM, ...words, "--json"], {
      env: { PATH: process.env.PATH, ...env, ...more },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [out, err] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    return { code: await child.exited, out, err };
  };
  const me = await whoami({}, "whoami");
  expect([me.code, JSON.parse(me.out).organizationSlug]).toEqual([0, "acme"]);
  const other = await whoami({ WEIR_ORG: "elsewhere" }, "actions", "list");
  expect([other.code, other.out]).toEqual([1, ""]);
  expect((await whoami({ WEIR_ORG: "elsewhere" }, "actions", "list", "--org", "acme")).code).toBe(0);
  expect(await whoami({}, "logout")).toMatchObject({ code: 1, err: expect.stringContaining("WEIR_TOKEN") });
});

test("a proxy's response in place of Weir's is reported by its status", async () => {
  using proxy = Bun.serve({
    port: 0,
    fetch: () => new Response("<html>Bad gateway</html>", { status: 502 }),
  });
  using away = openTerminal(proxy.url.origin, app.token);
  expect(await away.run("actions", "list")).toMatchObject({
    code: 1,
    err: "weir: The server is unavailable: a proxy in front of it returned 502. Try again later.\n",
  });
});

test("a fault in a query's SQL is reported as a sentence about it", async () => {
  for (const flags of [[], ["--csv"]]) {
    const { code, err } = await shell.run("query", "SELECT $n", ...flags);
    expect([code, err]).toEqual([1, "weir: The statement uses $n, which isn't in parameters.\n"]);
  }
});
