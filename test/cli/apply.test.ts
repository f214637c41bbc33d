import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eq } from "drizzle-orm";
import { parse } from "yaml";
import { contextFor } from "../../src/context.ts";
import { actions } from "../../src/resources/actions/table.ts";
import { openCredentials as openSealed } from "../../src/resources/connections/credentials.ts";
import { connections } from "../../src/resources/connections/table.ts";
import { events } from "../../src/resources/events/table.ts";
import { startApp } from "../support/app.ts";
import { join as joinAs } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";
import { validatorOf } from "../support/schemas.ts";
import { folder } from "../support/shell.ts";
import { branch, created, makeAction, makeAutomation, makeOldAction } from "../support/work.ts";
import { terminal } from "./configuration.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const PASSWORD = "password-of-ada";
const KEY = "key-of-the-shop-api";
const WEBHOOK_SECRET = "signs-what-is-delivered";

/** Creates an organization with one of everything that a file can contain. */
async function fill({ owner }: Pick<Started, "owner">) {
  const warehouse = created(
    await owner("POST", "/api/v1/connections", {
      name: "Warehouse",
      provider: "postgres",
      config: { host: "127.0.0.1", port: 1, database: "shop" },
      credentials: { user: "ada", password: PASSWORD },
    }),
  );
  const files = created(
    await owner("POST", "/api/v1/connections", {
      name: "Files",
      provider: "local_files",
      approvalRequired: "writes",
      config: {},
      credentials: {},
    }),
  );
  await owner("POST", `/api/v1/connections/${files.id}/set-default`);
  await owner("POST", `/api/v1/connections/${warehouse.id}/disable`);
  const template = created(
    await owner("POST", "/api/v1/templates", {
      slug: "shop-api",
      displayName: "Shop API",
      templateType: "connection",
      definition: {
        http: {
          baseUrl: "https://api.example.com",
          auth: { type: "bearer" },
          verify: { path: "/me", expectStatus: 200 },
        },
        credentialsSchema: { type: "object", properties: { token: { type: "string" } }, required: ["token"] },
      },
    }),
  );
  expect((await owner("POST", `/api/v1/templates/${template.id}/publish`)).status).toBe(200);
  const shop = created(
    await owner("POST", "/api/v1/connections", {
      name: "Shop",
      kind: "from_template",
      templateSlug: "shop-api",
      credentials: { token: KEY },
    }),
  );
  created(
    await owner("POST", "/api/v1/api-catalog/http", {
      name: "Orders API",
      description: "The shop's own API.",
      baseUrl: "https://api.example.com/v1",
      connectionId: shop.id,
      endpoints: [
        { name: "list_orders", method: "GET", path: "/orders", queryTemplate: { limit: "{{input.limit}}" } },
        {
          name: "make_order",
          method: "POST",
          path: "/orders",
          bodyTemplate: { id: "{{input.id}}" },
          approvalRequired: true,
        },
      ],
    }),
  );
  created(
    await owner("POST", "/api/v1/api-catalog/mcp", {
      name: "Search",
      description: "Looks things up.",
      url: "https://mcp.example.com/mcp",
      tools: [
        { upstreamName: "search", inputSchema: { type: "object", properties: { q: { type: "string" } } } },
      ],
    }),
  );
  const markdown =
    "---\nname: Sales analyst\ntools:\n  - query\n  - action:ping\n---\nYou answer questions.\n\nBriefly.\n";
  created(await owner("POST", "/api/v1/agents/specs", { markdown }));
  const large = created(
    await owner("POST", "/api/v1/queries", {
      name: "Large orders",
      sql: "SELECT * FROM raw.orders WHERE total > $least AND note <> 'none'",
      parameters: { least: { type: "number" }, since: { type: "date", default: "2026-01-01" } },
      chart: { kind: "bar", x: "day", y: ["total"] },
    }),
  );
  created(
    await owner("POST", "/api/v1/dashboards", {
      name: "Shop",
      filters: [{ key: "since", type: "date" }],
      panels: [{ key: "large", title: "Large orders", queryId: large.id }],
      refreshSeconds: 60,
    }),
  );
  const ping = await makeAction(owner, {
    kind: "http_request",
    name: "Ping",
    definition: {
      url: "https://api.example.com/ping",
      headers: { "X-Note": `\${NOTE}` },
    },
  });
  await makeAction(owner, { name: "Branch" });
  const sync = {
    source: { connectionId: files.id, path: "/in" },
    destination: { connectionId: files.id, path: "/out" },
  };
  await makeAction(owner, { kind: "file_sync", name: "Copy", definition: sync });
  const called = await makeAutomation(
    owner,
    { steps: [{ key: "ping", actionId: ping.id }] },
    { name: "Called" },
  );
  await makeAutomation(
    owner,
    {
      steps: [
        { key: "call", kind: "call_automation", definition: { automationId: called.id } },
        { key: "route", kind: "conditional_branch", definition: branch(), dependsOn: ["call"] },
      ],
    },
    { name: "A caller" },
  );
  const hook = created(
    await owner("POST", "/api/v1/automations", {
      name: "Hook",
      triggerType: "webhook",
      description: "From the shop",
      config: {
        path: "shop",
        secret: "sixteen-characters-of-it",
        action: { kind: "conditional_branch", definition: branch() },
      },
    }),
  );
  expect((await owner("PATCH", `/api/v1/automations/${hook.id}`, { status: "disabled" })).status).toBe(200);
  created(
    await owner("POST", "/api/v1/automations", {
      name: "Unfinished",
      status: "draft",
      config: { steps: [] },
    }),
  );
  const webhook = { url: "https://hooks.example.com/weir", secret: WEBHOOK_SECRET };
  created(await owner("POST", "/api/v1/webhooks", { ...webhook, events: ["decision.*"] }));
  const second = created(await owner("POST", "/api/v1/webhooks", { ...webhook, events: ["action.*"] }));
  expect((await owner("PATCH", `/api/v1/webhooks/${second.id}`, { status: "disabled" })).status).toBe(200);
  const withToken = "https://chat.example.com/in?token=secret-in-the-address&room=ops";
  created(await owner("POST", "/api/v1/webhooks", { url: withToken, secret: WEBHOOK_SECRET, events: ["*"] }));
  return { warehouse, files, shop, ping };
}

