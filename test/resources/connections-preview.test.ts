import { expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { CONNECTIONS, connect, faultsOf, localFiles } from "../support/connections.ts";
import { join, neighbour } from "../support/people.ts";
import { startPostgres } from "../support/postgres.ts";
import { deepTest } from "../support/scale.ts";

const NOBODY = "01900000-0000-7000-8000-00000000abcd";

test("a file's preview is its beginning: complete if short, cut between characters if long, null if it isn't text", async () => {
  await using started = await startApp({ engine: false });
  const { owner } = started;
  const { id } = await connect(owner, localFiles("Files"));
  const at = `${CONNECTIONS}/${id}/files`;
  const put = (path: string, body: string | Uint8Array) =>
    owner("PUT", `${at}?path=${path}`, body, { "content-type": "application/octet-stream" });
  await put("/in/short.csv", "id,name\n1,Zoë\n");
  await put("/full.txt", "x".repeat(65_536));
  await put("/long.txt", `${"x".repeat(65_535)}ë and more`);
  await put("/picture.bin", new Uint8Array([1, 0, 2]));
  await put("/latin.txt", new Uint8Array([0x5a, 0xeb]));
  const look = async (path: string) => {
    const { status, body } = await owner("GET", `${at}/preview?path=${path}`);
    return [status, body];
  };
  expect(await look("/in/short.csv")).toEqual([
    200,
    { path: "/in/short.csv", text: "id,name\n1,Zoë\n", truncated: false },
  ]);
  expect(await look("/full.txt")).toEqual([
    200,
    { path: "/full.txt", text: "x".repeat(65_536), truncated: false },
  ]);
  expect(await look("/long.txt")).toEqual([
    200,
    { path: "/long.txt", text: "x".repeat(65_535), truncated: true },
  ]);
  for (const path of ["/picture.bin", "/latin.txt"])
    expect(await look(path)).toEqual([200, { path, text: null, truncated: false }]);
  expect((await owner("GET", `${at}/preview?path=/none.txt`)).status).toBe(404);
  expect(faultsOf(await owner("GET", `${at}/preview`))).toEqual(["query.path missing"]);
  expect((await owner("GET", `${CONNECTIONS}/${id}/schema/preview?schema=a&table=b`)).status).toBe(400);

  const viewer = await join(started, "viewer");
  expect((await viewer.call("GET", `${at}/preview?path=/full.txt`)).status).toBe(403);
  const other = await neighbour(started);
  const foreign = await other.call("GET", `${at}/preview?path=/full.txt`);
  const random = await other.call("GET", `${CONNECTIONS}/${NOBODY}/files/preview?path=/full.txt`);
  expect([foreign.status, random.status]).toEqual([404, 404]);
});

deepTest("a table's preview is its first rows with its columns, whatever the table's name", async () => {
  await using postgres = await startPostgres();
  const { sql } = postgres;
  await sql.unsafe(`CREATE TABLE "odd ""name"" ë" (id int PRIMARY KEY, note text)`);
  await sql.unsafe(`INSERT INTO "odd ""name"" ë" SELECT n, 'note ' || n FROM generate_series(1, 21) n`);
  await using started = await startApp({ engine: false });
  const { owner } = started;
  const { id } = await connect(owner, {
    name: "Shop",
    provider: "postgres",
    config: {
      host: postgres.host,
      port: postgres.port,
      database: postgres.database,
      sslMode: "disable",
    },
    credentials: { user: postgres.user, password: postgres.password },
  });
  const at = `${CONNECTIONS}/${id}/schema/preview`;
  const table = encodeURIComponent('odd "name" ë');
  const { status, body } = await owner("GET", `${at}?schema=public&table=${table}`);
  expect([status, Object.keys(body).sort()]).toEqual([200, ["columns", "rows", "truncated"]]);
  expect(body.columns).toEqual([
    { name: "id", dataType: "integer", nullable: false },
    { name: "note", dataType: "text", nullable: true },
  ]);
  expect([body.rows.length, body.rows[0], body.truncated]).toEqual([20, { id: 1, note: "note 1" }, true]);
  const all = await owner("GET", `${at}?schema=public&table=${table}&limit=21`);
  expect([all.body.rows.length, all.body.truncated]).toEqual([21, false]);
  expect((await owner("GET", `${at}?schema=public&table=none`)).status).toBe(404);
  expect((await owner("GET", `${at}?schema=public&table=${table}&limit=100`)).status).toBe(200);
  expect(faultsOf(await owner("GET", `${at}?schema=public&limit=101`))).toEqual([
    "query.limit less_than_equal",
    "query.table missing",
  ]);
  expect(faultsOf(await owner("GET", `${at}?schema=public&table=a&limit=0`))).toEqual([
    "query.limit greater_than_equal",
  ]);
  const viewer = await join(started, "viewer");
  expect((await viewer.call("GET", `${at}?schema=public&table=${table}`)).status).toBe(403);
  const other = await neighbour(started);
  expect((await other.call("GET", `${at}?schema=public&table=${table}`)).status).toBe(404);
});
