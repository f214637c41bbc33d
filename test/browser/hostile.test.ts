import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { calls, says, startModel } from "../peers/model.ts";
import { CATALOG, endpoint, httpApi } from "../support/catalog.ts";
import { ask, SPECS, THREADS } from "../support/chat.ts";
import { openDecision } from "../support/decisions.ts";
import { makeHook, sign } from "../support/hook.ts";
import { deepTest, scaled } from "../support/scale.ts";
import { openSeen, type Seen } from "../support/seen.ts";
import { created, makeAction, makeAutomation, runToEnd, until } from "../support/work.ts";

/** What users and other systems can write: markup, ends of scripts and attributes, right-to-left text, long text. */
const CORPUS = [
  `<img src=x onerror="window.wasRun=1"><xss-mark data-xss="1">`,
  `"><svg onload="window.wasRun=1"><xss-mark>`,
  `' data-xss='1' onmouseover='window.wasRun=1' x='`,
  `</script><script>window.wasRun=1</script>`,
  `javascript:window.wasRun=1//<a href="javascript:window.wasRun=1">`,
  `\${window.wasRun=1} [[constructor.constructor("window.wasRun=1")()]]`,
  "\u202egnp.exe مرحبا بالعالم <b>שלום</b> &lt;i&gt; &#60;",
  "W".repeat(255),
] as const;
const [IMAGE, SVG] = CORPUS;
const LONG = "W".repeat(255);

/** Everything that the page draws itself. Anything else was injected. */
const DRAWN =
  /^(a|article|aside|body|br|button|canvas|circle|code|datalist|dd|defs|del|details|dialog|div|dl|dt|ellipse|em|fieldset|footer|form|g|h[1-4]|head|header|hr|html|input|kbd|label|legend|li|line|link|main|marker|meta|nav|noscript|ol|optgroup|option|p|path|pattern|polygon|polyline|pre|progress|rect|script|search|section|select|small|span|strong|summary|svg|table|tbody|td|text|textarea|th|thead|time|title|tr|ul)$/;

