import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { actions } from "../../src/resources/actions/table.ts";
import { events } from "../../src/resources/events/table.ts";
import { startApp } from "../support/app.ts";
import { connect, localFiles } from "../support/connections.ts";
import { join, neighbour } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";
import {
  ACTIONS,
  AUTOMATIONS,
  branch,
  chainOf,
  created,
  faultsOf,
  flowToEnd,
  makeAction,
  makeAutomation,
  makeOldAction,
  NOBODY,
  RUNS,
  runToEnd,
  until,
} from "../support/work.ts";

const trail = async (app: Awaited<ReturnType<typeof startApp>>, id: string) =>
  app.app.store.db.select().from(events).where(eq(events.entityId, id)).orderBy(events.seq);

describe("creating an action", () => {
  test("rejects a header with a line break in its text, in a step too, and leaves templates to the run", async () => {
    await using app = await startApp({ engine: false });
    const step = (value: string) => ({
      kind: "http_request",
      definition: { url: "https://shop.example/", headers: { "X-Note": value } },
    });
    const make = (value: string) => app.owner("POST", ACTIONS, { name: "Call", ...step(value) });
    const makeFlow = (value: string) =>
      app.owner("POST", AUTOMATIONS, { name: "Flow", config: { action: step(value) } });
    for (const value of ["a\nb", "a\r\nX-Other: 1", "a\u0001", "日"]) {
      const refused = await make(value);
      expect(faultsOf(refused)).toEqual(["body.definition.headers.X-Note value_error"]);
      expect(refused.body.detail[0].msg).toContain("such as a line break");
      expect(faultsOf(await makeFlow(value))).toEqual([
        "body.config.action.definition.headers.X-Note value_error",
      ]);
    }
    for (const value of ["plain", "at its end\n", "{{input.note}}\n{{input.other}}"]) {
      expect((await make(value)).status).toBe(201);
      expect((await makeFlow(value)).status).toBe(201);
    }
  });

  test("responds with 201 and all fields", async () => {
    await using app = await startApp();
    const made = created(
      await app.owner("POST", ACTIONS, { kind: "conditional_branch", name: "Route", definition: branch() }),
    );
    expect(made).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      kind: "conditional_branch",
      name: "Route",
      slug: "route",
      status: "active",
      connectionId: null,
      templateId: null,
      tags: [],
      definition: branch(),
      latestRun: null,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: made.createdAt,
      createdBy: app.ids.userId,
      updatedBy: app.ids.userId,
    });
    expect((await app.owner("GET", `${ACTIONS}/${made.id}`)).body).toEqual(made);
    expect(await trail(app, made.id)).toMatchObject([
      { type: "action.created", actorType: "user", data: { name: "Route" } },
    ]);
  });

  test("accepts a draft: no definition, an empty one, or null", async () => {
    await using app = await startApp();
    for (const more of [{}, { definition: {} }, { definition: null }]) {
      const made = created(
        await app.owner("POST", ACTIONS, { kind: "http_request", name: "Draft", ...more }),
      );
      expect(made.definition).toEqual({});
      expect(faultsOf(await app.owner("POST", `${ACTIONS}/${made.id}/run`))).toEqual([
        "body.definition.url missing",
      ]);
    }
  });

  test.each([
    [{ url: 7, method: "FETCH", more: 1 }, ["method enum", "url string_type", "more extra_forbidden"]],
    [{ url: "ftp://a.test" }, ["url value_error"]],
    [{ url: "http://a.test/{{payload.a" }, ["url template_error"]],
    [{ url: "http://a.test", timeoutSeconds: 0 }, ["timeoutSeconds greater_than_equal"]],
    [
      { url: "http://a.test", retry: { maxAttempts: 11, backoffSeconds: ["x"] } },
      ["retry.maxAttempts less_than_equal", "retry.backoffSeconds.0 float_type"],
    ],
    [{ url: "http://a.test", responseExtract: "a[" }, ["responseExtract value_error"]],
    [
      { url: "file:///x", responseExtract: "[", timeoutSeconds: 0 },
      ["timeoutSeconds greater_than_equal", "url value_error", "responseExtract value_error"],
    ],
  ])("checks the definition %j when it is saved", async (definition, faults) => {
    await using app = await startApp();
    const where = faults.map((fault) => `body.definition.${fault}`);
    expect(
      faultsOf(await app.owner("POST", ACTIONS, { kind: "http_request", name: "x", definition })),
    ).toEqual(where);
    const all = await app.owner("POST", ACTIONS, { kind: "http_request", name: "", definition });
    expect(faultsOf(all)).toEqual(["body.name string_too_short", ...where]);
    const draft = created(await app.owner("POST", ACTIONS, { kind: "http_request", name: "x" }));
    expect(faultsOf(await app.owner("PATCH", `${ACTIONS}/${draft.id}`, { definition }))).toEqual(where);
    expect((await app.owner("GET", ACTIONS)).body.total).toBe(1);
  });

  test("reports wrong shapes together with broken rules, and nothing twice", async () => {
    await using app = await startApp();
    const make = async (kind: string, definition: object) =>
      faultsOf(await app.owner("POST", ACTIONS, { kind, name: "x", definition }));
    const extract = {
      dataset: "Bad Name",
      layer: "Bad",
      resources: [{ name: "a", writeDisposition: "merge" }],
    };
    const rules = [
      "body.definition.dataset value_error",
      "body.definition.layer value_error",
      "body.definition.resources.0.primaryKey value_error",
    ];
    expect(await make("dlt_extract", extract)).toEqual(rules);
    expect(await make("dlt_extract", { ...extract, schemaContract: "zip" })).toEqual([
      "body.definition.schemaContract enum",
      ...rules,
    ]);
    const gate = { title: "t", decisionType: "form_input", onReject: "zip" };
    expect(await make("approval_gate", gate)).toEqual([
      "body.definition.onReject enum",
      "body.definition.formSchema value_error",
    ]);
    expect(await make("run_script", { source: 7 })).toEqual(["body.definition.source string_type"]);
    expect(await make("conditional_branch", { branches: 7 })).toEqual(["body.definition.branches list_type"]);
    const columns = Array(1_500).fill(null);
    const faults = await make("dlt_extract", { ...extract, resources: [{ name: "a", columns }, 7] });
    expect(faults).toHaveLength(1_000);
  });

  test("checks conditions, and accepts whole templates", async () => {
    await using app = await startApp();
    const make = (definition: object) =>
      app.owner("POST", ACTIONS, { kind: "conditional_branch", name: "x", definition });
    expect(faultsOf(await make(branch("a", "1 +")))).toEqual([
      "body.definition.branches.0.when condition_error",
    ]);
    const twice = { branches: [...branch().branches, ...branch().branches] };
    expect(faultsOf(await make(twice))).toEqual(["body.definition.branches.1.key value_error"]);
    const open = { url: "{{input.url}}", method: "{{input.method}}", timeoutSeconds: "{{input.limit}}" };
    expect(
      (await app.owner("POST", ACTIONS, { kind: "http_request", name: "x", definition: open })).status,
    ).toBe(201);
  });

  test("accepts connections that exist and suit the kind", async () => {
    await using app = await startApp();
    const files = await connect(app.owner, localFiles("Files"));
    const theirs = await connect((await neighbour(app)).call, localFiles("Files"));
    const make = (connectionId: string, kind = "conditional_branch") =>
      app.owner("POST", ACTIONS, { kind, name: "x", connectionId });
    expect(faultsOf(await make(theirs.id, "dlt_extract"))).toEqual(["body.connectionId not_found"]);
    expect(faultsOf(await make(NOBODY, "dlt_extract"))).toEqual(["body.connectionId not_found"]);
    expect(faultsOf(await make(files.id))).toEqual(["body.connectionId value_error"]);
    expect((await make(files.id, "dlt_extract")).status).toBe(201);
  });

  test("requires the role member, as does changing; a viewer reads", async () => {
    await using app = await startApp();
    const viewer = await join(app, "viewer");
    const action = await makeAction((await join(app, "member")).call);
    expect((await viewer.call("GET", `${ACTIONS}/${action.id}`)).status).toBe(200);
    for (const [method, path, body] of [
      ["POST", "", { kind: "http_request", name: "x" }],
      ["PATCH", `/${action.id}`, { name: "x" }],
      ["DELETE", `/${action.id}`, undefined],
      ["POST", `/${action.id}/run`, undefined],
      ["POST", `/${action.id}/state/reset`, undefined],
    ] as const) {
      expect((await viewer.call(method, ACTIONS + path, body)).status).toBe(403);
    }
  });
});

