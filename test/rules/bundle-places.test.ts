import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../src/base/json.ts";
import { startApp } from "../support/app.ts";
import { BUNDLES, bundle, schemaOf, TEMPLATES } from "../support/bundles.ts";
import { someOf } from "../support/scale.ts";
import { branch } from "../support/work.ts";

/** One component of each type, with every field that a definition can have. */
const COMPONENTS: JsonObject[] = [
  {
    key: "files",
    type: "connection",
    name: "Files",
    definition: { provider: "local_files", config: { root: "in" }, credentials: {} },
  },
  {
    key: "crm",
    type: "connection",
    name: "CRM",
    definition: {
      http: {
        baseUrl: "{{config.baseUrl}}",
        auth: { type: "bearer", token: "{{credentials.token}}" },
        verify: { method: "GET", path: "/me", expectStatus: 200 },
        resources: [{ name: "orders", spec: "/orders", endpoint: { dataPath: "data" }, primaryKey: ["id"] }],
      },
      configSchema: { type: "object", properties: { baseUrl: { type: "string" } } },
      credentialsSchema: { type: "object", properties: { token: { type: "string" } } },
    },
  },
  {
    key: "decide",
    type: "action",
    name: "Decide",
    definition: { kind: "conditional_branch", definition: branch(), connectionId: null },
  },
  {
    key: "hook",
    type: "automation",
    name: "Hook",
    dependsOn: ["decide"],
    definition: {
      triggerType: "webhook",
      description: "A hook",
      config: {
        path: "bundle-hook",
        auth: { type: "header", name: "X-Key", value: "a-value-of-the-sender" },
        alerts: { failureThreshold: 1, failureWindow: 60, notifyUrl: "https://x.test" },
        steps: [
          { key: "a", kind: "conditional_branch", definition: branch() },
          { key: "b", kind: "http_request", definition: { url: "https://x.test" }, dependsOn: ["a:a"] },
          { key: "c", actionId: "{{components.decide.id}}", when: "true", forEach: "{{payload.items}}" },
        ],
      },
    },
  },
  {
    key: "clock",
    type: "automation",
    name: "Clock",
    definition: {
      triggerType: "schedule",
      config: {
        schedule: { cron: "0 7 * * *", timezone: "UTC", catchUp: "none" },
        action: { kind: "conditional_branch", definition: branch() },
        expect: { maxSilenceSeconds: 60, notifyUrl: "https://x.test" },
        concurrency: { max: 1, policy: "queue" },
      },
    },
  },
  {
    key: "seen",
    type: "automation",
    name: "Seen",
    definition: {
      triggerType: "event",
      config: {
        event: { types: ["action.failed"] },
        action: { kind: "conditional_branch", definition: branch() },
      },
    },
  },
  {
    key: "asker",
    type: "agent_spec",
    name: "Asker",
    definition: { markdown: "---\nname: Asker\ntools: [query]\n---\nYou answer." },
  },
];

/** Possible values of an input. */
const VALUES: readonly Json[] = ["x", "", 7, null, true, ["x"], { x: "y" }, "manual", "http"];

/** Inputs of the CRM connection. */
const OTHERS = { baseUrl: "https://crm.test", token: "a-token-of-the-crm" };

/** The value with a template replacing each of its parts in turn. */
function* withTemplate(value: Json): Generator<Json> {
  yield "{{inputs.x}}";
  if (typeof value === "string") yield* [`a {{inputs.x}} b`, `${value}{{inputs.x}}`];
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries())
      for (const part of withTemplate(item)) yield value.with(at, part);
  } else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value))
      for (const part of withTemplate(item)) yield { ...value, [key]: part };
  }
}

let app: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  app = await startApp({ engine: false });
});
afterAll(() => app[Symbol.asyncDispose]());

test.each(
  someOf(2, COMPONENTS).map((component) => [`${component.type} ${component.key}`, component] as const),
)("a template in any place of a bundle is accepted or reported: %s", async (_, component) => {
  const faults: string[] = [];
  const others = component.key === "hook" ? COMPONENTS.filter(({ key }) => key === "decide") : [];
  let number = 0;
  let installs = 0;
  const look = async (variant: Json, path: string, body: object) => {
    const answer = await app.owner("POST", path, body);
    if (answer.status >= 500) faults.push(`${answer.status} ${path} ${JSON.stringify(variant)}`);
    return answer;
  };
  for (const definition of withTemplate(component.definition ?? {})) {
    const variant = { ...component, definition };
    const body = bundle(`places-${component.key}-${number++}`, [...others, variant], {
      inputJsonSchema: schemaOf({ x: {}, baseUrl: {}, token: {} }),
    });
    const made = await look(variant, TEMPLATES, body);
    if (made.status !== 201) continue;
    const out = await look(variant, `${TEMPLATES}/${made.body.id}/publish`, {});
    if (out.status !== 200) continue;
    for (const x of VALUES)
      installs +=
        (await look(variant, `${BUNDLES}/${body.slug}/install`, { inputs: { ...OTHERS, x } })).status === 200
          ? 1
          : 0;
  }
  expect(faults).toEqual([]);
  expect(installs).toBeGreaterThan(0);
});

test("a component's type must be written out", async () => {
  const refused = async (type: string, definition: object) => {
    const body = bundle("decisive", [{ key: "a", type, name: "A", definition }], {
      inputJsonSchema: schemaOf({ x: {} }),
    });
    const { status, body: answer } = await app.owner("POST", TEMPLATES, body);
    return [status, answer.detail[0].loc.at(-1), answer.detail[0].type];
  };
  const config = { action: { kind: "conditional_branch", definition: branch() } };
  const x = "{{inputs.x}}";
  const known = "template_error";
  expect(await refused("automation", { triggerType: x, config })).toEqual([422, "triggerType", known]);
  expect(await refused("action", { kind: x, definition: {} })).toEqual([422, "kind", known]);
  expect(await refused("connection", { provider: x, config: {} })).toEqual([422, "provider", known]);
  expect(await refused("connection", { provider: "{{inputs.unknown}}" })).toEqual([
    422,
    "provider",
    "value_error",
  ]);
  expect(await refused("connection", { http: x })).toEqual([422, "http", known]);
});
