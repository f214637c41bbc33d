import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { and, eq, inArray, like } from "drizzle-orm";
import { type Context, contextFor, write } from "../../src/context.ts";
import { sweeper } from "../../src/engine/sweeper.ts";
import type { Lake } from "../../src/lake/contract.ts";
import { openFolderLake } from "../../src/lake/folder.ts";
import { commitCompaction, commitLoad } from "../../src/resources/datasets/commit.ts";
import { lakeFiles, lakeLoads } from "../../src/resources/datasets/table.ts";
import { readTables } from "../../src/resources/datasets/tables.ts";
import { events } from "../../src/resources/events/table.ts";
import { memberships, type Role } from "../../src/resources/organizations/table.ts";
import { settings } from "../../src/store/settings.ts";
import { type Client, client, startApp } from "../support/app.ts";
import { loadTable } from "../support/lake.ts";
import { eventually } from "../support/outbound.ts";
import { join as joinTeam, neighbour } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";
import { created, faultsOf, NOBODY } from "../support/work.ts";

setDefaultTimeout(120_000);

const SYNC = "/api/v1/sync/run";

let app: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  app = await startApp({ engine: false });
}, 120_000);
afterAll(() => app[Symbol.asyncDispose]());

/** An organization in which the installation's owner has a role, with a client for it. */
async function another(role: Role | null = "admin") {
  const { organization } = await neighbour(app);
  if (role) await belong(app.ids.userId, organization.id, role);
  const call: Client = client(app.origin, {
    authorization: `Bearer ${app.token}`,
    "x-organization-id": organization.id,
  });
  return { id: organization.id, slug: organization.slug, call };
}

const belong = (userId: string, organizationId: string, role: Role) =>
  app.app.store.write(async (db) => {
    const joinedAt = app.clock.now().toISOString();
    const id = app.app.ids.uuid();
    await db.insert(memberships).values({ id, organizationId, userId, role, isDefault: false, joinedAt });
  });

const contextOf = (organizationId = app.ids.organizationId): Context =>
  contextFor(app.app, {
    organizationId,
    role: "owner",
    actor: { type: "user", id: app.ids.userId },
    correlationId: "sync-test",
  });

let count = 0;
let layer = "";
beforeEach(() => {
  layer = `layer_${++count}`;
});

const load = (dataset: string, select: string, table = dataset, organizationId?: string) =>
  loadTable(contextOf(organizationId), { layer, dataset, table, select });

async function run(body: object, call = app.owner) {
  const reply = await call("POST", SYNC, { layer, ...body });
  if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`);
  return reply.body;
}

async function rows(call: Client, sql: string) {
  const reply = await call("POST", "/api/v1/query", { sql });
  if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`);
  return reply.body.rows;
}

const ids = async (call: Client, table: string) =>
  (await rows(call, `SELECT id FROM ${layer}.${table} ORDER BY id`)).map(({ id }: { id: number }) => id);

/** A server whose first sync, of two files, pauses once both are at the destination, until `goOn`. */
async function startSlow() {
  const opened: { lake?: Lake } = {};
  const reached = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const lake = (): Lake => opened.lake as Lake;
  let placed = 0;
  const slow: Lake = {
    workFolder: (id) => lake().workFolder(id),
    localPath: (file, hold) => lake().localPath(file, hold),
    tail: (file, length) => lake().tail(file, length),
    get home() {
      return lake().home;
    },
    write: (folder, files) => lake().write(folder, files),
    remove: (paths) => lake().remove(paths),
    list: (before) => lake().list(before),
    async add(at, file) {
      const found = await lake().add(at, file);
      if (++placed === 4) {
        reached.resolve();
        await goOn.promise;
      }
      return found;
    },
  };
  const weir = await startApp({ engine: false, hurry: 60_000, overrides: { lake: slow } });
  opened.lake = openFolderLake(join(weir.dataFolder, "lake"));
  const { organization } = await neighbour(weir);
  const joinedAt = weir.clock.now().toISOString();
  const as = { organizationId: organization.id, role: "admin" as const, joinedAt };
  const membership = { id: weir.app.ids.uuid(), userId: weir.ids.userId, isDefault: false, ...as };
  await weir.app.store.write(async (db) => void (await db.insert(memberships).values(membership)));
  const ctx = contextFor(weir.app, {
    organizationId: weir.ids.organizationId,
    role: "owner",
    actor: { type: "user", id: weir.ids.userId },
    correlationId: "sync-test",
  });
  for (const id of [1, 2])
    await loadTable(ctx, { layer: "raw", dataset: "shop", table: "shop", select: `SELECT ${id} AS id` });
  const authorization = `Bearer ${weir.token}`;
  const there = client(weir.origin, { authorization, "x-organization-id": organization.id });
  return {
    weir,
    target: organization.id,
    found: () => rows(there, "SELECT id FROM raw.shop ORDER BY id"),
    reached: reached.promise,
    goOn: goOn.resolve,
    [Symbol.asyncDispose]: () => weir[Symbol.asyncDispose](),
  };
}

