import { describe, expect, test } from "bun:test";
import { siblingsOf } from "../../src/http/versions.ts";
import { operations } from "../../src/server.ts";
import { fill, makeThings } from "../rules/things.ts";
import { startApp } from "../support/app.ts";
import {
  ACTIONS,
  AUTOMATIONS,
  branch,
  faultsOf,
  flowToEnd,
  makeAction,
  makeAutomation,
  NOBODY,
  runToEnd,
} from "../support/work.ts";

const work = (key: string) => ({ key, kind: "conditional_branch", definition: branch() });

const renamed = [{ name: "Mine" }, { name: "Theirs" }] as const;
const step = (key: string) => ({ config: { action: null, steps: [work(key)] } });

/** Two changes of each resource whose change accepts `If-Match`. */
const CHANGES: Readonly<Record<string, readonly [object, object]>> = {
  "/api/v1/users/me/preferences": [{ locale: "de" }, { locale: "fr" }],
  "/api/v1/organizations/current": renamed,
  "/api/v1/installation/organizations/{organization_id}": [{ plan: "pro" }, { plan: "enterprise" }],
  "/api/v1/connections/{connection_id}": renamed,
  "/api/v1/api-catalog/{api_id}": renamed,
  "/api/v1/templates/{template_id}": [{ displayName: "Mine" }, { displayName: "Theirs" }],
  "/api/v1/actions/{action_id}": renamed,
  "/api/v1/automations/{automation_id}": renamed,
  "/api/v1/automations/{automation_id}/draft": [step("a"), step("b")],
  "/api/v1/automations/{automation_id}/layout": [{ direction: "right" }, { positions: { a: [1, 2] } }],
  "/api/v1/webhooks/{webhook_id}": [{ events: ["action.created"] }, { events: ["action.failed"] }],
  "/api/v1/agents/specs/{spec_id}": [
    { markdown: "---\nname: Mine\n---\nYou help.\n" },
    { markdown: "---\nname: Theirs\n---\nYou help.\n" },
  ],
  "/api/v1/chat/threads/{thread_id}": [{ title: "Mine" }, { title: "Theirs" }],
  "/api/v1/queries/{query_id}": renamed,
  "/api/v1/dashboards/{dashboard_id}": renamed,
  "/api/v1/dashboards/{dashboard_id}/subscriptions/{subscription_id}": [
    { schedule: { cron: "0 8 * * *" } },
    { schedule: { cron: "0 9 * * *" } },
  ],
};