let seen: Seen;
let model: Awaited<ReturnType<typeof startModel>>;
const made: Record<string, string> = {};
beforeAll(async () => {
  model = await startModel([]);
  seen = await openSeen({ env: model.env });
  await plant(seen);
  await plantAnswers(seen);
}, 120_000);
afterAll(async () => {
  await seen[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});

/** Quotes a text for CSV. */
const cell = (text: string) => `"${text.replaceAll('"', '""')}"`;

/** Puts the corpus in every text that the API accepts, and in what external systems send and return. */
async function plant({ weir }: Seen) {
  const { owner } = weir;
  await owner("PATCH", "/api/v1/organizations/current", { name: IMAGE });
  for (const name of CORPUS) {
    await owner("POST", "/api/v1/access-tokens", { name, expiresInDays: 1 });
    await owner("POST", "/api/v1/api-keys", { name, roleSlug: "viewer" });
    made.template = created(
      await owner("POST", "/api/v1/templates", {
        slug: `t-${CORPUS.indexOf(name)}`,
        displayName: name,
        description: name,
        templateType: "action",
        kind: "http_request",
        definition: { url: "https://example.com/" },
        inputJsonSchema: {
          type: "object",
          properties: { [name.slice(0, 90)]: { type: "string", title: name } },
        },
      }),
    ).id;
    const action = await makeAction(owner, { name, slug: `a-${CORPUS.indexOf(name)}` });
    made.action = action.id;
    made.run = (await runToEnd(owner, action.id)).id;
    const flow = await makeAutomation(
      owner,
      { steps: [{ key: "a", name, actionId: action.id }] },
      { name, description: name, slug: `f-${CORPUS.indexOf(name)}` },
    );
    made.flow = flow.id;
    const connection = await owner("POST", "/api/v1/connections", {
      name,
      slug: `c-${CORPUS.indexOf(name)}`,
      provider: "local_files",
    });
    made.connection = created(connection).id;
  }
  const path = encodeURIComponent(`${IMAGE.replaceAll("/", "")}.csv`);
  const raw = { "content-type": "application/octet-stream" };
  await owner(
    "PUT",
    `/api/v1/connections/${made.connection}/files?path=${path}`,
    `id,${cell(SVG)}\n1,${cell(IMAGE)}\n`,
    raw,
  );
  const extract = await makeAction(owner, {
    kind: "dlt_extract",
    name: "Load",
    connectionId: made.connection,
    definition: {
      dataset: "shop",
      resources: [{ spec: `${IMAGE.replaceAll("/", "")}.csv`, name: "orders" }],
    },
  });
  made.load = (await runToEnd(owner, extract.id)).id;
  const text = IMAGE.replaceAll("'", "''");
  const broken = { kind: "duckdb_transform", name: "Broken", definition: { sql: `SELECT error('${text}')` } };
  made.broken = (await runToEnd(owner, (await makeAction(owner, broken)).id)).id;
  const table = {
    sql: `SELECT '${text}' AS "${SVG.replaceAll('"', '""')}", 1 AS n`,
    output: { layer: "marts", dataset: "harm" },
  };
  await runToEnd(owner, (await makeAction(owner, { ...broken, name: "Table", definition: table })).id);
  const asked = {
    kind: "approval_gate",
    name: "Ask",
    definition: {
      title: IMAGE,
      description: CORPUS.join("\n").slice(0, 1000),
      context: Object.fromEntries(CORPUS.map((each, at) => [`${each.slice(0, 90)}${at}`, each])),
      decisionType: "form_input",
      formSchema: {
        type: "object",
        properties: { [IMAGE]: { type: "string", title: SVG, description: IMAGE, enum: [IMAGE, SVG] } },
      },
    },
  };
  const asking = created(
    await owner("POST", `/api/v1/actions/${(await makeAction(owner, asked)).id}/run`, {}),
  );
  await openDecision(weir, asking.id);
  const hook = await makeHook(weir, {
    debug: true,
    steps: [{ key: "a", kind: "http_request", definition: { url: "{{payload.url}}" }, onError: "fail" }],
    retries: { enabled: false },
  });
  made.hook = hook.id;
  const payload = JSON.stringify({ url: `https://127.0.0.1:9/${SVG}`, [IMAGE]: CORPUS });
  const address = new URL(hook.webhookUrl).pathname;
  const headers = {
    "x-svc-signature": `sha256=${sign(payload)}`,
    "content-type": "application/json",
    "x-note": SVG,
  };
  await weir.anonymous("POST", `${address}?q=${encodeURIComponent(IMAGE)}`, Buffer.from(payload), headers);
  const deliveries = `/api/v1/webhook-deliveries?automation_id=${hook.id}`;
  const { items } = await until(owner, deliveries, (body) =>
    ["dead_letter", "failed"].includes(body.items[0]?.status),
  );
  made.delivery = items[0].id;
  made.flowRun = items[0].automationRunId;
  made.webhook = created(
    await owner("POST", "/api/v1/webhooks", { url: `https://example.com/${encodeURI(SVG)}`, events: ["*"] }),
  ).id;
  made.artifact = created(
    await owner("POST", "/api/v1/artifacts", {
      actionRunId: made.run,
      kind: "text",
      title: IMAGE,
      content: CORPUS.join("\n"),
    }),
  ).id;
  await weir.anonymous(
    "POST",
    "/api/v1/auth/login",
    { email: "ada@example.com", password: "wrong" },
    { "user-agent": SVG },
  );
}

/** Creates agents, APIs and model answers with the corpus in every text. */
async function plantAnswers({ weir }: Seen) {
  const { owner } = weir;
  for (const name of CORPUS) {
    const front = `name: ${JSON.stringify(name)}\ndescription: ${JSON.stringify(name)}\ntools: [query, ${JSON.stringify(`api:${name.trim()}`)}]`;
    made.agent = created(await owner("POST", SPECS, { markdown: `---\n${front}\n---\n${name}\n` })).id;
    const note = name.replaceAll(/[^\x20-\x7e\x80-\xff]/g, "?"); // As far as a header allows.
    const texts = { description: name, headers: { "x-note": note } };
    const inputSchema = {
      type: "object",
      properties: { [name.slice(0, 90)]: { type: "string", title: name } },
    };
    const endpoints = [endpoint(name, { ...texts, inputSchema })];
    made.api = created(
      await owner("POST", `${CATALOG}/http`, { ...httpApi(name), description: name, endpoints }),
    ).id;
    made.thread = created(await owner("POST", THREADS, { agentSpecId: made.agent, title: name })).id;
  }
  const markdown = CORPUS.map(
    (each) => `- ${each}\n- [${each}](${each})\n- ![${each}](${each})\n\n${each}`,
  ).join("\n\n");
  const input = Object.fromEntries(CORPUS.map((each, at) => [`${each}${at}`, each]));
  model.play([
    calls(`no ${IMAGE}`, input),
    calls("query", { sql: `SELECT '${SVG}' AS "<b>"` }),
    says(markdown),
  ]);
  await ask({ app: weir }, `${THREADS}/${made.thread}`, { content: CORPUS.join("\n") });
}

/** Returns what is on the page that Weir didn't put there. */
async function strangers(): Promise<string[]> {
  return seen.page.evaluate((drawn) => {
    const found: string[] = [];
    if ("wasRun" in window) found.push("a script was run");
    for (const element of document.querySelectorAll("*")) {
      const name = element.localName;
      if (!new RegExp(drawn).test(name)) found.push(`<${name}>`);
      if (name === "script" && !(element as HTMLScriptElement).src.startsWith(`${location.origin}/assets/`))
        found.push("a script of somebody else");
      for (const { name: attribute, value } of element.attributes) {
        if (/^on|^srcdoc$|^data-xss$|^formaction$/.test(attribute)) found.push(`${name} ${attribute}`);
        if (/^(href|src|action)$/.test(attribute) && /^\s*(javascript|data|vbscript):/i.test(value))
          found.push(`${name} ${attribute}=${value.slice(0, 40)}`);
      }
    }
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth > clientWidth) found.push(`the page is ${scrollWidth} wide`);
    return found;
  }, DRAWN.source);
}

