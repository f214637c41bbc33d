import { afterAll, beforeAll, expect, test } from "bun:test";
import { addHttp, endpoint, httpApi } from "../support/catalog.ts";
import { connect, localFiles } from "../support/connections.ts";
import { eventually } from "../support/outbound.ts";
import { startPostgres } from "../support/postgres.ts";
import { openSeen, type Seen } from "../support/seen.ts";
import { AUTOMATIONS, branch, flowToEnd, makeAutomation } from "../support/work.ts";

let seen: Seen;
beforeAll(async () => {
  seen = await openSeen();
});
afterAll(() => seen[Symbol.asyncDispose]());

const draftOf = async (id: string) => (await seen.weir.owner("GET", `${AUTOMATIONS}/${id}/draft`)).body;
const panel = () => seen.page.getByRole("region", { name: /^Step / });

test("an expression shows its value while typing, from the last run, or why it has none", async () => {
  const { page, go, weir, troubles } = seen;
  const flow = await makeAutomation(weir.owner, {
    steps: [{ key: "route", kind: "conditional_branch", definition: branch() }],
  });
  await flowToEnd(weir.owner, flow.id, { input: { total: 21, lines: ["a", "b"] } });
  await go(`/automations/${flow.id}/edit?step=route`);
  const when = page.getByRole("textbox", { name: "Condition" });
  await when.fill("input.total * 2 > 40");
  await panel().getByText("true", { exact: true }).waitFor();
  await when.fill("input.totl > 40");
  await panel()
    .getByText("input has no field totl")
    .or(panel().getByText(/no .*totl/))
    .first()
    .waitFor();
  await when.fill("");
  await page.getByLabel("Run", { exact: true }).selectOption("list");
  await page.getByRole("textbox", { name: "For each" }).fill("{{input.lines}}");
  await panel().getByText('["a","b"]').waitFor();
  await when.fill("item == 'a'");
  await panel().getByText("true", { exact: true }).waitFor();
  expect(await troubles()).toEqual([]);
});

test("rows within an input are shown as a table, whose columns become expressions", async () => {
  const { page, go, weir, troubles } = seen;
  const flow = await makeAutomation(weir.owner, {
    steps: [{ key: "route", kind: "conditional_branch", definition: branch() }],
  });
  const tags = [{ name: "new" }];
  await flowToEnd(weir.owner, flow.id, {
    input: { tags, body: { orders: [{ sku: "tea", count: 3 }] }, items: tags },
  });
  await go(`/automations/${flow.id}/edit?step=route`);
  const when = page.getByRole("textbox", { name: "Condition" });
  await when.click();
  await panel().getByRole("button", { name: "Input", exact: true }).click();
  await panel().getByRole("button", { name: "Table" }).click();
  await panel().getByRole("region", { name: "Rows of input.items" }).waitFor();
  await panel().getByRole("button", { name: "name", exact: true }).click();
  await eventually(async () => (await when.inputValue()) === "input.items[0].name");
  expect(await troubles()).toEqual([]);
});

test("text typed into the field after a changed key arrives", async () => {
  const { page, go, weir } = seen;
  const flow = await makeAutomation(weir.owner, {
    steps: [{ key: "route", kind: "conditional_branch", definition: branch() }],
  });
  await go(`/automations/${flow.id}/edit?step=route`);
  await page.getByRole("textbox", { name: "Key", exact: true }).first().fill("sort");
  await page.getByRole("textbox", { name: "Condition" }).click();
  await page.keyboard.type("input.total > 1");
  await eventually(async () => {
    const [step] = (await draftOf(flow.id)).config?.steps ?? [];
    return step?.key === "sort" && step.when === "input.total > 1";
  });
});

