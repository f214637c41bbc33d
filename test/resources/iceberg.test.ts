import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { IcebergRestCatalog } from "iceberg-js";
import { icebergMetadata } from "icebird";
import { contextFor } from "../../src/context.ts";
import { startApp } from "../support/app.ts";
import { checkTable, fieldIds, loadMetadata, pathOf, readAvro, readRows } from "../support/iceberg.ts";
import { loadTable } from "../support/lake.ts";
import { join as joinIn, neighbour } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";
import { makeAction, runToEnd } from "../support/work.ts";

type Running = Awaited<ReturnType<typeof startApp>>;

let weir: Running;
let prefix: string;
beforeAll(async () => {
  weir = await startApp();
  prefix = weir.ids.organizationId;
});
afterAll(() => weir[Symbol.asyncDispose]());

const upload = async (
  dataset: string,
  rows: object[],
  { table = dataset, how = "append" }: { table?: string; how?: string } = {},
) => {
  const text = rows.map((row) => JSON.stringify(row)).join("\n");
  const path = `/api/v1/datasets/raw/${dataset}/upload?table=${table}&format=jsonl&writeDisposition=${how}`;
  const { status, body } = await weir.owner("PUT", path, text, {
    "content-type": "application/octet-stream",
  });
  expect([status, body]).toEqual([201, expect.anything()]);
  return body.loadId as string;
};
const load = (dataset: string, table = dataset) => loadMetadata(weir.owner, prefix, "raw", dataset, table);
const at = (path: string) => `/iceberg/v1/${prefix}/namespaces${path}`;

