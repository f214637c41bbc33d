import { expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { folder } from "../support/shell.ts";
import { terminal } from "./configuration.ts";

const BRANCH = '{ branches: [{ key: a, when: "true" }] }';

/** Each kind with as few fields as it needs, and with what the server completes or cleans. */
const SHORTEST = `weir: 1
templates:
  - slug: plain
    displayName: Plain
    templateType: connection
    definition: { http: { baseUrl: https://api.example.com, auth: { type: none } } }
  - slug: typed
    displayName: Typed
    templateType: action
    kind: http_request
    definition: { url: https://example.com/ }
  - slug: bundled
    displayName: Bundled
    templateType: bundle
    definition: { components: [{ key: a, type: action, name: A, definition: { kind: http_request, definition: { url: https://example.com/ } } }] }
connections:
  - { slug: files, name: Files, provider: local_files, config: { root: null } }
  - { slug: shop, name: Shop, provider: postgres, config: { host: db.example.com, database: shop }, credentials: { user: a, password: "\${PW}" } }
apis:
  - { name: Orders, type: http, description: Orders, baseUrl: https://api.example.com, endpoints: [{ name: list, method: GET, path: /list }] }
  - { name: Slash, type: http, description: Slash, baseUrl: https://api.example.com/, endpoints: [{ name: get, method: GET, path: /get }] }
  - { name: Tools, type: mcp, description: Tools, url: https://mcp.example.com/mcp, tools: [{ upstreamName: search }] }
agents:
  - slug: helper
    markdown: |
      ---
      name: Helper
      ---
      You help.
actions:
  - { slug: split, name: Split, kind: conditional_branch, definition: ${BRANCH} }
  - { slug: tagged, name: Tagged, kind: http_request, tags: [B, a, a, B], definition: { url: https://example.com/ } }
automations:
  - { slug: one, name: One, tags: [x, x], config: { input: null, action: { kind: conditional_branch, definition: ${BRANCH} } } }
  - { slug: steps, name: Steps, config: { steps: [{ key: a, kind: conditional_branch, definition: ${BRANCH} }] } }
  - { slug: daily, name: Daily, triggerType: schedule, config: { schedule: { cron: "0 6 * * *" }, steps: [{ key: a, actionId: "\${action:split}" }] } }
  - { slug: told, name: Told, triggerType: event, config: { event: { types: [action.failed] }, steps: [{ key: a, actionId: "\${action:split}" }] } }
  - { slug: hook, name: Hook, triggerType: webhook, config: { path: hook, steps: [{ key: a, actionId: "\${action:split}" }] } }
  - { slug: asked, name: Asked, triggerType: form, config: { path: asked, form: { title: Ask, schema: { type: object } }, steps: [{ key: a, actionId: "\${action:split}" }] } }
  - { slug: draft, name: Draft, draft: true, config: {} }
queries:
  - { slug: first, name: First, sql: SELECT 1 AS n }
  - { slug: asking, name: Asking, sql: "SELECT $n AS n, $d AS d", parameters: { n: { type: number }, d: { type: date, default: 2026-01-01 } }, chart: { kind: bar, x: n, y: [n] } }
dashboards:
  - { slug: empty, name: Empty }
  - slug: board
    name: Board
    filters:
      - { key: since, type: date }
      - { key: kind, type: choice, options: [a, b] }
      - { key: span, type: date_range }
    panels:
      - { key: a, title: A, sql: SELECT 1 AS n }
      - { key: b, title: B, queryId: "\${query:first}" }
      - { key: c, title: C, sql: SELECT 1 AS n, width: 12, chart: { kind: bar, x: n, y: [n] } }
      - { key: d, title: D, sql: SELECT 1 AS n, x: 4 }
webhooks:
  - { url: https://hooks.example.com, events: ["*"] }
  - { url: https://hooks.example.com/again, events: [action.failed, action.failed] }
`;

test("applying the same file again changes nothing", async () => {
  using here = folder();
  await using app = await startApp({ engine: false });
  const shell = terminal(here.path, app);
  shell.env.PW = "b";
  const first = await shell.give(SHORTEST);
  expect([first.code, first.err]).toEqual([0, ""]);
  const { json, code } = await shell.give(SHORTEST, "--json");
  expect([code, json.plan]).toEqual([0, []]);
  const { out: file } = await shell.export();
  expect((await shell.give(file)).out).toEndWith("No changes.");
});