test("steps are found among all actions and endpoints, and automations are selected by name", async () => {
  const { page, go, weir } = seen;
  const steps = { steps: [{ key: "route", kind: "conditional_branch", definition: branch() }] };
  for (let at = 0; at < 30; at++)
    await addHttp(
      weir.owner,
      httpApi(`Shop ${at}`, { endpoints: [endpoint(`order_${at}`), endpoint(`stock_${at}`)] }),
    );
  const target = await makeAutomation(weir.owner, steps, { name: "Nightly close" });
  const flow = await makeAutomation(weir.owner, steps);
  await go(`/automations/${flow.id}/edit`);
  await page.locator('[data-step="route"]').focus();
  await page.keyboard.press("a");
  const search = page.getByRole("combobox", { name: /^Search kinds/ });
  await search.fill("stock_3 shop 3");
  await page
    .getByRole("option", { name: /stock_3/ })
    .first()
    .click();
  await eventually(
    async () => (await draftOf(flow.id)).config?.steps?.[1]?.definition.api.endpoint === "stock_3",
  );
  const api = page.getByRole("combobox", { name: /API/ }).first();
  await eventually(async () => (await api.inputValue()) === "Shop 3");

  await page.keyboard.press("Escape");
  await page.locator('[data-step="$trigger"]').focus();
  await page.keyboard.press("a");
  await search.fill("call an automation");
  await page.getByRole("option", { name: /^Call an automation/ }).click();
  const called = page.getByRole("combobox", { name: "Automation ID" });
  await called.click();
  await called.pressSequentially("nightly");
  await page.getByRole("option", { name: /^Nightly close/ }).click();
  expect(await called.inputValue()).toBe("Nightly close");
  await eventually(async () =>
    JSON.stringify((await draftOf(flow.id)).config?.steps ?? "").includes(`"automationId":"${target.id}"`),
  );
});

test("nested folders of a connection can be selected, starting with those of the group's own connection", async () => {
  const { page, go, weir, troubles } = seen;
  const files = await connect(weir.owner, localFiles("Files"));
  const other = await connect(weir.owner, localFiles("Other", { config: { root: "/others" } }));
  const put = (id: string, path: string) =>
    weir.owner("PUT", `/api/v1/connections/${id}/files?path=${path}`, "n\n1\n", {
      "content-type": "text/csv",
    });
  for (const path of ["/exports/2026/may.csv", "/exports/2025/may.csv", "/notes.csv"])
    expect((await put(files.id, path)).status).toBe(201);
  expect((await put(other.id, "/inbox/a.csv")).status).toBe(201);
  const flow = await makeAutomation(weir.owner, {
    steps: [
      {
        key: "sync",
        kind: "file_sync",
        connectionId: files.id,
        definition: { source: {}, destination: { connectionId: other.id } },
      },
    ],
  });
  await go(`/automations/${flow.id}/edit?step=sync`);
  const [from, to] = [
    page.getByRole("combobox", { name: "Path" }).first(),
    page.getByRole("combobox", { name: "Path" }).last(),
  ];
  await from.click();
  await page.getByRole("option", { name: /^exports/ }).click();
  await page.getByRole("option", { name: /^2026/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await to.focus();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("option", { name: /^inbox/ }).waitFor();
  expect(await troubles()).toEqual([]);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await eventually(async () => {
    const [step] = (await draftOf(flow.id)).config?.steps ?? [];
    return step?.definition.source.path === "/exports/2025" && step.definition.destination.path === "/inbox";
  });
});

test("an extract selects tables and columns of the live schema, suggests key and cursor, and warns of duplicate rows", async () => {
  const { page, go, weir, troubles } = seen;
  await using postgres = await startPostgres();
  await postgres.sql`create table orders (id int primary key, total int, updated_at timestamptz not null)`;
  await postgres.sql`create table notes (words text)`;
  const { host, port, user, password, database } = postgres;
  const shop = await connect(weir.owner, {
    name: "Shop",
    provider: "postgres",
    config: { host, port, database, sslMode: "disable" },
    credentials: { user, password },
  });
  const flow = await makeAutomation(weir.owner, {
    steps: [
      {
        key: "load",
        kind: "dlt_extract",
        connectionId: shop.id,
        definition: { dataset: "shop", resources: [{ spec: "public.notes" }] },
      },
    ],
  });
  await go(`/automations/${flow.id}/edit?step=load`);
  const tables = page.getByRole("region", { name: "Tables to read" });
  await tables.getByText("Every run adds all rows again: public.notes").waitFor();
  await tables.getByRole("checkbox", { name: "public.notes" }).uncheck();
  await tables.getByRole("checkbox", { name: "public.orders" }).check();
  await tables.getByText("Key id, cursor updated_at, merge").click();
  await tables.getByRole("checkbox", { name: "total" }).uncheck();
  const resource = {
    spec: "public.orders",
    primaryKey: ["id"],
    incremental: { cursorField: "updated_at" },
    writeDisposition: "merge",
    columns: ["id", "updated_at"],
  };
  await eventually(async () =>
    Bun.deepEquals((await draftOf(flow.id)).config?.steps?.[0]?.definition.resources, [resource]),
  );
  expect(await tables.getByText("Every run adds").count()).toBe(0);
  expect(await troubles()).toEqual([]);
}, 120_000);
