import { eq } from "drizzle-orm";
import { events } from "../../src/resources/events/table.ts";
import type { Client, startApp } from "./app.ts";

export const CONNECTIONS = "/api/v1/connections";

/** A folder of the organization, so that no server is needed. */
export const localFiles = (name: string, more: object = {}) => ({
  name,
  provider: "local_files",
  credentials: {},
  ...more,
});

/** Creates a connection and returns the response. */
export async function connect(call: Client, body: object) {
  const made = await call("POST", CONNECTIONS, body);
  if (made.status !== 201) throw new Error(`${made.status} ${made.text}`);
  return made.body;
}

/** `loc` and `type` of every fault of a 422. */
export const faultsOf = (answer: { body: { detail: { loc: string[]; type: string }[] } }) =>
  answer.body.detail.map(({ loc, type }) => `${loc.join(".")} ${type}`).sort();

/** The audit log of one resource, oldest first. */
export const trailOf = ({ app }: Awaited<ReturnType<typeof startApp>>, id: string) =>
  app.store.db.select().from(events).where(eq(events.entityId, id)).orderBy(events.seq);