/** URLs of the pages that contain a name. Every other page has only one. */
const PLACES: Readonly<Record<string, () => string[]>> = {
  "/runs/:id": () => [`/runs/${made.run}`, `/runs/${made.load}`, `/runs/${made.broken}`],
  "/actions/:id": () => [`/actions/${made.action}`, `/actions/${made.action}?tab=runs`],
  "/connections/:id": () =>
    ["files", "settings", "users"].map((tab) => `/connections/${made.connection}?tab=${tab}`),
  "/automations/:id": () => [
    `/automations/${made.flow}`,
    `/automations/${made.flow}?tab=edit`,
    `/automations/${made.hook}?tab=webhook`,
    `/automations/${made.hook}?tab=edit`,
  ],
  "/automations/:id/edit": () => [
    `/automations/${made.flow}/edit`,
    `/automations/${made.hook}/edit?step=$trigger`,
  ],
  "/automation-runs/:id": () => [`/automation-runs/${made.flowRun}`],
  "/datasets/:layer/:dataset": () => ["/datasets/raw/shop", "/datasets/marts/harm"],
  "/bundles/:id": () => ["/bundles/quick-start"],
  "/templates/:id": () => [`/templates/${made.template}`],
  "/webhooks/:id": () => [`/webhooks/${made.webhook}`],
  "/deliveries/:id": () => [`/deliveries/${made.delivery}`],
  "/chat/:id": () => [`/chat/${made.thread}`],
  "/agents/:id": () => [`/agents/${made.agent}`],
  "/catalog/:id": () => ["items", "import", "settings"].map((tab) => `/catalog/${made.api}?tab=${tab}`),
  "/artifacts/:id": () => [`/artifacts/${made.artifact}`],
  "/dashboards/:id": () => [`/dashboards/${made.artifact}`],
};

