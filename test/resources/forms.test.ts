import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { client, PASSWORD, startApp } from "../support/app.ts";
import { join, neighbour } from "../support/people.ts";
import {
  AUTOMATION_RUNS,
  AUTOMATIONS,
  automationRunEnd,
  branch,
  created,
  faultsOf,
  until,
} from "../support/work.ts";

let app: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());
/** Each test has the organization's full rate limit. */
beforeEach(() => app.clock.turn(60_000));

const schema = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1 },
    days: { type: "integer", minimum: 1 },
    half: { type: "boolean" },
    tags: { type: "array", items: { type: "string" } },
  },
  required: ["name", "days"],
  additionalProperties: false,
};
const script = {
  key: "keep",
  kind: "run_script",
  definition: {
    source: "export default (x) => x",
    input: { payload: "{{payload}}", user: "{{headers.x-weir-user ?? null}}" },
  },
};

let count = 0;
async function makeForm(form: object = {}, more: object = {}) {
  const path = `leave/${++count}`;
  const config = { path, form: { title: "Leave", schema, ...form }, steps: [script], ...more };
  return created(await app.owner("POST", AUTOMATIONS, { name: "Leave", triggerType: "form", config }));
}

const pathOf = (automation: { formUrl: string }) => new URL(automation.formUrl).pathname;
const runOf = async (body: { automationRunId: string }) => automationRunEnd(app.owner, body.automationRunId);