describe("what other engines read from the lake", () => {
  test("are the current rows and those of each load, with the columns of that time", async () => {
    const first = await upload("orders", [{ id: 1, name: "one" }]);
    const second = await upload("orders", [{ id: 2, name: "two", city: "Rome" }]);
    const third = await upload("orders", [{ id: 9, name: "nine" }], { how: "replace" });
    const { metadata } = await load("orders");
    await checkTable(metadata);
    const snapshots = metadata.snapshots as {
      "snapshot-id": number;
      summary: Record<string, string>;
    }[];
    expect(snapshots.map(({ summary }) => [summary["weir.load-id"], summary.operation])).toEqual([
      [first, "append"],
      [second, "append"],
      [third, "overwrite"],
    ]);
    const names = async (n: number) =>
      (await readRows(metadata, snapshots[n]?.["snapshot-id"])).map(({ id, name }) => [Number(id), name]);
    expect(await names(0)).toEqual([[1, "one"]]);
    expect((await names(1)).sort()).toEqual([
      [1, "one"],
      [2, "two"],
    ]);
    expect(await names(2)).toEqual([[9, "nine"]]);
    const refs = await weir.owner("GET", `${at("/raw%1Forders/tables/orders")}?snapshots=refs`);
    expect(refs.body.metadata.snapshots.map((s: Record<string, unknown>) => s["snapshot-id"])).toEqual([
      metadata["current-snapshot-id"],
    ]);
  });

  test("are in the table's folder, for those who look there", async () => {
    await upload("files", [{ id: 1 }]);
    const folder = join(weir.dataFolder, "lake", prefix, "raw", "files", "files");
    const hint = join(folder, "metadata", "version-hint.text");
    while (!existsSync(hint)) await Bun.sleep(10);
    const { metadata } = await load("files");
    const metadataFileName = `${readFileSync(hint, "utf8")}.metadata.json`;
    const found = await icebergMetadata({
      tableUrl: `file://${folder}`,
      metadataFileName,
    });
    expect(found as unknown).toEqual(metadata);
  });

  test("map Weir's types to those of the specification", async () => {
    const select = `SELECT true AS a, 1::TINYINT AS b, 2::SMALLINT AS c, 3 AS d, 4::BIGINT AS e, 1.5::FLOAT AS f,
      2.5::DOUBLE AS g, DATE '2026-01-02' AS h, TIME '03:04:05' AS i, TIMESTAMP '2026-01-02 03:04:05' AS j,
      TIMESTAMPTZ '2026-01-02 03:04:05Z' AS k, 'x' AS l, '{"a":1}'::JSON AS m, uuid() AS n, 'x'::BLOB AS o,
      12.34::DECIMAL(18,2) AS p, 18446744073709551615::DECIMAL(20,0) AS q, [1, 2] AS r, ['a'] AS s`;
    const ctx = contextFor(weir.app, {
      organizationId: prefix,
      role: "member",
      actor: { type: "user", id: weir.ids.userId },
      correlationId: "types",
    });
    await loadTable(ctx, { layer: "raw", dataset: "types", table: "types", select });
    const { metadata } = await load("types");
    await checkTable(metadata);
    const types = Object.fromEntries(
      metadata.schemas[0].fields.map(({ name, type }: { name: string; type: unknown }) => [name, type]),
    );
    const list = (id: number, element: string) => ({
      type: "list",
      "element-id": id,
      element,
      "element-required": false,
    });
    expect(types).toMatchObject({
      a: "boolean",
      b: "int",
      c: "int",
      d: "int",
      e: "long",
      f: "float",
      g: "double",
      h: "date",
      i: "time",
      j: "timestamp",
      k: "timestamptz",
      l: "string",
      m: "string",
      n: "uuid",
      o: "binary",
      p: "decimal(18, 2)",
      q: "decimal(20, 0)",
      r: list(19, "int"),
      s: list(21, "string"),
    });
    expect(await readRows(metadata)).toHaveLength(1);
  });

  test("have a transform's output, within structs, maps and lists too, also when rows are added", async () => {
    const write = async (select: string) => {
      const output = { layer: "raw", dataset: "nested", writeDisposition: "append" };
      const definition = { sql: select, output };
      const action = await makeAction(weir.owner, { kind: "duckdb_transform", name: "Nested", definition });
      const run = await runToEnd(weir.owner, action.id);
      expect([run.status, run.error]).toEqual(["completed", null]);
    };
    const select = (id: number) => `SELECT ${id} AS id, {'sku': 'a,"b"', 'price': 1.10::DECIMAL(18,2),
      'tags': ['x', NULL], 'hash': 18446744073709551615::UBIGINT, 'at': '2026-01-02 03:04:05.123456789'::TIMESTAMP_NS} AS line, MAP {'k': 9007199254740993} AS counts,
      [[1, 2], NULL] AS grid, [{'n': 1}] AS rows, 18446744073709551615::UBIGINT AS hash, 4294967295::UINTEGER AS short`;
    await write(select(1));
    const first = await load("nested");
    await write(`${select(2)}, 1 AS more`);
    const { metadata } = await load("nested");
    await checkTable(metadata);
    const typesOf = ({ schemas }: typeof metadata) =>
      Object.fromEntries(
        schemas.at(-1).fields.map(({ name, type }: { name: string; type: unknown }) => [name, type]),
      );
    const { more, ...before } = typesOf(metadata);
    expect([before, more]).toEqual([typesOf(first.metadata), "int"]);
    const field = (name: string, type: unknown) => ({ id: expect.any(Number), name, required: false, type });
    const list = (element: unknown) => ({
      type: "list",
      "element-id": expect.any(Number),
      element,
      "element-required": false,
    });
    expect(before).toMatchObject({
      line: {
        type: "struct",
        fields: [
          field("sku", "string"),
          field("price", "decimal(18, 2)"),
          field("tags", list("string")),
          field("hash", "decimal(20, 0)"),
          field("at", "string"),
        ],
      },
      counts: { type: "map", key: "string", value: "long", "value-required": false },
      grid: list(list("int")),
      rows: list({ type: "struct", fields: [field("n", "int")] }),
      hash: "decimal(20, 0)",
      short: "long",
    });
    const rows = await readRows(metadata);
    expect(rows.map(({ id, short }) => [Number(id), short]).toSorted()).toEqual([
      [1, 4294967295n],
      [2, 4294967295n],
    ]);
    expect(rows.map(({ line, counts, grid }) => [line?.sku, line?.tags, counts.k, grid[0]])).toEqual(
      Array(2).fill(['a,"b"', ["x", null], 9007199254740993n, [1, 2]]),
    );
    const sql = "SELECT hash::VARCHAR AS hash FROM raw.nested WHERE line.hash = hash";
    const { body } = await weir.owner("POST", "/api/v1/query", { sql });
    expect(body.rows).toEqual(Array(2).fill({ hash: "18446744073709551615" }));
  });

  deepTest("have nanoseconds as microseconds if these are exact, otherwise as text", async () => {
    const select = (instant: string) =>
      `SELECT TIMESTAMP_NS '2026-01-02 03:04:05.123456' AS coarse, TIMESTAMP_NS '${instant}' AS fine,
        [TIMESTAMP_NS '2026-01-02', NULL] AS coarses, [TIMESTAMP_NS '${instant}', NULL] AS fines`;
    const nanos = select("2026-01-02 03:04:05.123456789");
    const run = async (dataset: string, sql: string, writeDisposition: string) => {
      const output = { layer: "raw", dataset, writeDisposition };
      const definition = { sql, output };
      const action = { name: "Nanoseconds", kind: "duckdb_transform", definition };
      const { body } = await weir.owner("POST", "/api/v1/actions", action);
      return runToEnd(weir.owner, body.id);
    };
    const shown = async (dataset: string) => {
      const { metadata } = await load(dataset);
      await checkTable(metadata);
      const types = metadata.schemas
        .at(-1)
        .fields.slice(0, 4)
        .map(({ type }: { type: { element?: string } }) => type.element ?? type);
      const rows = await readRows(metadata);
      return { types, fine: rows.map(({ fine }) => fine).sort(), fines: rows[0]?.fines };
    };
    const asText = {
      types: ["timestamp", "string", "timestamp", "string"],
      fine: ["2026-01-02 03:04:05.123456789"],
      fines: ["2026-01-02 03:04:05.123456789", null],
    };

    expect(await run("nanos", nanos, "replace")).toMatchObject({ status: "completed" });
    expect(await shown("nanos")).toEqual(asText);
    expect(await run("nanos", select("2026-01-02"), "append")).toMatchObject({ status: "completed" });
    expect(await shown("nanos")).toMatchObject({
      types: asText.types,
      fine: ["2026-01-02 00:00:00", "2026-01-02 03:04:05.123456789"],
    });
    expect(await run("coarse", select("2026-01-02"), "replace")).toMatchObject({ status: "completed" });
    expect((await shown("coarse")).types).toEqual(["timestamp", "timestamp", "timestamp", "timestamp"]);
    const { error } = await run("coarse", nanos, "append");
    expect(error).toMatchObject({ code: "schema_contract_violation", details: { column: "fine" } });

    const file = await fetch(`${weir.origin}/api/v1/query?format=parquet`, {
      method: "POST",
      headers: { authorization: `Bearer ${weir.token}`, "content-type": "application/json" },
      body: JSON.stringify({ sql: nanos }),
    });
    const bytes = Buffer.from(await file.arrayBuffer());
    const path = "/api/v1/datasets/raw/uploaded/upload?format=parquet";
    const uploaded = await weir.owner("PUT", path, bytes, { "content-type": "application/octet-stream" });
    expect(uploaded.status).toBe(201);
    expect(await shown("uploaded")).toEqual(asText);
  });

  test("keep a column's ID while its type widens, and assign another if its type becomes a different one", async () => {
    await upload("widths", [{ id: 1, n: 1 }]);
    const before = (await load("widths")).metadata;
    await upload("widths", [{ id: 2, n: "many" }], { how: "replace" });
    const { metadata } = await load("widths");
    await checkTable(metadata);
    const idOf = (of: typeof metadata, name: string) =>
      of.schemas.at(-1).fields.find((field: { name: string }) => field.name === name).id;
    expect(idOf(metadata, "id")).toBe(idOf(before, "id"));
    expect(idOf(metadata, "n")).toBeGreaterThan(before["last-column-id"]);
    // What was loaded before can no longer be read with that name.
    expect(metadata.snapshots).toHaveLength(1);
    expect(metadata["table-uuid"]).toBe(before["table-uuid"]);
  });

  test("have the values of a column that a later file spells differently", async () => {
    await upload("spelled", [{ name: "ann", amount: 1.5 }]);
    await upload("spelled", [{ Name: "bob", Amount: 2.5 }]);
    const { metadata } = await load("spelled");
    await checkTable(metadata);
    const rows = (await readRows(metadata)).map(({ name, amount }) => [name, amount]).sort();
    expect(rows).toEqual([
      ["ann", 1.5],
      ["bob", 2.5],
    ]);
  });

  deepTest("have snapshots in order of their times, even after the clock was set back", async () => {
    await upload("clock", [{ id: 1 }]);
    weir.clock.turn(-600_000);
    await upload("clock", [{ id: 2 }]);
    weir.clock.turn(600_000);
    const { metadata } = await load("clock");
    await checkTable(metadata);
    const times = metadata.snapshots.map((snapshot: Record<string, number>) => snapshot["timestamp-ms"]);
    expect(times).toEqual(times.toSorted((a: number, b: number) => a - b));
    expect(metadata["snapshot-log"].map((entry: Record<string, number>) => entry["timestamp-ms"])).toEqual(
      times,
    );
    expect(metadata["last-updated-ms"]).toBe(times.at(-1));
  });

  test("name the fields of manifests by the specification's IDs", async () => {
    await upload("ids", [{ id: 1 }]);
    const { metadata } = await load("ids");
    const list = await readAvro(pathOf(metadata.snapshots[0]["manifest-list"]));
    expect(fieldIds(list.schema)).toEqual({
      manifest_path: 500,
      manifest_length: 501,
      partition_spec_id: 502,
      content: 517,
      sequence_number: 515,
      min_sequence_number: 516,
      added_snapshot_id: 503,
      added_files_count: 504,
      existing_files_count: 505,
      deleted_files_count: 506,
      added_rows_count: 512,
      existing_rows_count: 513,
      deleted_rows_count: 514,
    });
    const manifest = await readAvro(pathOf(list.rows[0].manifest_path));
    expect(fieldIds(manifest.schema)).toEqual({
      status: 0,
      snapshot_id: 1,
      sequence_number: 3,
      file_sequence_number: 4,
      data_file: 2,
      content: 134,
      file_path: 100,
      file_format: 101,
      partition: 102,
      record_count: 103,
      file_size_in_bytes: 104,
      value_counts: 109,
      null_value_counts: 110,
      nan_value_counts: 137,
      lower_bounds: 125,
      upper_bounds: 128,
      sort_order_id: 140,
    });
    expect(JSON.parse(manifest.text("schema") ?? "")).toEqual(metadata.schemas[0]);
  });

  deepTest(
    "are nothing after the dataset was deleted, and another table when it is created again",
    async () => {
      await upload("again", [{ id: 1 }]);
      const before = (await load("again")).metadata;
      await upload("again", [{ id: 2 }], { how: "replace" });
      expect((await weir.owner("DELETE", "/api/v1/datasets/raw/again")).status).toBe(204);
      expect((await weir.owner("GET", at("/raw%1Fagain"))).status).toBe(404);
      await upload("again", [{ id: 3 }]);
      const { metadata } = await load("again");
      expect(metadata["table-uuid"]).not.toBe(before["table-uuid"]);
      expect(metadata.snapshots).toHaveLength(1);
      expect((await readRows(metadata)).map(({ id }) => Number(id))).toEqual([3]);
    },
  );
});

