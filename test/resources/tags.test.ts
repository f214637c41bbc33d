import { afterAll, beforeAll, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { neighbour } from "../support/people.ts";
import {
  ACTIONS,
  AUTOMATIONS,
  branch,
  created,
  faultsOf,
  makeAction,
  makeAutomation,
} from "../support/work.ts";

const steps = [{ key: "go", kind: "conditional_branch", definition: branch() }];

let app: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  app = await startApp({ engine: false });
});
afterAll(() => app[Symbol.asyncDispose]());

const names = async (path: string) => {
  const { body } = await app.owner("GET", path);
  return (body.automations ?? body.actions).map(({ name }: { name: string }) => name);
};

test("tags group automations and actions, filter their lists, and don't create versions", async () => {
  const flow = await makeAutomation(app.owner, { steps }, { name: "Invoices", tags: ["finance", "finance"] });
  expect(flow.tags).toEqual(["finance"]);
  await makeAutomation(app.owner, { steps }, { name: "Plain" });
  const action = await makeAction(app.owner, { name: "Pay", tags: ["finance", "daily"] });
  expect(await names(`${AUTOMATIONS}?tag=finance`)).toEqual(["Invoices"]);
  expect(await names(`${ACTIONS}?tag=daily`)).toEqual(["Pay"]);
  expect(await names(`${ACTIONS}?tag=dai`)).toEqual([]);
  expect((await app.owner("GET", "/api/v1/tags")).body.tags).toEqual([
    { tag: "daily", automations: 0, actions: 1 },
    { tag: "finance", automations: 1, actions: 1 },
  ]);
  for (const [path, id] of [
    [AUTOMATIONS, flow.id],
    [ACTIONS, action.id],
  ]) {
    const changed = await app.owner("PATCH", `${path}/${id}`, { tags: ["monthly"] });
    expect(changed.body.tags).toEqual(["monthly"]);
    expect((await app.owner("PATCH", `${path}/${id}`, { tags: ["monthly"] })).body.updatedAt).toBe(
      changed.body.updatedAt,
    );
    const { body } = await app.owner("GET", `${path}/${id}/versions`);
    expect((body.versions ?? body.items).length).toBe(1);
  }
  expect(faultsOf(await app.owner("PATCH", `${ACTIONS}/${action.id}`, { tags: [""] }))).toHaveLength(1);
  const other = await neighbour(app);
  expect((await other.call("GET", "/api/v1/tags")).body.tags).toEqual([]);
});

test("a tag that begins with a slash is a folder, and its list includes the folders below it", async () => {
  const make = (name: string, tags: string[]) => makeAutomation(app.owner, { steps }, { name, tags });
  await make("Deep", ["x", "/büro/eu/de"]);
  await make("Flat", ["/büro"]);
  await make("Beside", ["/büro2", "büro/eu"]);
  await makeAction(app.owner, { name: "Filed", tags: ["/büro/eu"] });
  const inFolder = (path: string, of = AUTOMATIONS) =>
    names(`${of}?sort_by=name&order=asc&folder=${encodeURIComponent(path)}`);
  expect(await inFolder("/büro")).toEqual(["Deep", "Flat"]);
  expect(await inFolder("/büro/")).toEqual(["Deep", "Flat"]);
  expect(await inFolder("/büro/eu")).toEqual(["Deep"]);
  for (const other of ["/b_ro", "/b*", "/b?ro", "/BÜRO"]) expect(await inFolder(other)).toEqual([]);
  await make("Odd", ["/a[*]?/b"]);
  expect(await inFolder("/a[*]?")).toEqual(["Odd"]);
  expect(await inFolder("/büro", ACTIONS)).toEqual(["Filed"]);
  expect(faultsOf(await app.owner("GET", `${AUTOMATIONS}?folder=eu`))).toHaveLength(1);
});