describe("a public form", () => {
  test("is shown at its URL, accepts answers as JSON, and they are a run's payload", async () => {
    const made = await makeForm({ access: "public", description: "Who and when", submitLabel: "Ask" });
    expect(made).toMatchObject({
      webhookUrl: null,
      formUrl: `${app.origin}/f/${made.tenantId}/leave/${count}`,
    });
    const at = pathOf(made);
    expect((await app.anonymous("GET", `/api/v1/forms${at.slice(2)}`)).body).toEqual({
      title: "Leave",
      description: "Who and when",
      schema,
      submitLabel: "Ask",
      access: "public",
    });
    for (const init of [{ headers: { accept: "text/html" } }, {}, { method: "HEAD" }]) {
      const page = await fetch(made.formUrl, init);
      expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html;charset=utf-8"]);
    }
    const refused = await fetch(made.formUrl, { method: "DELETE" });
    expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, POST, HEAD"]);
    const sent = await app.anonymous("POST", at, { name: "Ann", days: 3 });
    expect([sent.status, sent.body]).toEqual([
      202,
      { status: "processing", deliveryId: expect.any(String), automationRunId: expect.any(String) },
    ]);
    const run = await runOf(sent.body);
    expect(run).toMatchObject({ status: "completed", triggerMethod: "form", triggerSourceType: "system" });
    expect(run.result.output).toEqual({ payload: { name: "Ann", days: 3 }, user: null });
  });

  test("accepts the fields of an HTML form, converted to its schema's types", async () => {
    const at = pathOf(await makeForm({ access: "public" }));
    const bodies = [
      new URLSearchParams("name=Ann&days=3&half=on&tags=a&tags=b"),
      (() => {
        const form = new FormData();
        for (const [name, value] of Object.entries({ name: "Ann", days: "3", half: "false", tags: "a" }))
          form.append(name, value);
        return form;
      })(),
    ];
    const expected = [
      { name: "Ann", days: 3, half: true, tags: ["a", "b"] },
      { name: "Ann", days: 3, half: false, tags: ["a"] },
    ];
    for (const [index, body] of bodies.entries()) {
      const reply = await fetch(app.origin + at, { method: "POST", body });
      expect(reply.status).toBe(202);
      const run = await runOf((await reply.json()) as { automationRunId: string });
      expect(run.result.output.payload).toEqual(expected[index]);
    }
  });

  test("rejects a million parts without names, and a file where a number is expected", async () => {
    const at = pathOf(await makeForm({ access: "public" }));
    const headers = { "content-type": "multipart/form-data; boundary=x" };
    const named = '--x\r\nContent-Disposition: form-data; name="days"; filename="3\0"\r\n\r\nx\r\n--x--\r\n';
    for (const body of [`${"\r\n--x\r\n\r\n".repeat(1_000_000)}--x--\r\n`, named]) {
      const reply = await fetch(app.origin + at, { method: "POST", headers, body });
      expect(reply.status).toBe(422);
    }
  });

  test("reads the fields of an HTML form as any type that they may have, and as enum values", async () => {
    const schema = {
      type: "object",
      properties: {
        guests: { type: ["integer", "null"] },
        size: { enum: [1, 2] },
        price: { type: "number" },
        code: { type: ["string", "integer"] },
        agreed: { const: true },
        sizes: { type: "array", items: { enum: [1, 2] } },
      },
    };
    const at = pathOf(await makeForm({ access: "public", schema }));
    const body = new URLSearchParams("guests=3&size=2&price=1.5e3&code=007&agreed=true&sizes=1");
    const reply = await fetch(app.origin + at, { method: "POST", body });
    expect(reply.status).toBe(202);
    const run = await runOf((await reply.json()) as { automationRunId: string });
    expect(run.result.output.payload).toEqual({
      guests: 3,
      size: 2,
      price: 1500,
      code: "007",
      agreed: true,
      sizes: [1],
    });
  });

  test("reads the fields of an HTML form by the schemas that theirs refer to or choose from", async () => {
    const schema = {
      allOf: [{ type: "object", properties: { nights: { $ref: "#/$defs/count" } } }],
      properties: {
        guests: { $ref: "#/$defs/count" },
        children: { anyOf: [{ type: "null" }, { $ref: "#/$defs/count" }] },
        floor: {
          oneOf: [
            { const: 0, title: "Ground" },
            { const: 1, title: "First" },
          ],
        },
        rooms: { type: "array", items: { $ref: "#/$defs/count" } },
        code: { anyOf: [{ type: "integer" }, { type: "string" }] },
        beds: { anyOf: [{ enum: ["any"] }, { type: "integer" }] },
      },
      $defs: { count: { allOf: [{ type: "integer" }, { minimum: 0 }] } },
    };
    const at = pathOf(await makeForm({ access: "public", schema }));
    const body = new URLSearchParams("nights=2&guests=3&children=1&floor=0&rooms=12&code=007&beds=5");
    const reply = await fetch(app.origin + at, { method: "POST", body });
    expect(reply.status).toBe(202);
    const run = await runOf((await reply.json()) as { automationRunId: string });
    expect(run.result.output.payload).toEqual({
      nights: 2,
      guests: 3,
      children: 1,
      floor: 0,
      rooms: [12],
      code: "007",
      beds: 5,
    });
  });

  test("counts a file field in which no file was chosen as no value, and no fields as an empty object", async () => {
    const schema = { type: "object", properties: { a: { type: "string" }, agreed: { type: "boolean" } } };
    const at = pathOf(await makeForm({ access: "public", schema }));
    const unchosen = new FormData();
    unchosen.append("a", "x");
    unchosen.append("cv", new File([], ""));
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    for (const [init, payload] of [
      [{ body: unchosen }, { a: "x" }],
      [{ body: "", headers }, {}],
      [{ body: new FormData() }, {}],
    ] as const) {
      const reply = await fetch(app.origin + at, { method: "POST", ...init });
      expect(reply.status).toBe(202);
      const run = await runOf((await reply.json()) as { automationRunId: string });
      expect(run.result.output.payload).toEqual(payload);
    }
  });

  test("says what the time fields of an HTML form lack", async () => {
    const text = { type: "string" };
    const properties = {
      at: { ...text, format: "time" },
      from: { ...text, format: "date-time" },
      plain: { ...text, pattern: "^[0-9]{2}:[0-9]{2}$" },
    };
    const at = pathOf(await makeForm({ access: "public", schema: { type: "object", properties } }));
    const refused = await fetch(app.origin + at, {
      method: "POST",
      body: new URLSearchParams("at=10:30&from=2026-01-31T10:30&plain=10:30"),
    });
    expect([refused.status, await refused.json()]).toEqual([
      422,
      {
        detail: [
          {
            loc: ["body", "at"],
            msg: "Input should be a time with seconds and a zone, such as 10:30:00+02:00",
            type: "time_parsing",
          },
          {
            loc: ["body", "from"],
            msg: "Input should be a date and time with seconds and a zone, such as 2026-01-31T10:30:00+02:00",
            type: "date-time_parsing",
          },
        ],
      },
    ]);
  });

  test("rejects what its schema doesn't allow, field by field, and starts nothing", async () => {
    const made = await makeForm({ access: "public" });
    const refused = await app.anonymous("POST", pathOf(made), { name: "", days: 0, other: 1 });
    expect(faultsOf(refused).toSorted()).toEqual([
      "body.days greater_than_equal",
      "body.name string_too_short",
      "body.other extra_forbidden",
    ]);
    const text = await fetch(app.origin + pathOf(made), {
      method: "POST",
      body: new URLSearchParams("name=Ann&days=9007199254740993"),
    });
    expect([text.status, await text.json()]).toEqual([
      422,
      {
        detail: [
          {
            loc: ["body", "days"],
            msg: "Input should be an integer between -2^53 and 2^53. Use the type string for larger ones",
            type: "int_type",
          },
        ],
      },
    ]);
    const { total } = (await app.owner("GET", `${AUTOMATIONS}/${made.id}/runs`)).body;
    expect(total).toBe(0);
  });

  test("responds with the automation's response once the run has completed, and without details if it failed", async () => {
    const response = { status: 201, body: { days: "{{steps.keep.result.output.payload.days}}" } };
    const sent = await app.anonymous("POST", pathOf(await makeForm({ access: "public" }, { response })), {
      name: "Ann",
      days: 4,
    });
    expect([sent.status, sent.body]).toEqual([201, { days: 4 }]);
    const source = "export default () => { throw new Error('the secret of the house') }";
    const steps = [{ ...script, definition: { source } }];
    const retries = { enabled: false };
    const failing = await makeForm({ access: "public" }, { response: { body: "ok" }, steps, retries });
    const failed = await app.anonymous("POST", pathOf(failing), { name: "Ann", days: 4 });
    expect([failed.status, failed.body.status]).toEqual([500, "failed"]);
    expect(failed.text).not.toContain("secret");
  });

  test("accepts the fields of a form on another site, without cookies", async () => {
    const at = pathOf(await makeForm({ access: "public" }));
    const login = await fetch(`${app.origin}/api/v1/auth/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email: "ada@example.com", password: PASSWORD }),
    });
    const cookie = (login.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    const reply = await fetch(app.origin + at, {
      method: "POST",
      headers: { cookie, "sec-fetch-site": "cross-site", origin: "https://shop.example" },
      body: new URLSearchParams("name=Ann&days=3"),
    });
    expect(reply.status).toBe(202);
    const run = await runOf((await reply.json()) as { automationRunId: string });
    expect(run).toMatchObject({ triggerSourceType: "system", result: { output: { user: null } } });
  });

  test("never takes the user from a header in the request", async () => {
    const at = pathOf(await makeForm({ access: "public" }));
    const forged = client(app.origin, { "x-weir-user": "owner@acme.test" });
    const run = await runOf((await forged("POST", at, { name: "Ann", days: 3 })).body);
    expect(run.result.output.user).toBeNull();
  });

  test("is limited by address", async () => {
    await using other = await startApp({ engine: false });
    const config = { path: "open", form: { title: "Open", schema: {}, access: "public" }, steps: [script] };
    const made = created(
      await other.owner("POST", AUTOMATIONS, { name: "Open", triggerType: "form", config }),
    );
    const statuses: number[] = [];
    for (let n = 0; n < 12; n++) statuses.push((await other.anonymous("POST", pathOf(made), {})).status);
    expect(statuses.slice(0, 10)).toEqual(Array(10).fill(202));
    expect(statuses.slice(10)).toEqual([429, 429]);
  });
});

describe("a form for members", () => {
  test("is only for members of the organization, and records who answered", async () => {
    const made = await makeForm();
    const at = pathOf(made);
    const shown = `/api/v1/forms${at.slice(2)}`;
    const answers = { name: "Ann", days: 3 };
    for (const [method, path] of [
      ["GET", shown],
      ["POST", at],
    ] as const) {
      const nobody = await app.anonymous(method, path, method === "POST" ? answers : undefined);
      expect([nobody.status, nobody.body.code]).toEqual([401, "unauthenticated"]);
      const { call: stranger } = await neighbour(app);
      const foreign = await stranger(method, path, method === "POST" ? answers : undefined);
      expect([foreign.status, foreign.body.code]).toEqual([403, "forbidden"]);
    }
    const viewer = await join(app, "viewer");
    expect((await viewer.call("GET", shown)).body.access).toBe("signed_in");
    const run = await runOf((await viewer.call("POST", at, answers)).body);
    expect(run).toMatchObject({ status: "completed", triggerMethod: "form", triggerSourceType: "user" });
    expect(run.result.output.user).toBe(viewer.user.email);
  });

  test("is still by the person who answered, if its dead letter is replayed by another", async () => {
    const step = { key: "send", kind: "http_request", definition: { url: "http://127.0.0.1:9/" } };
    const made = await makeForm({}, { steps: [step], retries: { enabled: false } });
    const member = await join(app, "member");
    const { body } = await member.call("POST", pathOf(made), { name: "Ann", days: 1 });
    const by = { triggerMethod: "form", triggerSourceType: "user", triggerSourceId: member.user.id };
    expect(await runOf(body)).toMatchObject({ status: "failed", ...by });
    const { items } = (await app.owner("GET", `/api/v1/dead-letters?automation_id=${made.id}`)).body;
    const replayed = await app.owner("POST", `/api/v1/dead-letters/${items[0].id}/replay`);
    expect(await runOf(replayed.body)).toMatchObject(by);
  });

  test("accepts nothing with a cookie from another site's page", async () => {
    const at = pathOf(await makeForm());
    const login = await fetch(`${app.origin}/api/v1/auth/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email: "ada@example.com", password: PASSWORD }),
    });
    const cookie = (login.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    const send = (site: string) =>
      fetch(app.origin + at, {
        method: "POST",
        headers: { cookie, "sec-fetch-site": site, "content-type": "application/json" },
        body: JSON.stringify({ name: "Ann", days: 1 }),
      });
    expect((await send("cross-site")).status).toBe(403);
    expect((await send("same-origin")).status).toBe(202);
  });
});

