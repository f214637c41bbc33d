import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { config } from "../../src/cli/config.ts";
import { openCredentials } from "../../src/cli/credentials.ts";
import { events } from "../../src/cli/events.ts";
import { usage } from "../../src/cli/usage.ts";
import { clientUsage } from "../../src/cli/usage-client.ts";
import { startApp } from "../support/app.ts";
import { makeHook, send } from "../support/hook.ts";
import { startReceiver } from "../support/receiver.ts";
import { folder, shell } from "../support/shell.ts";
import { branch, makeAction, makeAutomation, NOBODY, until } from "../support/work.ts";
import { openTerminal } from "./terminal.ts";

const LETTERS = "/api/v1/dead-letters";

describe("weir webhooks", () => {
  test("lists dead letters, and replays those named or all of an automation", async () => {
    await using app = await startApp({ hurry: 20 });
    using shell = openTerminal(app.origin, app.token);
    const state = { status: 503 };
    await using receiver = startReceiver(() => Response.json({}, { status: state.status }));
    const action = { kind: "http_request", definition: { url: receiver.url, method: "POST" } };
    const hook = await makeHook(app, { action, retries: { maxAttempts: 1, backoffSeconds: [0] } });
    for (const n of [1, 2, 3]) expect((await send(app, `{"n":${n}}`)).status).toBe(500);
    const { items } = await until(app.owner, LETTERS, (body) => body.items.length === 3);
    const ids = items.map(({ id }: { id: string }) => id);

    const page = await app.owner("GET", `${LETTERS}?limit=2`);
    const first = await shell.run("webhooks", "dead-letters", "--limit", "2", "--json");
    expect(first).toMatchObject({ code: 0, err: "" });
    expect(first.json.items).toEqual(page.body.items);
    const rest = await shell.run("webhooks", "dead-letters", "--cursor", first.json.nextCursor, "--json");
    expect(rest.json.items.map(({ id }: { id: string }) => id)).toEqual([ids[2]]);
    for (const [flags, count] of [
      [["--source", "outbound"], 0],
      [["--source", "inbound"], 3],
      [["--automation", hook.slug], 3],
      [["--webhook", NOBODY], 0],
      [["--status", "dead"], 3],
      [["--status", "replayed"], 0],
    ] as const) {
      const { json } = await shell.run("webhooks", "dead-letters", "--json", ...flags);
      expect([flags, json.items.length]).toEqual([flags, count]);
    }
    const table = (await shell.run("webhooks", "dead-letters")).out.split("\n");
    expect(table[0]).toMatch(/^ID +SOURCE +STATUS +ATTEMPTS +LAST FAILED +ERROR$/);
    expect(table[1]).toMatch(
      new RegExp(`^${ids[0]}  inbound  dead +1 +\\S+Z +.*503.*\\(unexpected_status\\)$`),
    );

    state.status = 200;
    const one = await shell.run("webhooks", "replay", ids[0], "--json");
    expect(one).toMatchObject({ code: 0, out: '{"replayed":1}\n', err: "" });
    await until(app.owner, LETTERS, (body) => body.items[0].status === "replayed");
    const again = await shell.run("webhooks", "replay", ids[0], ids[1]);
    expect(again).toMatchObject({
      code: 1,
      out: "1 dead letter replayed.\n",
      err: "weir: 1 dead letter wasn't found, or already replayed.\n",
    });
    expect(await shell.run("webhooks", "replay", "--automation", hook.slug)).toMatchObject({
      code: 0,
      out: "1 dead letter replayed.\n",
      err: "",
    });
    await until(app.owner, LETTERS, (body) =>
      body.items.every((item: { status: string }) => item.status === "replayed"),
    );
    expect((await shell.run("webhooks", "replay", "--webhook", NOBODY)).out).toBe(
      "0 dead letters replayed.\n",
    );
    expect((await shell.run("webhooks", "dead-letters", "--source", "sideways")).code).toBe(1);
  });
});