describe("changing an action", () => {
  test("changes the given fields, records old and new values, and masks secrets in them", async () => {
    await using app = await startApp();
    const definition = { url: "http://a.test", headers: { Authorization: "Bearer very-secret-token" } };
    const action = await makeOldAction(app, { kind: "http_request", name: "Branch", definition });
    app.clock.turn(1000);
    const changed = await app.owner("PATCH", `${ACTIONS}/${action.id}`, {
      name: "New",
      slug: "new",
      definition: { ...definition, url: "http://b.test" },
    });
    expect(changed.status).toBe(200);
    expect(changed.body).toMatchObject({ name: "New", slug: "new", createdAt: action.createdAt });
    expect(changed.body.updatedAt > action.updatedAt).toBe(true);
    const [, event] = await trail(app, action.id);
    expect(event).toMatchObject({ type: "action.updated" });
    expect(event?.data.changes).toMatchObject([
      { field: "name", from: "Branch", to: "New" },
      { field: "slug", from: "branch", to: "new" },
      { field: "definition", from: { url: "http://a.test" }, to: { url: "http://b.test" } },
    ]);
    expect(JSON.stringify(event)).not.toContain("very-secret");
  });

  test("to its current value leaves updatedAt alone and no event behind", async () => {
    await using app = await startApp();
    const action = await makeAction(app.owner);
    app.clock.turn(1000);
    for (const body of [{}, { name: "Branch", status: "active", definition: branch(), connectionId: null }]) {
      const same = await app.owner("PATCH", `${ACTIONS}/${action.id}`, body);
      expect([same.status, same.body]).toEqual([200, action]);
    }
    expect(await trail(app, action.id)).toHaveLength(1);
  });

  test("null clears what may be empty, and nothing else", async () => {
    await using app = await startApp();
    const files = await connect(app.owner, localFiles("Files"));
    const definition = { dataset: "d", resources: [{ name: "a", spec: "*.csv" }] };
    const action = await makeAction(app.owner, { kind: "dlt_extract", connectionId: files.id, definition });
    const cleared = await app.owner("PATCH", `${ACTIONS}/${action.id}`, {
      connectionId: null,
      definition: null,
    });
    expect(cleared.body).toMatchObject({ connectionId: null, definition: {} });
    expect(
      faultsOf(await app.owner("PATCH", `${ACTIONS}/${action.id}`, { name: null, status: null })),
    ).toHaveLength(2);
  });

  test("rejects what only the server sets, and a slug that is taken", async () => {
    await using app = await startApp();
    await makeAction(app.owner, { slug: "taken" });
    const action = await makeAction(app.owner);
    const own = { id: NOBODY, kind: "http_request", createdAt: action.createdAt, latestRun: null };
    expect(faultsOf(await app.owner("PATCH", `${ACTIONS}/${action.id}`, own))).toEqual([
      "body.id extra_forbidden",
      "body.kind extra_forbidden",
      "body.createdAt extra_forbidden",
      "body.latestRun extra_forbidden",
    ]);
    const taken = await app.owner("PATCH", `${ACTIONS}/${action.id}`, { slug: "taken" });
    expect([taken.status, taken.body.code]).toEqual([409, "slug_taken"]);
  });
});