const routes = [
  ...readFileSync(`${import.meta.dir}/../../web/routes.tsx`, "utf8").matchAll(/^ {2}route\("([^"]+)"/gm),
].map(([, path]) => path ?? "");

test("markup, long and right-to-left texts are text on every page: no script runs, and nothing foreign is drawn", async () => {
  const { page, weir } = seen;
  const dialogs: string[] = [];
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  const paths = routes.flatMap((path) => PLACES[path]?.() ?? (path.includes(":") ? [] : [path]));
  const wrong: string[] = [];
  for (const path of [...paths, ...NEW_THINGS].filter((_, at) => at % scaled(5, 1) === 0)) {
    await page.goto(weir.origin + path);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.waitForFunction(() => document.querySelector("[aria-label=Loading]") === null);
    await page.evaluate(() => {
      for (const folded of document.querySelectorAll<HTMLDetailsElement>("main details")) folded.open = true;
    });
    wrong.push(...(await strangers()).map((each) => `${path}: ${each}`));
  }
  expect({ wrong, dialogs, faults: seen.faults, foreign: seen.foreign }).toEqual({
    wrong: [],
    dialogs: [],
    faults: [],
    foreign: [],
  });
}, 240_000);

/** Forms whose choices come from the corpus. */
const NEW_THINGS = [
  "/actions/new?kind=dlt_extract",
  "/connections/new?provider=local_files",
  "/events?tab=x",
  "/catalog/new?from=text",
];

deepTest(
  "the search, an event, a form's question and a result show such texts unchanged",
  async () => {
    const { page, go, write } = seen;
    await go("/");
    await seen.heading("Hello, Ada");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("<img");
    await page.getByRole("option").filter({ hasText: IMAGE }).first().waitFor();
    expect(await strangers()).toEqual([]);
    await go("/approvals");
    await page.getByRole("heading", { name: IMAGE }).waitFor();
    await page.getByText(SVG).first().waitFor();
    expect(await strangers()).toEqual([]);
    await go("/events?type=connection.*");
    await page.getByText(LONG).first().click();
    await page.getByRole("dialog").waitFor();
    expect(await strangers()).toEqual([]);
    await go("/sql");
    await write("SQL", `SELECT '${IMAGE.replaceAll("'", "''")}' AS "<b>bold</b>", '${SVG}' AS other, 1 AS n`);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const result = page.getByRole("region", { name: "Result" });
    await result.getByText(IMAGE).waitFor();
    expect(await result.getByText("<b>bold</b>").count()).toBe(1);
    expect(await strangers()).toEqual([]);
    await page.getByRole("button", { name: "Chart" }).click();
    await page.getByRole("img", { name: /Y axis: .*n/ }).waitFor();
    expect(await strangers()).toEqual([]);
  },
  120_000,
);

deepTest(
  "lists and questions with such texts fit on a phone",
  async () => {
    const { page, go } = seen;
    await page.setViewportSize({ width: 360, height: 740 });
    const wrong: string[] = [];
    const chats = ["/chat", "/agents", "/catalog", `/chat/${made.thread}`, `/catalog/${made.api}`];
    for (const path of [
      "/",
      "/approvals",
      "/runs",
      "/runs?tab=actions",
      `/runs/${made.broken}`,
      `/runs/${made.run}`,
      ...chats,
    ]) {
      await go(path);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.waitForFunction(() => document.querySelector("[aria-label=Loading]") === null);
      wrong.push(...(await strangers()).map((each) => `${path}: ${each}`));
    }
    expect(wrong).toEqual([]);
  },
  120_000,
);