describe("a sync", () => {
  deepTest(
    "copies all tables of a layer, reports what it did, and copies nothing the next time",
    async () => {
      const there = await another();
      await load("shop", "SELECT range AS id FROM range(3)", "orders");
      await load("shop", "SELECT range + 3 AS id FROM range(2)", "orders");
      await load("shop", "SELECT 'x' AS sku", "orders__lines");
      await load("crm", "SELECT 7 AS id");
      const bytes = await bytesIn(app.ids.organizationId);
      const correlationId = `sync-${crypto.randomUUID()}`;
      const reply = await app.owner(
        "POST",
        SYNC,
        { layer, destTenantId: there.id },
        { "x-correlation-id": correlationId },
      );
      expect(reply.status).toBe(200);
      expect(reply.body).toEqual({
        status: "completed",
        plan: {
          layer,
          datasetFilter: null,
          datasets: ["crm", "shop"],
          dateFrom: null,
          dateTo: null,
          sourceBucket: `lake/${app.ids.organizationId}`,
          destBucket: `lake/${there.id}`,
          sourceTenantId: app.ids.organizationId,
          destTenantId: there.id,
          totalFiles: 4,
          totalBytes: bytes,
          withinLimits: true,
          limitExceededReason: null,
        },
        filesCopied: 4,
        bytesCopied: bytes,
        durationSeconds: expect.any(Number),
        errors: [],
      });
      expect(await ids(there.call, "shop__orders")).toEqual([0, 1, 2, 3, 4]);
      expect(await ids(there.call, "crm")).toEqual([7]);
      const trail = await app.app.store.db
        .select()
        .from(events)
        .where(eq(events.correlationId, correlationId))
        .orderBy(events.seq);
      const seen = trail.map(({ type, organizationId, entityId, actorId }) => [
        type,
        organizationId,
        entityId,
        actorId,
      ]);
      const told = (organization: string, dataset: string) => [
        "dataset.synced",
        organization,
        `${layer}.${dataset}`,
        app.ids.userId,
      ];
      expect(seen.sort()).toEqual(
        [
          told(app.ids.organizationId, "crm"),
          told(there.id, "crm"),
          told(app.ids.organizationId, "shop"),
          told(there.id, "shop"),
        ].sort(),
      );
      expect(trail.find(({ entityId }) => entityId === `${layer}.shop`)?.data).toMatchObject({
        files: 3,
        tables: ["orders", "orders__lines"],
        sourceTenantId: app.ids.organizationId,
        destTenantId: there.id,
      });
      for (const call of [app.owner, there.call])
        expect((await call("GET", "/api/v1/events/verify")).body.valid).toBe(true);

      expect(await run({ destTenantId: there.id })).toMatchObject({
        status: "nothing_to_copy",
        plan: { totalFiles: 0, totalBytes: 0, datasets: ["crm", "shop"], withinLimits: true },
        filesCopied: 0,
        bytesCopied: 0,
        errors: [],
      });
      await load("shop", "SELECT 5 AS id", "orders");
      expect(await run({ destTenantId: there.id })).toMatchObject({ status: "completed", filesCopied: 1 });
      expect(await ids(there.call, "shop__orders")).toEqual([0, 1, 2, 3, 4, 5]);
    },
  );

  test("with one key returns the first response again, and rejects the key with another request", async () => {
    const there = await another();
    await load("shop", "SELECT 1 AS id");
    const key = { "idempotency-key": crypto.randomUUID() };
    const body = { layer, destTenantId: there.id };
    const first = await app.owner("POST", SYNC, body, key);
    expect([first.status, first.body.filesCopied, first.headers.get("idempotency-replayed")]).toEqual([
      200,
      1,
      null,
    ]);
    const again = await app.owner("POST", SYNC, body, key);
    expect([again.body, again.headers.get("idempotency-replayed")]).toEqual([first.body, "true"]);
    const other = await app.owner("POST", SYNC, { ...body, maxFiles: 5 }, key);
    expect([other.status, other.body.code]).toEqual([409, "idempotency_mismatch"]);
  });

  test("copies from another organization to the current one, by ID or slug", async () => {
    const there = await another();
    await load("shop", "SELECT 1 AS id", "shop", there.id);
    await load("crm", "SELECT 2 AS id", "crm", there.id);
    expect(await run({ orgSlug: there.slug, dataset: "shop" })).toMatchObject({
      status: "completed",
      filesCopied: 1,
      plan: {
        datasetFilter: "shop",
        datasets: ["shop"],
        sourceTenantId: there.id,
        destTenantId: app.ids.organizationId,
      },
    });
    expect(await ids(app.owner, "shop")).toEqual([1]);
    expect(await run({ tenantId: there.id, orgSlug: there.slug })).toMatchObject({ filesCopied: 1 });
    expect(await ids(app.owner, "crm")).toEqual([2]);
    const third = await another();
    expect(await run({ tenantId: there.id, destTenantId: third.id })).toMatchObject({
      filesCopied: 2,
      plan: { sourceTenantId: there.id, destTenantId: third.id },
    });
    expect(await ids(third.call, "shop")).toEqual([1]);
  });

  test("doesn't copy files that already exist with the same size and hash, even if others copied them", async () => {
    const [one, two] = [await another(), await another()];
    await load("shop", "SELECT 1 AS id");
    await run({ destTenantId: one.id });
    await run({ destTenantId: two.id });
    // The same bytes came to `two` from here, and would now come from `one`.
    expect(await run({ tenantId: one.id, destTenantId: two.id })).toMatchObject({
      status: "nothing_to_copy",
      filesCopied: 0,
    });
    expect(await ids(two.call, "shop")).toEqual([1]);
  });

  test("removes what it copied and the source no longer has, and keeps the destination's own rows", async () => {
    const there = await another();
    const first = await load("shop", "SELECT 1 AS id");
    await load("shop", "SELECT 2 AS id");
    await run({ destTenantId: there.id });
    await load("shop", "SELECT 100 AS id", "shop", there.id);
    await removeFile(first);
    expect(await run({ destTenantId: there.id })).toMatchObject({ status: "completed", filesCopied: 0 });
    expect(await ids(there.call, "shop")).toEqual([2, 100]);
    expect(await run({ destTenantId: there.id })).toMatchObject({ status: "nothing_to_copy" });
  });

  deepTest("continues after compaction on either side", async () => {
    const there = await another();
    await load("shop", "SELECT 1 AS id");
    await load("shop", "SELECT 2 AS id");
    await run({ destTenantId: there.id });
    await putTogether("SELECT unnest([1, 2]) AS id");
    expect(await run({ destTenantId: there.id })).toMatchObject({ status: "nothing_to_copy" });
    await putTogether("SELECT unnest([1, 2]) AS id", there.id);
    expect(await run({ destTenantId: there.id })).toMatchObject({ status: "nothing_to_copy" });
    await load("shop", "SELECT 3 AS id");
    expect(await run({ destTenantId: there.id })).toMatchObject({ status: "completed", errors: [] });
    expect(await ids(there.call, "shop")).toEqual([1, 2, 3]);
    expect(await run({ destTenantId: there.id })).toMatchObject({ status: "nothing_to_copy" });
  });

  deepTest("that takes hours protects its files from the sweeper", async () => {
    await using slow = await startSlow();
    const { weir, target } = slow;
    const { store, ids } = weir.app;
    const reply = weir.owner("POST", SYNC, { layer: "raw", destTenantId: target });
    await slow.reached;
    const marks = () => store.db.select().from(settings).where(like(settings.key, "lake_load:%"));
    const isHeld = async () => (await marks()).some(({ value }) => value > weir.clock.now().toISOString());
    const dead = ids.uuid();
    const leftover = join(weir.dataFolder, "lake", target, "raw", "shop", "shop", `${dead}-1.parquet`);
    writeFileSync(leftover, "left by a sync that was killed");
    const held = { key: `lake_load:${dead}`, value: weir.clock.now().toISOString() };
    await store.write(async (db) => void (await db.insert(settings).values(held)));
    for (let looks = 1; looks <= 3; looks++) {
      weir.clock.turn(2 * 3_600_000);
      await eventually(isHeld);
      const loop = sweeper(weir.app);
      while ((await loop.tick(new AbortController().signal)) === "more");
    }
    expect(existsSync(leftover)).toBe(false);
    slow.goOn();
    expect((await reply).body).toMatchObject({ status: "completed", filesCopied: 2 });
    expect(await slow.found()).toEqual([{ id: 1 }, { id: 2 }]);
    expect(await marks()).toEqual([]);
  });

  deepTest("continues if its caller doesn't wait", async () => {
    await using slow = await startSlow();
    const { weir, target } = slow;
    const gone = new AbortController();
    const asked = fetch(weir.origin + SYNC, {
      method: "POST",
      headers: { authorization: `Bearer ${weir.token}`, "content-type": "application/json" },
      body: JSON.stringify({ layer: "raw", destTenantId: target }),
      signal: gone.signal,
    });
    await slow.reached;
    gone.abort();
    expect(await asked.catch((error: Error) => error.name)).toBe("AbortError");
    slow.goOn();
    const synced = () => weir.app.store.db.select().from(events).where(eq(events.type, "dataset.synced"));
    while ((await synced()).length === 0) await Bun.sleep(20);
    expect(await slow.found()).toEqual([{ id: 1 }, { id: 2 }]);
  });

  deepTest("of one dataset from two sides at once copies each row once", async () => {
    const there = await another();
    await load("shop", "SELECT 1 AS id");
    const both = await Promise.all([run({ destTenantId: there.id }), run({ destTenantId: there.id })]);
    expect(both.map(({ filesCopied, errors }) => [filesCopied, errors]).sort()).toEqual([
      [0, []],
      [1, []],
    ]);
    expect(await ids(there.call, "shop")).toEqual([1]);
  });

  deepTest("copies again into a dataset that was deleted there", async () => {
    const there = await another();
    await load("shop", "SELECT 1 AS id");
    await run({ destTenantId: there.id });
    expect((await there.call("DELETE", `/api/v1/datasets/${layer}/shop`)).status).toBe(204);
    expect(await run({ destTenantId: there.id })).toMatchObject({ status: "completed", filesCopied: 1 });
    expect(await ids(there.call, "shop")).toEqual([1]);
  });

  deepTest(
    "of a dataset that was deleted there and filled by someone else adds its rows to theirs",
    async () => {
      const there = await another();
      const first = await load("shop", "SELECT 1 AS id");
      await run({ destTenantId: there.id });
      expect((await there.call("DELETE", `/api/v1/datasets/${layer}/shop`)).status).toBe(204);
      await load("shop", "SELECT 100 AS id", "shop", there.id);
      expect(await run({ destTenantId: there.id })).toMatchObject({ status: "completed", filesCopied: 1 });
      expect(await ids(there.call, "shop")).toEqual([1, 100]);
      expect((await there.call("DELETE", `/api/v1/datasets/${layer}/shop`)).status).toBe(204);
      await load("shop", "SELECT 200 AS id", "shop", there.id);
      await load("shop", "SELECT 2 AS id");
      await removeFile(first);
      expect(await run({ destTenantId: there.id })).toMatchObject({ status: "completed", errors: [] });
      expect(await ids(there.call, "shop")).toEqual([2, 200]);
    },
  );

  deepTest("of a dataset that was deleted at the source and refilled copies what is there now", async () => {
    const there = await another();
    await load("shop", "SELECT 1 AS id");
    await run({ destTenantId: there.id });
    expect((await app.owner("DELETE", `/api/v1/datasets/${layer}/shop`)).status).toBe(204);
    await load("shop", "SELECT 2 AS id");
    expect(await run({ destTenantId: there.id })).toMatchObject({ status: "completed", filesCopied: 1 });
    expect(await ids(there.call, "shop")).toEqual([2]);
  });

  test("beyond a limit copies nothing and says which limit; at the limit everything", async () => {
    const there = await another();
    await load("shop", "SELECT 1 AS id");
    await load("shop", "SELECT 2 AS id");
    const bytes = await bytesIn(app.ids.organizationId);
    const reasonOf = async (limits: object) => {
      const reply = await run({ destTenantId: there.id, ...limits });
      expect(reply).toMatchObject({
        status: "limit_exceeded",
        plan: { withinLimits: false, totalFiles: 2, totalBytes: bytes },
        filesCopied: 0,
        bytesCopied: 0,
        errors: [],
      });
      return reply.plan.limitExceededReason;
    };
    expect(await reasonOf({ maxFiles: 1 })).toBe("2 files exceed maxFiles (1). Nothing was copied.");
    expect(await reasonOf({ maxBytes: bytes - 1 })).toBe(
      `${bytes} bytes exceed maxBytes (${bytes - 1}). Nothing was copied.`,
    );
    expect(await reasonOf({ maxFiles: 0 })).toContain("exceed maxFiles (0)");
    expect((await there.call("GET", `/api/v1/datasets?layer=${layer}`)).body.total).toBe(0);
    expect(await run({ destTenantId: there.id, maxFiles: 2, maxBytes: bytes })).toMatchObject({
      status: "completed",
      filesCopied: 2,
      bytesCopied: bytes,
      plan: { withinLimits: true, limitExceededReason: null },
    });
  });

  deepTest("selects loads by day, both ends included", async () => {
    for (const day of [1, 2, 3, 4])
      await backdate(await load("shop", `SELECT ${day} AS id`), `2026-03-0${day}T23:59:59.000Z`);
    const taken = async (dates: object) => {
      const there = await another();
      const { plan, status } = await run({ destTenantId: there.id, ...dates });
      if (status === "nothing_to_copy") return [];
      expect(plan).toMatchObject(dates);
      return ids(there.call, "shop");
    };
    expect(await taken({ dateFrom: "2026-03-02", dateTo: "2026-03-03" })).toEqual([2, 3]);
    expect(await taken({ dateFrom: "2026-03-04" })).toEqual([4]);
    expect(await taken({ dateTo: "2026-03-01" })).toEqual([1]);
    expect(await taken({ dateFrom: "2027-01-01" })).toEqual([]);
    const there = await another();
    await run({ destTenantId: there.id, dateTo: "2026-03-02" });
    expect(await run({ destTenantId: there.id, dateTo: "2026-03-03" })).toMatchObject({ filesCopied: 1 });
    expect(await run({ destTenantId: there.id })).toMatchObject({ filesCopied: 1 });
    expect(await ids(there.call, "shop")).toEqual([1, 2, 3, 4]);
  });

  test("of a missing layer does nothing", async () => {
    const there = await another();
    expect(await run({ destTenantId: there.id })).toMatchObject({
      status: "nothing_to_copy",
      plan: { datasets: [], totalFiles: 0, withinLimits: true },
      filesCopied: 0,
    });
  });

  deepTest("reports the dataset that can't be copied, and copies the others", async () => {
    const there = await another();
    await load("crm", "SELECT 1 AS id");
    await load("shop", "SELECT DATE '2026-01-01' AS id");
    await load("shop", "SELECT [1, 2] AS id", "shop", there.id);
    const reply = await run({ destTenantId: there.id });
    expect(reply).toMatchObject({ status: "partial", filesCopied: 1 });
    expect(reply.errors).toEqual([
      {
        key: `${layer}.shop`,
        code: "schema_contract_violation",
        message: expect.stringContaining("Column id"),
      },
    ]);
    expect(await ids(there.call, "crm")).toEqual([1]);
    const left = await app.app.store.db
      .select()
      .from(lakeFiles)
      .where(and(eq(lakeFiles.organizationId, there.id), eq(lakeFiles.dataset, "shop")));
    expect(left).toHaveLength(1);
  });

  test("doesn't copy a table whose name in SQL another table of the destination has", async () => {
    const there = await another();
    await load("shop", "SELECT 1 AS id", "orders__lines", there.id);
    await load("shop__orders", "SELECT 2 AS id", "lines");
    await load("crm", "SELECT 3 AS id");
    expect(await run({ destTenantId: there.id })).toMatchObject({
      status: "partial",
      filesCopied: 1,
      errors: [
        {
          key: `${layer}.shop__orders`,
          code: "conflict",
          message: `Table lines of dataset shop__orders would be ${layer}.shop__orders__lines in SQL, which is the name of table orders__lines of dataset shop. Use another dataset or table name.`,
        },
      ],
    });
    expect(await ids(there.call, "shop__orders__lines")).toEqual([1]);
    expect(await ids(there.call, "crm")).toEqual([3]);
  });

  test("keeps what someone has overwritten at the destination, and says what to do", async () => {
    const there = await another();
    await load("shop", "SELECT 1 AS id");
    await run({ destTenantId: there.id });
    await app.app.store.write(async (db) => {
      const own = and(eq(lakeFiles.organizationId, there.id), eq(lakeFiles.layer, layer));
      await db.update(lakeFiles).set({ removedAt: app.clock.now().toISOString() }).where(own);
    });
    await load("shop", "SELECT 50 AS id", "shop", there.id);
    await load("shop", "SELECT 2 AS id");
    expect(await run({ destTenantId: there.id })).toMatchObject({
      status: "partial",
      filesCopied: 0,
      errors: [{ key: `${layer}.shop.shop`, code: "dataset_changed" }],
    });
    expect(await ids(there.call, "shop")).toEqual([50]);
  });
});

