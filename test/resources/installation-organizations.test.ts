import { expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { join, neighbour } from "../support/people.ts";
import { created } from "../support/work.ts";

const ORGANIZATIONS = "/api/v1/organizations";
const INSTALLATION = "/api/v1/installation/organizations";
const NONE = {
  storageBytes: null,
  queuedRuns: null,
  concurrentRuns: null,
  concurrentQueries: null,
  llmTokensPerDay: null,
};

test("only operators create organizations, unless anyone may", async () => {
  await using app = await startApp({ engine: false });
  const owner = await join(app, "owner");
  const refused = await owner.call("POST", ORGANIZATIONS, { name: "Mine" });
  expect([refused.status, refused.body.code]).toEqual([403, "forbidden"]);
  expect(refused.body.detail).toContain("WEIR_ORGANIZATIONS");
  expect((await app.owner("POST", ORGANIZATIONS, { name: "Ours" })).status).toBe(201);
  await using open = await startApp({ engine: false, env: { WEIR_ORGANIZATIONS: "anyone" } });
  const viewer = await join(open, "viewer");
  expect((await viewer.call("POST", ORGANIZATIONS, { name: "Mine" })).status).toBe(201);
});

test("an operator sees all organizations, and sets plan, rate, quotas and private addresses", async () => {
  await using app = await startApp({ engine: false });
  const other = await neighbour(app);
  const { id } = other.organization;
  const { items } = (await app.owner("GET", INSTALLATION)).body;
  expect(items.map((item: { id: string }) => item.id)).toEqual([id, app.ids.organizationId]);
  const shown = await app.owner("GET", `${INSTALLATION}/${id}`);
  expect(shown.body).toMatchObject({ id, plan: "free", quotas: NONE, egressAllow: [], removedAt: null });
  const change = {
    plan: "enterprise",
    webhookRate: { perMinute: 5000, burst: 100 },
    quotas: { queuedRuns: 10, concurrentRuns: 2 },
    egressAllow: ["10.1.0.0/16", "db.internal:5432"],
  };
  const changed = await app.owner("PATCH", `${INSTALLATION}/${id}`, change);
  expect([changed.status, changed.body]).toEqual([
    200,
    expect.objectContaining({ ...change, quotas: { ...NONE, queuedRuns: 10, concurrentRuns: 2 } }),
  ]);
  const one = await app.owner("PATCH", `${INSTALLATION}/${id}`, { quotas: { queuedRuns: null } });
  expect(one.body.quotas).toEqual({ ...NONE, concurrentRuns: 2 });
  const same = await app.owner("PATCH", `${INSTALLATION}/${id}`, { quotas: { concurrentRuns: 2 } });
  expect(same.body.updatedAt).toBe(one.body.updatedAt);
  const [told] = (await other.call("GET", "/api/v1/events?type=organization.updated&order=asc")).body.items;
  expect(told.actor.id).toBe(app.ids.userId);
  expect(told.data.changes.map(({ field }: { field: string }) => field).sort()).toEqual([
    "egressAllow",
    "plan",
    "quotas",
    "webhookRate",
  ]);
  expect((await app.owner("PATCH", `${INSTALLATION}/${id}`, { quotas: null })).body.quotas).toEqual(NONE);
  for (const method of ["GET", "PATCH"]) {
    const refused = await other.call(method, `${INSTALLATION}/${id}`, method === "PATCH" ? {} : undefined);
    expect([refused.status, refused.body.code]).toEqual([403, "forbidden"]);
  }
});

test("invalid values are reported by field", async () => {
  await using app = await startApp({ engine: false });
  const place = `${INSTALLATION}/${app.ids.organizationId}`;
  const faults: [body: object, loc: string[]][] = [
    [{ webhookRate: { perMinute: 1, burst: 1 } }, ["body", "webhookRate"]],
    [{ egressAllow: ["10.0.0.0/8", "10.0.0.0/99"] }, ["body", "egressAllow", "1"]],
    [{ quotas: { queuedRuns: -1 } }, ["body", "quotas", "queuedRuns"]],
    [{ quotas: { queued: 1 } }, ["body", "quotas", "queued"]],
  ];
  for (const [body, loc] of faults) {
    const reply = await app.owner("PATCH", place, body);
    expect([reply.status, reply.body.detail[0].loc]).toEqual([422, loc]);
  }
});

test("plan and webhook rate of the current organization can only be changed by operators", async () => {
  await using app = await startApp({ engine: false });
  const owner = await join(app, "owner");
  const refused = await owner.call("PATCH", `${ORGANIZATIONS}/current`, { plan: "pro" });
  expect([refused.status, refused.body.code]).toEqual([403, "forbidden"]);
  expect(refused.body.detail).toContain("operator");
  expect((await owner.call("PATCH", `${ORGANIZATIONS}/current`, { name: "Named" })).status).toBe(200);
  expect((await app.owner("PATCH", `${ORGANIZATIONS}/current`, { plan: "pro" })).body.plan).toBe("pro");
});

test("an operator finds organizations by name or slug, and removed ones with the day of their erasure", async () => {
  await using app = await startApp({ engine: false });
  const other = await neighbour(app);
  const gone = created(await app.owner("POST", ORGANIZATIONS, { name: "Gone 100%", slug: "left" }));
  const removal = await app.owner(
    "DELETE",
    `${ORGANIZATIONS}/current`,
    { confirm: "Gone 100%" },
    { "x-organization-id": gone.id },
  );
  expect(removal.status).toBe(204);
  const found = async (query: string) =>
    (await app.owner("GET", `${INSTALLATION}?${query}`)).body.items.map(({ id }: { id: string }) => id);
  expect(await found("q=NEIGH")).toEqual([other.organization.id]);
  expect(await found("q=left")).toEqual([gone.id]);
  expect(await found("q=0%25")).toEqual([gone.id]);
  expect(await found("removed=true")).toEqual([gone.id]);
  expect(await found("removed=false")).toEqual([other.organization.id, app.ids.organizationId]);
  const { removedAt, restorableUntil } = (await app.owner("GET", `${INSTALLATION}/${gone.id}`)).body;
  expect(Date.parse(restorableUntil) - Date.parse(removedAt)).toBe(7 * 24 * 60 * 60 * 1000);
  const back = await app.owner("POST", `${INSTALLATION}/${gone.id}/restore`);
  expect(back.body).toMatchObject({ removedAt: null, restorableUntil: null });
});
