import { afterAll, beforeAll, expect, test } from "bun:test";
import { connectFolder, connectPostgres, dataOf, startData } from "../data/place.ts";
import { eventually } from "../support/outbound.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { startInstallation } from "../support/process.ts";
import { deepTest } from "../support/scale.ts";
import { runEnd } from "../support/work.ts";

let pg: TestPostgres;
beforeAll(async () => {
  pg = await startPostgres();
});
afterAll(() => pg[Symbol.asyncDispose]());

const ROWS = 400;
const GATE = 7;
const LONGEST = `${"9".repeat(45)}.5`;

deepTest(
  "killed while it looks for deleted rows, a load leaves the table unchanged, is redone, and ends right",
  async () => {
    // Rows pass freely; the query for only the keys, which follows in the same session, waits for the gate.
    await pg.sql.unsafe(`
    create table stock (k numeric primary key, n int);
    insert into stock select i + 0.5, i from generate_series(1, ${ROWS}) i;
    create function gate(k numeric) returns numeric language plpgsql as $$
    declare calls int := coalesce(nullif(current_setting('test.calls', true), ''), '0')::int + 1;
    begin
      perform set_config('test.calls', calls::text, false);
      if calls > (select count(*) from stock) then
        perform pg_advisory_lock_shared(${GATE});
        perform pg_advisory_unlock_shared(${GATE});
      end if;
      return k;
    end $$;
    create view gated as select gate(k) as k, n from stock`);
    await using installation = await startInstallation();
    let server = await installation.serve();
    const connectionId = await connectPostgres(server.owner, pg);
    const resource = {
      name: "stock",
      spec: "gated",
      primaryKey: ["k"],
      writeDisposition: "merge",
      deletes: "hard",
    };
    const extract = await dataOf(server.owner).extract(connectionId, {
      dataset: "shop",
      resources: [resource],
    });
    await extract.result();
    await pg.sql.unsafe(
      `delete from stock where n <= 100; update stock set k = k + 0.000, n = n + 1000 where n = 200; insert into stock values (${LONGEST}, 0)`,
    );
    const holder = await pg.sql.reserve();
    await holder.unsafe(`select pg_advisory_lock(${GATE})`);
    const waits = async () => {
      const found = await holder.unsafe("select 1 from pg_locks where locktype = 'advisory' and not granted");
      return found.length === 1;
    };
    const run = await extract.start();
    await eventually(waits);
    await server.end("SIGKILL");
    // A session that waits for a lock doesn't notice that its client has disconnected.
    await holder.unsafe(
      "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and not granted",
    );
    await eventually(async () => !(await waits()));

    server = await installation.serve();
    await eventually(waits);
    const data = dataOf(server.owner);
    const sums =
      "SELECT count(*)::INT AS rows, sum(n)::INT AS n, typeof(any_value(k)) AS type FROM raw.shop__stock";
    const all = (ROWS * (ROWS + 1)) / 2;
    expect(await data.rows(sums)).toEqual([{ rows: ROWS, n: all, type: "DECIMAL(38,1)" }]);
    await holder.unsafe(`select pg_advisory_unlock(${GATE})`);
    holder.release();
    const ended = await runEnd(server.owner, run.id);
    expect(ended).toMatchObject({
      status: "completed",
      interruptCount: 1,
      result: {
        tables: [
          {
            inserted: 1,
            updated: ROWS - 100,
            deleted: 100,
            schemaChanges: [{ column: "k", change: "widened", from: "DECIMAL(38,1)", to: "VARCHAR" }],
          },
        ],
      },
    });
    expect(await data.rows(sums)).toEqual([{ rows: ROWS - 99, n: all - 5050 + 1000, type: "VARCHAR" }]);
    expect(await data.rows("SELECT k FROM raw.shop__stock WHERE n IN (0, 1200) ORDER BY n")).toEqual([
      { k: LONGEST },
      { k: "200.5" },
    ]);
  },
  120_000,
);

test("deleted rows take what depends on them along, at every depth", async () => {
  await using data = await startData();
  const folder = await connectFolder(data.owner);
  const orders = [1, 2, 3].map((id) => ({
    id,
    lines: [
      { sku: `a${id}`, lots: [id, id * 10] },
      { sku: `b${id}`, lots: [] },
    ],
  }));
  await data.upload(folder, "/orders.json", JSON.stringify(orders));
  const key = { name: "orders", primaryKey: ["id"], writeDisposition: "merge" };
  const first = await data.extract(folder, { dataset: "shop", resources: [{ ...key, spec: "orders.json" }] });
  await first.result();
  await pg.sql.unsafe("create table orders (id bigint primary key); insert into orders values (1), (3), (4)");
  const connectionId = await connectPostgres(data.owner, pg);
  const strategy = { mergeStrategy: "insert_only", deletes: "hard" };
  const later = await data.extract(connectionId, { dataset: "shop", resources: [{ ...key, ...strategy }] });
  const { tables } = await later.result();
  const deleted = Object.fromEntries(
    tables.map((each: { table: string; deleted: number }) => [each.table, each.deleted]),
  );
  expect(deleted).toEqual({ orders: 1, orders__lines: 2, orders__lines__lots: 2 });
  expect(await data.rows("SELECT id FROM raw.shop__orders ORDER BY id")).toEqual([
    { id: 1 },
    { id: 3 },
    { id: 4 },
  ]);
  expect(await data.rows("SELECT sku FROM raw.shop__orders__lines ORDER BY sku")).toEqual(
    ["a1", "a3", "b1", "b3"].map((sku) => ({ sku })),
  );
  expect(await data.rows("SELECT value FROM raw.shop__orders__lines__lots ORDER BY value")).toEqual(
    [1, 3, 10, 30].map((value) => ({ value })),
  );
}, 120_000);