describe("permissions", () => {
  test("require an admin of both organizations; others get the same response as for an unknown one", async () => {
    await load("shop", "SELECT 1 AS id");
    const [mine, foreign, low] = [await another("admin"), await another(null), await another("member")];
    for (const id of [foreign.id, low.id, NOBODY]) {
      for (const body of [{ destTenantId: id }, { tenantId: id }, { tenantId: id, destTenantId: mine.id }]) {
        const reply = await app.owner("POST", SYNC, { layer, ...body });
        expect([reply.status, reply.body.code]).toEqual([403, "forbidden"]);
        expect(reply.text.replaceAll(id, "ID").replace(reply.body.correlationId, "")).toContain(
          "You aren't an admin of ID.",
        );
      }
    }
    for (const orgSlug of ["no-such-place", foreign.slug, low.slug]) {
      for (const also of [{}, { tenantId: NOBODY }, { destTenantId: NOBODY }]) {
        const reply = await app.owner("POST", SYNC, { layer, orgSlug, ...also });
        expect([reply.status, reply.body.code]).toEqual([403, "forbidden"]);
        expect(reply.body.detail).toEndWith(`You aren't an admin of ${orgSlug}.`);
      }
    }
    const { call, user } = await joinTeam(app, "member");
    await belong(user.id, mine.id, "owner");
    expect((await call("POST", SYNC, { layer, destTenantId: mine.id })).status).toBe(403);
    const admin = await joinTeam(app, "admin");
    await belong(admin.user.id, mine.id, "admin");
    expect((await admin.call("POST", SYNC, { layer, destTenantId: mine.id })).status).toBe(200);
  });

  test("exclude API keys, which have a role only in their own organization", async () => {
    const there = await another();
    const { key } = created(await app.owner("POST", "/api/v1/api-keys", { name: "sync", roleSlug: "admin" }));
    const reply = await app.anonymous("POST", SYNC, { layer, destTenantId: there.id }, { "x-api-key": key });
    expect([reply.status, reply.body.code]).toEqual([403, "forbidden"]);
    expect(reply.body.detail).toContain("this token works in one");
  });
});