describe("weir events verify --server", () => {
  test("asks the server, and exits with 1 if the chain is broken", async () => {
    await using app = await startApp({ engine: false });
    using shell = openTerminal(app.origin, app.token);
    await makeAction(app.owner);
    const { text, body } = await app.owner("GET", "/api/v1/events/verify");
    const words = ["verify", "--server", app.origin];
    expect(await shell.run("events", ...words, "--json")).toMatchObject({
      code: 0,
      out: `${text}\n`,
      err: "",
    });
    expect((await shell.run("events", ...words)).out).toBe(
      `${app.origin}: valid, ${body.checked} events verified\n`,
    );

    using file = new Database(join(app.dataFolder, "weir.db"));
    const { sql } = file
      .query(
        "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'events' AND sql LIKE '%UPDATE%'",
      )
      .get() as { sql: string };
    const [, trigger] = /TRIGGER (\w+)/i.exec(sql) ?? [];
    file.run(`DROP TRIGGER ${trigger}`);
    file.run("UPDATE events SET data = '{\"name\":\"forged\"}' WHERE type = 'action.created'");
    const broken = await shell.run("events", ...words, "--json");
    expect(broken.code).toBe(1);
    expect(broken.json).toMatchObject({ valid: false, firstBadId: expect.any(String) });
    expect(broken.err).toBe(
      `weir: The audit log is not valid: events were changed or removed, first at ${broken.json.firstBadId}.\n`,
    );
  });
});

describe("weir events verify", () => {
  test("reads the audit log of a data directory next to the server that runs on it", async () => {
    await using app = await startApp({ engine: false });
    await makeAction(app.owner);
    const { text } = await app.owner("GET", "/api/v1/events/verify");
    const whole = await shell()(events, "verify", "--data", app.dataFolder, "--json");
    expect(whole).toMatchObject({ code: 0, out: text, err: "" });
  });

  test("asks the server that the user is signed in to if there is no audit log on this machine", async () => {
    await using app = await startApp({ engine: false });
    using home = folder();
    const env = { XDG_CONFIG_HOME: home.path, WEIR_DATA: join(home.path, "none"), WEIR_SERVER: app.origin };
    expect(await shell(env)(events, "verify")).toMatchObject({
      code: 1,
      err: expect.stringContaining("No database in"),
    });
    openCredentials({ configFolder: join(home.path, "weir"), server: null, terminal: null }).keep(
      app.origin,
      app.token,
    );
    const { text } = await app.owner("GET", "/api/v1/events/verify");
    expect(await shell(env)(events, "verify", "--json")).toMatchObject({ code: 0, out: text, err: "" });
    const named = await shell(env)(events, "verify", "--data", env.WEIR_DATA);
    expect(named).toMatchObject({ code: 1, err: expect.stringContaining("No database in") });
  });
});

test("weir config --json prints the settings as one object", async () => {
  const env = { WEIR_CONCURRENCY: "3", WEIR_SECRET_KEY: Buffer.alloc(32, 7).toString("base64") };
  const { code, json } = await shell(env)(config, "--json");
  expect([code, json.WEIR_CONCURRENCY, json.WEIR_SECRET_KEY, json.WEIR_DATABASE_URL]).toEqual([
    0,
    "3",
    "***",
    "",
  ]);
  const lines = (await shell(env)(config)).out.split("\n");
  expect(lines).toEqual(Object.entries(json).map(([name, value]) => `${name}=${value}`));
});

describe("weir openapi", () => {
  test("prints what a server serves, without one", async () => {
    await using app = await startApp({ engine: false, owner: false });
    using shell = openTerminal("http://127.0.0.1:1");
    const { code, out, err } = await shell.run("openapi");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toBe(`${(await app.anonymous("GET", "/openapi.json")).text}\n`);
  });
});

