import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { eq } from "drizzle-orm";
import { contextFor } from "../../src/context.ts";
import { providerStateOf } from "../../src/resources/connections/provider-state.ts";
import { connectionState, connections } from "../../src/resources/connections/table.ts";
import { startApp } from "../support/app.ts";
import { CONNECTIONS, connect } from "../support/connections.ts";

setDefaultTimeout(120_000);

const DAY_MS = 86_400_000;

let app: Awaited<ReturnType<typeof startApp>>;
let id: string;
let count = 0;
beforeAll(async () => {
  app = await startApp({ engine: false });
});
afterAll(() => app[Symbol.asyncDispose]());
beforeEach(async () => {
  const credentials = { accessToken: "shpat_0123456789" };
  const config = { shopDomain: "acme.myshopify.com" };
  const name = `Shop ${++count}`;
  id = (await connect(app.owner, { name, provider: "shopify", config, credentials })).id;
});

/** The state stored for the connection's current settings. */
async function marks() {
  const ctx = contextFor(app.app, {
    organizationId: app.ids.organizationId,
    role: "owner",
    actor: { type: "user", id: app.ids.userId },
    correlationId: "marks-test",
  });
  const [row] = await app.app.store.db.select().from(connections).where(eq(connections.id, id));
  if (!row) throw new Error("It is gone.");
  return providerStateOf(ctx, row);
}

const rows = () =>
  app.app.store.db.select().from(connectionState).where(eq(connectionState.connectionId, id));

test("state is kept by name until it is replaced or removed", async () => {
  const { read, keep } = await marks();
  expect(await read("place")).toBeNull();
  await keep("place", "1");
  await keep("other", "x");
  await keep("place", "2");
  expect([await read("place"), await read("other")]).toEqual(["2", "x"]);
  await keep("place", null);
  expect(await read("place")).toBeNull();
  expect(await rows()).toHaveLength(1);
});

test("other config or credentials have no stored state", async () => {
  await (await marks()).keep("place", "1");
  const path = `${CONNECTIONS}/${id}`;
  const credentials = { accessToken: "shpat_another_one" };
  expect((await app.owner("PATCH", path, { credentials })).status).toBe(200);
  expect(await (await marks()).read("place")).toBeNull();
  await (await marks()).keep("place", "2");
  expect((await app.owner("PATCH", path, { config: { apiVersion: "2026-04" } })).status).toBe(200);
  expect(await (await marks()).read("place")).toBeNull();
});

test("old leftovers are deleted, and everything is deleted with the connection", async () => {
  await (await marks()).keep("old", "1");
  app.clock.turn(61 * DAY_MS);
  await (await marks()).keep("new", "1");
  expect((await rows()).map(({ name }) => name)).toEqual(["new"]);
  app.clock.turn(-61 * DAY_MS);
  expect((await app.owner("DELETE", `${CONNECTIONS}/${id}`)).status).toBe(204);
  expect(await rows()).toEqual([]);
});
