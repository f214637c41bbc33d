import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { mergeConfigs } from "../../src/resources/drafts/merge.ts";
import { startApp } from "../support/app.ts";
import { join } from "../support/people.ts";
import { AUTOMATIONS, branch, created, faultsOf, flowToEnd, makeAutomation } from "../support/work.ts";

let app: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const step = (key: string, taken = key, more: object = {}) => ({
  key,
  kind: "conditional_branch",
  definition: branch(taken),
  ...more,
});
const make = () => makeAutomation(app.owner, { steps: [step("a"), step("b")] });
const draftOf = (id: string) => `${AUTOMATIONS}/${id}/draft`;

describe("a draft", () => {
  test("is separate from what runs use, until it is published as a new version", async () => {
    const { id } = await make();
    expect((await app.owner("GET", draftOf(id))).status).toBe(404);
    const patched = await app.owner("PATCH", draftOf(id), {
      config: { steps: [step("a", "other"), step("b")] },
    });
    expect([patched.status, patched.body]).toEqual([
      200,
      {
        config: { steps: [step("a", "other"), step("b")] },
        basedOn: 1,
        changedBy: { a: app.ids.userId },
        updatedAt: expect.any(String),
      },
    ]);
    expect((await app.owner("GET", draftOf(id))).body).toEqual(patched.body);
    expect((await flowToEnd(app.owner, id)).result.a).toEqual({ branch: "a" });
    expect((await app.owner("GET", `${AUTOMATIONS}/${id}/versions`)).body.total).toBe(1);
    const published = await app.owner("POST", `${draftOf(id)}/publish`);
    expect([published.status, published.body.config.steps[0].definition]).toEqual([200, branch("other")]);
    expect((await app.owner("GET", draftOf(id))).status).toBe(404);
    const run = await flowToEnd(app.owner, id);
    expect([run.automationVersion, run.result.a]).toEqual([2, { branch: "other" }]);
  });

  test("can be incomplete, and isn't published before it is complete", async () => {
    const { id } = await make();
    const config = { steps: [step("a"), { key: "c", kind: "http_request", dependsOn: ["nobody"] }] };
    expect((await app.owner("PATCH", draftOf(id), { config })).status).toBe(200);
    const refused = await app.owner("POST", `${draftOf(id)}/publish`);
    expect(faultsOf(refused)).toContain("body.config.steps.1.dependsOn.0 value_error");
    expect((await app.owner("GET", draftOf(id))).body.config).toEqual(config);
    const wrong = await app.owner("PATCH", draftOf(id), { config: { steps: "none" } });
    expect(faultsOf(wrong)).toEqual(["body.config.steps list_type"]);
  });

  test("is returned as it is if nothing is to be changed", async () => {
    const { id } = await make();
    const config = { steps: [step("a", "other")] };
    const { body } = await app.owner("PATCH", draftOf(id), { config });
    const same = await app.owner("PATCH", draftOf(id), {});
    expect([same.status, same.body]).toEqual([200, body]);
  });

  test("shows who last changed each step", async () => {
    const { id } = await make();
    const member = await join(app, "member");
    await app.owner("PATCH", draftOf(id), { config: { steps: [step("a", "x"), step("b", "x")] } });
    const { body } = await member.call("PATCH", draftOf(id), {
      config: { steps: [step("a", "x"), step("b", "y"), step("c")] },
    });
    expect(body.changedBy).toEqual({ a: app.ids.userId, b: member.user.id, c: member.user.id });
  });

  test("shows who removed a step, and who changed a setting", async () => {
    const { id } = await make();
    const member = await join(app, "member");
    await app.owner("PATCH", draftOf(id), { config: { steps: [step("a", "x")] } });
    const { body } = await member.call("PATCH", draftOf(id), { config: { concurrency: { max: 2 } } });
    expect(body.changedBy).toEqual({ a: app.ids.userId, b: app.ids.userId, $concurrency: member.user.id });
  });

  test("is published in part: named changes are published, the rest stays in the draft with its authors", async () => {
    const { id } = await make();
    const member = await join(app, "member");
    await app.owner("PATCH", draftOf(id), { config: { steps: [step("a", "mine"), step("b"), step("c")] } });
    const theirs = { steps: [step("a", "mine"), step("b", "theirs"), step("c")], concurrency: { max: 2 } };
    await member.call("PATCH", draftOf(id), { config: theirs });
    const publish = (only: string[]) => app.owner("POST", `${draftOf(id)}/publish`, { only });
    expect(faultsOf(await publish(["a", "z"]))).toEqual(["body.only.1 value_error"]);
    const { body } = await publish(["a", "c"]);
    expect(body.config).toEqual({ steps: [step("a", "mine"), step("b"), step("c")] });
    expect((await app.owner("GET", draftOf(id))).body).toMatchObject({
      config: theirs,
      basedOn: 2,
      changedBy: { b: member.user.id, $concurrency: member.user.id },
    });
    expect((await publish(["b", "$concurrency"])).body.config).toEqual(theirs);
    expect((await app.owner("GET", draftOf(id))).status).toBe(404);
  });

  test("isn't published in part if a named change needs one that stays", async () => {
    const { id } = await make();
    const reads = (key: string) => ({
      key: "tell",
      kind: "http_request",
      definition: { url: `https://a.test/{{steps.${key}.result.branch}}` },
    });
    const steps = [step("b", "other"), step("c"), step("d", "d", { dependsOn: ["c"] }), reads("b")];
    await app.owner("PATCH", draftOf(id), { config: { steps } });
    const publish = (only: string[]) => app.owner("POST", `${draftOf(id)}/publish`, { only });
    for (const [only, needs] of [
      [["d"], "d needs c."],
      [["tell"], "tell needs b."],
      [["c", "d", "tell"], "tell needs b."],
    ] as const) {
      const { status, body } = await publish([...only]);
      expect([status, body.code]).toEqual([409, "depends_on_others"]);
      expect(body.detail).toContain(needs);
    }
    expect((await publish(["c", "d"])).body.config.steps).toEqual([
      step("a"),
      step("b"),
      ...steps.slice(1, 3),
    ]);
  });

  test("isn't published if it has changed since the user saw it", async () => {
    const { id } = await make();
    await app.owner("PATCH", draftOf(id), { config: { steps: [step("a", "one"), step("b")] } });
    const etag = (await app.owner("GET", draftOf(id))).headers.get("etag") ?? "";
    app.clock.turn(1_000);
    await app.owner("PATCH", draftOf(id), { config: { steps: [step("a", "two"), step("b")] } });
    const publish = (tag: string) => app.owner("POST", `${draftOf(id)}/publish`, {}, { "if-match": tag });
    expect((await publish(etag)).status).toBe(412);
    const now = (await app.owner("GET", draftOf(id))).headers.get("etag") ?? "";
    expect((await publish(now)).status).toBe(200);
  });

  test("is merged with what others published in the meantime, step by step", async () => {
    const { id } = await make();
    await app.owner("PATCH", draftOf(id), { config: { steps: [step("a", "mine"), step("b"), step("c")] } });
    await app.owner("PATCH", `${AUTOMATIONS}/${id}`, {
      config: { steps: [step("a"), step("b", "theirs"), step("d")], concurrency: { max: 2 } },
    });
    const { body } = await app.owner("POST", `${draftOf(id)}/publish`);
    expect(body.config).toEqual({
      steps: [step("a", "mine"), step("b", "theirs"), step("d"), step("c")],
      concurrency: { max: 2 },
    });
  });

  test("isn't published over a change of the same step, until its user has seen that", async () => {
    const { id } = await make();
    await app.owner("PATCH", draftOf(id), { config: { steps: [step("a", "mine"), step("b")] } });
    await app.owner("PATCH", `${AUTOMATIONS}/${id}`, { config: { steps: [step("a", "theirs"), step("b")] } });
    const refused = await app.owner("POST", `${draftOf(id)}/publish`);
    expect([refused.status, refused.body.code]).toEqual([409, "conflict"]);
    expect(refused.body.detail).toContain("steps.a");
    await app.owner("PATCH", draftOf(id), { config: { steps: [step("a", "both"), step("b")] }, basedOn: 2 });
    const { body } = await app.owner("POST", `${draftOf(id)}/publish`);
    expect(body.config.steps[0].definition).toEqual(branch("both"));
  });

  test("changed by two at once reports the conflict to one of them", async () => {
    const { id } = await make();
    await app.owner("PATCH", draftOf(id), { config: { steps: [step("a", "one"), step("b")] } });
    const etag = (await app.owner("GET", draftOf(id))).headers.get("etag") ?? "";
    const change = (taken: string) =>
      app.owner(
        "PATCH",
        draftOf(id),
        { config: { steps: [step("a", taken), step("b")] } },
        { "if-match": etag },
      );
    app.clock.turn(1_000);
    const statuses = [(await change("two")).status, (await change("three")).status];
    expect(statuses).toEqual([200, 412]);
  });

  test("stores no secrets", async () => {
    const hook = created(
      await app.owner("POST", AUTOMATIONS, {
        name: "Hook",
        triggerType: "webhook",
        config: { path: "drafted", steps: [step("a")] },
      }),
    );
    const secret = await app.owner("PATCH", draftOf(hook.id), { config: { secret: "a-secret-of-sixteen" } });
    expect(faultsOf(secret)).toEqual(["body.config value_error"]);
    const auth = { type: "bearer", token: "a-token-of-sixteen-signs" };
    expect(faultsOf(await app.owner("PATCH", draftOf(hook.id), { config: { auth } }))).toEqual([
      "body.config value_error",
    ]);
  });

  test("is deleted with DELETE, and with its automation", async () => {
    const { id } = await make();
    await app.owner("PATCH", draftOf(id), { config: { steps: [step("z")] } });
    expect((await app.owner("DELETE", draftOf(id))).status).toBe(204);
    expect((await app.owner("DELETE", draftOf(id))).status).toBe(404);
  });
});