describe("deleting an action", () => {
  test("that never ran removes it", async () => {
    await using app = await startApp();
    const action = await makeAction(app.owner);
    const gone = await app.owner("DELETE", `${ACTIONS}/${action.id}`);
    expect([gone.status, gone.text]).toEqual([204, ""]);
    expect((await app.owner("DELETE", `${ACTIONS}/${action.id}`)).status).toBe(404);
    expect(await app.app.store.db.$count(actions)).toBe(0);
    expect((await trail(app, action.id)).at(-1)?.type).toBe("action.deleted");
  });

  test("that ran hides it, and its runs stay readable", async () => {
    await using app = await startApp();
    const action = await makeAction(app.owner);
    const run = await runToEnd(app.owner, action.id);
    expect((await app.owner("DELETE", `${ACTIONS}/${action.id}`)).status).toBe(204);
    expect((await app.owner("GET", `${ACTIONS}/${action.id}`)).status).toBe(404);
    expect((await app.owner("GET", `${ACTIONS}/slug/branch`)).status).toBe(404);
    expect((await app.owner("POST", `${ACTIONS}/${action.id}/run`)).status).toBe(404);
    expect((await app.owner("GET", ACTIONS)).body).toMatchObject({ actions: [], total: 0 });
    expect((await app.owner("GET", `${RUNS}/${run.id}`)).body).toMatchObject({
      actionId: action.id,
      status: "completed",
    });
    expect((await app.owner("GET", `${RUNS}?action_id=${action.id}`)).body.total).toBe(1);
    expect((await makeAction(app.owner, { slug: null, connectionId: null })).slug).toBe("branch");
  });
});

