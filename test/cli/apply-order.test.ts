import { expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { folder } from "../support/shell.ts";
import { terminal } from "./configuration.ts";

const FORM = `properties:
            from: { type: string, title: From, format: date }
            days: { type: integer }
            approver: { type: string }`;
const REORDERED = `properties:
            approver: { type: string }
            from: { type: string, title: From, format: date }
            days: { type: integer }`;

const text = (form: string, body = "{ zip: 1, city: { z: 1, a: 2 } }") => `weir: 1
actions:
  - slug: order
    name: Order
    kind: http_request
    definition: { url: https://example.com/, method: POST, headers: { b: "1", a: "2" }, body: ${body} }
automations:
  - slug: leave
    name: Leave
    triggerType: form
    config:
      path: leave
      form:
        title: Leave
        schema:
          type: object
          ${form}
      steps:
        - key: ask
          kind: approval_gate
          definition:
            title: May I go?
            decisionType: form_input
            formSchema:
              type: object
              properties: { reason: { type: string }, amount: { type: number } }
            context: { Who: ada, Days: 3 }
`;

/** The same with the keys of every object sorted, as earlier exports had them. */
const sorted = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sorted)
    : typeof value === "object" && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .sort(([a], [b]) => (a < b ? -1 : 1))
            .map(([key, one]) => [key, sorted(one)]),
        )
      : value;

test("forms and bodies keep the order of their fields", async () => {
  using here = folder();
  await using one = await startApp({ engine: false });
  await using two = await startApp({ engine: false });
  const [from, to] = [terminal(here.path, one), terminal(here.path, two)];
  expect((await from.give(text(FORM))).err).toBe("");
  const { out: file } = await from.export();
  for (const names of [
    ["from", "days", "approver"],
    ["url", "method", "headers", "b", "a", "body", "zip", "city", "z"],
    ["reason", "amount"],
    ["Who", "Days"],
  ]) {
    const places = names.map((name) => file.search(new RegExp(`^ +${name}:`, "m")));
    expect([names, places]).toEqual([names, places.toSorted((a, b) => a - b)]);
  }
  expect((await to.give(file)).code).toBe(0);
  expect((await to.export()).out).toBe(file);
  expect((await to.give(file)).out).toEndWith("No changes.");
});

test("another order of fields is a change, that of settings isn't", async () => {
  using here = folder();
  await using app = await startApp({ engine: false });
  const shell = terminal(here.path, app);
  const schemaOf = async () =>
    Object.keys(
      (await app.owner("GET", "/api/v1/automations")).body.automations[0].config.form.schema.properties,
    );
  expect((await shell.give(text(FORM))).code).toBe(0);
  const plan = await shell.give(text(REORDERED), "--json");
  expect(plan.json.plan).toMatchObject([
    { kind: "automation", operation: "change", changes: [{ field: "config.form.schema.properties" }] },
  ]);
  expect(await schemaOf()).toEqual(["approver", "from", "days"]);
  expect((await shell.give(text(REORDERED))).out).toEndWith("No changes.");
  const body = await shell.give(text(REORDERED, "{ zip: 1, city: { a: 2, z: 1 } }"), "--json");
  expect(body.json.plan).toMatchObject([{ kind: "action", changes: [{ field: "definition.body" }] }]);
  const { body: action } = await app.owner("GET", "/api/v1/actions/slug/order");
  expect(JSON.stringify(action.definition.body)).toBe('{"zip":1,"city":{"a":2,"z":1}}');
  const { json } = await shell.export("--json");
  const asBefore = sorted(json) as { automations: { config: { form: { schema: object } } }[] };
  const old = await shell.give(JSON.stringify({ ...asBefore, weir: 1 }), "--dry-run", "--json");
  expect(old.json.plan.map(({ kind }: { kind: string }) => kind)).toEqual(["action", "automation"]);
  for (const { changes } of old.json.plan)
    for (const { field } of changes) expect(field).toMatch(/\.(properties|body|context)$/);
});