describe("weir api", () => {
  test("sends any request, and prints the response body unchanged", async () => {
    await using app = await startApp({ engine: false });
    using shell = openTerminal(app.origin, app.token);
    const folder = mkdtempSync(join(tmpdir(), "weir-api-"));
    const action = (name: string) => JSON.stringify({ kind: "http_request", name });
    const made = await shell.run("api", "POST", "/api/v1/actions", "--data", action("One"));
    expect(made).toMatchObject({ code: 0, err: "" });
    const path = `/api/v1/actions/${made.json.id}`;
    expect(made.out).toBe(`${(await app.owner("GET", path)).text}\n`);
    writeFileSync(join(folder, "two.json"), action("Two"));
    const two = await shell.run("api", "post", "/api/v1/actions", "--data", `@${join(folder, "two.json")}`);
    expect(two.json.name).toBe("Two");
    rmSync(folder, { recursive: true });
    const three = await shell.sit(
      { stdin: action("Three") },
      "api",
      "POST",
      "/api/v1/actions",
      "--data",
      "-",
    );
    expect(three.json.name).toBe("Three");
    const patched = await shell.run("api", "PATCH", path, "--data", '{"name":"Other"}', "--json");
    expect(patched.json.name).toBe("Other");
    expect((await shell.run("api", "GET", "/api/v1/actions?q=other")).json.total).toBe(1);
    expect(await shell.run("api", "DELETE", path)).toMatchObject({ code: 0, out: "", err: "" });
    expect(await shell.run("api", "GET", path)).toMatchObject({
      code: 1,
      out: "",
      err: `weir: GET ${path} returned 404: Action not found.\n`,
    });
    const missing = await shell.run("api", "GET", path, "--json");
    expect([missing.code, missing.err]).toEqual([1, `weir: GET ${path} returned 404: Action not found.\n`]);
    expect(missing.json).toEqual({
      detail: "Action not found.",
      code: "not_found",
      correlationId: expect.any(String),
    });
    expect((await shell.run("api", "GET", "/metrics")).out).toContain("# HELP ");
  });

  test("escapes control characters as JSON does, only on a terminal", async () => {
    await using app = await startApp({ engine: false });
    using shell = openTerminal(app.origin, app.token);
    const name = "a\u009b2J\u{e0041}b";
    const { id } = await makeAction(app.owner, { name });
    const words = [`/api/v1/actions/${id}`];
    const shown = await shell.sit({ width: 500 }, "api", "GET", ...words);
    expect(shown.out).toContain("a\\u009b2J\\udb40\\udc41b");
    expect(shown.json.name).toBe(name);
    expect((await shell.run("api", "GET", ...words)).out).toContain(name);
    const metrics = await shell.sit({ width: 500 }, "api", "GET", "/metrics");
    expect(metrics.out).toContain("\n# HELP ");
    expect((await shell.run("actions", "list")).out).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
  });
});

describe("a table", () => {
  test("fits the terminal, truncating the name last, and is complete elsewhere", async () => {
    await using app = await startApp({ engine: false });
    using shell = openTerminal(app.origin, app.token);
    const name = `${"long ".repeat(30)}名前 of mine`;
    const { id } = await makeAction(app.owner, { name, slug: "a-slug-that-is-rather-long-for-a-table" });
    const whole = (await shell.run("actions", "list")).out;
    expect(whole).toContain(name);
    expect(whole).toContain(id);
    expect((await shell.sit({ width: 80 }, "actions", "list", "-o", "wide")).out).toBe(whole);
    for (const width of [140, 80, 60]) {
      const { out } = await shell.sit({ width }, "actions", "list");
      const lines = out.trimEnd().split("\n");
      expect(lines.length).toBe(2);
      for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(width);
      expect(lines[1]).toMatch(
        width === 60 ? /^a-slug-that-is-\S*… .+ long .+…$/ : / {2}long long long .*…$/,
      );
    }
    await makeAction(app.owner, { name: "Short", slug: "short" });
    const { out: short } = await shell.sit({ width: 80 }, "actions", "list", "--q", "short");
    expect(short.split("\n")[0]?.split(/ +/)).toEqual("SLUG KIND STATUS LATEST RUN STARTED NAME".split(" "));
    const long = await shell.run("query", "SELECT i, repeat('x', i * 1000) AS x, i AS n FROM range(2) t(i)");
    expect(long.out.split("\n").map((line) => line.length)).toEqual([126, 126, 1006, 0]);
    await makeAction(app.owner, { name: "More" });
    const { err } = await shell.sit({ width: 100 }, "actions", "list", "--limit", "2");
    expect(err).toBe("Showing 1–2 of 3. Next page: --offset 2\n");
    const last = await shell.sit({ width: 100 }, "actions", "list", "--offset", "2");
    expect(last.err).toBe("");
  });

  test("of runs names the automation and the action, and shows the whole ID in 80 columns", async () => {
    await using app = await startApp();
    using shell = openTerminal(app.origin, app.token);
    await makeAction(app.owner, { name: "Sort by hand", slug: "sort" });
    const steps = [{ key: "sort-step", kind: "conditional_branch", definition: branch() }];
    await makeAutomation(app.owner, { steps });
    const { json } = await shell.run("actions", "run", "sort", "--wait", "--json");
    await shell.run("automations", "run", "flow", "--wait");
    const { out } = await shell.sit({ width: 80 }, "runs", "list");
    const [titles = "", ...rows] = out.trimEnd().split("\n");
    expect(titles.split(/ +/)).toEqual(["ID", "STATUS", "AUTOMATION", "ACTION"]);
    expect(rows).toEqual([
      expect.stringMatching(/^\S{36} {2}Completed {2}Flow +sort-step$/),
      expect.stringMatching(new RegExp(`^${json.id}  Completed +Sort by hand$`)),
    ]);
  });
});