describe("the list", () => {
  test("filters by ids, kinds and statuses, and sorts by each field both ways", async () => {
    await using app = await startApp();
    const b = await makeAction(app.owner, { name: "b" });
    app.clock.turn(1000);
    const a = await makeAction(app.owner, { name: "a", kind: "http_request", definition: {} });
    app.clock.turn(1000);
    await app.owner("PATCH", `${ACTIONS}/${b.id}`, { status: "disabled" });
    const names = async (query: string) =>
      (await app.owner("GET", `${ACTIONS}?${query}`)).body.actions
        .map(({ name }: { name: string }) => name)
        .join("");
    expect(await names("kinds=http_request")).toBe("a");
    expect(await names("kinds=http_request&kinds=conditional_branch&order=asc")).toBe("ba");
    expect(await names("statuses=disabled")).toBe("b");
    expect(await names(`ids=${b.id}&ids=${NOBODY}`)).toBe("b");
    expect(await names(`ids=${b.id}&ids=${a.id}&kinds=http_request`)).toBe("a");
    expect(await names("statuses=active&kinds=conditional_branch")).toBe("");
    for (const [sort, ascending] of [
      ["name", "ab"],
      ["created_at", "ba"],
      ["updated_at", "ab"],
      ["status", "ab"],
      ["kind", "ba"],
    ]) {
      expect([sort, await names(`sort_by=${sort}&order=asc`)]).toEqual([sort, ascending]);
      expect([sort, await names(`sort_by=${sort}`)]).toEqual([
        sort,
        [...(ascending ?? "")].reverse().join(""),
      ]);
    }
    expect((await app.owner("GET", ACTIONS)).body.users).toEqual({
      [app.ids.userId]: {
        id: app.ids.userId,
        firstName: "Ada",
        lastName: "Lovelace",
        profilePictureUrl: null,
      },
    });
    expect(a.status).toBe("active");
  });

  test("shows the latest run of each action", async () => {
    await using app = await startApp();
    const action = await makeAction(app.owner);
    await runToEnd(app.owner, action.id);
    const run = await runToEnd(app.owner, action.id);
    const [listed] = (await app.owner("GET", ACTIONS)).body.actions;
    expect(listed.latestRun).toEqual({
      id: run.id,
      status: "completed",
      startedAt: run.startedAt,
      completedAt: run.completedAt,
      definition: branch(),
      progress: run.progress,
    });
  });
});