test("invalid input is reported field by field", async () => {
  const there = await another();
  const faults = async (body: object) => faultsOf(await app.owner("POST", SYNC, body));
  expect(await faults({})).toEqual(["body.layer missing"]);
  expect(await faults({ layer: "raw" })).toEqual(["body.destTenantId missing"]);
  expect(await faults({ layer: "raw", destTenantId: app.ids.organizationId })).toEqual([
    "body.destTenantId value_error",
  ]);
  expect(await faults({ layer: "../raw", destTenantId: there.id })).toEqual([
    "body.layer string_pattern_mismatch",
  ]);
  expect(await faults({ layer: "raw", dataset: "a/b", destTenantId: "x", dryRun: true })).toEqual([
    "body.dataset string_pattern_mismatch",
    "body.destTenantId uuid_parsing",
    "body.dryRun extra_forbidden",
  ]);
  const to = { layer: "raw", destTenantId: there.id };
  expect(await faults({ ...to, dateFrom: "2026-02-30" })).toEqual(["body.dateFrom date_parsing"]);
  expect(await faults({ ...to, dateTo: "2026-03-01T00:00:00Z" })).toEqual(["body.dateTo date_parsing"]);
  expect(await faults({ ...to, dateFrom: "2026-03-02", dateTo: "2026-03-01" })).toEqual([
    "body.dateTo value_error",
  ]);
  expect(await faults({ ...to, maxFiles: -1, maxBytes: 1.5 })).toEqual([
    "body.maxBytes int_type",
    "body.maxFiles greater_than_equal",
  ]);
  const twice = { layer: "raw", tenantId: there.id, orgSlug: (await another()).slug };
  expect(await faults(twice)).toEqual(["body.orgSlug value_error"]);
});