describe("a single resource", () => {
  test("has an ETag, which its change requires if If-Match says so", async () => {
    await using app = await startApp();
    const flow = await makeAutomation(app.owner, { steps: [work("a")] });
    const at = `${AUTOMATIONS}/${flow.id}`;
    const read = await app.owner("GET", at);
    const tag = read.headers.get("etag") ?? "";
    expect(tag).toMatch(/^"[0-9a-f]{32}"$/);
    await flowToEnd(app.owner, flow.id);
    const mine = await app.owner(
      "PATCH",
      at,
      { config: { steps: [work("a"), work("b")] } },
      { "if-match": tag },
    );
    expect(mine.status).toBe(200);
    expect(mine.headers.get("etag")).toBe((await app.owner("GET", at)).headers.get("etag"));
    const theirs = await app.owner("PATCH", at, { config: { steps: [work("c")] } }, { "if-match": tag });
    expect([theirs.status, theirs.body.code]).toEqual([412, "changed_meanwhile"]);
    expect((await app.owner("DELETE", at, undefined, { "if-match": tag })).status).toBe(412);
    expect((await app.owner("GET", at)).body.config.steps).toHaveLength(2);
    expect((await app.owner("PATCH", at, { name: "Any" }, { "if-match": "*" })).status).toBe(200);
  });

  test("isn't restored to a version over an unseen change", async () => {
    await using app = await startApp({ engine: false });
    const action = await makeAction(app.owner);
    const at = `${ACTIONS}/${action.id}`;
    const tag = (await app.owner("GET", at)).headers.get("etag") ?? "";
    expect((await app.owner("PATCH", at, { name: "Theirs" })).status).toBe(200);
    const restore = (match: string) =>
      app.owner("POST", `${at}/versions/1/restore`, undefined, { "if-match": match });
    const mine = await restore(tag);
    expect([mine.status, mine.body.code]).toEqual([412, "changed_meanwhile"]);
    const seen = await app.owner("GET", at);
    expect(seen.body.name).toBe("Theirs");
    expect((await restore(seen.headers.get("etag") ?? "")).status).toBe(200);
  });

  test("is changed once by many changes of one state", async () => {
    await using app = await startApp({ engine: false });
    const action = await makeAction(app.owner);
    const at = `${ACTIONS}/${action.id}`;
    const tag = (await app.owner("GET", at)).headers.get("etag") ?? "";
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        app.owner("PATCH", at, { name: `Name ${i}` }, { "if-match": `"x", ${tag}` }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(412)]);
    expect((await app.owner("GET", `${at}/versions`)).body.total).toBe(2);
  });

  test("has a different ETag after each of two changes within one millisecond", async () => {
    await using app = await startApp({ engine: false, stands: true });
    const sides = new Map<string, string[]>();
    const side = { app, ...app.ids, call: app.owner };
    for (const operation of operations) {
      const { path, method } = operation;
      const reader = siblingsOf(operations).readerOf(operation);
      if (!reader || !["PATCH", "PUT"].includes(method)) continue;
      const bodies = CHANGES[path];
      if (!bodies) throw new Error(`Say in CHANGES what changes ${path}`);
      const things = await makeThings(side, path);
      const [at, read] = [fill(path, things), fill(reader.path, things)];
      const tags = [(await app.owner("GET", read)).headers.get("etag") ?? ""];
      for (const body of bodies) {
        const changed = await app.owner(method, at, body, { "if-match": tags.at(-1) ?? "" });
        expect([path, changed.status, changed.text]).toEqual([path, 200, changed.text]);
        tags.push((await app.owner("GET", read)).headers.get("etag") ?? "");
        const late = await app.owner(method, at, bodies[0], { "if-match": tags.at(-2) ?? "" });
        expect([path, late.status]).toEqual([path, 412]);
      }
      sides.set(path, [...new Set(tags.map((tag) => tag.slice(0, 17)))]);
    }
    expect([...sides].filter(([, tags]) => tags.length !== 3)).toEqual([]);
  });

  test("isn't sent again to a client that has the current version", async () => {
    await using app = await startApp({ engine: false });
    const current = "/api/v1/organizations/current";
    const tag = (await app.owner("GET", current)).headers.get("etag") ?? "";
    const again = await app.owner("GET", current, undefined, { "if-none-match": tag });
    expect([again.status, again.text]).toEqual([304, ""]);
    expect((await app.owner("PATCH", current, { name: "Other" }, { "if-match": tag })).status).toBe(200);
    expect((await app.owner("PATCH", current, { name: "Third" }, { "if-match": tag })).status).toBe(412);
    expect((await app.owner("GET", current, undefined, { "if-none-match": tag })).status).toBe(200);
  });

  test("is sent again when only the server changed something in it, and can still be changed", async () => {
    await using app = await startApp();
    const { id } = await makeAction(app.owner);
    const at = `${ACTIONS}/${id}`;
    const tag = (await app.owner("GET", at)).headers.get("etag") ?? "";
    await runToEnd(app.owner, id);
    const again = await app.owner("GET", at, undefined, { "if-none-match": tag });
    expect([again.status, again.body?.latestRun.status]).toEqual([200, "completed"]);
    expect((await app.owner("PATCH", at, { name: "Mine" }, { "if-match": tag })).status).toBe(200);
    expect((await app.owner("PATCH", at, { name: "Theirs" }, { "if-match": tag })).status).toBe(412);
  });

  test("has its ETag in the response that creates it", async () => {
    await using app = await startApp({ engine: false });
    const made = await app.owner("POST", ACTIONS, { kind: "http_request", name: "New" });
    const at = `${ACTIONS}/${made.body.id}`;
    expect(made.headers.get("etag")).toBe((await app.owner("GET", at)).headers.get("etag"));
  });

  test("can be a user too, whose settings are changed below it", async () => {
    await using app = await startApp({ engine: false });
    const me = "/api/v1/users/me";
    const tag = (await app.owner("GET", me)).headers.get("etag") ?? "";
    const change = (locale: string) =>
      app.owner("PATCH", `${me}/preferences`, { locale }, { "if-match": tag });
    expect((await change("de")).status).toBe(200);
    expect((await change("fr")).body.code).toBe("changed_meanwhile");
  });

  test("is described with If-Match if its change accepts it, and not otherwise", async () => {
    await using app = await startApp({ engine: false });
    const { paths } = (await app.anonymous("GET", "/openapi.json")).body;
    const takes = (path: string, method: string) => ({
      header: JSON.stringify(paths[path][method].parameters).includes("/IfMatch"),
      refusal: "412" in paths[path][method].responses,
    });
    const [yes, no] = [
      { header: true, refusal: true },
      { header: false, refusal: false },
    ];
    expect(takes("/api/v1/automations/{automation_id}/draft", "patch")).toEqual(yes);
    expect(takes("/api/v1/users/me/preferences", "patch")).toEqual(yes);
    const path = "/api/v1/access-tokens/{token_id}";
    expect(takes(path, "delete")).toEqual(no);
    const refused = await app.owner("DELETE", path.replace("{token_id}", NOBODY), undefined, {
      "if-match": "*",
    });
    expect(faultsOf(refused)).toEqual(["header.If-Match value_error"]);
  });
});