describe("running an action", () => {
  test("responds with 201 and a queued run, created by the caller", async () => {
    await using app = await startApp({ engine: false });
    const action = await makeAction(app.owner);
    const made = await app.owner("POST", `${ACTIONS}/${action.id}/run`);
    expect([made.status, made.body]).toEqual([
      201,
      {
        id: expect.any(String),
        actionId: action.id,
        actionVersion: 1,
        kind: "conditional_branch",
        status: "pending",
        displayStatus: "Queued",
        definition: branch(),
        progress: null,
        result: null,
        error: null,
        retryCount: 0,
        interruptCount: 0,
        durationSeconds: null,
        startedAt: null,
        completedAt: null,
        createdAt: expect.any(String),
        updatedAt: made.body.createdAt,
        concurrencyKey: null,
        idempotencyKey: null,
        parentActionRunId: null,
        triggerMethod: "api",
        triggerSourceType: "user",
        triggerSourceId: app.ids.userId,
      },
    ]);
    for (const body of [{}, { definitionOverrides: null }]) {
      expect((await app.owner("POST", `${ACTIONS}/${action.id}/run`, body)).status).toBe(201);
    }
    expect(faultsOf(await app.owner("POST", `${ACTIONS}/${action.id}/run`, { overrides: {} }))).toEqual([
      "body.overrides extra_forbidden",
    ]);
  });

  test("merges overrides into the definition as a merge patch, only for this run", async () => {
    await using app = await startApp();
    const definition = { ...branch("a", "false"), else: "b", retry: { maxAttempts: 2, backoffSeconds: [1] } };
    const action = await makeAction(app.owner, { definition });
    const overrides = { else: "c", retry: { backoffSeconds: null } };
    const run = await runToEnd(app.owner, action.id, { definitionOverrides: overrides });
    expect(run).toMatchObject({ status: "completed", result: { branch: "c" } });
    expect(run.definition).toEqual({ ...definition, else: "c", retry: { maxAttempts: 2 } });
    expect((await app.owner("GET", `${ACTIONS}/${action.id}`)).body.definition).toEqual(definition);
    const wrong = await app.owner("POST", `${ACTIONS}/${action.id}/run`, {
      definitionOverrides: { branches: null, colour: 1 },
    });
    expect(faultsOf(wrong)).toEqual([
      "body.definitionOverrides.branches missing",
      "body.definitionOverrides.colour extra_forbidden",
    ]);
  });

  test("is rejected while the action is disabled", async () => {
    await using app = await startApp();
    const action = await makeAction(app.owner);
    await app.owner("PATCH", `${ACTIONS}/${action.id}`, { status: "disabled" });
    const refused = await app.owner("POST", `${ACTIONS}/${action.id}/run`);
    expect([refused.status, refused.body.code]).toEqual([409, "invalid_state"]);
    await app.owner("PATCH", `${ACTIONS}/${action.id}`, { status: "active" });
    expect((await runToEnd(app.owner, action.id)).status).toBe("completed");
  });

  test("leaves a chain of events with the request's ID", async () => {
    await using app = await startApp();
    const action = await makeAction(app.owner);
    const made = await app.owner("POST", `${ACTIONS}/${action.id}/run`, undefined, {
      "x-correlation-id": "chain-4711",
    });
    await until(app.owner, `${RUNS}/${made.body.id}`, ({ status }) => status === "completed");
    expect(await chainOf(app, "chain-4711")).toEqual(["action.started", "action.completed"]);
    const [, started, completed] = await trail(app, action.id);
    expect(started).toMatchObject({
      actorType: "user",
      actorId: app.ids.userId,
      data: { runId: made.body.id, attempt: 1 },
    });
    expect(completed).toMatchObject({
      actorType: "system",
      data: { runId: made.body.id, status: "completed", durationSeconds: expect.any(Number) },
    });
  });
});

test("a step whose concurrencyKey can't be evaluated fails with the step and the field", async () => {
  await using app = await startApp();
  const definition = { ...branch(), concurrencyKey: "shop-{{input.shop}}" };
  const first = { key: "first", kind: "conditional_branch", definition: branch() };
  const second = { key: "second", kind: "conditional_branch", definition, dependsOn: ["first"] };
  const flow = await makeAutomation(app.owner, { steps: [first, second] });
  const { error } = await flowToEnd(app.owner, flow.id);
  expect(error).toMatchObject({
    code: "template_error",
    message: 'concurrencyKey: Template {{input.shop}} has no value: input is null and has no "shop".',
    details: { step: "second", path: ["concurrencyKey"], missing: "input.shop" },
  });
});