async function bytesIn(organizationId: string): Promise<number> {
  const files = await app.app.store.db
    .select()
    .from(lakeFiles)
    .where(and(eq(lakeFiles.organizationId, organizationId), eq(lakeFiles.layer, layer)));
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Compacts files: one with the same rows replaces all. */
async function putTogether(select: string, organizationId = app.ids.organizationId): Promise<void> {
  const ctx = contextOf(organizationId);
  const here = { organizationId, layer, dataset: "shop", tableName: "shop" };
  const [table] = await readTables(ctx.db, { organizationId, layer, dataset: "shop" });
  const loadId = app.app.ids.uuid();
  const work = await app.app.lake.workFolder(loadId);
  const { files } = await app.app.sql.materialize({ tables: [], sql: select }, join(work.path, "rows"));
  const at = { organizationId, layer, dataset: "shop", table: "shop", loadId };
  const add = await Promise.all(files.map((file) => app.app.lake.add(at, file)));
  await work.dispose();
  const remove = (table?.files ?? []).map(({ id }) => id);
  await write(ctx, (tx) => commitCompaction(tx, here, { add, remove }));
}

/** Removes a file as a load does. */
async function removeFile(path: string): Promise<void> {
  const ctx = contextOf();
  const tables = await readTables(ctx.db, { organizationId: ctx.organizationId, layer });
  const table = tables.find(({ files }) => files.some((file) => file.path === path));
  const file = table?.files.find((each) => each.path === path);
  if (!table || !file) throw new Error(`There is no file ${path}.`);
  const change = {
    table: table.table,
    columns: table.columns,
    add: [],
    remove: [file.id],
    baseVersion: table.version,
  };
  const loadId = app.app.ids.uuid();
  await write(ctx, (tx) =>
    commitLoad(tx, loadId, "", { loadId, layer, dataset: table.dataset, tables: [change] }),
  );
}

/** Changes the time when a file's load was committed. */
async function backdate(path: string, at: string): Promise<void> {
  await app.app.store.write(async (db) => {
    const [file] = await db.select().from(lakeFiles).where(eq(lakeFiles.path, path));
    await db
      .update(lakeLoads)
      .set({ committedAt: at })
      .where(inArray(lakeLoads.id, [file?.loadId ?? ""]));
    await db.update(lakeFiles).set({ createdAt: at }).where(eq(lakeFiles.path, path));
  });
}