test("a resource in two folders counts once in the folder above them", async () => {
  const { call } = await neighbour(app);
  await makeAutomation(call, { steps }, { name: "Both", tags: ["/shop/ch", "/shop/de/north", "x"] });
  await makeAction(call, { name: "One", tags: ["/shop/ch"] });
  expect((await call("GET", "/api/v1/tags")).body.folders).toEqual([
    { path: "/shop", automations: 1, actions: 1 },
    { path: "/shop/ch", automations: 1, actions: 1 },
    { path: "/shop/de", automations: 1, actions: 0 },
    { path: "/shop/de/north", automations: 1, actions: 0 },
  ]);
});

test("a folder has one slash before each name", async () => {
  const { id } = await makeAction(app.owner, {
    name: "Foldered",
    tags: ["a//b", "/one folder/two", "/a-b/c.d"],
  });
  for (const tag of ["/", "//", "/a//b", "/a/", "/a/ /b", "/a /b", "/ a"]) {
    const { status, body } = await app.owner("PATCH", `${ACTIONS}/${id}`, { tags: ["ok", tag] });
    expect([status, body.detail[0].loc, body.detail[0].msg]).toEqual([
      422,
      ["body", "tags", "1"],
      "Input should have more than spaces, and a folder one / before each name, such as /finance/eu",
    ]);
  }
});

test("automations are sorted as requested, newest first by default", async () => {
  await makeAutomation(app.owner, { steps }, { name: "Aaa" });
  await makeAutomation(app.owner, { steps }, { name: "Zzz", status: "disabled" });
  expect((await names(AUTOMATIONS))[0]).toBe("Zzz");
  expect((await names(`${AUTOMATIONS}?sort_by=name&order=asc`))[0]).toBe("Aaa");
  expect((await names(`${AUTOMATIONS}?sort_by=name`))[0]).toBe("Zzz");
  expect((await names(`${AUTOMATIONS}?sort_by=status`))[0]).toBe("Zzz");
  expect((await names(`${AUTOMATIONS}?sort_by=updated_at&order=asc`)).at(-1)).toBe("Zzz");
  expect(faultsOf(await app.owner("GET", `${AUTOMATIONS}?sort_by=colour`))).toEqual(["query.sort_by enum"]);
});

test("a duplicate is a draft with the same steps, tags and layout, and its own secrets", async () => {
  const config = { steps, path: "orders" };
  const flow = await makeAutomation(app.owner, config, {
    name: "Hook",
    triggerType: "webhook",
    tags: ["shop"],
  });
  const layout = { direction: "right", positions: { go: [10, 20] }, groups: [], notes: [] };
  await app.owner("PUT", `${AUTOMATIONS}/${flow.id}/layout`, layout);
  const copy = created(await app.owner("POST", `${AUTOMATIONS}/${flow.id}/duplicate`));
  expect(copy).toMatchObject({
    name: "Hook (copy)",
    slug: "hook-copy",
    status: "draft",
    tags: ["shop"],
    triggerType: "webhook",
    config: { steps, path: "orders-2" },
  });
  expect(copy.config.secret).not.toBe(flow.config.secret);
  expect((await app.owner("GET", `${AUTOMATIONS}/${copy.id}/layout`)).body).toEqual(layout);
  const active = await app.owner("PATCH", `${AUTOMATIONS}/${copy.id}`, { status: "active" });
  expect(active.body.status).toBe("active");

  const action = await makeAction(app.owner, { name: "Branch off", tags: ["shop"] });
  const twin = created(await app.owner("POST", `${ACTIONS}/${action.id}/duplicate`, { name: "Twin" }));
  expect(twin).toMatchObject({ name: "Twin", slug: "twin", tags: ["shop"], definition: action.definition });
  expect(twin.id).not.toBe(action.id);
  const other = await neighbour(app);
  expect((await other.call("POST", `${AUTOMATIONS}/${flow.id}/duplicate`)).status).toBe(404);
});