test("a form has its automation's slug as its path by default, and none once it is disabled", async () => {
  const config = { form: { title: "Leave", schema: {}, access: "public" }, steps: [script] };
  const made = created(
    await app.owner("POST", AUTOMATIONS, { name: "By slug", triggerType: "form", config }),
  );
  expect(made.formUrl).toBe(`${app.origin}/f/${made.tenantId}/by-slug`);
  const webhook = await app.anonymous("POST", pathOf(made).replace("/f/", "/webhooks/"), {});
  expect(webhook.status).toBe(404);
  await app.owner("PATCH", `${AUTOMATIONS}/${made.id}`, { status: "disabled" });
  expect((await app.anonymous("POST", pathOf(made), {})).status).toBe(404);
});

test("a manual run of a form's automation uses the answers as its input", async () => {
  const made = await makeForm();
  const run = created(
    await app.owner("POST", `${AUTOMATIONS}/${made.id}/run`, { input: { name: "Bo", days: 2 } }),
  );
  const ended = await until(
    app.owner,
    `${AUTOMATION_RUNS}/${run.id}`,
    ({ status }) => status === "completed",
  );
  expect(ended.result.output.payload).toEqual({ name: "Bo", days: 2 });
});

test.each<[object, string]>([
  [{}, "form missing"],
  [{ form: { title: "x" } }, "form.schema missing"],
  [{ form: { title: "x", schema: { type: "text" } } }, "form.schema.type"],
  [{ form: { title: "x", schema: {}, access: "all" } }, "form.access"],
  [{ form: { title: "x", schema: {} }, path: "../x" }, "path string_pattern_mismatch"],
  [{ form: { title: "x", schema: {} }, secret: "a-secret-of-sixteen" }, "secret extra_forbidden"],
])("a form is rejected when saved with %j", async (more, fault) => {
  const work = { action: { kind: "conditional_branch", definition: branch() } };
  const body = { name: "x", triggerType: "form", config: { ...work, ...more } };
  expect(faultsOf(await app.owner("POST", AUTOMATIONS, body))[0]).toStartWith(`body.config.${fault}`);
});