test("a concurrencyKey that can't be evaluated is a fault of its field", async () => {
  await using app = await startApp({ engine: false });
  const definition = { ...branch(), concurrencyKey: "shop-{{payload.shop}}" };
  const action = await makeAction(app.owner, { definition });
  const path = `${ACTIONS}/${action.id}/run`;
  expect(faultsOf(await app.owner("POST", path))).toEqual(["body.definition.concurrencyKey template_error"]);
  const patch = { definitionOverrides: { concurrencyKey: "{{payload.other}}" } };
  expect(faultsOf(await app.owner("POST", path, patch))).toEqual([
    "body.definitionOverrides.concurrencyKey template_error",
  ]);
  const told = { definitionOverrides: { concurrencyKey: '{{payload.shop ?? "one"}}' } };
  expect((await app.owner("POST", path, told)).body.concurrencyKey).toBe("one");
});

describe("the kinds", () => {
  test("are described with their shapes and providers", async () => {
    await using app = await startApp();
    const { kinds } = (await app.owner("GET", "/api/v1/action-kinds")).body;
    const branching = kinds.find(({ kind }: { kind: string }) => kind === "conditional_branch");
    expect(branching).toMatchObject({
      title: "Branch",
      providers: [],
      definitionSchema: {
        type: "object",
        additionalProperties: false,
        required: ["branches"],
        properties: { timeoutSeconds: { minimum: 1, maximum: 86_400 }, retry: {}, concurrencyKey: {} },
      },
      resultSchema: { properties: { branch: { type: "string" } } },
    });
    const request = kinds.find(({ kind }: { kind: string }) => kind === "http_request");
    expect(request.providers).toContain("postgres");
  });

  test("require no field with a default in their shapes", async () => {
    await using app = await startApp({ engine: false });
    const { kinds } = (await app.owner("GET", "/api/v1/action-kinds")).body;
    const schemaOf = (name: string) =>
      kinds.find(({ kind }: { kind: string }) => kind === name).definitionSchema;
    expect(schemaOf("file_sync").required).toEqual(["source", "destination"]);
    expect(schemaOf("approval_gate").required).toEqual(["title"]);
    expect(schemaOf("call_automation").required).toBeUndefined();
    expect(schemaOf("dlt_extract").required).toEqual(["resources", "dataset"]);
    const transform = schemaOf("duckdb_transform");
    expect(transform.required).toEqual(["sql"]);
    const [table, file] = transform.properties.output.anyOf;
    expect([table.required, file.required]).toEqual([
      ["layer", "dataset"],
      ["connectionId", "format"],
    ]);
    expect(table.properties.writeDisposition.default).toBe("replace");
    expect(schemaOf("create_flashboard").properties.panels.items.required).toEqual(["title", "sql"]);
  });
});

