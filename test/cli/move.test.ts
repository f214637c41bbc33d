import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { move } from "../../src/cli/move.ts";
import { startApp } from "../support/app.ts";
import { makeHook, send } from "../support/hook.ts";
import { makeDatabase, stopPostgresAfterAll } from "../support/postgres-store.ts";
import { refusalOf } from "../support/refusal.ts";
import { folder, shell } from "../support/shell.ts";
import { ACTIONS, automationRunEnd, branch, makeAction } from "../support/work.ts";

stopPostgresAfterAll();

const always = { kind: "conditional_branch", definition: branch() };

test("a database moves to PostgreSQL and back with all of its rows, and the old one refuses to start", async () => {
  using here = folder();
  const data = join(here.path, "data");
  await using first = await startApp({ dataFolder: data });
  await makeHook(first, { waitSeconds: 0, action: always });
  await makeAction(first.owner, { name: "␀ é😀" });
  const { body } = await send(first, JSON.stringify({ odd: "a\u0000b", pair: "😀" }));
  await automationRunEnd(first.owner, body.automationRunId);
  const before = (await first.owner("GET", `${ACTIONS}?limit=100`)).body;
  const trail = (await first.owner("GET", "/api/v1/events/verify")).body;
  await first[Symbol.asyncDispose]();

  const { url } = await makeDatabase();
  const there = await shell()(move, "--from", data, "--to", url, "--json");
  expect([there.code, there.err]).toEqual([0, ""]);
  expect(there.json).toMatchObject({ organizations: 1, events: trail.eventsChecked ?? expect.any(Number) });
  expect(there.out).not.toContain("correct%20horse");
  using old = new Database(join(data, "weir.db"), { readonly: true });
  const counted = (name: string) => (old.query(`select count(*) as n from ${name}`).get() as { n: number }).n;
  for (const { table, rows } of there.json.tables)
    expect([table, counted(table)]).toEqual([table, rows + (table === "settings" ? 1 : 0)]);
  expect(await refusalOf(startApp({ dataFolder: data, owner: false, engine: false }))).toMatch(
    /WEIR_DATABASE_URL/,
  );
  const copy = join(here.path, "copy");
  const full = await shell()(move, "--from", data, "--to", url);
  expect(full.err).toContain("has already been moved to postgres://");

  const env = { WEIR_DATABASE_URL: url };
  const second = await startApp({ dataFolder: data, owner: false, env });
  const owner = (app: typeof first) => (method: string, path: string, sent?: object) =>
    fetch(app.origin + path, {
      method,
      headers: { authorization: `Bearer ${first.token}`, "content-type": "application/json" },
      ...(sent ? { body: JSON.stringify(sent) } : {}),
    }).then((reply) => reply.json());
  expect((await owner(second)("GET", `${ACTIONS}?limit=100`)).total).toBe(before.total);
  expect(await owner(second)("GET", "/api/v1/events/verify")).toMatchObject({ valid: true });
  const busy = await shell()(move, "--from", url, "--to", copy);
  expect(busy.err).toContain("A server is using the database");
  await second[Symbol.asyncDispose]();

  renameSync(join(data, "weir.db"), join(data, "weir.before.db"));
  const back = await shell()(move, "--from", url, "--to", data, "--json");
  expect([back.code, back.err]).toEqual([0, ""]);
  const third = await startApp({ dataFolder: data, owner: false });
  expect(await owner(third)("GET", "/api/v1/events/verify")).toMatchObject({ valid: true });
  const action = (await owner(third)("GET", `${ACTIONS}?limit=1`)).actions[0];
  expect(action.name).toBe(before.actions[0].name);
  await third[Symbol.asyncDispose]();
}, 120_000);