describe("weir completion", () => {
  test("includes every command, with its verbs and flags", async () => {
    using shell = openTerminal("http://127.0.0.1:1");
    for (const kind of ["bash", "zsh", "fish"]) {
      const { code, out, err } = await shell.run("completion", kind);
      expect([code, err]).toEqual([0, ""]);
      for (const [name, about] of Object.entries(usage)) {
        expect(out).toMatch(new RegExp(`\\b${name}\\b`));
        for (const verb of Object.keys("verbs" in about ? about.verbs : {}))
          expect(out).toContain(verb.split(" ")[0] ?? "");
      }
      expect(out).toContain("--overrides");
    }
  });
});

describe("a client command", () => {
  test("loads nothing of the server", async () => {
    const root = join(import.meta.dir, "../../src");
    const seen = new Set<string>();
    const visit = async (path: string) => {
      if (seen.has(path) || !path.endsWith(".ts")) return;
      seen.add(path);
      const loader = new Bun.Transpiler({ loader: "ts" });
      for (const { kind, path: next } of loader.scanImports(await Bun.file(path).text()))
        if (kind === "import-statement" && next.startsWith(".")) await visit(join(path, "..", next));
    };
    const names = ["login", "logout", "whoami", "help", ...Object.keys(clientUsage)];
    for (const name of names) await visit(join(root, `cli/${name}.ts`));
    const rooms = new Set([...seen].map((path) => path.slice(root.length + 1).split("/")[0]));
    expect([...rooms].sort()).toEqual(["base", "cli", "version.ts"]);
  });
});

test.each([
  ["WEIR_DATABASE_URL", "mongodb://ada:hunter2@db.example.com/weir?token=hunter3"],
  ["WEIR_DATABASE_URL", "ftp://ada:hun/ter2@db.example.com"],
  ["WEIR_DATABASE_URL", "ada:hunter2@db.example.com"],
  ["WEIR_SMTP_URL", "smtp://ada:hunter2@mail example.com"],
  ["WEIR_LAKE_URL", "https://ada:hunter2@bucket.example.com"],
  ["WEIR_LAKE_ENDPOINT", "ftp://ada:hunter2@s3.example.com"],
  ["WEIR_BACKUP_URL", "s4://ada:hunter2@bucket"],
  ["WEIR_OIDC_ISSUER", "https://ada:hunter2@login.example.com"],
  ["WEIR_LLM_BASE_URL", "ws://ada:hunter2@models.example.com"],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://ada:hunter2@otel.example.com"],
])("%s that is rejected is reported without its password: %s", async (name, value) => {
  const { code, out, err } = await shell({ [name]: value })(config);
  expect(code).toBe(1);
  expect(err).toContain(name);
  expect(out + err).not.toMatch(/hun|ter2|hunter/);
});

test("weir config shows a URL without its password", async () => {
  const { out } = await shell({ WEIR_DATABASE_URL: "https://ada:hunter2@db.example.com/weir" })(config);
  expect(out).toContain("WEIR_DATABASE_URL=https://***@db.example.com/weir");
  expect(out).not.toContain("hunter2");
});