describe("the state of an extract", () => {
  test("is empty at first, and resetting nothing records nothing", async () => {
    await using app = await startApp();
    const action = await makeAction(app.owner, { kind: "dlt_extract", definition: {} });
    expect((await app.owner("GET", `${ACTIONS}/${action.id}/state`)).body).toEqual({ resources: {} });
    const reset = await app.owner("POST", `${ACTIONS}/${action.id}/state/reset`);
    expect([reset.status, reset.body]).toEqual([200, { resources: {} }]);
    expect(await trail(app, action.id)).toHaveLength(1);
    expect(
      faultsOf(await app.owner("POST", `${ACTIONS}/${action.id}/state/reset`, { resources: [] })),
    ).toEqual(["body.resources too_short"]);
  });

  test("can be reset by the definition's names before there is any, and by no others", async () => {
    await using app = await startApp({ engine: false });
    const definition = { dataset: "shop", resources: [{ spec: "orders.csv" }, { name: "items" }] };
    const action = await makeAction(app.owner, { kind: "dlt_extract", definition });
    const at = `${ACTIONS}/${action.id}/state/reset`;
    const known = { resources: ["orders.csv", "items"] };
    expect((await app.owner("POST", at, known)).body).toEqual({ resources: {} });
    expect(faultsOf(await app.owner("POST", at, { ...known, initialValue: 1 }))).toEqual([
      "body.resources.0 no_cursor",
      "body.resources.1 no_cursor",
    ]);
    expect(faultsOf(await app.owner("POST", at, { initialValue: 1 }))).toEqual([
      "body.initialValue no_cursor",
    ]);
    expect(faultsOf(await app.owner("POST", at, { resources: ["a", "items", "b"] }))).toEqual([
      "body.resources.0 not_found",
      "body.resources.2 not_found",
    ]);
  });

  test("isn't changed by a value for resources of which one has no cursor, and the error names that one", async () => {
    await using app = await startApp();
    const files = await connect(app.owner, localFiles("Files"));
    const csv = "id,at\n1,2026-01-01\n2,2026-01-02\n";
    await app.owner("PUT", `/api/v1/connections/${files.id}/files?path=orders.csv`, csv, {
      "content-type": "text/csv",
    });
    const resources = [
      { name: "orders", spec: "orders.csv", incremental: { cursorField: "at" } },
      { name: "items", spec: "orders.csv", writeDisposition: "replace" },
    ];
    const definition = { dataset: "shop", resources };
    const action = await makeAction(app.owner, { kind: "dlt_extract", connectionId: files.id, definition });
    expect((await runToEnd(app.owner, action.id)).status).toBe("completed");
    const at = `${ACTIONS}/${action.id}/state`;
    const state = (await app.owner("GET", at)).body;
    expect(Object.keys(state.resources)).toEqual(["orders"]);
    const reset = (names?: string[]) =>
      app.owner("POST", `${at}/reset`, { resources: names, initialValue: "2026-01-01" });
    expect(faultsOf(await reset(["orders", "items"]))).toEqual(["body.resources.1 no_cursor"]);
    expect((await app.owner("GET", at)).body).toEqual(state);
    expect((await reset()).body.resources.orders.lastValue).toBe("2026-01-01");
  });

  deepTest("shows how far it has read, and only a reset sets it back", async () => {
    await using app = await startApp();
    const files = await connect(app.owner, localFiles("Files"));
    const csv = "id,at\n1,2026-01-01\n2,2026-01-02\n";
    await app.owner("PUT", `/api/v1/connections/${files.id}/files?path=orders.csv`, csv, {
      "content-type": "text/csv",
    });
    const resource = { name: "orders", spec: "orders.csv", incremental: { cursorField: "at" } };
    const definition = { dataset: "shop", resources: [resource] };
    const action = await makeAction(app.owner, { kind: "dlt_extract", connectionId: files.id, definition });
    const run = await runToEnd(app.owner, action.id);
    expect([run.status, run.result?.rows]).toEqual(["completed", 2]);
    const state = (await app.owner("GET", `${ACTIONS}/${action.id}/state`)).body.resources;
    expect(state.orders).toMatchObject({ cursorField: "at", loadId: run.result.loadId });
    await app.owner("PATCH", `${ACTIONS}/${action.id}`, { name: "Renamed" });
    expect((await app.owner("GET", `${ACTIONS}/${action.id}/state`)).body.resources).toEqual(state);
    expect((await runToEnd(app.owner, action.id)).result.rows).toBe(0);

    const reset = (input: object) =>
      app.owner("POST", `${ACTIONS}/${action.id}/state/reset`, input, {
        "x-correlation-id": "back-to-start",
      });
    const unknown = await reset({ resources: ["orders", "order"] });
    expect([unknown.status, unknown.body.detail]).toEqual([
      422,
      [
        {
          loc: ["body", "resources", "1"],
          msg: "Unknown resource 'order'. The action has orders",
          type: "not_found",
        },
      ],
    ]);
    const { orders } = (await app.owner("GET", `${ACTIONS}/${action.id}/state`)).body.resources;
    expect(orders.lastValue).toBe("2026-01-02");
    const back = await reset({ resources: ["orders"], initialValue: "2026-01-02" });
    expect(back.body.resources.orders).toMatchObject({ cursorField: "at", lastValue: "2026-01-02" });
    expect((await runToEnd(app.owner, action.id)).result.rows).toBe(1);
    expect((await reset({})).body).toEqual({ resources: {} });
    expect((await runToEnd(app.owner, action.id)).result.rows).toBe(2);
    expect(await chainOf(app, "back-to-start")).toEqual(["action.updated", "action.updated"]);
  });
});
