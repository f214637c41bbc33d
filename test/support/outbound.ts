import { contextFor, write } from "../../src/context.ts";
import { record } from "../../src/resources/events/service.ts";
import type { startApp } from "./app.ts";
import { connect, localFiles } from "./connections.ts";
import { pause } from "./pause.ts";
import { created, until } from "./work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

export const WEBHOOKS = "/api/v1/webhooks";
export const OUT_SECRET = "a-secret-of-the-receiver";

/** Subscribes a URL; `more` replaces fields. */
export const subscribe = async ({ owner }: Pick<Started, "owner">, url: string, more: object = {}) =>
  created(
    await owner("POST", WEBHOOKS, { url, events: ["connection.created"], secret: OUT_SECRET, ...more }),
  );

let count = 0;

/** Creates an event `connection.created`. Returns the connection's ID. */
export const happen = async ({ owner }: Pick<Started, "owner">): Promise<string> =>
  (await connect(owner, localFiles(`Happened ${++count}`))).id;

/** Records this many events `action.completed` of the organization in one transaction. Returns their entities. */
export async function tellOf(
  { app, ids }: Pick<Started, "app"> & { ids: Pick<Started["ids"], "organizationId"> },
  count = 1,
): Promise<string[]> {
  const ctx = contextFor(app, {
    organizationId: ids.organizationId,
    role: "owner",
    actor: { type: "system", id: "test" },
    correlationId: "told-for-a-test",
  });
  return write(ctx, async (tx) => {
    const entities = Array.from({ length: count }, () => tx.ids.uuid());
    for (const id of entities)
      await record(tx, "action.completed", { type: "action", id }, { note: 'with "quotes" and Zoë 漢字' });
    return entities;
  });
}

export const deliveriesOf = async ({ owner }: Pick<Started, "owner">, webhookId: string, query = "") =>
  (await owner("GET", `${WEBHOOKS}/${webhookId}/deliveries?${query}`)).body.items;

/** Waits until the newest delivery has this status, and returns it. */
export async function newest({ owner }: Pick<Started, "owner">, webhookId: string, status: string) {
  const path = `${WEBHOOKS}/${webhookId}/deliveries?limit=1`;
  return (await until(owner, path, ({ items }) => items[0]?.status === status)).items[0];
}

/** Waits for something in this process. Fails before the test's own timeout. */
export async function eventually(done: () => boolean | Promise<boolean>): Promise<void> {
  for (const start = performance.now(); performance.now() - start < 100_000; await pause(start)) {
    if (await done()) return;
  }
  throw new Error("It did not come.");
}
