/** Receivers that never respond, next to others that do. */
import { expect, test } from "bun:test";
import { isNotNull } from "drizzle-orm";
import { startEngine } from "../../src/engine/start.ts";
import { outboundDeliveries } from "../../src/resources/webhooks/table.ts";
import { startApp } from "../support/app.ts";
import { deliveriesOf, eventually, subscribe, tellOf, WEBHOOKS } from "../support/outbound.ts";
import { neighbour } from "../support/people.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

const COMPLETED = { events: ["action.completed"] };
/** Nothing is given up during a test. */
const PATIENT = { WEIR_WEBHOOK_TIMEOUT: "300" };

/** A receiver that holds requests to `/tar…` until `letGo` is called, and responds to all others immediately. */
function startTarpit() {
  const open = Promise.withResolvers<void>();
  let isOpen = false;
  const receiver = startReceiver(async ({ path }) => {
    if (path.startsWith("/tar") && !isOpen) await open.promise;
    return new Response();
  });
  return {
    ...receiver,
    at: (path: string) => receiver.got.filter((seen) => seen.path === path).length,
    hanging: () => (isOpen ? 0 : receiver.got.filter(({ path }) => path.startsWith("/tar")).length),
    letGo() {
      isOpen = true;
      open.resolve();
    },
  };
}

/** Another organization, with what is needed to subscribe and cause events. */
async function organization(app: Started) {
  const other = await neighbour(app);
  return { app: app.app, owner: other.call, ids: { organizationId: other.organization.id } };
}

const delivered = async (app: Pick<Started, "owner">, id: string) =>
  (await deliveriesOf(app, id, "status=delivered&limit=200")).length;

test("one that never responds delays no other, by another path or port of its host, in any organization", async () => {
  await using tarpit = startTarpit();
  await using beside = startTarpit();
  await using app = await startApp({ env: PATIENT });
  const other = await organization(app);
  const tar = await subscribe(app, `${tarpit.url}/tar`, COMPLETED);
  await tellOf(app, 400);
  await eventually(() => tarpit.at("/tar") > 0);
  await subscribe(app, `${tarpit.url}/ours`, COMPLETED);
  await subscribe(app, `${beside.url}/ours`, COMPLETED);
  await subscribe(other, `${tarpit.url}/theirs`, COMPLETED);
  await subscribe(other, `${beside.url}/theirs`, COMPLETED);
  await tellOf(app, 150);
  await tellOf(other, 150);
  for (const receiver of [tarpit, beside])
    for (const path of ["/ours", "/theirs"]) await eventually(() => receiver.at(path) === 150);
  expect([await delivered(app, tar.id), tarpit.at("/tar") < 550]).toEqual([0, true]);
  tarpit.letGo();
  await eventually(() => tarpit.at("/tar") === 550);
}, 120_000);

deepTest(
  "however many never respond, the others get their deliveries, and connections remain",
  async () => {
    await using tarpit = startTarpit();
    await using app = await startApp({ env: PATIENT });
    const other = await organization(app);
    await subscribe(app, `${tarpit.url}/ours`, COMPLETED);
    await tellOf(app);
    await eventually(() => tarpit.at("/ours") === 1);
    for (let n = 0; n < 300; n++) await subscribe(app, `${tarpit.url}/tar-${n}`, COMPLETED);
    await subscribe(other, `${tarpit.url}/theirs`, COMPLETED);
    await tellOf(app, 5);
    await tellOf(other, 50);
    await eventually(() => tarpit.at("/ours") === 6 && tarpit.at("/theirs") === 50);
    expect(tarpit.hanging()).toBeGreaterThan(0);
    await subscribe(other, `${tarpit.url}/tar-theirs`, COMPLETED);
    await subscribe(other, `${tarpit.url}/new`, COMPLETED);
    await tellOf(other, 50);
    await tellOf(app, 5);
    await eventually(
      () => tarpit.at("/new") === 50 && tarpit.at("/theirs") === 100 && tarpit.at("/ours") === 11,
    );
    await eventually(() => tarpit.at("/tar-theirs") > 0);
    expect(tarpit.hanging()).toBeLessThan(200);
    tarpit.letGo();
    await eventually(() => tarpit.got.length === 300 * 10 + 50 + 50 + 100 + 11);
  },
  120_000,
);

deepTest(
  "one that didn't respond in time gets few requests, and all once it responds",
  async () => {
    let hanging = 0;
    let isOpen = false;
    const met: number[] = [];
    await using receiver = startReceiver(async () => {
      if (isOpen) return new Response();
      met.push(++hanging);
      await Bun.sleep(1_500);
      hanging--;
      return new Response();
    });
    const env = { WEIR_WEBHOOK_TIMEOUT: "1", WEIR_WEBHOOK_SCHEDULE: "0,1,1,1,1,1,1,1,1,1" };
    await using app = await startApp({ env });
    await subscribe(app, receiver.url, COMPLETED);
    const told = await tellOf(app, 60);
    await eventually(() => met.length > 60);
    expect(Math.max(...met.slice(40))).toBeLessThan(13);
    isOpen = true;
    const idOf = ({ text }: { text: string }): string => JSON.parse(text).entity.id;
    await eventually(() => new Set(receiver.got.map(idOf)).size === told.length);
  },
  120_000,
);

deepTest(
  "an organization with very many events leaves the others their turns, and loses none",
  async () => {
    await using receiver = startTarpit();
    await using app = await startApp({ engine: false });
    const other = await organization(app);
    const hooks: string[] = [];
    for (let n = 0; n < 100; n++)
      hooks.push((await subscribe(app, `${receiver.url}/ours-${n}`, COMPLETED)).id);
    const theirs = await subscribe(other, `${receiver.url}/theirs`, COMPLETED);
    await tellOf(app, 80);
    await tellOf(other, 10);
    const engine = await startEngine(app.app);
    await eventually(() => receiver.at("/theirs") === 10);
    // Changes in the meantime follow the organization's position.
    const [first, second] = hooks;
    await app.owner("PATCH", `${WEBHOOKS}/${first}`, { status: "disabled" });
    await app.owner("PATCH", `${WEBHOOKS}/${second}`, { events: ["action.failed"] });
    await tellOf(app, 5);
    await app.owner("PATCH", `${WEBHOOKS}/${first}`, { status: "active" });
    await eventually(() => receiver.got.length >= 10 + 100 * 85 - 5);
    const { db } = app.app.store;
    await eventually(
      async () => (await db.$count(outboundDeliveries, isNotNull(outboundDeliveries.dueAt))) === 0,
    );
    const rows = (await db.select().from(outboundDeliveries)).toSorted((one, two) =>
      one.id < two.id ? -1 : 1,
    );
    expect(rows).toHaveLength(10 + 100 * 85 - 5);
    const last = rows.findLastIndex(({ webhookId }) => webhookId === theirs.id);
    expect(rows.length - last).toBeGreaterThan(1_000);
    for (const [at, count] of [
      [0, 85],
      [1, 80],
      [99, 85],
    ] as const)
      expect(receiver.at(`/ours-${at}`)).toBe(count);
    await engine.stop(0);
  },
  120_000,
);
