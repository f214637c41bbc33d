import { expect } from "bun:test";
import type { Client } from "./app.ts";
import { connect } from "./connections.ts";
import { startPostgres } from "./postgres.ts";
import { startReceiver } from "./receiver.ts";
import { AUTOMATION_RUNS, AUTOMATIONS, branch, flowToEnd, makeAutomation, until } from "./work.ts";

/** What the journey to a first automation needs: a shop's orders in PostgreSQL, connected as `Shop`, and a receiver of requests. */
export async function startShop(owner: Client) {
  const postgres = await startPostgres();
  await postgres.sql`create table orders (id int primary key, total int, updated_at timestamptz not null)`;
  await postgres.sql`insert into orders values (1, 40, now()), (2, 90, now())`;
  const receiver = startReceiver(() => Response.json({ ok: true }));
  const { host, port, user, password, database } = postgres;
  await connect(owner, {
    name: "Shop",
    provider: "postgres",
    config: { host, port, database, sslMode: "disable" },
    credentials: { user, password },
  });
  return {
    receiver,
    async [Symbol.asyncDispose]() {
      await receiver[Symbol.asyncDispose]();
      await postgres[Symbol.asyncDispose]();
    },
  };
}

/** Runs the only automation until it waits for an approval. Returns its config. */
export async function runToApproval(owner: Client, input: object) {
  const [{ id, config }] = (await owner("GET", AUTOMATIONS)).body.automations;
  const { body: run } = await owner("POST", `${AUTOMATIONS}/${id}/run`, { input });
  const { status, error } = await until(owner, `${AUTOMATION_RUNS}/${run.id}`, (body) =>
    ["waiting", "failed", "completed"].includes(body.status as string),
  );
  expect([status, error]).toEqual(["waiting", null]);
  return config;
}

/** An automation `Tells` whose step `tell` sends a request to `url`, after its first run. */
export async function makeTelling(owner: Client, url: string): Promise<string> {
  const tell = { key: "tell", kind: "http_request", definition: { url }, dependsOn: ["route"] };
  const route = { key: "route", kind: "conditional_branch", definition: branch() };
  const { id } = await makeAutomation(owner, { steps: [route, tell] }, { name: "Tells" });
  await flowToEnd(owner, id);
  return id;
}

/** Waits until the active version of an automation has this text in its config. */
export const configHas = (owner: Client, id: string, text: string) =>
  until(owner, `${AUTOMATIONS}/${id}`, ({ config }) => JSON.stringify(config).includes(text));