const SECRETS = {
  WAREHOUSE_PASSWORD: PASSWORD,
  WAREHOUSE_USER: "ada",
  SHOP_TOKEN: KEY,
  HOOK_SECRET: "sixteen-characters-of-it",
  HOOKS_EXAMPLE_COM_WEBHOOK_SECRET: WEBHOOK_SECRET,
  HOOKS_EXAMPLE_COM_WEBHOOK_SECRET_2: WEBHOOK_SECRET,
  CHAT_EXAMPLE_COM_WEBHOOK_SECRET: WEBHOOK_SECRET,
  CHAT_EXAMPLE_COM_URL: "secret-in-the-address",
};

const trailOf = async ({ app }: Pick<Started, "app">) => (await app.store.db.select().from(events)).length;

describe("weir export and weir apply", () => {
  test("give another installation the same configuration, byte for byte, without a secret in the files", async () => {
    using here = folder();
    await using one = await startApp({ engine: false });
    await using two = await startApp({ engine: false });
    await fill(one);
    const from = terminal(here.path, one);
    const to = terminal(here.path, two);
    const file = join(here.path, "weir.yaml");
    const written = await from.export("-o", file, "--json");
    expect(written.err).toBe("");
    expect(written.json).toEqual({
      output: file,
      templates: 1,
      connections: 3,
      apis: 2,
      agents: 1,
      actions: 3,
      automations: 4,
      queries: 1,
      dashboards: 1,
      webhooks: 3,
    });
    const text = readFileSync(file, "utf8");
    expect((await from.export()).out).toBe(text.trimEnd());
    expect(text).toStartWith("# yaml-language-server: $schema=weir.schema.json\n");
    const inEditor = validatorOf(JSON.parse(readFileSync(join(here.path, "weir.schema.json"), "utf8")));
    expect(inEditor(parse(text))).toEqual([]);
    for (const [right, wrong] of [
      ["automations:", "automation:"],
      ["triggerType: webhook", "trigger: webhook"],
      ["dependsOn:", "dependOn:"],
      ["database: shop", "databse: shop"],
      ["path: /out", "folder: /out"],
      ["branches:", "branch:"],
      ["displayName:", "display:"],
      ["method: GET", "verb: GET"],
    ] as const) {
      expect(text).toContain(right);
      expect([wrong, inEditor(parse(text.replace(right, wrong)))]).not.toEqual([wrong, []]);
    }
    for (const secret of Object.values(SECRETS).filter((value) => value !== "ada"))
      expect(text).not.toContain(secret);
    expect(text).toContain("approvalRequired: writes");
    expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-7/);
    for (const name of Object.keys(SECRETS)) expect(text).toContain(`\${${name}}`);

    const lacking = await to.apply("-f", file);
    expect([lacking.code, lacking.out]).toEqual([1, ""]);
    expect(lacking.err).toContain(
      "SHOP_TOKEN isn't set. It is required for credentials.token of the new connection shop.",
    );
    expect(lacking.err).toContain("Nothing was changed.");

    Object.assign(to.env, SECRETS);
    const before = await trailOf(two);
    const dry = await to.apply("-f", file, "--dry-run", "--json");
    expect([dry.code, dry.err]).toEqual([0, ""]);
    expect(dry.json.applied).toBe(false);
    expect(dry.json.plan.map(({ operation }: { operation: string }) => operation)).toEqual(
      Array(19).fill("create"),
    );
    expect(await trailOf(two)).toBe(before);

    const asked = await to.apply("-f", file);
    expect([asked.code, asked.err]).toEqual([
      2,
      expect.stringContaining("Missing flag: --yes. Without a terminal to ask on"),
    ]);
    expect(asked.out).toEndWith("19 to create, 0 to update, 0 to delete, 0 unchanged.");
    expect(await trailOf(two)).toBe(before);
    const done = await to.apply("-f", file, "--yes", "--json");
    expect([done.code, done.err]).toEqual([0, ""]);
    expect(done.json).toMatchObject({ applied: true, secrets: {}, unchanged: 0 });
    expect((await to.export()).out).toBe(text.trimEnd());
    const rows = await two.app.store.db.select().from(connections);
    const ctx = contextFor(two.app, {
      organizationId: two.ids.organizationId,
      role: "owner",
      actor: { type: "system", id: "test" },
      correlationId: "test-apply",
    });
    const credentials = Object.fromEntries(rows.map((row) => [row.slug, openSealed(ctx, row)]));
    expect(credentials).toEqual({
      warehouse: { user: "ada", password: PASSWORD },
      files: {},
      shop: { token: KEY },
    });
    const { body } = await two.owner("GET", "/api/v1/actions/slug/ping");
    expect(body.definition.headers).toEqual({ "X-Note": `\${NOTE}` });

    const settled = await trailOf(two);
    const planned = await to.apply("-f", file, "--dry-run", "--json");
    expect(
      planned.json.plan.map(({ operation, slug }: { operation: string; slug: string }) => [operation, slug]),
    ).toEqual([
      ["send", "shop"],
      ["send", "warehouse"],
      ["send", "hook"],
      ["send", "https://chat.example.com/in?token=***&room=ops"],
      ["send", "https://hooks.example.com/weir"],
      ["send", "https://hooks.example.com/weir (2)"],
    ]);
    expect((await to.diff("-f", file)).code).toBe(0);
    const again = await to.apply("-f", file, "--yes", "--json");
    expect(again.json).toMatchObject({ plan: [], unchanged: 19, applied: true });
    expect((await to.apply("-f", file, "--yes")).out).toEndWith("No changes.");
    expect(await trailOf(two)).toBe(settled);
    to.env.SHOP_TOKEN = "another-token-of-the-shop";
    const rotated = await to.apply("-f", file, "--yes", "--json");
    const sent = { kind: "connection", slug: "shop", operation: "send" };
    expect(rotated.json).toMatchObject({ plan: [sent], unchanged: 18, applied: true });
    expect(rotated.out + rotated.err).not.toContain("another-token");
    expect(await trailOf(two)).toBe(settled + 1);
    for (const name of Object.keys(SECRETS)) delete to.env[name];
    const without = await to.apply("-f", file, "--prune", "--json");
    expect(without.json).toMatchObject({ plan: [], unchanged: 19, applied: true });
    expect(await trailOf(two)).toBe(settled + 1);
    expect((await to.apply("-f", file)).out).toEndWith("unchanged.\nNo changes.");
  });

  deepTest("change what differs, show it first without secrets, and delete only on request", async () => {
    using here = folder();
    await using app = await startApp({ engine: false });
    await fill(app);
    const shell = terminal(here.path, app);
    const dir = join(here.path, "configuration");
    mkdirSync(dir);
    expect((await shell.export("-o", dir)).code).toBe(0);
    expect(readdirSync(dir).sort()).toEqual(
      [
        ...[
          "actions",
          "agents",
          "apis",
          "automations",
          "connections",
          "dashboards",
          "queries",
          "templates",
          "webhooks",
        ].map((name) => `${name}.yaml`),
        "weir.schema.json",
      ].sort(),
    );
    const edit = (name: string, change: (text: string) => string) => {
      const path = join(dir, `${name}.yaml`);
      const before = readFileSync(path, "utf8");
      const after = change(before);
      expect(after).not.toBe(before);
      writeFileSync(path, after);
    };
    edit("actions", (text) => text.replace("https://api.example.com/ping", "https://api.example.com/pong"));
    edit("connections", (text) =>
      text.replace("name: Warehouse", "name: Cellar").replace("    disabled: true\n", ""),
    );
    edit("agents", (text) => text.replace("Briefly.", "At length."));
    edit("apis", (text) => text.replace("        approvalRequired: true\n", ""));
    edit("templates", (text) => text.replace("displayName: Shop API", "displayName: The shop"));
    edit("queries", (text) => text.replace("name: Large orders", "name: Big orders"));
    edit("dashboards", (text) => text.replace("refreshSeconds: 60", "refreshSeconds: 30"));
    edit("automations", (text) => text.replace("description: From the shop", "description: From us"));
    await makeAction(app.owner, { name: "Stray" });
    const operations = (json: { plan: { operation: string; kind: string; slug: string }[] }) =>
      json.plan.map(({ operation, kind, slug }) => `${operation} ${kind} ${slug}`);
    const dry = await shell.apply("-f", dir, "--prune", "--dry-run", "--json");
    expect(operations(dry.json)).toEqual([
      "change template shop-api",
      "change connection warehouse",
      "change api Orders API",
      "change agent sales-analyst",
      "change action ping",
      "change automation hook",
      "change query large-orders",
      "change dashboard shop",
      "delete action stray",
    ]);
    expect(dry.json.plan[4].changes).toEqual([
      { field: "definition.url", from: "https://api.example.com/ping", to: "https://api.example.com/pong" },
    ]);
    shell.env.SHOP_TOKEN = "another-secret";
    const shown = await shell.apply("-f", dir, "--dry-run");
    expect(shown.out).toContain("    credentials.token: set again");
    expect(shown.out).toContain("    disabled: true → false");
    expect(shown.out).not.toContain('secret"');
    expect(shown.out).toEndWith(
      "Dry run: 0 to create, 8 to update, 0 to delete, 1 with secrets to set again, 10 unchanged.",
    );
    delete shell.env.SHOP_TOKEN;

    const done = await shell.apply("-f", dir, "--yes", "--json");
    expect([done.code, done.json.plan.length]).toEqual([0, 8]);
    expect((await app.owner("GET", "/api/v1/actions/slug/stray")).status).toBe(200);
    expect((await app.owner("GET", "/api/v1/templates/slug/shop-api")).body).toMatchObject({
      version: 2,
      status: "published",
      displayName: "The shop",
    });
    expect((await app.owner("GET", "/api/v1/connections/slug/warehouse")).body).toMatchObject({
      name: "Cellar",
      status: "needs_verification",
      hasCredentials: true,
    });
    const pruned = await shell.apply("-f", dir, "--prune", "--yes", "--json");
    expect(pruned.err).toBe("");
    expect(operations(pruned.json)).toEqual(["delete action stray"]);
    expect((await app.owner("GET", "/api/v1/actions/slug/stray")).status).toBe(404);
    const only = await shell.give("weir: 1\nagents: []\n", "--prune", "--json");
    expect(operations(only.json)).toEqual(["delete agent sales-analyst"]);
    expect((await app.owner("GET", "/api/v1/actions")).body.total).toBe(3);
  });

  test("transfer a connection of a deprecated template, which is deprecated again afterwards", async () => {
    using here = folder();
    await using app = await startApp({ engine: false });
    const template = created(
      await app.owner("POST", "/api/v1/templates", {
        slug: "old-shop",
        displayName: "Old shop",
        templateType: "connection",
        definition: { http: { baseUrl: "https://shop.example", auth: { type: "none" } } },
      }),
    );
    await app.owner("POST", `/api/v1/templates/${template.id}/publish`);
    created(
      await app.owner("POST", "/api/v1/connections", {
        name: "Shop",
        templateSlug: "old-shop",
        credentials: {},
      }),
    );
    await app.owner("POST", `/api/v1/templates/${template.id}/deprecate`);
    const file = (await terminal(join(here.path, "one"), app).export()).out;
    await using other = await startApp({ engine: false });
    const shell = terminal(join(here.path, "two"), other);
    const applied = await shell.give(file);
    expect([applied.err, applied.code]).toEqual(["", 0]);
    expect((await shell.export()).out).toBe(file);
  });

  test("leave a placeholder for a credential that a connection lacks", async () => {
    using here = folder();
    await using app = await startApp({ engine: false });
    const template = created(
      await app.owner("POST", "/api/v1/templates", {
        slug: "bare-shop",
        displayName: "Bare shop",
        templateType: "connection",
        definition: { http: { baseUrl: "https://shop.example", auth: { type: "bearer" } } },
      }),
    );
    await app.owner("POST", `/api/v1/templates/${template.id}/publish`);
    const token = "token-of-the-bare-shop";
    const shop = { name: "Shop", templateSlug: "bare-shop", credentials: { token } };
    const { id } = created(await app.owner("POST", "/api/v1/connections", shop));
    const lacks = { sealedCredentials: "", hasCredentials: false }; // as earlier versions allowed
    await app.app.store.write((db) => db.update(connections).set(lacks).where(eq(connections.id, id)));
    const one = terminal(join(here.path, "one"), app);
    const file = (await one.export()).out;
    expect(file).toContain("token: ${SHOP_TOKEN}");
    const same = await one.give(file);
    expect([same.err, same.code]).toEqual([
      expect.stringContaining("credentials.token of connection shop is unchanged"),
      0,
    ]);
    await using other = await startApp({ engine: false });
    const shell = terminal(join(here.path, "two"), other);
    expect((await shell.give(file)).err).toContain("SHOP_TOKEN isn't set. It is required");
    Object.assign(shell.env, { SHOP_TOKEN: token });
    const applied = await shell.give(file);
    expect([applied.err, applied.code]).toEqual(["", 0]);
  });

  test("name the file and line of what the server rejects", async () => {
    using here = folder();
    await using app = await startApp({ engine: false });
    const shell = terminal(here.path, app);
    const steps = (step: string) => `weir: 1
automations:
  - slug: orders
    name: Orders
    config:
      steps:
        - key: first
          kind: http_request
          definition: { url: "https://api.example.com" }
${step}`;
    for (const [step, said] of [
      [
        "        - key: second\n          kind: http_reqest\n",
        /^weir: standard input:11: automation orders: config\.steps\.1\.kind: /,
      ],
      [
        '        - key: second\n          kind: approval_gate\n          definition: { title: Go? }\n          when: "a = 1"\n',
        /^weir: standard input:13: automation orders: config\.steps\.1\.when: Invalid condition/,
      ],
    ] as const) {
      const { code, err } = await shell.give(steps(step));
      expect([code, err]).toEqual([1, expect.stringMatching(said)]);
    }
    const quoted = await shell.give(
      "weir: 1\nconnections:\n  - { slug: a, credentials: { password: ${PW} } }\n",
    );
    expect(quoted.err).toContain('standard input:3: Put quotes around ${PW} within braces: "${PW}".');
  });

  test("undo what was done if a later step fails", async () => {
    using here = folder();
    await using app = await startApp({ engine: false });
    await makeAction(app.owner, { name: "Old" });
    const shell = terminal(here.path, app);
    const before = (await shell.export()).out;
    const failed = await shell.give(`weir: 1
connections:
  - { slug: files, name: Files, provider: local_files }
actions:
  - { slug: old, name: Older, kind: conditional_branch, definition: { branches: [{ key: a, when: "true" }] } }
dashboards:
  - { slug: wrong, name: Wrong, panels: [{ key: a, title: A, sql: SELECT 1, clickFilters: { n: none } }] }
`);
    expect(failed.code).toBe(1);
    expect(failed.err).toContain("dashboard wrong: panels.0.clickFilters.n: ");
    expect(failed.err).toContain("Earlier changes were rolled back (2).");
    expect((await shell.export()).out).toBe(before);
  });

  test("keep numbers among a definition's parameters that JSON numbers can't hold as numbers", async () => {
    using here = folder();
    await using app = await startApp({ engine: false });
    const shell = terminal(here.path, app);
    const file = join(here.path, "numbers.yaml");
    writeFileSync(
      file,
      `weir: 1
actions:
  - slug: numbers
    name: Numbers
    kind: duckdb_transform
    definition:
      sql: SELECT $n > $m AS more
      parameters: {n: 9007199254740993, m: "9007199254740993"}
`,
    );
    expect(await shell.apply("-f", file, "--yes")).toMatchObject({ code: 0, err: "" });
    const { body } = await app.owner("GET", "/api/v1/actions/slug/numbers");
    expect(body.definition.parameters).toEqual({ n: { $number: "9007199254740993" }, m: "9007199254740993" });
    expect((await shell.diff("-f", file)).code).toBe(0);
    writeFileSync(file, (await shell.export()).out);
    expect((await shell.diff("-f", file)).code).toBe(0);
  });

  test("keep the digits of numbers that JSON numbers can't hold, and reject what isn't a number there", async () => {
    using here = folder();
    await using app = await startApp({ engine: false });
    const shell = terminal(here.path, app);
    const file = join(here.path, "long.yaml");
    const textOf = (numbers: string) =>
      `weir: 1
actions:
  - slug: long
    name: Long
    kind: http_request
    definition:
      url: https://example.com/
      method: POST
      body: {${numbers}}
`;
    const numbers =
      "a: 9007199254740993, b: +9007199254740993, c: 0.12345678901234567891, d: 1e400, e: 0xFFFFFFFFFFFFFFFF, f: 1.50, g: 0o17";
    writeFileSync(file, textOf(numbers));
    expect(await shell.apply("-f", file, "--yes")).toMatchObject({ code: 0, err: "" });
    const { body } = await app.owner("GET", "/api/v1/actions/slug/long");
    expect(body.definition.body).toEqual({
      a: "9007199254740993",
      b: "9007199254740993",
      c: "0.12345678901234567891",
      d: "1e400",
      e: "18446744073709551615",
      f: 1.5,
      g: 15,
    });
    expect((await shell.diff("-f", file)).code).toBe(0);
    writeFileSync(file, textOf("a: -.inf"));
    const refused = await shell.apply("-f", file, "--yes");
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringContaining("long.yaml:9: -.inf isn't a number that JSON has."),
    ]);
  });

  test("report everything that is wrong with a file, each with its line, before anything is done", async () => {
    using here = folder();
    await using app = await startApp({ engine: false });
    const action = await makeAction(app.owner, { name: "Here" });
    const shell = terminal(here.path, app);
    const trail = await trailOf(app);
    const text = `weir: 1
connectons: []
connections:
  - slug: files
    name: Files
    provider: local_files
    config:
      root: \${ROOT}
    colour: red
  - slug: files
    name: 5
    provider: local_files
actions:
  - slug: ${action.slug}
    name: Here
    kind: http_request
  - slug: calls
    name: Calls
    kind: http_request
    connection: nowhere
    definition:
      agent: \${agent:nobody}
      odd: \${what is this}
  - name: Nameless
apis:
  - name: Shop
    type: http
    description: A shop
    baseUrl: https://api.example.com/\${X}
    endpoints:
      - { name: a, method: GET, path: /a, verb: GET }
`;
    const file = join(here.path, "wrong.yaml");
    writeFileSync(file, text);
    const { code, out, err } = await shell.apply("-f", file);
    expect([code, out]).toEqual([1, ""]);
    const lines = err.split("\n");
    for (const expected of [
      "2: Unknown section connectons",
      "9: Unknown field colour of connection. Use name, provider",
      "11: name of connection files must be a string.",
      `23: \${what is this} is not a valid variable or reference`,
      "24: An action requires slug.",
      "31: Unknown field verb in endpoints",
    ])
      expect(lines).toContainEqual(expect.stringContaining(`wrong.yaml:${expected}`));
    expect(lines.at(-1)).toBe("Nothing was changed.");
    const second = await shell.give(`weir: 1
connections:
  - { slug: files, name: Files, provider: local_files, config: { root: "\${ROOT}" } }
  - { slug: files, name: Files, provider: local_files }
actions:
  - { slug: ${action.slug}, name: Here, kind: http_request }
  - { slug: calls, name: Calls, kind: call_agent, connection: nowhere, definition: { agent: "\${agent:nobody}" } }
`);
    for (const expected of [
      "standard input:4: Duplicate connection files, also defined in standard input:3.",
      "standard input:3: ROOT isn't set. It is required for config.root of the new connection files.",
      'standard input:6: Can\'t change kind of action here from "conditional_branch" to "http_request"',
      "standard input:7: Connection nowhere not found.",
      "standard input:7: Agent nobody not found.",
    ])
      expect(second.err).toContain(expected);
    for (const [bad, sentence] of [
      ["weir: 1\nactions: [\n", "standard input:"],
      ["weir: 2\n", "must start with weir: 1"],
      ["- a\n", "A file must contain sections"],
      [
        "weir: 1\nactions:\n  - body: {{payload.id}}\n",
        "input:3: A key must be text. Put quotes around a template",
      ],
      [
        "weir: 1\nactions:\n  - slug: a: b\n",
        "input:3: Nested mappings are not allowed in compact mappings. Check the",
      ],
      ["weir: 1\nactions: 5\n", "actions must be a list."],
    ] as const) {
      const refused = await shell.give(bad);
      expect([bad, refused.code, refused.err]).toEqual([bad, 1, expect.stringContaining(sentence)]);
      expect(refused.err.split("\n").filter((line) => line.includes("standard input:"))).toHaveLength(1);
    }
    expect((await shell.apply("-f", join(here.path, "nowhere.yaml"))).err).toContain("Couldn't read ");
    const linked = join(here.path, "linked");
    mkdirSync(linked);
    symlinkSync(join(here.path, "gone.yaml"), join(linked, "shop.yaml"));
    expect((await shell.apply("-f", linked)).err).toBe(
      `weir: Couldn't read ${join(linked, "shop.yaml")}: the symbolic link is broken.`,
    );
    expect((await shell.apply()).code).toBe(2);
    expect((await shell.apply("-f", file, "extra")).code).toBe(2);
    expect((await shell.export("extra")).code).toBe(2);
    expect((await shell.export("-o", "/proc/nowhere/x")).code).toBe(1);
    expect(await trailOf(app)).toBe(trail);
  });

  test("keep a secret that was typed into a definition earlier", async () => {
    using here = folder();
    await using app = await startApp({ engine: false });
    const definition = { url: "https://api.example.com", headers: { Authorization: "Bearer from-before" } };
    await makeOldAction(app, { kind: "http_request", name: "Ping", definition });
    const shell = terminal(here.path, app);
    const exported = (await shell.export()).out;
    expect(exported).toContain(`Authorization: \${PING_HEADERS_AUTHORIZATION}`);
    const { out } = await shell.give(exported.replace("api.example.com", "api2.example.com"));
    expect(out).not.toContain("Authorization");
    const [row] = await app.app.store.db.select().from(actions);
    expect(row?.definition).toEqual({ ...definition, url: "https://api2.example.com" });
    shell.env.PING_HEADERS_AUTHORIZATION = "Bearer another";
    expect((await shell.give(exported)).err).toContain("Put it in the credentials of a connection");
  });

  test("keep the end of a Slack URL in alerts out of the files, and read it from the environment", async () => {
    using here = folder();
    await using app = await startApp({ engine: false });
    const shell = terminal(here.path, app);
    const text = `weir: 1
automations:
  - slug: nightly
    name: Nightly
    config:
      action: { kind: conditional_branch, definition: { branches: [{ key: a, when: "true" }] } }
      alerts: { onFailure: true, notify: [{ email: ops@example.com }, { slack: "\${SLACK}" }] }
`;
    const address = "https://hooks.slack.com/services/T0001/B0001/aSecretOfTheWebhook";
    shell.env.SLACK = address;
    expect((await shell.give(text)).code).toBe(0);
    const exported = (await shell.export()).out;
    expect(exported).toContain(`slack: \${NIGHTLY_ALERTS_NOTIFY_1_SLACK}`);
    const { body } = await app.owner("GET", "/api/v1/automations");
    const { id, updatedAt } = body.automations[0];
    const again = await shell.give(exported);
    expect([again.code, again.out]).toEqual([0, expect.stringContaining("No changes.")]);
    shell.env.NIGHTLY_ALERTS_NOTIFY_1_SLACK = address;
    const file = join(here.path, "alerts.yaml");
    await Bun.write(file, exported);
    const compared = await shell.diff("-f", file);
    expect([compared.code, compared.out]).toEqual([0, expect.stringContaining("notify.1.slack: set again")]);
    const given = await shell.give(exported);
    expect([given.code, given.out + given.err]).toEqual([0, expect.not.stringContaining("aSecret")]);
    expect(given.out).toEndWith("No changes.");
    const after = (await app.owner("GET", `/api/v1/automations/${id}`)).body;
    expect(after.updatedAt).toBe(updatedAt);
    expect(after.config.alerts.notify).toEqual([
      { email: "ops@example.com" },
      { slack: "https://hooks.slack.com/services/T0001/B0001/***" },
    ]);
    shell.env.NIGHTLY_ALERTS_NOTIFY_1_SLACK = address.replace("B0001", "B0002");
    expect((await shell.diff("-f", file)).code).toBe(1);
  });

  test("keep a webhook sender's credential as the automation's secret", async () => {
    using here = folder();
    await using app = await startApp({ engine: false });
    const shell = terminal(here.path, app);
    const text = (auth: string) => `weir: 1
automations:
  - slug: hook
    name: Hook
    triggerType: webhook
    secret: \${HOOK_TOKEN}
    config: { path: shop, auth: ${auth}, action: { kind: conditional_branch, definition: { branches: [{ key: a, when: "true" }] } } }
`;
    shell.env.HOOK_TOKEN = "the-token-of-the-shop";
    const wrong = await shell.give(text("{ type: bearer, token: in-the-wrong-place }"));
    expect([wrong.code, wrong.err]).toEqual([
      1,
      expect.stringContaining("Put the token in the automation's secret field, next to config."),
    ]);
    expect((await shell.give(text("{ type: bearer }"))).code).toBe(0);
    const sent = await fetch(`${app.origin}/webhooks/acme/shop`, {
      method: "POST",
      headers: { authorization: "Bearer the-token-of-the-shop" },
      body: "{}",
    });
    expect([200, 202]).toContain(sent.status);
    const exported = (await shell.export()).out;
    expect(exported).toContain(`secret: \${HOOK_SECRET}`);
    expect(exported).not.toContain("the-token");
    shell.env.HOOK_SECRET = "the-token-of-the-shop";
    expect((await shell.give(exported)).code).toBe(0);
  });

  test("repeat the server's warnings, such as alerts that can't be emailed", async () => {
    using here = folder();
    await using app = await startApp({ engine: false });
    const shell = terminal(here.path, app);
    const text = `weir: 1
automations:
  - slug: nightly
    name: Nightly
    config:
      alerts: { onFailure: true }
      action: { kind: conditional_branch, definition: { branches: [{ key: a, when: "true" }] } }
`;
    const reason = "Alerts are not mailed. No mail server is set (WEIR_SMTP_URL and WEIR_MAIL_FROM).";
    const done = await shell.give(text);
    expect([done.code, done.err]).toEqual([0, `Warning: automation nightly: ${reason}`]);
    expect((await shell.give(text)).err).toBe("");
  });

  test("show the secret generated for a new webhook, only once", async () => {
    using here = folder();
    await using app = await startApp({ engine: false });
    const shell = terminal(here.path, app);
    const text = `weir: 1
automations:
  - slug: hook
    name: Hook
    triggerType: webhook
    config: { path: shop, action: { kind: conditional_branch, definition: { branches: [{ key: a, when: "true" }] } } }
`;
    const { code, out } = await shell.give(text);
    expect(code).toBe(0);
    expect(out).toMatch(/Signing secret of hook \(not shown again\): whsec_\S+\nConfiguration applied\.$/);
    expect((await shell.give(text)).out).toEndWith("No changes.");
    expect((await shell.export()).out).toContain(`secret: \${HOOK_SECRET}`);
  });

  test("show the secret of each new webhook, even if URLs differ only in a secret", async () => {
    using here = folder();
    await using app = await startApp({ engine: false });
    const shell = terminal(here.path, app);
    const hooks = ["one", "two"].map(
      (token) =>
        `  - { url: "https://a.example/hook?token=${token}-of-many-secrets", events: [action.failed] }`,
    );
    const applied = await shell.give(`weir: 1\nwebhooks:\n${hooks.join("\n")}\n`);
    expect(applied.code).toBe(0);
    const shown = `${applied.out}\n${applied.err}`.match(/whsec_\S+/g) ?? [];
    expect(new Set(shown).size).toBe(2);
  });

  test("show differences, ask at a terminal, and read values from environment files", async () => {
    using here = folder();
    await using app = await startApp({ engine: false });
    const shell = terminal(here.path, app);
    const put = (name: string, text: string) => {
      const path = join(here.path, name);
      mkdirSync(join(path, ".."), { recursive: true });
      writeFileSync(path, text);
      return path;
    };
    const dir = join(here.path, "weir");
    put(
      "weir/connections/shop.yml",
      `weir: 1
connections:
  - slug: shop
    name: Shop of \${STAGE}
    provider: postgres
    config: { host: "db.\${STAGE}.example.com", port: "\${DB_PORT}", database: "\${DB_NAME}" }
    credentials: { user: "@user.txt", password: "\${DB_PASSWORD}" }
`,
    );
    put("weir/connections/user.txt", "reader-of-orders\n");
    put(
      "weir/scripts.yaml",
      `weir: 1
actions:
  - slug: greet
    name: Greet
    kind: run_script
    definition: { source: "export default ({ name }) => \`\${name}, $\${STAGE}\`" }
---
weir: 1
actions:
  - { slug: ping, name: Ping, kind: http_request, definition: { url: "https://\${STAGE}.example.com/ping" } }
`,
    );
    put("weir/.hidden/broken.yaml", "{");
    const literal = put(
      "literal.yaml",
      `weir: 1
connections:
  - slug: a
    name: A
    provider: postgres
    config: { host: db.example.com, database: shop }
    credentials: { user: ada, password: hunter22 }
`,
    );
    const written = await shell.diff("-f", literal);
    expect([written.code, written.err]).toEqual([
      1,
      `${literal}:7: The secret credentials.password is written out. Write \${NAME} or @FILE instead.`,
    ]);
    expect(written.out).not.toContain("hunter22");
    put(
      "weir/more/tagged.json",
      JSON.stringify({ weir: 1, queries: [{ slug: "one", name: "One", sql: "SELECT 1" }] }),
    );
    const production = put(
      "weir/values/prod.yaml",
      `weir: 1\nvalues: { STAGE: prod, DB_PORT: 5433, DB_NAME: "\${NAME}" }\n`,
    );
    const later = put("later.yaml", "weir: 1\nvalues: { STAGE: live }\n");

    const lacking = await shell.diff("-f", dir);
    expect([lacking.code, lacking.out]).toEqual([2, ""]);
    expect(lacking.err.split("\n")).toEqual(
      expect.arrayContaining([
        `weir: ${dir}/connections/shop.yml:4: STAGE isn't set. To use ${production}, add -f ${production}. It is required for name of the new connection shop.`,
        `${dir}/scripts.yaml:10: STAGE isn't set. To use ${production}, add -f ${production}. It is required for definition.url of the new action ping.`,
        "Nothing was changed.",
      ]),
    );
    expect((await shell.diff("-f", dir, "-f", production)).err).toContain(`${production}:2: NAME isn't set.`);
    Object.assign(shell.env, { NAME: "orders-of-prod", DB_PASSWORD: PASSWORD, STAGE: "not-this" });
    const first = await shell.diff("-f", dir, "-f", production, "--json");
    expect([first.code, first.json.differs, first.json.plan.length]).toEqual([1, true, 4]);

    shell.seat.answer = "n";
    const refused = await shell.apply("-f", dir, "-f", production);
    expect([refused.code, refused.err]).toEqual([1, "weir: Cancelled. Nothing was changed."]);
    expect(refused.out).toEndWith("4 to create, 0 to update, 0 to delete, 0 unchanged.");
    shell.seat.answer = "y";
    expect((await shell.apply("-f", dir, "-f", production)).code).toBe(0);
    expect(shell.seat.asked).toEqual(Array(2).fill("Apply 4 changes? [y/N] "));
    const { body: shop } = await app.owner("GET", "/api/v1/connections/slug/shop");
    expect([shop.name, shop.config]).toEqual([
      "Shop of prod",
      { host: "db.prod.example.com", port: 5433, database: "orders-of-prod" },
    ]);
    const { body: greet } = await app.owner("GET", "/api/v1/actions/slug/greet");
    expect(greet.definition.source).toBe("export default ({ name }) => `${name}, ${STAGE}`");
    expect((await shell.diff("-f", dir, "-f", production)).code).toBe(0);
    expect((await shell.export()).out).toContain("${name}, $${STAGE}`");

    Object.assign(shell.env, { NAME: "orders-of-live", DB_PASSWORD: "another-password" });
    shell.seat.hasColor = true;
    await makeAction(app.owner, { name: "Stray" });
    const differs = await shell.diff("-f", dir, "-f", production, "-f", later, "--prune");
    expect(differs.code).toBe(1);
    expect(differs.out).toContain("\x1b[33m~ connection shop\x1b[39m");
    expect(differs.out).toContain("\x1b[31m- action stray\x1b[39m");
    expect(differs.out).toContain(
      'config.host: \x1b[31m"db.prod.example.com"\x1b[39m → \x1b[32m"db.live.example.com"\x1b[39m',
    );
    shell.seat.hasColor = false;
    const plain = await shell.diff("-f", dir, "-f", production, "-f", later, "--prune");
    expect(plain.out).toContain('config.database: "***" → "***"');
    for (const secret of ["orders-of-", PASSWORD, "another-password", "reader-of-orders"])
      expect(differs.out + differs.err + plain.out + plain.err).not.toContain(secret);
    shell.seat.asked.length = 0;
    shell.seat.answer = "no";
    expect((await shell.apply("-f", dir, "-f", production, "-f", later, "--prune")).code).toBe(1);
    expect(shell.seat.asked).toEqual([
      "Apply 3 changes? action stray will be deleted, which can't be undone. [y/N] ",
    ]);
    expect(await shell.apply("-f", dir, "-f", production, "-f", later, "--prune", "--json")).toMatchObject({
      code: 1,
      out: "",
    });
    expect(shell.seat.asked.splice(1)).toEqual(shell.seat.asked);
    expect((await shell.apply("-f", dir, "-f", production, "-f", later, "--prune", "--yes")).code).toBe(0);
    expect((await app.owner("GET", "/api/v1/actions/slug/stray")).status).toBe(404);
    expect(shell.seat.asked).toHaveLength(1);
    delete shell.env.NAME;
    const unset = await shell.apply("-f", dir, "-f", production, "-f", later, "--yes");
    expect([unset.code, unset.err]).toEqual([
      1,
      `weir: ${production}:2: NAME isn't set. It is required for DB_NAME.\nNothing was changed.`,
    ]);
    expect(
      (await shell.diff("-f", put("mixed.yaml", "weir: 1\nvalues: { A: 1 }\nactions: []\n"))).err,
    ).toContain("mixed.yaml:2: values must be in a file of its own, without actions.");
  });

  test("keep a secret in an automation's config out of plans", async () => {
    using here = folder();
    await using app = await startApp({ engine: false });
    const shell = terminal(here.path, app);
    const text = `weir: 1
automations:
  - slug: hook
    name: Hook
    triggerType: webhook
    config:
      path: shop
      secret: \${HOOK_TOKEN}
      action: { kind: conditional_branch, definition: { branches: [{ key: a, when: "true" }] } }
`;
    expect((await shell.give(text)).err).toContain(
      "HOOK_TOKEN isn't set. It is required for secret of the new automation hook.",
    );
    shell.env.HOOK_TOKEN = "the-token-of-the-shop";
    expect((await shell.give(text)).code).toBe(0);
    const { body } = await app.owner("GET", "/api/v1/automations");
    const again = await shell.give(text);
    expect(again.out).toContain("0 to update, 0 to delete, 1 with secrets to set again, 0 unchanged.");
    expect(again.out).toEndWith("No changes.");
    expect(again.out + again.err).not.toContain("the-token");
    const after = await app.owner("GET", `/api/v1/automations/${body.automations[0].id}`);
    expect(after.body.updatedAt).toBe(body.automations[0].updatedAt);
    delete shell.env.HOOK_TOKEN;
    expect((await shell.give(text)).out).toEndWith("No changes.");
  });

  test("show no value of the environment, whatever differs or is wrong", async () => {
    using here = folder();
    await using app = await startApp({ engine: false });
    const shell = terminal(here.path, app);
    const text = (port: string, url: string) => `weir: 1
connections:
  - { slug: shop, name: Shop, provider: postgres, config: { host: db.example.com, port: ${port}, database: shop }, credentials: { user: me, password: pw } }
apis:
  - { name: Shop, type: http, description: The shop, baseUrl: "${url}", endpoints: [{ name: list, method: GET, path: /list, description: Lists }] }
`;
    expect((await shell.give(text("5432", "https://api.example.com"))).code).toBe(0);
    shell.env.PIN = "48151";
    shell.env.PART = "of-the-environment";
    const pin = `"\${PIN}"`;
    const port = await shell.give(text(pin, "https://api.example.com"), "--dry-run");
    expect(port.out).toContain('config.port: "***" → "***"');
    expect(port.out).not.toContain("48151");
    expect((await shell.give(text(pin, "https://api.example.com"), "--dry-run", "--json")).out).not.toContain(
      "48151",
    );
    const fixed = await shell.give(text("5432", `https://\${PART}.example.com`));
    expect(fixed.err).toContain("Can't change baseUrl of api Shop from");
    expect(fixed.err).not.toContain("of-the-environment");
    const forged = text("5432", "https://api.example.com").replace(
      "database: shop }",
      'database: shop, "sslMode\\n- connection shop": x }',
    );
    expect((await shell.give(forged, "--dry-run")).out).not.toMatch(/^- connection shop/m);
    const hook = await shell.give(
      `weir: 1\nwebhooks: [{ url: "https://hooks.example.com/?token=\${PART}", events: 1, secret: "\${LACKING}" }]\n`,
    );
    expect(hook.err).toContain("events of webhook https://hooks.example.com/");
    expect(hook.err).not.toContain("of-the-environment");
    const lacking = await shell.give(
      `weir: 1\nwebhooks: [{ url: "https://hooks.example.com/?token=\${PART}", events: [run.failed], secret: "\${LACKING}" }]\n`,
    );
    expect(lacking.err).toContain(
      "LACKING isn't set. It is required for secret of the new webhook https://hooks.example.com/",
    );
    expect(lacking.err).not.toContain("of-the-environment");
    shell.env.HOOK = "https://hooks.example.com/services/of-the-environment";
    const hooks = [`"https://hooks.example.com/in/\${PART}"`, `"\${HOOK}"`]
      .map((url) => `{ url: ${url}, events: [action.failed] }`)
      .join(", ");
    for (const flags of [["--dry-run"], ["--dry-run", "--json"], ["--json"]]) {
      const { out, err } = await shell.give(`weir: 1\nwebhooks: [${hooks}]\n`, ...flags);
      expect(err).toBe("");
      for (const shown of ["in/***", "***"]) expect(out).toContain(`https://hooks.example.com/${shown}`);
      expect(out + err).not.toContain("of-the-environment");
    }
    const changed = await shell.give(
      `weir: 1\nwebhooks: [${hooks.replaceAll("action.failed", '"*"')}]\n`,
      "--json",
    );
    expect(changed.json.plan.map(({ operation }: { operation: string }) => operation)).toEqual([
      "change",
      "change",
    ]);
    expect(changed.out + changed.err).not.toContain("of-the-environment");
  });

  test("reject aliases that expand without limit", async () => {
    using here = folder();
    await using app = await startApp({ engine: false });
    const shell = terminal(here.path, app);
    const ninefold = (of: string) => `[${Array(9).fill(of).join(", ")}]`;
    const bomb = Array.from(
      { length: 8 },
      (_, n) => `x${n}: &x${n} ${ninefold(n === 0 ? "1" : `*x${n - 1}`)}\n`,
    );
    for (const text of ["weir: 1\nactions: &a [*a]\n", `weir: 1\n${bomb.join("")}`]) {
      const { code, err } = await shell.give(text);
      expect([code, err.split("\n")[0]]).toEqual([
        1,
        expect.stringMatching(/^weir: standard input:1: The aliases unfold/),
      ]);
    }
  });

  test("leave outgoing webhooks out of a member's export, and say so", async () => {
    using here = folder();
    await using app = await startApp({ engine: false });
    await fill(app);
    const { token } = await joinAs(app, "member");
    const shell = terminal(here.path, { origin: app.origin, token });
    const exported = await shell.export();
    expect([exported.code, exported.err]).toEqual([0, "Left out: webhooks. They require the admin role."]);
    expect(exported.out).not.toContain("webhooks:");
    expect((await shell.diff("-f", "-")).code).toBe(0);
    const refused = await shell.give(
      'weir: 1\nwebhooks:\n  - { url: "https://a.example.com", events: ["*"] }\n',
    );
    expect(refused.err).toContain("standard input:3: Requires the admin role: webhooks.");
  });

  test("exit with 3 if nobody is signed in, or the token is rejected", async () => {
    using here = folder();
    await using app = await startApp({ engine: false });
    const stale = terminal(here.path, { origin: app.origin, token: "svc_pat_nonsense" });
    expect((await stale.export()).code).toBe(3);
    expect((await stale.give("weir: 1\n")).code).toBe(3);
    expect((await stale.export("--server", "http://127.0.0.1:1")).code).toBe(3);
  });
});
