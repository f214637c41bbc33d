import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { startApp } from "../support/app.ts";
import { makeHook, send } from "../support/hook.ts";
import { startInstallation } from "../support/process.ts";
import { startReceiver } from "../support/receiver.ts";
import { deepTest } from "../support/scale.ts";
import { AUTOMATIONS, until } from "../support/work.ts";

const LETTERS = "/api/v1/dead-letters";
const MANY = 300;

/** Responds with 503 and records requests; after `open`, with 200. */
function startDying() {
  const state = { status: 503 };
  const receiver = startReceiver(() => Response.json({}, { status: state.status }));
  const open = () => {
    state.status = 200;
  };
  return Object.assign(receiver, { open });
}

const action = (url: string) => ({
  kind: "http_request",
  definition: { url, method: "POST", body: "{{payload}}" },
});

/** Statements that copy the only dead letter, each with its delivery. Payloads are numbered. */
function copies(count: number): string[] {
  const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})`;
  const id = (kind: number) => `printf('0190000${kind}-0000-7000-8000-%012d', i)`;
  return [
    `${numbers} INSERT INTO webhook_deliveries SELECT ${id(1)}, organization_id, automation_id, automation_run_id, status, attempts, reply_code, received_at, updated_at, next_attempt_at, error, NULL, NULL, ip_address, headers, query, json_object('n', i), is_kept FROM webhook_deliveries, n`,
    `${numbers} INSERT INTO dead_letters SELECT ${id(2)}, organization_id, source, source_id, ${id(1)}, attempts, first_failed_at, last_failed_at, error, 0, 'dead' FROM dead_letters, n`,
  ];
}

/** Takes SQLite's write lock, unless another has it. */
function begins(db: Database): boolean {
  try {
    db.run("BEGIN IMMEDIATE");
    return true;
  } catch (error) {
    if ((error as { code?: string }).code !== "SQLITE_BUSY") throw error;
    return false;
  }
}

const countOf = (dataFolder: string, query: string): number => {
  using db = new Database(join(dataFolder, "weir.db"), { readonly: true });
  return (db.query(query).get() as { n: number }).n;
};

test("many dead letters are replayed even if one of them can't be, which stays unchanged", async () => {
  await using app = await startApp({ hurry: 20 });
  await using dying = startDying();
  const hook = await makeHook(app, { action: action(dying.url), retries: { enabled: false } });
  expect((await send(app, "{}")).status).toBe(500);
  for (const copy of copies(60)) await app.app.store.write((db) => db.run(sql.raw(copy)));
  dying.open();
  const bad = "01900002-0000-7000-8000-000000000030";
  await app.app.store.write((db) =>
    db.run(sql.raw("DELETE FROM webhook_deliveries WHERE id = '01900001-0000-7000-8000-000000000030'")),
  );
  const replay = (body: object, key = "replay-all") =>
    app.owner("POST", `${LETTERS}/replay`, body, { "idempotency-key": key });
  const answer = await replay({ automationId: hook.id });
  expect([answer.status, answer.body]).toEqual([200, { replayed: 60 }]);
  const again = await replay({ automationId: hook.id });
  expect([again.text, again.headers.get("idempotency-replayed")]).toEqual([answer.text, "true"]);
  await until(app.owner, `${LETTERS}?limit=100`, ({ items }) =>
    items.every(({ id, status }: { id: string; status: string }) => id === bad || status === "replayed"),
  );
  expect(dying.got).toHaveLength(1 + 60);
  const alone = await replay({ ids: [bad] }, "replay-bad");
  expect([alone.status, alone.body.code]).toEqual([410, "gone"]);
  const [left] = (await app.owner("GET", `${LETTERS}?limit=100`)).body.items.filter(
    ({ id }: { id: string }) => id === bad,
  );
  expect(left).toMatchObject({ status: "dead", replayCount: 0 });
  await app.owner("PATCH", `${AUTOMATIONS}/${hook.id}`, { status: "disabled" });
  expect((await replay({ ids: [bad] }, "replay-off")).body.code).toBe("invalid_state");
});

deepTest(
  "other writes continue while many are replayed, and kill -9 during that loses and duplicates none",
  async () => {
    await using dying = startDying();
    await using installation = await startInstallation({ WEIR_CONCURRENCY: "2" });
    const { dataFolder } = installation;
    let server = await installation.serve();
    const hook = await makeHook(server as never, { action: action(dying.url), retries: { enabled: false } });
    expect((await send(server as never, "{}")).status).toBe(500);
    {
      using db = new Database(join(dataFolder, "weir.db"));
      db.run("PRAGMA busy_timeout = 10000");
      for (const copy of copies(MANY)) db.run(copy);
    }
    dying.open();
    const replay = () => server.owner("POST", `${LETTERS}/replay`, { automationId: hook.id });
    const replaying = "SELECT count(*) AS n FROM dead_letters WHERE status <> 'dead'";
    let cut: Promise<unknown>;
    {
      // Between two of its writes, ours blocks the next one, so that it is interrupted in the middle.
      using db = new Database(join(dataFolder, "weir.db"));
      db.run("BEGIN IMMEDIATE");
      cut = replay().catch(() => null);
      while (countOf(dataFolder, replaying) === 0) {
        db.run("ROLLBACK");
        await Bun.sleep(2);
        while (!begins(db));
      }
      await server.end("SIGKILL");
    }
    expect(await cut).toBeNull();
    const done = countOf(dataFolder, replaying);
    expect(done).toBeLessThan(MANY);
    server = await installation.serve();
    expect((await replay()).body).toEqual({ replayed: MANY + 1 - done });
    const isAll = () =>
      countOf(dataFolder, "SELECT count(*) AS n FROM dead_letters WHERE status = 'replayed'") === MANY + 1;
    while (!isAll()) await Bun.sleep(20);
    const once = "SELECT count(*) AS n FROM dead_letters WHERE replay_count = 1";
    const deliveries = "SELECT count(*) AS n FROM webhook_deliveries WHERE replay_of IS NOT NULL";
    expect([countOf(dataFolder, once), countOf(dataFolder, deliveries)]).toEqual([MANY + 1, MANY + 1]);
  },
  120_000,
);
