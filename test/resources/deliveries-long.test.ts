import { expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { firstIdAt } from "../../src/base/ids.ts";
import { webhookDeliveries } from "../../src/resources/inbound/table.ts";
import { startApp } from "../support/app.ts";
import { makeHook, send } from "../support/hook.ts";
import { branch } from "../support/work.ts";

const COUNT = 3_000;
const BATCH = 500;
const MINUTE_MS = 60_000;

test("a long list of deliveries can be filtered by status and by automation, page by page", async () => {
  await using app = await startApp();
  const action = { kind: "conditional_branch", definition: branch() };
  const hook = await makeHook(app, { action });
  const other = await makeHook(app, { action, path: "others" }, { name: "Other" });
  const { deliveryId } = (await send(app, "{}")).body;
  const { store } = app.app;
  const [row] = await store.db.select().from(webhookDeliveries).where(eq(webhookDeliveries.id, deliveryId));
  if (!row) throw new Error("The delivery is not stored");
  const newest = Date.now() - 60 * MINUTE_MS;
  const rows = Array.from({ length: COUNT }, (_, at) => ({
    ...row,
    id: firstIdAt(new Date(newest - at * MINUTE_MS)),
    automationId: at % 1_000 === 999 ? other.id : hook.id,
    status: at % 700 === 699 ? ("failed" as const) : ("processed" as const),
  }));
  for (let at = 0; at < COUNT; at += BATCH)
    await store.write(
      async (db) => void (await db.insert(webhookDeliveries).values(rows.slice(at, at + BATCH))),
    );

  const pages = async (query: string) => {
    const found: string[][] = [];
    for (let cursor = ""; found.length < 10; ) {
      const path = `/api/v1/webhook-deliveries?${query}&limit=2${cursor && `&cursor=${cursor}`}`;
      const { status, text, body } = await app.owner("GET", path);
      if (status !== 200) throw new Error(text);
      found.push(body.items.map(({ id }: { id: string }) => id));
      if (body.nextCursor === undefined) break;
      cursor = encodeURIComponent(body.nextCursor);
    }
    return found;
  };
  const at = (...places: number[]) => places.map((place) => rows[place]?.id ?? "");
  expect(await pages("status=failed")).toEqual([at(699, 1_399), at(2_099, 2_799)]);
  expect(await pages("status=dead_letter")).toEqual([[]]);
  expect(await pages(`automation_id=${other.id}`)).toEqual([at(999, 1_999), at(2_999)]);
  expect(await pages(`automation_id=${other.id}&status=failed`)).toEqual([[]]);
});