const keys = ["a", "b", "c", "d"];
const config = fc
  .uniqueArray(fc.record({ key: fc.constantFrom(...keys), n: fc.nat(2) }), { selector: ({ key }) => key })
  .map((steps) => ({ steps }));

test("a merge without changes on the other side is the user's own version, and both sides' changes of different steps are kept", () => {
  fc.assert(
    fc.property(config, config, config, (base, ours, theirs) => {
      expect(mergeConfigs(base, ours, base)).toEqual({ config: ours });
      const merged = mergeConfigs(base, ours, theirs);
      const at = (of: typeof base, key: string) => of.steps.find((one) => one.key === key)?.n;
      for (const key of keys) {
        const [b, o, t] = [at(base, key), at(ours, key), at(theirs, key)];
        const isConflict = o !== t && o !== b && t !== b;
        if ("conflicts" in merged) {
          expect(merged.conflicts.includes(`steps.${key}`)).toBe(isConflict);
        } else {
          expect(isConflict).toBe(false);
          expect(at(merged.config as typeof base, key)).toBe(o === b ? t : o);
        }
      }
    }),
  );
});

test("a layout is stored next to the config, and changes no version of it", async () => {
  const { id, updatedAt } = await make();
  const at = `${AUTOMATIONS}/${id}/layout`;
  expect((await app.owner("GET", at)).body).toEqual({
    direction: "down",
    positions: {},
    groups: [],
    notes: [],
  });
  const layout = {
    direction: "right",
    positions: { a: [0, 0], b: [200, 40.5] },
    groups: [{ id: "g", title: "Both", steps: ["a", "b"] }],
    notes: [{ id: "n", text: "Why", near: "a" }],
  };
  expect((await app.owner("PUT", at, layout)).body).toEqual(layout);
  expect((await app.owner("GET", at)).body).toEqual(layout);
  const { positions } = layout;
  expect((await app.owner("PUT", at, { positions })).body).toEqual({
    direction: "down",
    positions,
    groups: [],
    notes: [],
  });
  expect((await app.owner("GET", `${AUTOMATIONS}/${id}`)).body.updatedAt).toBe(updatedAt);
  const notes = Array.from({ length: 40 }, (_, n) => ({ id: `n${n}`, text: "x".repeat(9_000) }));
  const long = await app.owner("PUT", at, { ...layout, notes });
  expect([long.status, long.body.code]).toEqual([413, "payload_too_large"]);
  expect(faultsOf(await app.owner("PUT", at, { ...layout, positions: { a: [1] } }))).toHaveLength(1);
});