describe("the Iceberg catalog", () => {
  const catalogOf = (token: string) =>
    new IcebergRestCatalog({
      baseUrl: `${weir.origin}/iceberg`,
      catalogName: prefix,
      auth: { type: "bearer", token },
    });

  test("lists layers, datasets and tables to a client of the specification", async () => {
    await upload("listed", [{ id: 1 }], { table: "orders" });
    await upload("listed", [{ id: 1 }], { table: "items" });
    const { body } = await weir.owner("GET", "/iceberg/v1/config");
    expect(body.overrides.prefix).toBe(prefix);
    const catalog = catalogOf(weir.token);
    const { namespaces } = await catalog.listNamespaces();
    expect(namespaces.map(({ namespace }) => namespace)).toEqual([["raw"]]);
    const below = await catalog.listNamespaces({
      parent: { namespace: ["raw"] },
    });
    expect(below.namespaces.map(({ namespace }) => namespace)).toContainEqual(["raw", "listed"]);
    const { identifiers } = await catalog.listTables({ namespace: ["raw", "listed"] });
    expect(identifiers.map(({ name }) => name)).toEqual(["items", "orders"]);
    expect(await catalog.tableExists({ namespace: ["raw", "listed"], name: "orders" })).toBe(true);
    expect(await catalog.tableExists({ namespace: ["raw", "listed"], name: "nothing" })).toBe(false);
    const table = await catalog.loadTable({ namespace: ["raw", "listed"], name: "orders" });
    expect(table["format-version"]).toBe(2);
    // For engines without nested namespaces.
    expect((await weir.owner("HEAD", at("/raw/tables/listed__orders"))).status).toBe(204);
  });

  test("lists page by page on request", async () => {
    for (const table of ["a", "b", "c"]) await upload("paged", [{ id: 1 }], { table });
    const names: string[] = [];
    let token = "";
    for (let pages = 0; pages < 3; pages++) {
      const query = `?pageSize=2&pageToken=${encodeURIComponent(token)}`;
      const { body } = await weir.owner("GET", at(`/raw%1Fpaged/tables${query}`));
      names.push(...body.identifiers.map(({ name }: { name: string }) => name));
      token = body["next-page-token"];
      if (token === null) break;
    }
    expect(names).toEqual(["a", "b", "c"]);
    const foreign = await weir.owner("GET", at("/raw%1Fpaged/tables?pageToken=nonsense"));
    expect([foreign.status, foreign.body.error.type]).toEqual([400, "BadRequestException"]);
  });

  test("fails in the specification's own format", async () => {
    const failures = [
      [await weir.anonymous("GET", at("")), 401, "NotAuthorizedException"],
      [await weir.owner("GET", at("/nowhere")), 404, "NoSuchNamespaceException"],
      [await weir.owner("GET", at("/nowhere/tables")), 404, "NoSuchNamespaceException"],
      [await weir.owner("GET", at("?parent=nowhere")), 404, "NoSuchNamespaceException"],
      [await weir.owner("GET", at("/raw/tables/nothing")), 404, "NoSuchTableException"],
      [await weir.owner("GET", at("/raw/views")), 404, "NotFoundException"],
      [await weir.owner("POST", at(""), { namespace: ["new"] }), 406, "UnsupportedOperationException"],
      [await weir.owner("DELETE", at("/raw/tables/orders")), 406, "UnsupportedOperationException"],
    ] as const;
    for (const [{ status, body }, code, type] of failures)
      expect([status, body]).toEqual([code, { error: { message: expect.any(String), type, code } }]);
  });

  test("accepts tokens that can read, API keys, and either as the secret of an OAuth client", async () => {
    const scoped = await weir.owner("POST", "/api/v1/access-tokens", { name: "no", scopes: ["approve"] });
    const asScoped = { authorization: `Bearer ${scoped.body.token}` };
    const refused = await weir.anonymous("GET", at(""), undefined, asScoped);
    expect([refused.status, refused.body.error.type]).toEqual([403, "ForbiddenException"]);
    const { body: key } = await weir.owner("POST", "/api/v1/api-keys", {
      name: "engine",
      roleSlug: "viewer",
    });
    const form = new URLSearchParams({
      grant_type: "client_credentials",
      client_id: "engine",
      client_secret: key.key,
      scope: "catalog",
    });
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const granted = await weir.anonymous("POST", "/iceberg/v1/oauth/tokens", form.toString(), headers);
    expect(granted.body).toMatchObject({ access_token: key.key, token_type: "bearer" });
    const asKey = { authorization: `Bearer ${granted.body.access_token}` };
    expect((await weir.anonymous("GET", at(""), undefined, asKey)).status).toBe(200);
    form.set("client_secret", "svc_pat_wrong");
    const wrong = await weir.anonymous("POST", "/iceberg/v1/oauth/tokens", form.toString(), headers);
    expect([wrong.status, wrong.body.error]).toEqual([400, "invalid_client"]);
  });

  test("never shows one organization's tables to another", async () => {
    await upload("secret", [{ id: 1 }]);
    const { call, organization } = await neighbour(weir);
    for (const path of ["", "/raw", "/raw%1Fsecret/tables", "/raw%1Fsecret/tables/secret"])
      expect((await call("GET", at(path))).status).toBe(404);
    const theirs = `/iceberg/v1/${organization.id}/namespaces`;
    expect((await call("GET", theirs)).body.namespaces).toEqual([]);
    expect((await call("GET", `${theirs}/raw%1Fsecret/tables/secret`)).status).toBe(404);
    const { call: viewer } = await joinIn(weir, "viewer");
    expect((await viewer("GET", at("/raw%1Fsecret/tables/secret"))).status).toBe(200);
    expect((await weir.owner("GET", `/iceberg/v1/config?warehouse=${organization.id}`)).status).toBe(404);
  });
});
